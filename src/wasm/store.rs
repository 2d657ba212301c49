//! A store's exports.

use wasm_bindgen::prelude::*;

use super::convert::{self, count, span};
use super::host::{HostObject, JsHost, millis};
use super::perform::{perform, settle};
use super::queue::Queue;
use super::storage::Storage;
use super::transaction::Transaction;
use super::{Engine, Stop, crossing};
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
    fn answer<T>(&self, result: Result<T, Error>, value: impl FnOnce(T) -> JsValue) -> JsValue {
        crossing(convert::outcome(self.engine.host(), result.map(value)))
    }
}

#[wasm_bindgen]
impl Store {
    /// `seed` is `NaN` where there is none.
    #[wasm_bindgen(constructor)]
    pub fn new(storage: &Storage, host: HostObject, seed: f64) -> Self {
        let seed = count(seed).map(|seed| seed as u64);
        Self { engine: Engine::new(storage.store.clone(), JsHost::new(host), seed) }
    }

    /// Checks one argument ahead of those that come after it.
    pub fn check(&self, argument: Argument, value: &str) -> JsValue {
        let checked = match argument {
            Argument::Name => Name::shared("name", value).map(drop),
            Argument::Queue => Name::shared("queue", value).map(drop),
            Argument::Outbox => Name::shared("outbox", value).map(drop),
            Argument::Owner => Name::local("owner", value).map(drop),
            Argument::WorkerId => Name::local("workerId", value).map(drop),
            Argument::Spec => every::parse(value).map(drop),
        };
        self.answer(checked, |()| JsValue::UNDEFINED)
    }

    pub fn queue(
        &self,
        name: &str,
        visibility_timeout: f64,
        max_attempts: f64,
        backoff_base: f64,
        dead_letter_retention: f64,
    ) -> JsValue {
        let options = QueueOptions {
            visibility_timeout: span(visibility_timeout),
            max_attempts: count(max_attempts),
            backoff_base: span(backoff_base),
            dead_letter_retention: span(dead_letter_retention),
        };
        self.answer(self.engine.queue(name, options), |queue| Queue::new(queue, self.engine.clone()).into())
    }

    pub fn outbox(&self, name: &str) -> JsValue {
        self.answer(self.engine.outbox(name), |outbox| Queue::new((*outbox).clone(), self.engine.clone()).into())
    }

    /// Asks for a lock, or for more of it, or gives it up; whether it was granted. The names of one that was granted are
    /// as they were then.
    pub fn lock(&self, op: LockOp, name: &str, owner: &str, ttl: f64) -> JsValue {
        let (engine, ttl) = (&self.engine, Duration::from_millis(millis(ttl)));
        match op {
            LockOp::Try => perform(engine, TryLock::new(name, owner, ttl), |_, script| script.granted.into()),
            LockOp::Renew => {
                let script = Renew::new(Name::internal(name), Name::internal(owner), ttl);
                perform(engine, script, |_, script| script.renewed.into())
            }
            LockOp::Release => {
                let script = Release::new(Name::internal(name), Name::internal(owner));
                perform(engine, Ok(script), |_, script| script.released.into())
            }
        }
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
    ) -> JsValue {
        let options = convert::schedule_options(priority, max_attempts, expires);
        let script = Upsert::new(name, spec, queue, payload, options);
        // A refusal of the decision's own is its result: where that is promised, the JavaScript side throws it.
        perform(&self.engine, script, |host, upsert| {
            upsert.registered.as_ref().map_or_else(|error| convert::error(host, error), |_| JsValue::UNDEFINED)
        })
    }

    pub fn unschedule(&self, name: &str) -> JsValue {
        perform(&self.engine, Unschedule::new(name), |_, script| script.found.into())
    }

    pub fn schedules(&self) -> JsValue {
        perform(&self.engine, Ok(ListSchedules::default()), |_, script| {
            convert::array(script.schedules.iter().map(|row| convert::schedule(row)))
        })
    }

    pub fn run_schedules(&self, stop: &Stop, standby: bool) -> JsValue {
        let (engine, token) = (self.engine.clone(), stop.token.clone());
        settle(Box::pin(async move {
            let result = engine.run_schedules(&token, standby).await;
            convert::outcome(engine.host(), result.map(|()| JsValue::UNDEFINED))
        }))
    }

    pub fn transaction(&self) -> JsValue {
        self.answer(self.engine.transaction(), |transaction| Transaction::new(transaction, self.engine.clone()).into())
    }

    pub fn close(&self) -> JsValue {
        let engine = self.engine.clone();
        settle(Box::pin(async move {
            engine.close().await;
            Ok(JsValue::UNDEFINED)
        }))
    }
}

/// What [`Store::check`] checks.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// A lock's or a schedule's name.
    Name,
    /// A queue's.
    Queue,
    /// An outbox's.
    Outbox,
    /// A lock's owner.
    Owner,
    /// A worker's.
    WorkerId,
    /// A schedule's spec.
    Spec,
}

/// What [`Store::lock`] does.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub enum LockOp {
    /// Takes it, unless someone else holds it.
    Try,
    /// A full new window for its holder.
    Renew,
    /// Gives it up; `ttl` is not looked at.
    Release,
}
