//! Putting a job into a queue.

use std::rc::Rc;

use crate::core::error::Error;
use crate::core::job::{Job, JobId, Stamps, State};
use crate::core::name::Name;
use crate::core::script::{Script, Step};
use crate::core::time::{Duration, Timestamp};
use crate::core::view::View;

use super::check_count;

/// Options of one job; all may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnqueueOptions {
    /// Ready this long after the enqueue. Wins over `run_at`. Negative: a ready time in the past.
    pub delay: Option<Duration>,
    /// Ready at this instant; default now. Such a time stays when a clock is corrected.
    pub run_at: Option<Timestamp>,
    /// Higher is handed out first; default 0.
    pub priority: Option<i64>,
    /// How often the job is handed out before it dies; default the queue's.
    pub max_attempts: Option<i64>,
    /// Not handed out any more this long after the enqueue; default never.
    pub expires: Option<Duration>,
}

impl EnqueueOptions {
    /// Checks the counts.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `priority` or `max_attempts` is not a safe integer.
    pub fn check(&self) -> Result<(), Error> {
        check_count("priority", self.priority)?;
        check_count("maxAttempts", self.max_attempts)
    }

    /// The row of a new job.
    #[inline]
    pub fn draft(&self, id: JobId, queue: Name, mut stamps: Rc<Stamps>, now: Timestamp) -> Job {
        if let Some(own) = self.max_attempts.filter(|own| *own != stamps.max_attempts) {
            stamps = Rc::new(Stamps { max_attempts: own, ..*stamps });
        }
        let run_at_absolute = self.delay.is_none() && self.run_at.is_some();
        let run_at = self.delay.map(|delay| now.plus(delay)).or(self.run_at).unwrap_or(now);
        Job {
            id,
            queue,
            state: State::Pending,
            priority: self.priority.unwrap_or(0),
            run_at,
            run_at_absolute,
            attempts: 0,
            stamps,
            claims: 0,
            created_at: now,
            expires_at: self.expires.map(|expires| now.plus(expires)),
            handling: None,
        }
    }
}

/// Adds one job.
#[derive(Debug)]
pub struct Enqueue<P> {
    /// The queue.
    pub queue: Name,
    /// The queue's options.
    pub stamps: Rc<Stamps>,
    /// The job's own, checked.
    pub options: EnqueueOptions,
    /// What to carry; taken by the script, unless it may be stepped once more.
    pub payload: Option<P>,
    /// Outcome: the job's id.
    pub id: JobId,
}

impl<P> Enqueue<P> {
    /// Puts `payload` into `queue`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a count is not a safe integer.
    pub fn new(queue: Name, stamps: Rc<Stamps>, options: EnqueueOptions, payload: P) -> Result<Self, Error> {
        options.check()?;
        Ok(Self { queue, stamps, options, payload: Some(payload), id: 0 })
    }
}

impl<P: Clone> Script<P> for Enqueue<P> {
    fn step(&mut self, view: &mut View<P>) -> Step {
        let payload = if view.is_trial { self.payload.clone() } else { self.payload.take() };
        if let Some(payload) = payload {
            self.id = view.take_id();
            let job = self.options.draft(self.id, self.queue.clone(), Rc::clone(&self.stamps), view.now());
            view.insert(Rc::new(job), payload);
        }
        Step::Done
    }
}
