//! A queue's exports; an outbox's too.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::convert::{self, ids, span};
use super::host::{JsHost, millis};
use super::keyed::{Handle, Transaction};
use super::perform::{perform, perform_often, settle};
use super::storage::AnyStore;
use super::{Engine, Stop, crossing};
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
use crate::core::{Claim, Duration, Error, Name, State};
use crate::runtime;

/// What a queue is asked for. Arguments that are not named are not looked at.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// For the worker that was set, `extra` at the most.
    ClaimBatch,
    /// Of the claim that `id` and `number` name; `text` is the error, `extra` the delay.
    Retry,
    /// Of a claim; `text` is the error.
    Fail,
    /// Of a claim; `extra` is how long.
    Heartbeat,
    /// `given` ids, ascending, each once; so in what follows.
    AckBatch,
    /// `id`.
    Cancel,
    /// `id`.
    Get,
    /// `text` is the state, or none; ids after `id`; `extra` at the most.
    List,
    /// Nothing.
    Stats,
    /// `given` ids, or all.
    Redrive,
    /// `given` ids, or all.
    Purge,
    /// Nothing.
    SweepExpired,
}

#[wasm_bindgen]
#[derive(Debug)]
pub struct Queue {
    queue: runtime::Queue<AnyStore, JsHost>,
    engine: Engine,
    /// Who claims: set apart, because workers claim again and again under one name.
    worker: RefCell<Option<Name>>,
}

impl Queue {
    pub fn new(queue: runtime::Queue<AnyStore, JsHost>, engine: Engine) -> Self {
        Self { queue, engine, worker: RefCell::default() }
    }

    fn name(&self) -> Name {
        self.queue.name().clone()
    }

    fn claim_jobs(&self, n: usize) -> ClaimJobs<JsValue> {
        let worker = self.worker.borrow().clone();
        ClaimJobs::new(self.name(), worker.unwrap_or_else(|| self.name()), n)
    }

    fn enqueue_in(&self, transaction: Transaction, script: Result<Enqueue<JsValue>, Error>) -> JsValue {
        let engine = self.engine.clone();
        settle(Box::pin(async move {
            let enqueued = match script {
                Ok(mut script) => engine.run_in(transaction, &mut script).await.map(|()| script.id),
                Err(error) => Err(error),
            };
            convert::outcome(engine.host(), enqueued.map(|id| (id as f64).into()))
        }))
    }

    fn claim(&self, id: f64, number: f64) -> Claim {
        Claim { queue: self.name(), id: convert::id(id), number: number as u64 }
    }
}

#[wasm_bindgen]
impl Queue {
    /// What its jobs say in `queue`.
    pub fn key(&self) -> JsValue {
        JsValue::from_str(self.queue.name())
    }

    /// With `transaction` in one that is the caller's own; that resolves while it is still under way.
    #[allow(clippy::too_many_arguments)]
    pub fn enqueue(
        &self,
        transaction: Option<Handle>,
        payload: JsValue,
        delay: f64,
        run_at: f64,
        priority: f64,
        max_attempts: f64,
        expires: f64,
    ) -> JsValue {
        let options = convert::enqueue_options(delay, run_at, priority, max_attempts, expires);
        let script = Enqueue::new(self.name(), Rc::clone(self.queue.stamps()), options, payload);
        match transaction {
            None => perform_often(&self.engine, script, |_, script| (script.id as f64).into()),
            Some(transaction) => self.enqueue_in(Transaction::new(transaction), script),
        }
    }

    /// Whom the next claims are for.
    pub fn set_worker(&self, worker: &str) -> JsValue {
        let worker = Name::local("workerId", worker).map(|worker| {
            self.worker.replace(Some(worker));
            JsValue::UNDEFINED
        });
        crossing(convert::outcome(self.engine.host(), worker))
    }

    pub fn claim_one(&self) -> JsValue {
        perform_often(&self.engine, Ok(self.claim_jobs(1)), |host, script| {
            script.claimed.pop().map_or(JsValue::NULL, |job| convert::claimed(host, job))
        })
    }

    pub fn ack(&self, id: f64, number: f64) -> JsValue {
        perform_often(&self.engine, Ok(Ack::new(self.claim(id, number))), |_, script| script.landed.into())
    }

    /// Everything else that is one script: see [`Op`] for what each takes. One export, because each costs glue, a
    /// wrapper that engines compile at the start, and the code that turns arguments into values.
    pub fn call(
        &self,
        op: Op,
        id: f64,
        number: f64,
        extra: f64,
        text: Option<String>,
        given: Option<Vec<f64>>,
    ) -> JsValue {
        let (engine, name, text) = (&self.engine, self.name(), text.as_deref());
        let claim = || self.claim(id, number);
        let ids = given.map(|given| ids(&given));
        match op {
            Op::ClaimBatch => perform(engine, Ok(self.claim_jobs(extra as usize)), |host, script| {
                convert::claimed_batch(host, &mut script.claimed)
            }),
            Op::Retry => {
                let script = Retry::new(claim(), text, span(extra), engine.random_bits());
                perform(engine, Ok(script), |_, script| script.landed.into())
            }
            Op::Fail => perform(engine, Ok(Fail::new(claim(), text)), |_, script| script.landed.into()),
            Op::Heartbeat => {
                let script = Heartbeat::new(claim(), Duration::from_millis(millis(extra)));
                perform(engine, Ok(script), |_, script| script.landed.into())
            }
            Op::AckBatch => {
                let script = AckBatch::new(name, ids.unwrap_or_default());
                perform(engine, Ok(script), |_, script| convert::size(script.acked))
            }
            Op::Cancel => perform(engine, Ok(Cancel::new(name, convert::id(id))), |_, script| script.cancelled.into()),
            Op::Get => perform(engine, Ok(Get::new(name, convert::id(id))), |host, script| {
                script.found.take().map_or(JsValue::NULL, |found| convert::job(host, found))
            }),
            Op::List => {
                let limit = if extra.is_nan() { LIST_LIMIT } else { extra as usize };
                let script = List::new(name, text.and_then(State::named), convert::id(id), limit);
                perform(engine, Ok(script), |host, script| {
                    convert::array(script.page.drain(..).map(|found| convert::job(host, found)))
                })
            }
            Op::Stats => perform(engine, Ok(Stats::new(name)), |_, script| convert::stats(&script.tally)),
            Op::Redrive => {
                let script = Redrive::new(name, ids);
                perform(engine, Ok(script), |_, script| convert::size(script.redriven))
            }
            Op::Purge => {
                let script = Purge::new(name, ids);
                perform(engine, Ok(script), |_, script| convert::size(script.purged))
            }
            Op::SweepExpired => perform(engine, Ok(Sweep::new(name)), |_, script| convert::size(script.swept)),
        }
    }

    pub fn wait(&self, stop: &Stop) -> JsValue {
        let (queue, engine, token) = (self.queue.clone(), self.engine.clone(), stop.token.clone());
        settle(Box::pin(async move {
            convert::outcome(engine.host(), queue.wait_without_turn(&token).await.map(JsValue::from))
        }))
    }

    /// `delivery` never throws: its promise resolves to the error's text, or to `undefined`.
    pub fn run_once(&self, worker: String, delivery: Function) -> JsValue {
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
