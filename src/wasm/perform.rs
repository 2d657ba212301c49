//! One operation, from an export's arguments to what JavaScript gets.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use super::convert;
use super::host::JsHost;
use super::{Engine, Outcome};
use crate::core::{Error, Script};

/// Runs a script in a storage transaction of its own, unless its arguments were refused: a plain
/// result from a storage that never waits, else a promise.
pub fn perform<S, F>(engine: &Engine, script: Result<S, Error>, finish: F) -> Outcome
where
    S: Script<JsValue> + 'static,
    F: FnOnce(&JsHost, S) -> JsValue + 'static,
{
    let host = engine.host();
    let mut script = script.map_err(|error| convert::error(host, &error))?;
    match engine.run_now(&mut script) {
        Some(Ok(())) => Ok(finish(host, script)),
        Some(Err(error)) => Err(convert::error(host, &error)),
        None => wait_for(engine, Box::new(Performed { script, finish })),
    }
}

trait Operation {
    fn script(&mut self) -> &mut dyn Script<JsValue>;
    fn finish(self: Box<Self>, host: &JsHost) -> JsValue;
}

struct Performed<S, F> {
    script: S,
    finish: F,
}

impl<S: Script<JsValue>, F: FnOnce(&JsHost, S) -> JsValue> Operation for Performed<S, F> {
    fn script(&mut self) -> &mut dyn Script<JsValue> {
        &mut self.script
    }

    fn finish(self: Box<Self>, host: &JsHost) -> JsValue {
        (self.finish)(host, self.script)
    }
}

// Not generic: every copy of what is behind a future and a promise is paid in bytes.
fn wait_for(engine: &Engine, mut operation: Box<dyn Operation>) -> Outcome {
    let engine = engine.clone();
    settle(Box::pin(async move {
        match engine.run(operation.script()).await {
            Ok(()) => Ok(operation.finish(engine.host())),
            Err(error) => Err(convert::error(engine.host(), &error)),
        }
    }))
}

/// Starts a future at once, so that calls take effect in the order in which they are made: what it
/// comes to, or a promise of that.
pub fn settle(mut future: Pin<Box<dyn Future<Output = Outcome>>>) -> Outcome {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Ok(future_to_promise(future).into()),
    }
}
