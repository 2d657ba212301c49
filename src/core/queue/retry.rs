//! Giving a job back for another attempt.

use std::rc::Rc;

use crate::core::backoff::retry_delay;
use crate::core::job::Claim;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::time::Duration;
use crate::core::view::View;

use super::claim::MAX_ATTEMPTS_EXCEEDED;
use super::{claimed, take_held};

/// Back to pending after a delay; without attempts left, to dead.
#[derive(Debug)]
pub struct Retry {
    /// The claim.
    pub claim: Claim,
    /// Why: kept only if the job dies of it. Default `"max attempts exceeded"`.
    pub error: Option<Rc<str>>,
    /// How long to wait; default [`retry_delay`].
    pub delay: Option<Duration>,
    /// Random bits for the jitter.
    pub bits: u64,
    /// Outcome: whether it landed.
    pub landed: bool,
}

impl Retry {
    /// Settles `claim`; `bits` are 64 random bits.
    pub fn new(claim: Claim, error: Option<&str>, delay: Option<Duration>, bits: u64) -> Self {
        Self { claim, error: error.map(Rc::from), delay, bits, landed: false }
    }
}

impl<P> Script<P> for Retry {
    fn opening(&mut self) -> Option<Scope> {
        Some(claimed(&self.claim))
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let Some(mut row) = take_held(view, &self.claim) else { return Step::Done };
        let (job, now) = (Rc::make_mut(&mut row), view.now());
        if job.attempts < job.stamps.max_attempts {
            let delay = self.delay.unwrap_or_else(|| retry_delay(job.stamps.backoff_base, job.attempts, self.bits));
            job.make_pending(now.plus(delay));
            view.wake_queue(&job.queue);
        } else {
            job.bury(self.error.take().unwrap_or_else(|| MAX_ATTEMPTS_EXCEEDED.into()), now);
        }
        view.update(row);
        self.landed = true;
        Step::Done
    }
}
