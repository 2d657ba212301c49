//! Giving a job up.

use std::rc::Rc;

use crate::core::job::Claim;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::view::View;

use super::{claimed, take_held};

/// Why a job died that was failed without a reason.
pub const FAILED: &str = "failed";

/// To dead at once, whatever attempts are left.
#[derive(Debug)]
pub struct Fail {
    /// The claim.
    pub claim: Claim,
    /// Why; default `"failed"`.
    pub error: Option<Rc<str>>,
    /// Outcome: whether it landed.
    pub landed: bool,
}

impl Fail {
    /// Settles `claim`.
    pub fn new(claim: Claim, error: Option<&str>) -> Self {
        Self { claim, error: error.map(Rc::from), landed: false }
    }
}

impl<P> Script<P> for Fail {
    fn opening(&mut self) -> Option<Scope> {
        Some(claimed(&self.claim))
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let Some(mut job) = take_held(view, &self.claim) else { return Step::Done };
        Rc::make_mut(&mut job).bury(self.error.take().unwrap_or_else(|| FAILED.into()), view.now());
        view.update(job);
        self.landed = true;
        Step::Done
    }
}
