//! A queue's exports; an outbox's too.

use std::cell::RefCell;

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::convert::{self, ids, span};
use super::host::{JsHost, millis};
use super::perform::{perform, settle};
use super::{Engine, Outcome, Stop, Storage};
use crate::core::queue::ack::{Ack, AckBatch};
use crate::core::queue::cancel::Cancel;
use crate::core::queue::claim::ClaimJobs;
use crate::core::queue::dead::{Purge, Redrive};
use crate::core::queue::enqueue::Enqueue;
use crate::core::queue::fail::Fail;
use crate::core::queue::heartbeat::Heartbeat;
use crate::core::queue::inspect::{Get, LIST_LIMIT, List, Stats};
use crate::core::queue::retry::Retry;
use crate::core::queue::sweep::Sweep;
use crate::core::{Claim, Duration, Name};
use crate::runtime;

#[wasm_bindgen]
#[derive(Debug)]
pub struct Queue {
    queue: runtime::Queue<Storage, JsHost>,
    engine: Engine,
    /// Who claims: set apart, because workers claim again and again under one name.
    worker: RefCell<Option<Name>>,
}

impl Queue {
    pub fn new(queue: runtime::Queue<Storage, JsHost>, engine: Engine) -> Self {
        Self { queue, engine, worker: RefCell::default() }
    }

    fn name(&self) -> Name {
        self.queue.name().clone()
    }

    fn claim_jobs(&self, n: usize) -> ClaimJobs<JsValue> {
        let worker = self.worker.borrow().clone();
        ClaimJobs::new(self.name(), worker.unwrap_or_else(|| self.name()), n)
    }

    fn claim(&self, id: f64, number: f64) -> Claim {
        Claim { queue: self.name(), id: convert::id(id), number: number as u64 }
    }
}

#[wasm_bindgen]
impl Queue {
    /// What its jobs say in `queue`.
    pub fn key(&self) -> String {
        self.queue.name().to_string()
    }

    pub fn enqueue(
        &self,
        payload: JsValue,
        delay: f64,
        run_at: f64,
        priority: f64,
        max_attempts: f64,
        expires: f64,
    ) -> Outcome {
        let options = convert::enqueue_options(delay, run_at, priority, max_attempts, expires);
        let script = Enqueue::new(self.name(), self.queue.stamps(), options, payload);
        perform(&self.engine, script, |_, script| (script.id as f64).into())
    }

    /// Whom the next claims are for.
    pub fn set_worker(&self, worker: &str) -> Result<(), JsValue> {
        let worker = Name::local("workerId", worker);
        self.worker.replace(Some(worker.map_err(|error| convert::error(self.engine.host(), &error))?));
        Ok(())
    }

    pub fn claim_one(&self) -> Outcome {
        perform(&self.engine, Ok(self.claim_jobs(1)), |host, mut script| {
            script.claimed.pop().map_or(JsValue::NULL, |job| convert::claimed(host, job))
        })
    }

    pub fn claim_batch(&self, n: f64) -> Outcome {
        perform(&self.engine, Ok(self.claim_jobs(n as usize)), |host, script| {
            convert::array(script.claimed.into_iter().map(|job| convert::claimed(host, job)))
        })
    }

    pub fn ack(&self, id: f64, number: f64) -> Outcome {
        perform(&self.engine, Ok(Ack::new(self.claim(id, number))), |_, script| script.landed.into())
    }

    pub fn retry(&self, id: f64, number: f64, error: Option<String>, delay: f64) -> Outcome {
        let bits = self.engine.random_bits();
        let script = Retry::new(self.claim(id, number), error.as_deref(), span(delay), bits);
        perform(&self.engine, Ok(script), |_, script| script.landed.into())
    }

    pub fn fail(&self, id: f64, number: f64, error: Option<String>) -> Outcome {
        let script = Fail::new(self.claim(id, number), error.as_deref());
        perform(&self.engine, Ok(script), |_, script| script.landed.into())
    }

    pub fn heartbeat(&self, id: f64, number: f64, extend: f64) -> Outcome {
        let script = Heartbeat::new(self.claim(id, number), Duration::from_millis(millis(extend)));
        perform(&self.engine, Ok(script), |_, script| script.landed.into())
    }

    pub fn ack_batch(&self, given: Vec<f64>) -> Outcome {
        let script = AckBatch::new(self.name(), &ids(&given));
        perform(&self.engine, Ok(script), |_, script| convert::size(script.acked))
    }

    pub fn cancel(&self, id: f64) -> Outcome {
        let script = Cancel::new(self.name(), convert::id(id));
        perform(&self.engine, Ok(script), |_, script| script.cancelled.into())
    }

    pub fn get(&self, id: f64) -> Outcome {
        let script = Get::new(self.name(), convert::id(id));
        perform(&self.engine, Ok(script), |host, script| {
            script.found.map_or(JsValue::NULL, |found| convert::job(host, found))
        })
    }

    pub fn list(&self, state: &str, after: f64, limit: f64) -> Outcome {
        let limit = if limit.is_nan() { LIST_LIMIT } else { limit as usize };
        let script = List::new(self.name(), convert::state(state), convert::id(after), limit);
        perform(&self.engine, Ok(script), |host, script| {
            convert::array(script.page.into_iter().map(|found| convert::job(host, found)))
        })
    }

    pub fn stats(&self) -> Outcome {
        perform(&self.engine, Ok(Stats::new(self.name())), |_, script| convert::stats(&script.tally))
    }

    pub fn redrive(&self, given: Option<Vec<f64>>) -> Outcome {
        let script = Redrive::new(self.name(), given.as_deref().map(ids).as_deref());
        perform(&self.engine, Ok(script), |_, script| convert::size(script.redriven))
    }

    pub fn purge(&self, given: Option<Vec<f64>>) -> Outcome {
        let script = Purge::new(self.name(), given.as_deref().map(ids).as_deref());
        perform(&self.engine, Ok(script), |_, script| convert::size(script.purged))
    }

    pub fn sweep_expired(&self) -> Outcome {
        perform(&self.engine, Ok(Sweep::new(self.name())), |_, script| convert::size(script.swept))
    }

    pub fn wait(&self, stop: &Stop) -> Outcome {
        let (queue, engine, token) = (self.queue.clone(), self.engine.clone(), stop.token.clone());
        settle(Box::pin(async move { convert::outcome(engine.host(), queue.wait(&token).await.map(JsValue::from)) }))
    }

    /// `delivery` never throws: its promise resolves to the error's text, or to `undefined`.
    pub fn run_once(&self, worker: String, delivery: Function) -> Outcome {
        let (queue, engine) = (self.queue.clone(), self.engine.clone());
        settle(Box::pin(async move {
            let host = engine.host();
            let deliver = async |job| {
                let called = delivery.call1(&JsValue::UNDEFINED, &convert::claimed(host, job));
                let outcome = match called {
                    Ok(promise) => JsFuture::from(Promise::resolve(&promise)).await,
                    Err(error) => Err(error),
                };
                match outcome {
                    Ok(text) => text.as_string().map_or(Ok(()), Err),
                    Err(_) => Err("the delivery failed".into()),
                }
            };
            convert::outcome(host, queue.run_once(&worker, deliver).await.map(JsValue::from))
        }))
    }
}
