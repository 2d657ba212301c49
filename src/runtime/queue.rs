//! A queue's handle.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use super::engine::Engine;
use super::flag::{StopToken, Turn};
use super::host::{Host, WALL_SLEEP_MAX};
use super::store::Store;
use crate::core::job::{ClaimedJob, Stamps};
use crate::core::queue::ack::{Ack, AckBatch};
use crate::core::queue::cancel::Cancel;
use crate::core::queue::claim::ClaimJobs;
use crate::core::queue::dead::{Purge, Redrive};
use crate::core::queue::each_once;
use crate::core::queue::enqueue::{Enqueue, EnqueueOptions};
use crate::core::queue::fail::Fail;
use crate::core::queue::heartbeat::Heartbeat;
use crate::core::queue::inspect::{Get, List, NextClaim, Stats, Tally};
use crate::core::queue::retry::Retry;
use crate::core::queue::sweep::Sweep;
use crate::core::{Claim, Duration, Error, Job, JobId, Name, Script, State, Topic};

/// A queue, and the options that its jobs are stamped with.
///
/// Settling operations ([`ack`](Queue::ack), [`retry`](Queue::retry), [`fail`](Queue::fail),
/// [`heartbeat`](Queue::heartbeat)) land only while this very claim holds the job and its lease is
/// running; otherwise they are `false` and change nothing.
#[derive(Debug)]
pub struct Queue<S: Store, H: Host> {
    pub(super) engine: Engine<S, H>,
    name: Name,
    stamps: Rc<Stamps>,
    /// Who claimed last: workers claim again and again under one name.
    worker: RefCell<Option<Name>>,
}

impl<S: Store, H: Host> Clone for Queue<S, H> {
    fn clone(&self) -> Self {
        Self::new(self.engine.clone(), self.name.clone(), Rc::clone(&self.stamps))
    }
}

impl<S: Store, H: Host> Queue<S, H> {
    pub(super) const fn new(engine: Engine<S, H>, name: Name, stamps: Rc<Stamps>) -> Self {
        Self { engine, name, stamps, worker: RefCell::new(None) }
    }

    /// The queue's name.
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// What jobs enqueued through this handle are stamped with.
    pub const fn stamps(&self) -> &Rc<Stamps> {
        &self.stamps
    }

    /// Runs an operation where it stands, if the storage never waits.
    async fn run<T, R>(&self, mut script: T, outcome: impl Fn(&mut T) -> R) -> Result<R, Error>
    where
        T: Script<S::Payload> + 'static,
    {
        match self.engine.run_now(&mut script) {
            Some(done) => done.map(|()| outcome(&mut script)),
            None => self.engine.run(script).await.map(|mut script| outcome(&mut script)),
        }
    }

    pub(super) fn claim(&self, worker: &str, n: usize) -> Result<ClaimJobs<S::Payload>, Error> {
        let known = self.worker.borrow().clone().filter(|known| **known == *worker);
        let worker = known.map_or_else(|| Name::local("workerId", worker), Ok)?;
        self.worker.replace(Some(worker.clone()));
        Ok(ClaimJobs::new(self.name.clone(), worker, n))
    }

    /// Adds a job and returns its id.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a count is not a safe integer.
    pub async fn enqueue(&self, payload: S::Payload, options: &EnqueueOptions) -> Result<JobId, Error> {
        self.run(Enqueue::new(self.name.clone(), Rc::clone(&self.stamps), *options, payload)?, |script| script.id).await
    }

    /// Hands out the first claimable job, or `None`.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if `worker` is blank.
    pub async fn claim_one(&self, worker: &str) -> Result<Option<ClaimedJob<S::Payload>>, Error> {
        self.run(self.claim(worker, 1)?, |script| script.claimed.pop()).await
    }

    /// Hands out up to `n` claimable jobs, in claim order: priority, then ready time, then id. Zero
    /// is nothing, and touches nothing.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if `worker` is blank.
    pub async fn claim_batch(&self, worker: &str, n: usize) -> Result<Vec<ClaimedJob<S::Payload>>, Error> {
        self.run(self.claim(worker, n)?, |script| std::mem::take(&mut script.claimed)).await
    }

