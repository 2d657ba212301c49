//! Futures into plain values where they are ready at once, and into promises where they are not.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use super::convert;
use super::host::JsHost;
use crate::core::Error;

type Operation = Pin<Box<dyn Future<Output = Result<JsValue, JsValue>>>>;

/// Polls once. A storage that is ready at once costs no trip through the event loop.
pub fn settle<T: 'static>(
    host: &JsHost,
    operation: impl Future<Output = Result<T, Error>> + 'static,
    convert: impl FnOnce(&JsHost, T) -> JsValue + 'static,
) -> Result<JsValue, JsValue> {
    let host = host.clone();
    poll_once(Box::pin(async move {
        match operation.await {
            Ok(value) => Ok(convert(&host, value)),
            Err(error) => Err(convert::error(&host, &error)),
        }
    }))
}

// Not generic: the machinery behind a promise is large, and each copy of it is paid in bytes.
fn poll_once(mut operation: Operation) -> Result<JsValue, JsValue> {
    match operation.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Ok(future_to_promise(operation).into()),
    }
}
