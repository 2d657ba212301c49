//! Several enqueues, staged one by one and applied at commit, all or none.
//!
//! Staging takes an id for good (a transaction that rolls back leaves a gap) and reads the clock;
//! nothing else reaches the storage before the commit, so an open transaction blocks nobody.

use std::rc::Rc;

use super::job::{Job, Stamps};
use super::name::Name;
use super::queue::enqueue::EnqueueOptions;
use super::script::{Script, Step};
use super::time::Duration;
use super::view::View;

/// A job that waits for its transaction to commit.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The row as it will be.
    pub job: Rc<Job>,
    /// [`Meta::moved_back`](super::clock::Meta::moved_back) when it was staged.
    moved_back: Duration,
}

/// Stages one enqueue.
#[derive(Debug)]
pub struct Stage {
    /// The queue.
    pub queue: Name,
    /// What its jobs are stamped with.
    pub stamps: Stamps,
    /// The job's own options, checked.
    pub options: EnqueueOptions,
    /// Outcome.
    pub staged: Option<Staged>,
}

impl<P> Script<P> for Stage {
    fn step(&mut self, view: &mut View<P>) -> Step {
        let id = view.take_id();
        let job = self.options.draft(id, self.queue.clone(), self.stamps, view.now());
        self.staged = Some(Staged { job: Rc::new(job), moved_back: view.meta.moved_back });
        Step::Done
    }
}

/// Applies what was staged.
#[derive(Debug)]
pub struct Commit<P> {
    /// The jobs with their payloads, in the order in which they were staged; taken by the script.
    pub staged: Vec<(Staged, P)>,
}

impl<P> Script<P> for Commit<P> {
    fn step(&mut self, view: &mut View<P>) -> Step {
        let moved_back = view.meta.moved_back.as_millis();
        for (Staged { mut job, moved_back: then }, payload) in self.staged.drain(..) {
            // A clock that was corrected since moved everybody else's deadlines: these go along.
            let step = Duration::from_millis(moved_back.saturating_sub(then.as_millis()));
            if step.is_positive() {
                Rc::make_mut(&mut job).move_back(step);
            }
            view.insert(job, payload);
        }
        Step::Done
    }
}
