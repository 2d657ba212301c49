//! The job queue. Queues are names, not registered objects: a job carries all that its queue's
//! options said when it was enqueued.

pub mod ack;
pub mod cancel;
pub mod claim;
pub mod dead;
pub mod enqueue;
pub mod fail;
pub mod heartbeat;
pub mod inspect;
pub mod retry;
pub mod sweep;

use std::collections::BinaryHeap;
use std::rc::Rc;

use super::error::Error;
use super::job::{Claim, Job, JobId, Stamps};
use super::scope::Scope;
use super::time::{Duration, MILLIS_MAX};
use super::view::View;

/// What a job is stamped with where nobody says otherwise: visibility timeout 300 s, 3 attempts,
/// backoff base 5 s, dead letters kept for ever.
pub const QUEUE_STAMPS: Stamps = Stamps {
    visibility_timeout: Duration::from_secs(300),
    max_attempts: 3,
    backoff_base: Duration::from_secs(5),
    dead_letter_retention: None,
};

/// Options of a queue; what is absent is as in [`QUEUE_STAMPS`].
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueOptions {
    /// How long a claim is held; default 300 s. Negative: claims lapse at once.
    pub visibility_timeout: Option<Duration>,
    /// How often a job is handed out before it dies; default 3. Zero or less: never.
    pub max_attempts: Option<i64>,
    /// The base of the exponential backoff; default 5 s.
    pub backoff_base: Option<Duration>,
    /// How long dead jobs are kept before a sweep deletes them; default for ever.
    pub dead_letter_retention: Option<Duration>,
}

impl QueueOptions {
    /// The stamps that jobs enqueued under these options get.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `max_attempts` is not a safe integer.
    pub fn stamps(&self) -> Result<Stamps, Error> {
        check_count("maxAttempts", self.max_attempts)?;
        Ok(Stamps {
            visibility_timeout: self.visibility_timeout.unwrap_or(QUEUE_STAMPS.visibility_timeout),
            max_attempts: self.max_attempts.unwrap_or(QUEUE_STAMPS.max_attempts),
            backoff_base: self.backoff_base.unwrap_or(QUEUE_STAMPS.backoff_base),
            dead_letter_retention: self.dead_letter_retention.or(QUEUE_STAMPS.dead_letter_retention),
        })
    }
}

/// Checks a count: a safe integer, ±(2^53 − 1).
pub(crate) fn check_count(argument: &'static str, count: Option<i64>) -> Result<(), Error> {
    match count {
        Some(n) if n.unsigned_abs() > MILLIS_MAX.unsigned_abs() => Err(Error::argument(argument, n, "a safe integer")),
        _ => Ok(()),
    }
}

/// Ids in ascending order, without repetitions.
pub fn each_once(ids: &[JobId]) -> Vec<JobId> {
    // By a heap, which is a fraction of the code of a sort.
    let mut ids = BinaryHeap::from(ids.to_vec()).into_sorted_vec();
    ids.dedup();
    ids
}

/// The question behind every operation of a claim.
fn claimed(claim: &Claim) -> Scope {
    Scope::Job { queue: claim.queue.clone(), id: claim.id, payload: false }
}

/// The job, if this very claim still holds it. A late worker gets `None`, even when the next holder
/// goes by the same worker id.
fn take_held<P>(view: &mut View<P>, claim: &Claim) -> Option<Rc<Job>> {
    let now = view.now();
    view.jobs.pop().filter(|job| job.claims == claim.number && job.is_leased(now))
}
