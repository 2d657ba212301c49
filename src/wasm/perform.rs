//! One operation, from an export's arguments to what JavaScript gets.

use std::cell::RefCell;
use std::future::poll_fn;
use std::mem::replace;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use super::convert;
use super::host::JsHost;
use super::{Engine, Outcome, crossing, room};
use crate::core::{Error, Scope, Script, Step, View};

/// Runs a script in a storage transaction of its own, unless its arguments were refused: a plain
/// result from a storage that never waits, else a promise.
pub fn perform<S, F>(engine: &Engine, script: Result<S, Error>, finish: F) -> JsValue
where
    S: Script<JsValue> + 'static,
    F: Fn(&JsHost, &mut S) -> JsValue + 'static,
{
    match script {
        Ok(script) => run(engine, Box::new(Performed { script, finish })),
        Err(error) => refused(engine, &error),
    }
}

/// The same, for what a queue in use is asked for all the time: what does not wait makes no box, and that is more code.
pub fn perform_often<S, F>(engine: &Engine, script: Result<S, Error>, finish: F) -> JsValue
where
    S: Script<JsValue> + 'static,
    F: Fn(&JsHost, &mut S) -> JsValue + 'static,
{
    match script {
        Ok(script) => {
            let mut operation = Performed { script, finish };
            run_now(engine, &mut operation).unwrap_or_else(|| wait_for(engine, Box::new(operation)))
        }
        Err(error) => refused(engine, &error),
    }
}

/// A script, and what is made of its outcome.
trait Operation {
    fn script(&mut self) -> &mut dyn Script<JsValue>;
    fn finish(&mut self, host: &JsHost) -> JsValue;
}

struct Performed<S, F> {
    script: S,
    finish: F,
}

impl<S: Script<JsValue>, F: Fn(&JsHost, &mut S) -> JsValue> Operation for Performed<S, F> {
    fn script(&mut self) -> &mut dyn Script<JsValue> {
        &mut self.script
    }

    fn finish(&mut self, host: &JsHost) -> JsValue {
        (self.finish)(host, &mut self.script)
    }
}

// What follows is not generic: every copy of it is paid in bytes.

#[cold]
#[inline(never)]
fn refused(engine: &Engine, error: &Error) -> JsValue {
    convert::error(engine.host(), error)
}

#[inline(never)]
fn run(engine: &Engine, mut operation: Box<dyn Operation>) -> JsValue {
    run_now(engine, &mut *operation).unwrap_or_else(|| wait_for(engine, operation))
}

#[inline(never)]
fn run_now(engine: &Engine, operation: &mut dyn Operation) -> Option<JsValue> {
    room::ahead();
    let done = engine.run_now(operation.script())?;
    Some(crossing(finished(engine, done, operation)))
}

#[inline]
fn finished(engine: &Engine, done: Result<(), Error>, operation: &mut dyn Operation) -> Outcome {
    match done {
        Ok(()) => Ok(operation.finish(engine.host())),
        Err(error) => Err(refused(engine, &error)),
    }
}

#[inline(never)]
fn wait_for(engine: &Engine, operation: Box<dyn Operation>) -> JsValue {
    let engine = engine.clone();
    let operation = Rc::new(RefCell::new(operation));
    settle(Box::pin(async move {
        let running = engine.run_shared(Rc::new(RefCell::new(Waiting(Rc::clone(&operation)))));
        // It is in line. What is called in the same turn goes along, and not in a transaction of its own.
        let mut is_next_turn = false;
        poll_fn(|_| if replace(&mut is_next_turn, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        let done = running.await;
        finished(&engine, done, &mut **operation.borrow_mut())
    }))
}

/// The script of an operation that waits.
struct Waiting(Rc<RefCell<Box<dyn Operation>>>);

impl Script<JsValue> for Waiting {
    fn opening(&mut self) -> Option<Scope> {
        self.0.borrow_mut().script().opening()
    }

    fn step(&mut self, view: &mut View<JsValue>) -> Step {
        self.0.borrow_mut().script().step(view)
    }
}

/// Starts a future at once, so that calls take effect in the order in which they are made: what it
/// comes to, or a promise of that.
pub fn settle(mut future: Pin<Box<dyn Future<Output = Outcome>>>) -> JsValue {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => crossing(outcome),
        Poll::Pending => future_to_promise(future).into(),
    }
}
