//! The wasm-bindgen surface and nothing else: exports over the runtime, conversions, the host.
//!
//! Numbers are doubles and `NaN` is an absent option; the JavaScript side has checked types and
//! finiteness. Every fallible export that touches the storage returns its plain result if the
//! storage was ready at once (memory is), else a promise for it.

// wasm-bindgen's own expansion needs what the crate's lints deny.
#![allow(missing_docs, clippy::arithmetic_side_effects)]

mod convert;
mod host;
mod panic;
mod perform;
mod queue;
mod store;
mod transaction;

use crate::runtime::{self, MemoryStore, StopToken};
use wasm_bindgen::prelude::*;

type Storage = MemoryStore<JsValue>;
type Engine = runtime::Engine<Storage, host::JsHost>;

/// What an export gives back: the result, or a promise of it; or the error.
type Outcome = Result<JsValue, JsValue>;

/// The memory storage; stores opened on one of these share it.
#[wasm_bindgen]
#[derive(Clone, Debug, Default)]
pub struct Memory {
    store: Storage,
}

#[wasm_bindgen]
impl Memory {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }
}

/// What stops a loop.
#[wasm_bindgen]
#[derive(Clone, Debug, Default)]
pub struct Stop {
    token: StopToken,
}

#[wasm_bindgen]
impl Stop {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn set(&self) {
        self.token.set();
    }
}
