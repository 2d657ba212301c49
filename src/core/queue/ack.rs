//! Saying that the work is done. Completed work leaves no row.

use crate::core::job::{Claim, JobId};
use crate::core::name::Name;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::view::View;

use super::{claimed, take_held};

/// Removes the job, if this very claim still holds it.
#[derive(Debug)]
pub struct Ack {
    /// The claim.
    pub claim: Claim,
    /// Outcome: whether it landed.
    pub landed: bool,
}

impl Ack {
    /// Settles `claim`.
    pub const fn new(claim: Claim) -> Self {
        Self { claim, landed: false }
    }
}

impl<P> Script<P> for Ack {
    fn opening(&mut self) -> Option<Scope> {
        Some(claimed(&self.claim))
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.landed = take_held(view, &self.claim).is_some();
        if self.landed {
            view.remove(&self.claim.queue, self.claim.id);
        }
        Step::Done
    }
}

/// Removes those of the given jobs whose lease is running, whoever holds them.
#[derive(Debug)]
pub struct AckBatch {
    /// The queue.
    pub queue: Name,
    /// The jobs, ascending, each once.
    pub ids: Vec<JobId>,
    /// Outcome: how many.
    pub acked: usize,
}

impl AckBatch {
    /// Acks `ids` of `queue`: ascending, each once (see [`each_once`](super::each_once)).
    pub const fn new(queue: Name, ids: Vec<JobId>) -> Self {
        Self { queue, ids, acked: 0 }
    }
}

impl<P> Script<P> for AckBatch {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Jobs { queue: self.queue.clone(), ids: std::mem::take(&mut self.ids) })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        while let Some(job) = view.jobs.pop() {
            if job.is_leased(view.now()) {
                view.remove(&self.queue, job.id);
                self.acked = self.acked.saturating_add(1);
            }
        }
        Step::Done
    }
}
