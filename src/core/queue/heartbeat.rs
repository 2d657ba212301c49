//! Holding on to a job for longer.

use std::rc::Rc;

use crate::core::job::Claim;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::time::Duration;
use crate::core::view::View;

use super::{claimed, take_held};

/// The lease now ends `extend` from now: an absolute reset that may be repeated. Not positive: the
/// claim lapses.
#[derive(Debug)]
pub struct Heartbeat {
    /// The claim.
    pub claim: Claim,
    /// How long from now.
    pub extend: Duration,
    /// Outcome: whether it landed.
    pub landed: bool,
}

impl Heartbeat {
    /// Extends `claim`.
    pub const fn new(claim: Claim, extend: Duration) -> Self {
        Self { claim, extend, landed: false }
    }
}

impl<P> Script<P> for Heartbeat {
    fn opening(&mut self) -> Option<Scope> {
        Some(claimed(&self.claim))
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let Some(mut job) = take_held(view, &self.claim) else { return Step::Done };
        if let Some(handling) = &mut Rc::make_mut(&mut job).handling {
            handling.claim_expires_at = Some(view.now().plus(self.extend));
        }
        // The lease may end sooner than before.
        view.wake_queue(&job.queue);
        view.update(job);
        self.landed = true;
        Step::Done
    }
}
