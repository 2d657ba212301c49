//! What becomes of a job.

use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::{Duration, Handling, Job, JobId, Name, Stamps, State, Timestamp};

use crate::weather::HOUR;

/// A new job.
pub fn draft(id: JobId, queue: &Name, stamps: Stamps, options: &EnqueueOptions, now: Timestamp) -> Job {
    Job {
        id,
        queue: queue.clone(),
        state: State::Pending,
        priority: options.priority.unwrap_or(0),
        run_at: options.delay.map_or(options.run_at.unwrap_or(now), |delay| now.plus(delay)),
        run_at_absolute: options.delay.is_none() && options.run_at.is_some(),
        attempts: 0,
        stamps: Stamps { max_attempts: options.max_attempts.unwrap_or(stamps.max_attempts), ..stamps }.into(),
        claims: 0,
        created_at: now,
        expires_at: options.expires.map(|expires| now.plus(expires)),
        handling: None,
    }
}

/// When nobody's delay or lease stands in the way any more.
pub fn free_at(job: &Job) -> Timestamp {
    match job.claim_expires_at {
        Some(end) if job.state == State::Processing => end.plus(Duration::from_millis(1)),
        _ => job.run_at,
    }
}

/// Would be claimable, if attempts were no matter.
pub fn is_due(job: &Job, now: Timestamp) -> bool {
    job.state != State::Dead && job.expires_at.is_none_or(|end| end > now) && free_at(job) <= now
}

pub fn is_leased(job: &Job, now: Timestamp) -> bool {
    job.state == State::Processing && job.claim_expires_at.is_some_and(|end| end >= now)
}

pub fn moved(job: &Job, step: Duration) -> Job {
    let back = |at: Option<Timestamp>| at.map(|at| at.minus(step));
    Job {
        run_at: if job.run_at_absolute { job.run_at } else { job.run_at.minus(step) },
        expires_at: back(job.expires_at),
        handling: job.handling.as_ref().map(|handling| {
            let handling = Handling {
                claim_expires_at: back(handling.claim_expires_at),
                purge_at: back(handling.purge_at),
                ..*handling.clone()
            };
            handling.into()
        }),
        ..job.clone()
    }
}

pub fn waiting(job: &Job, run_at: Timestamp) -> Job {
    Job { state: State::Pending, run_at, run_at_absolute: false, handling: None, ..job.clone() }
}

pub fn dead(job: &Job, error: &str, now: Timestamp) -> Job {
    Job {
        state: State::Dead,
        handling: handling(Handling {
            claimed_at: job.claimed_at,
            last_error: Some(error.into()),
            died_at: Some(now),
            purge_at: job.stamps.dead_letter_retention.map(|retention| now.plus(retention)),
            ..Handling::default()
        }),
        ..job.clone()
    }
}

/// As a row has it.
pub fn handling(handling: Handling) -> Option<Box<Handling>> {
    Some(Box::new(handling))
}

/// Equal jitter: half of the exponential is certain, half is drawn.
pub fn in_jitter(job: &Job, now: Timestamp, run_at: Timestamp) -> bool {
    let cap = (job.stamps.backoff_base.as_millis() << (job.attempts - 1).min(20)).min(HOUR);
    (cap / 2..=cap).contains(&run_at.since(now).as_millis())
}
