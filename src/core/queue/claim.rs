//! Handing jobs out.

use std::rc::Rc;

use crate::core::job::{ClaimedJob, Handling, State};
use crate::core::name::Name;
use crate::core::scope::Scope;
use crate::core::script::{Script, Step};
use crate::core::view::View;

/// Why a job died that ran out of attempts.
pub const MAX_ATTEMPTS_EXCEEDED: &str = "max attempts exceeded";

/// Hands out up to `n` claimable jobs in claim order, each to one claimant only, after moving the
/// jobs that have no attempts left to dead.
#[derive(Debug)]
pub struct ClaimJobs<P> {
    /// The queue.
    pub queue: Name,
    /// Who claims.
    pub worker: Name,
    /// How many at the most. Zero touches nothing.
    pub n: usize,
    /// Outcome: the jobs as claimed.
    pub claimed: Vec<ClaimedJob<P>>,
}

impl<P> ClaimJobs<P> {
    /// Claims for `worker`.
    pub const fn new(queue: Name, worker: Name, n: usize) -> Self {
        Self { queue, worker, n, claimed: Vec::new() }
    }
}

impl<P> Script<P> for ClaimJobs<P> {
    fn opening(&mut self) -> Option<Scope> {
        (self.n > 0).then(|| Scope::Head { queue: self.queue.clone(), n: self.n })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let now = view.now();
        while let Some(mut job) = view.spent.pop() {
            Rc::make_mut(&mut job).bury(MAX_ATTEMPTS_EXCEEDED.into(), now);
            view.update(job);
        }
        self.claimed = Vec::with_capacity(view.jobs.len());
        while let (Some(mut row), Some(payload)) = (view.jobs.pop(), view.payloads.pop()) {
            let job = Rc::make_mut(&mut row);
            job.state = State::Processing;
            job.handling = Some(Box::new(Handling {
                worker_id: Some(self.worker.clone()),
                claimed_at: Some(now),
                claim_expires_at: Some(now.plus(job.stamps.visibility_timeout)),
                ..Handling::default()
            }));
            job.attempts = job.attempts.saturating_add(1);
            job.claims = job.next_claim(now);
            view.update(Rc::clone(&row));
            self.claimed.push(ClaimedJob { job: row, payload });
        }
        self.claimed.reverse();
        Step::Done
    }
}
