//! Several enqueues, staged one by one and applied at commit, all or none.
//!
//! Staging takes an id for good (a transaction that rolls back leaves a gap) and reads the clock;
//! nothing else reaches the storage before the commit, so an open transaction blocks nobody.

use std::mem::take;
use std::rc::Rc;

use super::clock::Meta;
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

impl Staged {
    /// The row as it would be if it were committed now: a clock that was corrected since it was staged
    /// moved everybody else's deadlines, and this one's go along.
    fn at(&self, meta: &Meta) -> Rc<Job> {
        let mut job = Rc::clone(&self.job);
        let step = meta.moved_back.as_millis().saturating_sub(self.moved_back.as_millis());
        if step > 0 {
            Rc::make_mut(&mut job).move_back(Duration::from_millis(step));
        }
        job
    }
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
        let job = self.options.draft(id, self.queue.clone(), self.stamps.into(), view.now());
        self.staged = Some(Staged { job: Rc::new(job), moved_back: view.meta.moved_back });
        Step::Done
    }
}

/// Applies what was staged.
#[derive(Debug)]
pub struct Commit<P> {
    /// The jobs with their payloads, in the order in which they were staged; taken by the script, unless it may be stepped
    /// once more.
    pub staged: Vec<(Staged, P)>,
}

impl<P: Clone> Script<P> for Commit<P> {
    fn step(&mut self, view: &mut View<P>) -> Step {
        let staged = if view.is_trial { self.staged.clone() } else { take(&mut self.staged) };
        for (staged, payload) in staged {
            let job = staged.at(&view.meta);
            view.insert(job, payload);
        }
        Step::Done
    }
}

/// Reads a job of the transaction's own.
#[derive(Debug)]
pub struct GetStaged {
    /// What was staged.
    pub staged: Staged,
    /// Outcome: the row as it would be if it were committed now.
    pub found: Option<Rc<Job>>,
}

impl<P> Script<P> for GetStaged {
    fn step(&mut self, view: &mut View<P>) -> Step {
        self.found = Some(self.staged.at(&view.meta));
        Step::Done
    }
}
