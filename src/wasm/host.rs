//! The host in JavaScript: the runtime's clock and timers, or the user's own.

use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use gloo_timers::future::TimeoutFuture;
use js_sys::Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::core::{Duration, Error, Timestamp};
use crate::runtime::{Clock, Host, TIMER_SLEEP_MAX, Timer};

#[wasm_bindgen]
extern "C" {
    /// What the JavaScript side gives a store.
    #[wasm_bindgen(typescript_type = "any")]
    #[derive(Debug)]
    pub type HostObject;

    /// Whether the user brought a clock.
    #[wasm_bindgen(method, getter)]
    fn custom(this: &HostObject) -> bool;

    /// The time, checked: of the user's clock, or of `Date`, looked up at each call.
    #[wasm_bindgen(method, catch)]
    fn now(this: &HostObject) -> Result<f64, JsValue>;

    /// A sleep on the user's clock; never rejects.
    #[wasm_bindgen(method)]
    fn sleep(this: &HostObject, ms: f64) -> JsSleep;

    /// 53 random bits.
    #[wasm_bindgen(method)]
    fn random(this: &HostObject) -> f64;

    /// Makes an error.
    #[wasm_bindgen(method)]
    pub fn error(this: &HostObject, code: JsValue, message: JsValue, cause: JsValue) -> JsValue;

    /// Gives the module's memory, for whoever is told of a place in it.
    #[wasm_bindgen(method)]
    fn remember(this: &HostObject, memory: JsValue);

    /// Makes a claimed job of a payload and the columns that lie at that address; what the queue's handle knows is left
    /// out. A number for each column would cost every start a wrapper of that many parameters.
    #[wasm_bindgen(method)]
    pub fn claimed(this: &HostObject, payload: JsValue, columns: usize) -> JsValue;

    /// The same, added to `jobs`: one call for each of a batch, not two.
    #[wasm_bindgen(method, js_name = addClaimed)]
    pub fn add_claimed(this: &HostObject, jobs: &Array, payload: JsValue, columns: usize);

    /// Makes a job that was read, of its columns.
    #[wasm_bindgen(method)]
    pub fn job(this: &HostObject, columns: &Array) -> JsValue;

    /// A sleep under way.
    #[derive(Debug)]
    pub type JsSleep;

    #[wasm_bindgen(method, getter)]
    fn done(this: &JsSleep) -> js_sys::Promise;

    #[wasm_bindgen(method)]
    fn cancel(this: &JsSleep);
}

/// The host object, held once.
#[derive(Clone, Debug)]
pub struct JsHost(Rc<(HostObject, Clocks)>);

#[derive(Clone, Copy, Debug)]
enum Clocks {
    /// `Date` and `setTimeout`.
    Global,
    /// The user's.
    Own,
}

impl JsHost {
    pub fn new(object: HostObject) -> Self {
        let clocks = if object.custom() { Clocks::Own } else { Clocks::Global };
        object.remember(wasm_bindgen::memory());
        Self(Rc::new((object, clocks)))
    }
}

impl Deref for JsHost {
    type Target = HostObject;
    fn deref(&self) -> &HostObject {
        &self.0.0
    }
}

/// Whole milliseconds; drops fractions towards zero and saturates.
pub fn millis(ms: f64) -> i64 {
    ms as i64
}

impl Clock for JsHost {
    fn now(&self) -> Result<Timestamp, Error> {
        let now = HostObject::now(self).map_err(super::convert::clock_error)?;
        Ok(Timestamp::from_millis(millis(now)))
    }
}

impl Timer for JsHost {
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> {
        let ms = span.clamp(Duration::ZERO, TIMER_SLEEP_MAX).as_millis();
        match self.0.1 {
            Clocks::Global => Nap::Global(TimeoutFuture::new(u32::try_from(ms).unwrap_or(0))),
            Clocks::Own => {
                let sleep = HostObject::sleep(self, ms as f64);
                Nap::Own(JsFuture::from(sleep.done()), sleep)
            }
        }
    }
}

impl Host for JsHost {
    fn random(&self) -> u64 {
        HostObject::random(self) as u64
    }
}

enum Nap {
    Global(TimeoutFuture),
    Own(JsFuture, JsSleep),
}

impl Future for Nap {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut *self {
            Self::Global(timeout) => Pin::new(timeout).poll(context),
            Self::Own(done, _) => Pin::new(done).poll(context).map(drop),
        }
    }
}

impl Drop for Nap {
    fn drop(&mut self) {
        if let Self::Own(_, sleep) = self {
            sleep.cancel();
        }
    }
}
