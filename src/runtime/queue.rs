//! A queue's handle.

use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;

use super::engine::Engine;
use super::flag::{StopToken, first_of};
use super::host::{Host, TIMER_SLEEP_MAX, WALL_SLEEP_MAX};
use super::store::Store;
use crate::core::deadline::Deadline;
use crate::core::job::Stamps;
use crate::core::queue::ack::{Ack, AckBatch};
use crate::core::queue::cancel::Cancel;
use crate::core::queue::claim::ClaimJobs;
use crate::core::queue::dead::{Purge, Redrive};
use crate::core::queue::enqueue::{Enqueue, EnqueueOptions};
use crate::core::queue::fail::Fail;
use crate::core::queue::heartbeat::Heartbeat;
use crate::core::queue::inspect::{Get, List, NextClaim, Stats, Tally};
use crate::core::queue::retry::Retry;
use crate::core::queue::sweep::Sweep;
use crate::core::{Claim, Duration, Error, Job, JobId, Name, State, Timestamp, Topic};

/// A job that was handed out, with its payload. [`Job::claim`] is what settles it.
#[derive(Clone, Debug)]
pub struct ClaimedJob<P> {
    /// The row, as claimed.
    pub job: Job,
    /// What it carries.
    pub payload: P,
}

/// A queue, and the options that its jobs are stamped with.
///
/// Settling operations ([`ack`](Queue::ack), [`retry`](Queue::retry), [`fail`](Queue::fail),
/// [`heartbeat`](Queue::heartbeat)) land only while this very claim holds the job and its lease is
/// running; otherwise they are `false` and change nothing.
#[derive(Debug)]
pub struct Queue<S: Store, H: Host> {
    engine: Engine<S, H>,
    name: Name,
    stamps: Stamps,
}

impl<S: Store, H: Host> Clone for Queue<S, H> {
    fn clone(&self) -> Self {
        Self { engine: self.engine.clone(), name: self.name.clone(), stamps: self.stamps }
    }
}

impl<S: Store, H: Host> Queue<S, H> {
    pub(super) const fn new(engine: Engine<S, H>, name: Name, stamps: Stamps) -> Self {
        Self { engine, name, stamps }
    }

    /// The queue's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A claim of one of this queue's jobs, put together again from its parts.
    pub fn claim_of(&self, id: JobId, number: u64) -> Claim {
        Claim { queue: self.name.clone(), id, number }
    }

    /// Adds a job and returns its id.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a count is not a safe integer.
    pub async fn enqueue(&self, payload: S::Payload, options: &EnqueueOptions) -> Result<JobId, Error> {
        options.check()?;
        let (queue, stamps) = (self.name.clone(), self.stamps);
        let mut script = Enqueue { queue, stamps, options: *options, payload: Some(payload), id: 0 };
        self.engine.run(&mut script).await?;
        Ok(script.id)
    }

    /// Hands out the first claimable job, or `None`.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if `worker` is blank.
    pub async fn claim_one(&self, worker: &str) -> Result<Option<ClaimedJob<S::Payload>>, Error> {
        let worker = Name::local("workerId", worker)?;
        Ok(self.claim(worker, 1).await?.pop().map(|(job, payload)| ClaimedJob { job, payload }))
    }

    /// Hands out up to `n` claimable jobs, in claim order: priority, then ready time, then id. Zero
    /// is nothing, and touches nothing.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if `worker` is blank.
    pub async fn claim_batch(&self, worker: &str, n: usize) -> Result<Vec<ClaimedJob<S::Payload>>, Error> {
        let worker = Name::local("workerId", worker)?;
        let claimed = self.claim(worker, n).await?;
        Ok(claimed.into_iter().map(|(job, payload)| ClaimedJob { job, payload }).collect())
    }

    async fn claim(&self, worker: Name, n: usize) -> Result<Vec<(Job, S::Payload)>, Error> {
        if n == 0 {
            self.engine.check_open()?;
            return Ok(Vec::new());
        }
        let mut script = ClaimJobs { queue: self.name.clone(), worker, n, claimed: Vec::new() };
        self.engine.run(&mut script).await?;
        Ok(script.claimed)
    }

