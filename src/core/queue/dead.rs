//! Dead letters: putting them back, and deleting them.

use std::rc::Rc;

use crate::core::job::{JobId, State};
use crate::core::name::Name;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::view::View;

/// Which dead jobs of a queue: the given ones, or all.
fn dead_letters(queue: &Name, ids: &mut Option<Vec<JobId>>) -> Scope {
    match ids.take() {
        Some(ids) => Scope::Jobs { queue: queue.clone(), ids },
        None => Scope::Dead { queue: queue.clone() },
    }
}

/// Puts dead jobs back to pending: ready now, no attempts used, and an expiry that has passed removed.
#[derive(Debug)]
pub struct Redrive {
    /// The queue.
    pub queue: Name,
    /// Which, ascending, each once; `None` is all.
    pub ids: Option<Vec<JobId>>,
    /// Outcome: how many.
    pub redriven: usize,
}

impl Redrive {
    /// Redrives `ids` of `queue` (ascending, each once), or all.
    pub const fn new(queue: Name, ids: Option<Vec<JobId>>) -> Self {
        Self { queue, ids, redriven: 0 }
    }
}

impl<P> Script<P> for Redrive {
    fn opening(&mut self) -> Option<Scope> {
        Some(dead_letters(&self.queue, &mut self.ids))
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let now = view.now();
        while let Some(mut row) = view.jobs.pop() {
            if row.state != State::Dead {
                continue;
            }
            let job = Rc::make_mut(&mut row);
            job.make_pending(now);
            job.attempts = 0;
            job.expires_at = job.expires_at.filter(|end| *end > now);
            view.update(row);
            self.redriven = self.redriven.saturating_add(1);
        }
        if self.redriven > 0 {
            view.wake_queue(&self.queue);
        }
        Step::Done
    }
}

/// Deletes dead jobs.
#[derive(Debug)]
pub struct Purge {
    /// The queue.
    pub queue: Name,
    /// Which, ascending, each once; `None` is all.
    pub ids: Option<Vec<JobId>>,
    /// Outcome: how many.
    pub purged: usize,
}

impl Purge {
    /// Purges `ids` of `queue` (ascending, each once), or all.
    pub const fn new(queue: Name, ids: Option<Vec<JobId>>) -> Self {
        Self { queue, ids, purged: 0 }
    }
}

impl<P> Script<P> for Purge {
    fn opening(&mut self) -> Option<Scope> {
        Some(dead_letters(&self.queue, &mut self.ids))
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        while let Some(job) = view.jobs.pop() {
            if job.state == State::Dead {
                view.remove(&self.queue, job.id);
                self.purged = self.purged.saturating_add(1);
            }
        }
        Step::Done
    }
}
