//! The wasm-bindgen surface and nothing else: exports over the runtime, conversions, the host.
//!
//! Numbers are doubles and `NaN` is an absent option; the JavaScript side has checked types and
//! finiteness. Every fallible export gives one value back: its plain result if the storage was ready
//! at once (memory is), else a promise for it, or the error, which the glue throws (`scripts/glue.mjs`).
//! A `Result` would cross as several values, and engines compile a wrapper for each export that
//! returns several: a third of the time that compiling the module took.

// wasm-bindgen's own expansion needs what the crate's lints deny.
#![allow(missing_docs, clippy::arithmetic_side_effects)]

#[cfg(feature = "small-allocator")]
mod allocator;
mod convert;
mod host;
mod keyed;
mod panic;
mod perform;
mod queue;
mod room;
mod rows;
mod storage;
mod store;
mod transaction;

use crate::runtime::{self, StopToken};
use wasm_bindgen::prelude::*;

type Engine = runtime::Engine<storage::AnyStore, host::JsHost>;

/// What an operation comes to.
type Outcome = Result<JsValue, JsValue>;

/// As an export gives it back.
fn crossing(outcome: Outcome) -> JsValue {
    match outcome {
        Ok(value) | Err(value) => value,
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
