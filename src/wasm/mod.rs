//! The wasm-bindgen surface and nothing else: exports over the runtime, conversions, the host.
//!
//! Numbers are doubles and `NaN` is an absent option; the JavaScript side has checked types and
//! finiteness. Every fallible export that touches the storage returns its plain result if the
//! storage was ready at once (memory is), else a promise for it.

// wasm-bindgen's own expansion needs what the crate's lints deny.
#![allow(missing_docs, clippy::arithmetic_side_effects)]

mod convert;
mod engine;
mod host;
mod panic;
mod queue;
mod settle;
mod transaction;

use crate::runtime::{MemoryStore, StopToken};
use wasm_bindgen::prelude::*;

/// The storage of this build.
type Storage = MemoryStore<JsValue>;

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
