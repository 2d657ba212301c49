//! A queue's exports; an outbox's too.

use js_sys::{Array, Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::convert::{self, span};
use super::host::{JsHost, millis};
use super::settle::settle;
use super::{Stop, Storage};
use crate::core::{Claim, Duration};
use crate::runtime;

#[wasm_bindgen]
#[derive(Debug)]
pub struct Queue {
    queue: runtime::Queue<Storage, JsHost>,
    host: JsHost,
}

impl Queue {
    pub fn new(queue: runtime::Queue<Storage, JsHost>, host: JsHost) -> Self {
        Self { queue, host }
    }

    fn claim(&self, id: f64, number: f64) -> Claim {
        self.queue.claim_of(convert::id(id), number as u64)
    }
}

#[wasm_bindgen]
impl Queue {
    pub fn enqueue(
        &self,
        payload: JsValue,
        delay: f64,
        run_at: f64,
        priority: f64,
        max_attempts: f64,
        expires: f64,
    ) -> Result<JsValue, JsValue> {
        let queue = self.queue.clone();
        let options = convert::enqueue_options(delay, run_at, priority, max_attempts, expires);
        settle(&self.host, async move { queue.enqueue(payload, &options).await }, |_, id| (id as f64).into())
    }

    pub fn claim_one(&self, worker: String) -> Result<JsValue, JsValue> {
        let queue = self.queue.clone();
        settle(&self.host, async move { queue.claim_one(&worker).await }, |host, job| {
            job.map_or(JsValue::NULL, |job| convert::claimed(host, job))
        })
    }

    pub fn claim_batch(&self, worker: String, n: f64) -> Result<JsValue, JsValue> {
        let queue = self.queue.clone();
        settle(&self.host, async move { queue.claim_batch(&worker, n as usize).await }, |host, jobs| {
            jobs.into_iter().map(|job| convert::claimed(host, job)).collect::<Array>().into()
        })
    }

    pub fn ack(&self, id: f64, number: f64) -> Result<JsValue, JsValue> {
        let (queue, claim) = (self.queue.clone(), self.claim(id, number));
        settle(&self.host, async move { queue.ack(claim).await }, |_, landed| landed.into())
    }

    pub fn retry(&self, id: f64, number: f64, error: Option<String>, delay: f64) -> Result<JsValue, JsValue> {
        let (queue, claim) = (self.queue.clone(), self.claim(id, number));
        let operation = async move { queue.retry(claim, error.as_deref(), span(delay)).await };
        settle(&self.host, operation, |_, landed| landed.into())
    }

    pub fn fail(&self, id: f64, number: f64, error: Option<String>) -> Result<JsValue, JsValue> {
        let (queue, claim) = (self.queue.clone(), self.claim(id, number));
        settle(&self.host, async move { queue.fail(claim, error.as_deref()).await }, |_, landed| landed.into())
    }

    pub fn heartbeat(&self, id: f64, number: f64, extend: f64) -> Result<JsValue, JsValue> {
        let (queue, claim) = (self.queue.clone(), self.claim(id, number));
        let operation = async move { queue.heartbeat(claim, Duration::from_millis(millis(extend))).await };
        settle(&self.host, operation, |_, landed| landed.into())
    }

    pub fn ack_batch(&self, ids: Vec<f64>) -> Result<JsValue, JsValue> {
        let queue = self.queue.clone();
        let operation = async move { queue.ack_batch(&convert::ids(&ids)).await };
        settle(&self.host, operation, |_, acked| (acked as f64).into())
    }

    pub fn cancel(&self, id: f64) -> Result<JsValue, JsValue> {
        let queue = self.queue.clone();
        settle(&self.host, async move { queue.cancel(convert::id(id)).await }, |_, cancelled| cancelled.into())
    }

    pub fn get(&self, id: f64) -> Result<JsValue, JsValue> {
        let queue = self.queue.clone();
        settle(&self.host, async move { queue.get(convert::id(id)).await }, |host, found| {
            found.map_or(JsValue::NULL, |job| convert::job(host, job))
        })
    }

    pub fn list(&self, state: &str, after: f64, limit: f64) -> Result<JsValue, JsValue> {
        let (queue, state) = (self.queue.clone(), convert::state(state));
        let operation = async move { queue.list(state, convert::id(after), limit as usize).await };
        settle(&self.host, operation, |host, page| {
            page.into_iter().map(|found| convert::job(host, found)).collect::<Array>().into()
        })
    }

    pub fn stats(&self) -> Result<JsValue, JsValue> {
        let queue = self.queue.clone();
        settle(&self.host, async move { queue.stats().await }, |_, tally| convert::stats(&tally))
    }

    pub fn redrive(&self, ids: Option<Vec<f64>>) -> Result<JsValue, JsValue> {
        let (queue, ids) = (self.queue.clone(), ids.map(|ids| convert::ids(&ids)));
        settle(&self.host, async move { queue.redrive(ids.as_deref()).await }, |_, n| (n as f64).into())
    }

    pub fn purge(&self, ids: Option<Vec<f64>>) -> Result<JsValue, JsValue> {
        let (queue, ids) = (self.queue.clone(), ids.map(|ids| convert::ids(&ids)));
        settle(&self.host, async move { queue.purge(ids.as_deref()).await }, |_, n| (n as f64).into())
    }

    pub fn sweep_expired(&self) -> Result<JsValue, JsValue> {
        let queue = self.queue.clone();
        settle(&self.host, async move { queue.sweep_expired().await }, |_, swept| (swept as f64).into())
    }

    pub fn wait(&self, stop: &Stop) -> Result<JsValue, JsValue> {
        let (queue, token) = (self.queue.clone(), stop.token.clone());
        settle(&self.host, async move { queue.wait(&token).await }, |_, ready| ready.into())
    }

    /// `delivery` never throws: its promise resolves to the error's text, or to `undefined`.
    pub fn run_once(&self, worker: String, delivery: Function) -> Result<JsValue, JsValue> {
        let (queue, host) = (self.queue.clone(), self.host.clone());
        let operation = async move {
            queue
                .run_once(&worker, |job| {
                    let job = convert::claimed(&host, job);
                    async move {
                        let outcome = match delivery.call1(&JsValue::UNDEFINED, &job) {
                            Ok(promise) => JsFuture::from(Promise::resolve(&promise)).await,
                            Err(error) => Err(error),
                        };
                        match outcome {
                            Ok(text) => text.as_string().map_or(Ok(()), Err),
                            Err(_) => Err("the delivery failed".into()),
                        }
                    }
                })
                .await
        };
        settle(&self.host, operation, |_, ran| ran.into())
    }
}
