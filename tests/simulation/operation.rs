//! What contexts ask of the engine, and what they may be answered.

use std::rc::Rc;

use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::schedule::ScheduleOptions;
use alkstore::core::{Claim, Duration, Job, JobId, Name, Stamps, State, Tally, Timestamp};

/// A call, with its arguments.
#[derive(Clone, Debug)]
pub enum Operation {
    Enqueue { queue: Name, stamps: Stamps, options: EnqueueOptions, payload: u64 },
    Claim { queue: Name, worker: &'static str, n: usize },
    Ack(Claim),
    Retry { claim: Claim, error: Option<&'static str>, delay: Option<Duration> },
    Fail { claim: Claim, error: Option<&'static str> },
    Heartbeat { claim: Claim, extend: Duration },
    AckBatch { queue: Name, ids: Vec<JobId> },
    Cancel { queue: Name, id: JobId },
    Redrive { queue: Name, ids: Option<Vec<JobId>> },
    Purge { queue: Name, ids: Option<Vec<JobId>> },
    Sweep { queue: Name },
    Get { queue: Name, id: JobId },
    List { queue: Name, state: Option<State> },
    Stats { queue: Name },
    TryLock { name: &'static str, owner: String, ttl: Duration },
    Renew { name: &'static str, owner: String, ttl: Duration },
    Release { name: &'static str, owner: String },
    Schedule { name: &'static str, spec: &'static str, queue: &'static str, payload: u64, options: ScheduleOptions },
    Unschedule { name: &'static str },
    Schedules,
    Stage { queue: Name, stamps: Stamps, options: EnqueueOptions, payload: u64 },
    Commit { staged: Vec<JobId> },
}

impl Operation {
    /// The claim that it settles or extends.
    pub const fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Ack(claim) | Self::Retry { claim, .. } | Self::Fail { claim, .. } | Self::Heartbeat { claim, .. } => {
                Some(claim)
            }
            _ => None,
        }
    }
}

/// What a call is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Nothing but that it was done.
    Done,
    Id(JobId),
    /// Jobs with their payloads: claimed, listed, or the one that was asked for.
    Jobs(Vec<(Rc<Job>, u64)>),
    Landed(bool),
    Count(usize),
    Tally(Tally),
    Boundary(Timestamp),
    /// Names with their next boundaries.
    Boundaries(Vec<(Name, Timestamp)>),
}
