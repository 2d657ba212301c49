//! Cleaning a queue up: nothing else does it behind the user's back.

use std::rc::Rc;

use crate::core::name::Name;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::view::View;

/// Why a job died that expired.
pub const EXPIRED: &str = "expired";

/// Moves every expired job to dead, then deletes the dead ones past their retention.
#[derive(Debug)]
pub struct Sweep {
    /// The queue.
    pub queue: Name,
    /// Outcome: how many were moved plus how many were deleted.
    pub swept: usize,
}

impl Sweep {
    /// Sweeps `queue`.
    pub const fn new(queue: Name) -> Self {
        Self { queue, swept: 0 }
    }
}

impl<P> Script<P> for Sweep {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Overdue { queue: self.queue.clone() })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let now = view.now();
        let mut deleted = std::mem::take(&mut view.aged);
        while let Some(mut job) = view.jobs.pop() {
            Rc::make_mut(&mut job).bury(EXPIRED.into(), now);
            self.swept = self.swept.saturating_add(1);
            // Not kept at all: it is moved and deleted in the same sweep, and counts as both.
            if job.purge_at.is_some_and(|at| at <= now) {
                deleted.push(job.id);
            } else {
                view.update(job);
            }
        }
        self.swept = self.swept.saturating_add(deleted.len());
        for id in deleted {
            view.remove(&self.queue, id);
        }
        Step::Done
    }
}