    /// Removes the job: completed work leaves no row.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn ack(&self, claim: Claim) -> Result<bool, Error> {
        let mut script = Ack { claim, landed: false };
        self.engine.run(&mut script).await?;
        Ok(script.landed)
    }

    /// Gives the job back for another attempt after `delay`, by default
    /// [`retry_delay`](crate::core::backoff::retry_delay); without attempts left it goes to dead with `error`.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn retry(&self, claim: Claim, error: Option<&str>, delay: Option<Duration>) -> Result<bool, Error> {
        let bits = self.engine.random_bits();
        let mut script = Retry { claim, error: error.map(Rc::from), delay, bits, landed: false };
        self.engine.run(&mut script).await?;
        Ok(script.landed)
    }

    /// Moves the job to dead at once, with `error` or `"failed"`.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn fail(&self, claim: Claim, error: Option<&str>) -> Result<bool, Error> {
        let mut script = Fail { claim, error: error.map(Rc::from), landed: false };
        self.engine.run(&mut script).await?;
        Ok(script.landed)
    }

    /// Lets the lease end `extend` from now: an absolute reset that may be repeated. Not positive:
    /// the claim lapses.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn heartbeat(&self, claim: Claim, extend: Duration) -> Result<bool, Error> {
        let mut script = Heartbeat { claim, extend, landed: false };
        self.engine.run(&mut script).await?;
        Ok(script.landed)
    }

    /// Acks those of this queue's jobs whose lease is running, whoever holds them; how many.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn ack_batch(&self, ids: &[JobId]) -> Result<usize, Error> {
        let mut script = AckBatch { queue: self.name.clone(), ids: each_once(ids), acked: 0 };
        self.engine.run(&mut script).await?;
        Ok(script.acked)
    }

    /// Removes a pending or processing job, whoever holds it; `false` if there is none.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn cancel(&self, id: JobId) -> Result<bool, Error> {
        let mut script = Cancel { queue: self.name.clone(), id, cancelled: false };
        self.engine.run(&mut script).await?;
        Ok(script.cancelled)
    }

    /// Reads a job of this queue, dead ones too.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn get(&self, id: JobId) -> Result<Option<(Job, S::Payload)>, Error> {
        let mut script = Get { queue: self.name.clone(), id, found: None };
        self.engine.run(&mut script).await?;
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
    ) -> Result<Vec<(Job, S::Payload)>, Error> {
        let mut script = List { queue: self.name.clone(), state, after, limit, page: Vec::new() };
        self.engine.run(&mut script).await?;
        Ok(script.page)
    }

    /// Counts the queue's jobs.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn stats(&self) -> Result<Tally, Error> {
        let mut script = Stats { queue: self.name.clone(), tally: Tally::default() };
        self.engine.run(&mut script).await?;
        Ok(script.tally)
    }

    /// Puts dead jobs back to pending, ready now, with no attempts used: the given ones, or all; how many.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn redrive(&self, ids: Option<&[JobId]>) -> Result<usize, Error> {
        let mut script = Redrive { queue: self.name.clone(), ids: ids.map(each_once), redriven: 0 };
        self.engine.run(&mut script).await?;
        Ok(script.redriven)
    }

    /// Deletes dead jobs: the given ones, or all; how many.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn purge(&self, ids: Option<&[JobId]>) -> Result<usize, Error> {
        let mut script = Purge { queue: self.name.clone(), ids: ids.map(each_once), purged: 0 };
        self.engine.run(&mut script).await?;
        Ok(script.purged)
    }

    /// Moves every expired job to dead, then deletes the dead ones past their retention; how many
    /// were moved plus how many were deleted. Nothing else sweeps.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn sweep_expired(&self) -> Result<usize, Error> {
        let mut script = Sweep { queue: self.name.clone(), swept: 0 };
        self.engine.run(&mut script).await?;
        Ok(script.swept)
    }

    /// Waits until a claim may have something to do: at once, at the next deadline, or after a wake.
    /// `false` when `stop` is set or the store closes. Never polls: it sleeps until the deadline, at
    /// most [`WALL_SLEEP_MAX`] before it looks at the clock again.
    ///
    /// # Errors
    /// [`Error::Closed`] if the store was closed before; the storage's.
    pub async fn wait(&self, stop: &StopToken) -> Result<bool, Error> {
        self.engine.check_open()?;
        let shared = &self.engine.shared;
        loop {
            if stop.is_set() || shared.closed.is_set() {
                return Ok(false);
            }
            let listener = shared.store.wakes().listen(Topic::Queue(self.name.clone()));
            let now = Timestamp::default();
            let mut script = NextClaim { queue: self.name.clone(), deadline: Deadline::Idle, now };
            self.engine.run_even_closed(&mut script).await?;
            let nap = match script.deadline.wait(script.now) {
                Some(Duration::ZERO) => return Ok(true),
                Some(wait) => wait.min(WALL_SLEEP_MAX),
                None => TIMER_SLEEP_MAX,
            };
            let mut sleep = pin!(shared.host.sleep(nap));
            let mut woken = pin!(listener.woken());
            let (mut stopped, mut closed) = (pin!(stop.wait()), pin!(shared.closed.wait()));
            first_of([stopped.as_mut(), closed.as_mut(), woken.as_mut(), sleep.as_mut()]).await;
        }
    }
}

fn each_once(ids: &[JobId]) -> Vec<JobId> {
    // The shape of set that the lanes have: in wasm a sort is code of its own.
    let mut set = BTreeSet::new();
    for id in ids {
        set.insert((0_i64, 0_i64, *id));
    }
    set.into_iter().map(|(_, _, id)| id).collect()
}
