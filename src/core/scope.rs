//! The read shapes: everything a script may ask a storage for.

use super::job::{JobId, State};
use super::name::Name;

/// A request for rows. Each names the part of the [`View`](super::View) that its answer fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One job of a queue, dead ones too → `jobs`.
    Job {
        /// Its queue.
        queue: Name,
        /// Its id.
        id: JobId,
        /// Whether its payload is wanted → `payloads`.
        payload: bool,
    },
    /// Those of the given jobs that are in the queue, each once → `jobs`.
    Jobs {
        /// Their queue.
        queue: Name,
        /// Their ids, ascending.
        ids: Vec<JobId>,
    },
    /// What a claim works on: all jobs that a claim at `now` would move to dead, and the first `n`
    /// claimable ones → `spent`, and `jobs` in claim order with their `payloads`.
    Head {
        /// The queue.
        queue: Name,
        /// How many at the most.
        n: usize,
    },
    /// What a sweep works on: expired jobs that are not dead → `jobs`; dead ones past their
    /// retention → `aged`.
    Overdue {
        /// The queue.
        queue: Name,
    },
    /// All dead jobs of a queue → `jobs`.
    Dead {
        /// The queue.
        queue: Name,
    },
    /// A page of a queue in the order of ids → `jobs`, `payloads`.
    Page {
        /// The queue.
        queue: Name,
        /// Only jobs in this state.
        state: Option<State>,
        /// Only jobs with a larger id.
        after: JobId,
        /// How many at the most.
        limit: usize,
    },
    /// How many jobs of a queue are in which state → `tally`.
    Tally {
        /// The queue.
        queue: Name,
    },
    /// When a claim of a queue next has something to do → `deadline`.
    Deadline {
        /// The queue.
        queue: Name,
    },
    /// A lock's entry → `lock`.
    Lock {
        /// Its name.
        name: Name,
    },
    /// A schedule by name → `schedules`.
    Schedule {
        /// Its name.
        name: Name,
    },
    /// All schedules, in name order → `schedules`.
    Schedules,
    /// The schedules that a tick works on, in name order: those with a boundary at or before `now`,
    /// and those whose boundary lies more than their interval ahead → `schedules`.
    DueSchedules,
    /// The earliest boundary of any schedule → `deadline`.
    NextBoundary,
}
