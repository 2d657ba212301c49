//! Values into JavaScript's, and back.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use js_sys::Array;
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
    let array = Array::new();
    for item in items {
        array.push(&item);
    }
    array.into()
}

fn or_null(n: Option<i64>) -> JsValue {
    n.map_or(JsValue::NULL, |n| (n as f64).into())
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
    host.claimed(payload, columns(&job).as_ptr() as usize)
}

pub fn claimed_batch(host: &JsHost, claimed: &mut Vec<ClaimedJob<JsValue>>) -> JsValue {
    let jobs = Array::new();
    for ClaimedJob { job, payload } in claimed.drain(..) {
        host.add_claimed(&jobs, payload, columns(&job).as_ptr() as usize);
    }
    jobs.into()
}

fn columns(job: &Job) -> [f64; 13] {
    [
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
        retention(job),
    ]
}

/// Made of an array: with twenty parameters it would cost every start a wrapper, and jobs are read seldom.
pub fn job(host: &JsHost, (job, payload): (Rc<Job>, JsValue)) -> JsValue {
    let text = |text: Option<&str>| text.map_or(JsValue::NULL, JsValue::from_str);
    let number = |n: i64| or_null(Some(n));
    let at = |at: Option<Timestamp>| or_null(at.map(|at| at.as_millis()));
    let span = |span: Option<Duration>| or_null(span.map(|span| span.as_millis()));
    let columns = [
        payload,
        JsValue::from(job.id as f64),
        text(Some(&job.queue)),
        text(Some(job.state.as_str())),
        number(job.priority),
        at(Some(job.run_at)),
        number(job.attempts),
        number(job.stamps.max_attempts),
        text(job.worker_id.as_deref()),
        at(job.claimed_at),
        at(job.claim_expires_at),
        at(Some(job.created_at)),
        at(job.expires_at),
        span(Some(job.stamps.visibility_timeout)),
        span(Some(job.stamps.backoff_base)),
        span(job.stamps.dead_letter_retention),
        text(job.last_error.as_deref()),
        at(job.died_at),
    ];
    host.job(&columns.iter().collect())
}

// Records go as tuples, since property names would bring a cache of strings along, and all numbers as doubles: a larger
// integer is a BigInt, which costs every start a wrapper for its import.

/// `[pending, ready, processing, dead, nextDeadline]`
pub fn stats(tally: &Tally) -> JsValue {
    let Tally { pending, ready, processing, dead, next_deadline } = *tally;
    let [pending, ready, processing, dead] = [pending, ready, processing, dead].map(|n| n as f64);
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

/// What a storage or a clock threw. A value may go from thread to thread, as errors must, where there are no threads:
/// with atomics this does not compile.
struct Thrown(JsValue);

// For a person, the other side has more to say.
impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("thrown")
    }
}

impl fmt::Debug for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Thrown {}

fn failure(message: &str, cause: JsValue) -> Error {
    Error::Storage(StoreError { message: message.into(), cause: Some(Arc::new(Thrown(cause))) })
}

/// What an adapter rejected with, or threw: an error of the package's own already.
pub fn storage_error(cause: JsValue) -> Error {
    failure("the storage failed", cause)
}

/// The user's clock threw, or told no time.
pub fn clock_error(cause: JsValue) -> Error {
    failure("the clock failed", cause)
}

pub fn outcome(host: &JsHost, result: Result<JsValue, Error>) -> Outcome {
    result.map_err(|cause| error(host, &cause))
}

pub fn error(host: &JsHost, error: &Error) -> JsValue {
    let cause = match error {
        Error::Storage(StoreError { cause: Some(cause), .. }) => {
            cause.downcast_ref::<Thrown>().map(|thrown| thrown.0.clone())
        }
        _ => None,
    };
    host.error(error.code().into(), error.to_string().into(), cause.unwrap_or(JsValue::UNDEFINED))
}
