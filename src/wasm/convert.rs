//! Values into JavaScript's, and back.

use std::rc::Rc;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::Outcome;
use super::host::{JsHost, millis};
use crate::core::queue::enqueue::EnqueueOptions;
use crate::core::queue::inspect::Tally;
use crate::core::schedule::ScheduleOptions;
use crate::core::{ClaimedJob, Duration, Error, Job, JobId, ScheduleRow, StoreError, Timestamp};

/// `NaN` is absent.
pub fn count(n: f64) -> Option<i64> {
    (!n.is_nan()).then(|| millis(n))
}

/// `NaN` is absent.
pub fn span(ms: f64) -> Option<Duration> {
    count(ms).map(Duration::from_millis)
}

/// An id as users give it; what is no id matches no job.
pub fn id(id: f64) -> JobId {
    id as JobId
}

pub fn ids(given: &[f64]) -> Vec<JobId> {
    given.iter().copied().map(id).collect()
}

pub fn size(n: usize) -> JsValue {
    (n as f64).into()
}

pub fn array(items: impl Iterator<Item = JsValue>) -> JsValue {
    let array = js_sys::Array::new();
    for item in items {
        array.push(&item);
    }
    array.into()
}

pub fn enqueue_options(delay: f64, run_at: f64, priority: f64, max_attempts: f64, expires: f64) -> EnqueueOptions {
    EnqueueOptions {
        delay: span(delay),
        run_at: count(run_at).map(Timestamp::from_millis),
        priority: count(priority),
        max_attempts: count(max_attempts),
        expires: span(expires),
    }
}

pub fn schedule_options(priority: f64, max_attempts: f64, expires: f64) -> ScheduleOptions {
    ScheduleOptions { priority: count(priority), max_attempts: count(max_attempts), expires: span(expires) }
}

fn instant(at: Option<Timestamp>) -> f64 {
    at.map_or(f64::NAN, |at| at.as_millis() as f64)
}

fn length(span: Duration) -> f64 {
    span.as_millis() as f64
}

fn retention(job: &Job) -> f64 {
    job.stamps.dead_letter_retention.map_or(f64::NAN, length)
}

pub fn claimed(host: &JsHost, ClaimedJob { job, payload }: ClaimedJob<JsValue>) -> JsValue {
    host.claimed(
        payload,
        job.id as f64,
        job.claims as f64,
        job.priority as f64,
        instant(Some(job.run_at)),
        job.attempts as f64,
        job.stamps.max_attempts as f64,
        instant(job.claimed_at),
        instant(job.claim_expires_at),
        instant(Some(job.created_at)),
        instant(job.expires_at),
        length(job.stamps.visibility_timeout),
        length(job.stamps.backoff_base),
        retention(&job),
    )
}

pub fn job(host: &JsHost, (job, payload): (Rc<Job>, JsValue)) -> JsValue {
    host.job(
        payload,
        job.id as f64,
        &job.queue,
        job.state.as_str(),
        job.priority as f64,
        instant(Some(job.run_at)),
        job.attempts as f64,
        job.stamps.max_attempts as f64,
        job.worker_id.as_deref(),
        instant(job.claimed_at),
        instant(job.claim_expires_at),
        instant(Some(job.created_at)),
        instant(job.expires_at),
        length(job.stamps.visibility_timeout),
        length(job.stamps.backoff_base),
        retention(&job),
        job.last_error.as_deref(),
        instant(job.died_at),
    )
}

// Records go as tuples: property names would bring a cache of strings along, and a hash map for it.

/// `[pending, ready, processing, dead, nextDeadline]`
pub fn stats(tally: &Tally) -> JsValue {
    let Tally { pending, ready, processing, dead, next_deadline } = *tally;
    record(&(pending, ready, processing, dead, next_deadline.map(|at| at.as_millis() as f64)))
}

/// `[name, spec, queue, priority, maxAttempts, expires, nextFireAt]`
pub fn schedule(row: &ScheduleRow<JsValue>) -> JsValue {
    let ScheduleOptions { priority, max_attempts, expires } = row.options;
    let (priority, max_attempts) = (priority.map(|n| n as f64), max_attempts.map(|n| n as f64));
    let next_fire_at = instant(Some(row.next_fire_at));
    record(&(&*row.name, &*row.spec, &*row.queue, priority, max_attempts, expires.map(length), next_fire_at))
}

fn record(record: &impl Serialize) -> JsValue {
    let serializer = serde_wasm_bindgen::Serializer::new().serialize_missing_as_null(true);
    record.serialize(&serializer).unwrap_or_else(JsValue::from)
}

/// The user's clock threw, or told no time.
pub fn clock_error(cause: JsValue) -> Error {
    Error::Storage(StoreError { message: "the clock failed".into(), cause: Some(Rc::new(cause)) })
}

pub fn outcome(host: &JsHost, result: Result<JsValue, Error>) -> Outcome {
    result.map_err(|cause| error(host, &cause))
}

pub fn error(host: &JsHost, error: &Error) -> JsValue {
    let cause = match error {
        Error::Storage(StoreError { cause: Some(cause), .. }) => cause.downcast_ref::<JsValue>().cloned(),
        _ => None,
    };
    host.error(error.code(), &error.to_string(), &cause.unwrap_or(JsValue::UNDEFINED))
}