    /// Removes the job: completed work leaves no row.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn ack(&self, claim: Claim) -> Result<bool, Error> {
        self.run(Ack::new(claim), |script| script.landed).await
    }

    /// Gives the job back for another attempt after `delay`, by default
    /// [`retry_delay`](crate::core::backoff::retry_delay); without attempts left it goes to dead with `error`.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn retry(&self, claim: Claim, error: Option<&str>, delay: Option<Duration>) -> Result<bool, Error> {
        let script = self.engine.run(Retry::new(claim, error, delay, self.engine.random_bits())).await?;
        Ok(script.landed)
    }

    /// Moves the job to dead at once, with `error` or `"failed"`.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn fail(&self, claim: Claim, error: Option<&str>) -> Result<bool, Error> {
        let script = self.engine.run(Fail::new(claim, error)).await?;
        Ok(script.landed)
    }

    /// Lets the lease end `extend` from now: an absolute reset that may be repeated. Not positive:
    /// the claim lapses.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn heartbeat(&self, claim: Claim, extend: Duration) -> Result<bool, Error> {
        let script = self.engine.run(Heartbeat::new(claim, extend)).await?;
        Ok(script.landed)
    }

    /// Acks those of this queue's jobs whose lease is running, whoever holds them; how many.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn ack_batch(&self, ids: &[JobId]) -> Result<usize, Error> {
        let script = self.engine.run(AckBatch::new(self.name.clone(), each_once(ids))).await?;
        Ok(script.acked)
    }

    /// Removes a pending or processing job, whoever holds it; `false` if there is none.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn cancel(&self, id: JobId) -> Result<bool, Error> {
        let script = self.engine.run(Cancel::new(self.name.clone(), id)).await?;
        Ok(script.cancelled)
    }

    /// Reads a job of this queue, dead ones too.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn get(&self, id: JobId) -> Result<Option<(Rc<Job>, S::Payload)>, Error> {
        let script = self.engine.run(Get::new(self.name.clone(), id)).await?;
        Ok(script.found)
    }

    /// Reads up to `limit` jobs with an id above `after`, in the order of ids, of one state or all.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn list(
        &self,
        state: Option<State>,
        after: JobId,
        limit: usize,
    ) -> Result<Vec<(Rc<Job>, S::Payload)>, Error> {
        let script = self.engine.run(List::new(self.name.clone(), state, after, limit)).await?;
        Ok(script.page)
    }

    /// Counts the queue's jobs.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn stats(&self) -> Result<Tally, Error> {
        let script = self.engine.run(Stats::new(self.name.clone())).await?;
        Ok(script.tally)
    }

    /// Puts dead jobs back to pending, ready now, with no attempts used: the given ones, or all; how many.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn redrive(&self, ids: Option<&[JobId]>) -> Result<usize, Error> {
        let script = self.engine.run(Redrive::new(self.name.clone(), ids.map(each_once))).await?;
        Ok(script.redriven)
    }

    /// Deletes dead jobs: the given ones, or all; how many.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn purge(&self, ids: Option<&[JobId]>) -> Result<usize, Error> {
        let script = self.engine.run(Purge::new(self.name.clone(), ids.map(each_once))).await?;
        Ok(script.purged)
    }

    /// Moves every expired job to dead, then deletes the dead ones past their retention; how many
    /// were moved plus how many were deleted. Nothing else sweeps.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn sweep_expired(&self) -> Result<usize, Error> {
        let script = self.engine.run(Sweep::new(self.name.clone())).await?;
        Ok(script.swept)
    }

    /// Waits until a claim may have something to do: at once, at the next deadline, or after a wake.
    /// `false` when `stop` is set or the store closes. It sleeps until the deadline, at most
    /// [`WALL_SLEEP_MAX`] before it looks at the clock again, or [`Wakes::idle_sleep_max`](super::Wakes::idle_sleep_max) where there is none.
    /// Where nothing had to be waited for, the executor has a turn before it ends: a worker that always has something to do
    /// hears of a stop.
    ///
    /// # Errors
    /// [`Error::Closed`] if the store was closed before; the storage's.
    pub async fn wait(&self, stop: &StopToken) -> Result<bool, Error> {
        let mut has_waited = false;
        let is_due = {
            let mut waiting = pin!(self.wait_without_turn(stop));
            let polled = poll_fn(|context| {
                let polled = waiting.as_mut().poll(context);
                has_waited |= polled.is_pending();
                polled
            });
            polled.await?
        };
        if has_waited || !is_due {
            return Ok(is_due);
        }
        Turn::default().await;
        Ok(!stop.is_set() && !self.engine.is_closed())
    }

    /// The same for who gives turns otherwise: an event loop's are not the executor's.
    pub(crate) async fn wait_without_turn(&self, stop: &StopToken) -> Result<bool, Error> {
        self.engine.check_open()?;
        let shared = &self.engine.shared;
        let wakes = shared.store.wakes();
        let mut is_told = false;
        loop {
            if stop.is_set() || shared.closed.is_set() {
                return Ok(false);
            }
            // A claim looks for itself, and costs no more.
            if is_told {
                return Ok(true);
            }
            let listener = wakes.listen(Topic::Queue(self.name.clone()));
            let ready = wakes.listen(Topic::Ready(self.name.clone()));
            let next = Rc::new(RefCell::new(NextClaim::new(self.name.clone())));
            let looking = self.engine.run_even_closed(Rc::clone(&next) as _);
            // In line behind others it may take long.
            let Some(looked) = self.engine.unless_ended(looking, stop).await else { return Ok(false) };
            looked?;
            let NextClaim { deadline, now, .. } = *next.borrow();
            let nap = match deadline.wait(now) {
                // Unless it was stopped, or the store closed, while it looked.
                Some(Duration::ZERO) => {
                    is_told = true;
                    continue;
                }
                Some(wait) => wait.min(WALL_SLEEP_MAX),
                None => wakes.idle_sleep_max(),
            };
            self.engine.rest(nap, &listener, stop).await;
            is_told = ready.is_woken();
        }
    }
}
