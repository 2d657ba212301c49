//! Reading a queue without changing it.

use std::rc::Rc;

use crate::core::deadline::Deadline;
use crate::core::job::{Job, JobId, State};
use crate::core::name::Name;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::time::Timestamp;
use crate::core::view::View;

/// How many jobs a page of [`List`] has where nobody says otherwise.
pub const LIST_LIMIT: usize = 100;

/// How many jobs of a queue are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Waiting, whether ready, delayed or expired.
    pub pending: usize,
    /// Claimable now: pending and due, or lapsed.
    pub ready: usize,
    /// Handed out, lapsed claims too.
    pub processing: usize,
    /// Dead letters.
    pub dead: usize,
    /// The next instant a job becomes claimable (now, if one is); `None` if none will.
    pub next_deadline: Option<Timestamp>,
}

/// Reads a job of a queue, dead ones too.
#[derive(Debug)]
pub struct Get<P> {
    /// The queue.
    pub queue: Name,
    /// The job.
    pub id: JobId,
    /// Outcome.
    pub found: Option<(Rc<Job>, P)>,
}

impl<P> Get<P> {
    /// Reads `id` of `queue`.
    pub const fn new(queue: Name, id: JobId) -> Self {
        Self { queue, id, found: None }
    }
}

impl<P> Script<P> for Get<P> {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Job { queue: self.queue.clone(), id: self.id, payload: true })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.found = view.jobs.pop().zip(view.payloads.pop());
        Step::Done
    }
}

/// Reads a page of a queue, in the order of ids.
#[derive(Debug)]
pub struct List<P> {
    /// The queue.
    pub queue: Name,
    /// Only jobs in this state; `None` is all.
    pub state: Option<State>,
    /// Only jobs with a larger id.
    pub after: JobId,
    /// How many at the most.
    pub limit: usize,
    /// Outcome.
    pub page: Vec<(Rc<Job>, P)>,
}

impl<P> List<P> {
    /// Reads a page of `queue`.
    pub const fn new(queue: Name, state: Option<State>, after: JobId, limit: usize) -> Self {
        Self { queue, state, after, limit, page: Vec::new() }
    }
}

impl<P> Script<P> for List<P> {
    fn opening(&mut self) -> Option<Scope> {
        let Self { state, after, limit, .. } = *self;
        Some(Scope::Page { queue: self.queue.clone(), state, after, limit })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.page = view.jobs.drain(..).zip(view.payloads.drain(..)).collect();
        Step::Done
    }
}

/// Counts a queue's jobs.
#[derive(Debug)]
pub struct Stats {
    /// The queue.
    pub queue: Name,
    /// Outcome.
    pub tally: Tally,
}

impl Stats {
    /// Counts `queue`.
    pub fn new(queue: Name) -> Self {
        Self { queue, tally: Tally::default() }
    }
}

impl<P> Script<P> for Stats {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Tally { queue: self.queue.clone() })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.tally = view.tally;
        if self.tally.ready > 0 {
            self.tally.next_deadline = Some(view.now());
        }
        Step::Done
    }
}

/// When a claim of a queue next has something to do: a job to hand out, or a spent one to bury.
#[derive(Debug)]
pub struct NextClaim {
    /// The queue.
    pub queue: Name,
    /// Outcome.
    pub deadline: Deadline,
    /// Outcome: the instant that was asked at.
    pub now: Timestamp,
}

impl NextClaim {
    /// Looks at `queue`.
    pub fn new(queue: Name) -> Self {
        Self { queue, deadline: Deadline::Idle, now: Timestamp::default() }
    }
}

impl<P> Script<P> for NextClaim {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Deadline { queue: self.queue.clone() })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.now = view.now();
        self.deadline = Deadline::from_instant(view.deadline, self.now);
        Step::Done
    }
}
