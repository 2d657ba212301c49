//! Taking a job back before it is done.

use crate::core::job::{JobId, State};
use crate::core::name::Name;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::view::View;

/// Removes a pending or processing job, whoever holds it. Dead ones are for [`Purge`](super::dead::Purge).
#[derive(Debug)]
pub struct Cancel {
    /// The queue.
    pub queue: Name,
    /// The job.
    pub id: JobId,
    /// Outcome: whether there was one.
    pub cancelled: bool,
}

impl Cancel {
    /// Cancels `id` of `queue`.
    pub const fn new(queue: Name, id: JobId) -> Self {
        Self { queue, id, cancelled: false }
    }
}

impl<P> Script<P> for Cancel {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Job { queue: self.queue.clone(), id: self.id, payload: false })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.cancelled = view.jobs.pop().is_some_and(|job| job.state != State::Dead);
        if self.cancelled {
            view.remove(&self.queue, self.id);
        }
        Step::Done
    }
}
