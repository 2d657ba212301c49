//! A store's exports.

use wasm_bindgen::prelude::*;

use super::convert::{self, count, span};
use super::host::{HostObject, JsHost, millis};
use super::perform::{perform, settle};
use super::queue::Queue;
use super::transaction::Transaction;
use super::{Engine, Memory, Outcome, Stop};
use crate::core::lock::{Release, Renew, TryLock};
use crate::core::queue::QueueOptions;
use crate::core::schedule::{ListSchedules, Unschedule, Upsert};
use crate::core::{Duration, Error, Name, every};

#[wasm_bindgen]
#[derive(Debug)]
pub struct Store {
    engine: Engine,
}

impl Store {
    fn refuse<T>(&self, result: Result<T, Error>) -> Result<T, JsValue> {
        result.map_err(|error| convert::error(self.engine.host(), &error))
    }
}

#[wasm_bindgen]
impl Store {
    /// `seed` is `NaN` where there is none.
    #[wasm_bindgen(constructor)]
    pub fn new(memory: &Memory, host: HostObject, seed: f64) -> Self {
        let seed = count(seed).map(|seed| seed as u64);
        Self { engine: Engine::new(memory.store.clone(), JsHost::new(host), seed) }
    }

    /// Checks a shared name ahead of arguments that come after it.
    pub fn check_shared(&self, name: &str, argument: Argument) -> Result<(), JsValue> {
        self.refuse(Name::shared(argument.as_str(), name).map(drop))
    }

    /// Checks a local name ahead of arguments that come after it.
    pub fn check_local(&self, name: &str, argument: Argument) -> Result<(), JsValue> {
        self.refuse(Name::local(argument.as_str(), name).map(drop))
    }

    /// Checks a schedule's spec ahead of copying its payload.
    pub fn check_spec(&self, spec: &str) -> Result<(), JsValue> {
        self.refuse(every::parse(spec).map(drop))
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
        let queue = self.refuse(self.engine.queue(name, options))?;
        Ok(Queue::new(queue, self.engine.clone()))
    }

    pub fn outbox(&self, name: &str) -> Result<Queue, JsValue> {
        let outbox = self.refuse(self.engine.outbox(name))?;
        Ok(Queue::new((*outbox).clone(), self.engine.clone()))
    }

    pub fn try_lock(&self, name: &str, owner: &str, ttl: f64) -> Outcome {
        let (engine, script) = (self.engine.clone(), TryLock::new(name, owner, Duration::from_millis(millis(ttl))));
        perform(
            &self.engine,
            script,
            move |_, TryLock { name, owner, granted, .. }| {
                if granted { Lock { engine, name, owner }.into() } else { JsValue::NULL }
            },
        )
    }

    #[allow(clippy::too_many_arguments)]
    pub fn schedule(
        &self,
        name: &str,
        spec: &str,
        queue: &str,
        payload: JsValue,
        priority: f64,
        max_attempts: f64,
        expires: f64,
    ) -> Outcome {
        let options = convert::schedule_options(priority, max_attempts, expires);
        let script = Upsert::new(name, spec, queue, payload, options);
        // A refusal comes back as the error that it is: the JavaScript side throws it.
        perform(&self.engine, script, |host, upsert| {
            upsert.registered.map_or_else(|error| convert::error(host, &error), |_| JsValue::UNDEFINED)
        })
    }

    pub fn unschedule(&self, name: &str) -> Outcome {
        perform(&self.engine, Unschedule::new(name), |_, script| script.found.into())
    }

    pub fn schedules(&self) -> Outcome {
        perform(&self.engine, Ok(ListSchedules::default()), |_, script| {
            convert::array(script.schedules.iter().map(|row| convert::schedule(row)))
        })
    }

    pub fn run_schedules(&self, stop: &Stop, standby: bool) -> Outcome {
        let (engine, token) = (self.engine.clone(), stop.token.clone());
        settle(Box::pin(async move {
            let result = engine.run_schedules(&token, standby).await;
            convert::outcome(engine.host(), result.map(|()| JsValue::UNDEFINED))
        }))
    }

    pub fn transaction(&self) -> Result<Transaction, JsValue> {
        Ok(Transaction::new(self.refuse(self.engine.transaction())?, self.engine.clone()))
    }

    pub fn close(&self) -> Outcome {
        let engine = self.engine.clone();
        settle(Box::pin(async move {
            engine.close().await;
            Ok(JsValue::UNDEFINED)
        }))
    }
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
    engine: Engine,
    name: Name,
    owner: Name,
}

#[wasm_bindgen]
impl Lock {
    pub fn renew(&self, ttl: f64) -> Outcome {
        let script = Renew::new(self.name.clone(), self.owner.clone(), Duration::from_millis(millis(ttl)));
        perform(&self.engine, script, |_, script| script.renewed.into())
    }

    pub fn release(&self) -> Outcome {
        let script = Release::new(self.name.clone(), self.owner.clone());
        perform(&self.engine, Ok(script), |_, script| script.released.into())
    }
}
