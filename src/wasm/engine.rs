//! A store's exports.

use wasm_bindgen::prelude::*;

use super::convert::{self, count, span};
use super::host::{JsHost, millis};
use super::queue::Queue;
use super::settle::settle;
use super::transaction::Transaction;
use super::{Memory, Stop, Storage};
use crate::core::queue::QueueOptions;
use crate::core::{Duration, Error, Name};
use crate::runtime;

#[wasm_bindgen]
#[derive(Debug)]
pub struct Engine {
    engine: runtime::Engine<Storage, JsHost>,
    host: JsHost,
}

#[wasm_bindgen]
impl Engine {
    /// `seed` is `NaN` where there is none.
    #[wasm_bindgen(constructor)]
    pub fn new(memory: &Memory, host: JsHost, seed: f64) -> Self {
        let seed = count(seed).map(|seed| seed as u64);
        Self { engine: runtime::Engine::new(memory.store.clone(), host.clone(), seed), host }
    }

    fn try_sync<T>(&self, result: Result<T, Error>) -> Result<T, JsValue> {
        result.map_err(|error| convert::error(&self.host, &error))
    }

    /// Checks a shared name ahead of arguments that come after it.
    pub fn check_shared(&self, name: &str, argument: Argument) -> Result<(), JsValue> {
        self.try_sync(Name::shared(argument.as_str(), name).map(drop))
    }

    /// Checks a local name ahead of arguments that come after it.
    pub fn check_local(&self, name: &str, argument: Argument) -> Result<(), JsValue> {
        self.try_sync(Name::local(argument.as_str(), name).map(drop))
    }

    pub fn queue(
        &self,
        name: &str,
        visibility_timeout: f64,
        max_attempts: f64,
        backoff_base: f64,
        dead_letter_retention: f64,
    ) -> Result<Queue, JsValue> {
        let options = QueueOptions {
            visibility_timeout: span(visibility_timeout),
            max_attempts: count(max_attempts),
            backoff_base: span(backoff_base),
            dead_letter_retention: span(dead_letter_retention),
        };
        Ok(Queue::new(self.try_sync(self.engine.queue(name, options))?, self.host.clone()))
    }

    pub fn outbox(&self, name: &str) -> Result<Queue, JsValue> {
        let outbox = self.try_sync(self.engine.outbox(name))?;
        Ok(Queue::new((*outbox).clone(), self.host.clone()))
    }

    pub fn try_lock(&self, name: String, owner: String, ttl: f64) -> Result<JsValue, JsValue> {
        let (engine, host) = (self.engine.clone(), self.host.clone());
        let operation = async move { engine.try_lock(&name, &owner, Duration::from_millis(millis(ttl))).await };
        settle(&self.host, operation, move |_, lock| {
            lock.map_or(JsValue::NULL, |lock| JsValue::from(Lock { lock, host }))
        })
    }

    #[allow(clippy::too_many_arguments)]
    pub fn schedule(
        &self,
        name: String,
        spec: String,
        queue: String,
        payload: JsValue,
        priority: f64,
        max_attempts: f64,
        expires: f64,
    ) -> Result<JsValue, JsValue> {
        let engine = self.engine.clone();
        let options = convert::schedule_options(priority, max_attempts, expires);
        let operation = async move { engine.schedule(&name, &spec, &queue, payload, options).await };
        settle(&self.host, operation, |_, ()| JsValue::UNDEFINED)
    }

    pub fn unschedule(&self, name: String) -> Result<JsValue, JsValue> {
        let engine = self.engine.clone();
        settle(&self.host, async move { engine.unschedule(&name).await }, |_, found| found.into())
    }

    pub fn schedules(&self) -> Result<JsValue, JsValue> {
        let engine = self.engine.clone();
        settle(&self.host, async move { engine.schedules().await }, |_, list| {
            list.iter().map(convert::schedule).collect::<js_sys::Array>().into()
        })
    }

    pub fn run_schedules(&self, stop: &Stop, standby: bool) -> Result<JsValue, JsValue> {
        let (engine, token) = (self.engine.clone(), stop.token.clone());
        let operation = async move { engine.run_schedules(&token, standby).await };
        settle(&self.host, operation, |_, ()| JsValue::UNDEFINED)
    }

    pub fn transaction(&self) -> Result<Transaction, JsValue> {
        Ok(Transaction::new(self.try_sync(self.engine.transaction())?, self.host.clone()))
    }

    pub fn close(&self) -> Result<JsValue, JsValue> {
        let engine = self.engine.clone();
        let operation = async move {
            engine.close().await;
            Ok(())
        };
        settle(&self.host, operation, |_, ()| JsValue::UNDEFINED)
    }
}

/// Milliseconds of a duration string; `NaN` if it is none.
#[wasm_bindgen]
pub fn parse_duration(text: &str) -> f64 {
    Duration::parse(text).map_or(f64::NAN, |span| span.as_millis() as f64)
}

/// Which argument a name is.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    Name = "name",
    Owner = "owner",
    Queue = "queue",
    Outbox = "outbox",
    WorkerId = "workerId",
}

impl Argument {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Queue => "queue",
            Self::Outbox => "outbox",
            Self::WorkerId => "workerId",
            _ => "name",
        }
    }
}

#[wasm_bindgen]
#[derive(Debug)]
pub struct Lock {
    lock: runtime::Lock<Storage, JsHost>,
    host: JsHost,
}

#[wasm_bindgen]
impl Lock {
    pub fn renew(&self, ttl: f64) -> Result<JsValue, JsValue> {
        let lock = self.lock.clone();
        let operation = async move { lock.renew(Duration::from_millis(millis(ttl))).await };
        settle(&self.host, operation, |_, renewed| renewed.into())
    }

    pub fn release(&self) -> Result<JsValue, JsValue> {
        let lock = self.lock.clone();
        settle(&self.host, async move { lock.release().await }, |_, released| released.into())
    }
}
