//! A job's row, and the one place that says what may be done with it when.

use std::ops::Deref;
use std::rc::Rc;

use super::name::Name;
use super::time::{Duration, Timestamp};

/// A job's id: positive, growing with every enqueue, never reused. Gaps are ordinary.
pub type JobId = u64;

/// Where a job is in its life. Completed work leaves no row, so there is no state for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waiting for its ready time or for a worker.
    Pending,
    /// Handed out under a lease.
    Processing,
    /// A dead letter: out of attempts, failed or expired. Kept until purged, redriven or aged out.
    Dead,
}

impl State {
    /// The state's name, as users see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Dead => "dead",
        }
    }

    /// The state of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "pending" => Some(Self::Pending),
            "processing" => Some(Self::Processing),
            "dead" => Some(Self::Dead),
            _ => None,
        }
    }
}

/// What a queue's options copy onto each job as it is enqueued. Claims, retries and sweeps read the
/// job's own copy, so a changed option touches only later jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// How long a claim is held before another worker may take the job. Negative: lapses at once.
    pub visibility_timeout: Duration,
    /// How often the job is handed out before it dies. Zero or less: never, it dies at the next claim.
    pub max_attempts: i64,
    /// The base of the exponential backoff between attempts.
    pub backoff_base: Duration,
    /// How long a dead job is kept before a sweep deletes it; `None` is for ever.
    pub dead_letter_retention: Option<Duration>,
}

/// One job, without its payload. What it has of its [`Handling`] is read as if it were its own.
///
/// Many wait at a time, so a row has what a waiting job has, and the rest behind pointers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// See [`JobId`].
    pub id: JobId,
    /// The queue it is in.
    pub queue: Name,
    /// Where it is in its life.
    pub state: State,
    /// Higher is handed out first.
    pub priority: i64,
    /// The earliest instant it may be handed out.
    pub run_at: Timestamp,
    /// Whether `run_at` was given as an instant: such a time stays when a clock is corrected.
    pub run_at_absolute: bool,
    /// How often it has been handed out.
    pub attempts: i64,
    /// The options it was enqueued under: shared by all that were enqueued through one handle.
    pub stamps: Rc<Stamps>,
    /// The number of its latest claim, redrives included, or 0: with the id this names one claim, so a late worker can
    /// never be taken for the next holder. See [`next_claim`](Job::next_claim).
    pub claims: u64,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// From then on it is not handed out any more.
    pub expires_at: Option<Timestamp>,
    /// `None` while it waits.
    pub handling: Option<Box<Handling>>,
}

/// What a first claim's number is at the least, and at the most: storages keep it exactly, as they keep ids.
const FIRST_CLAIM: i64 = 1;
const FIRST_CLAIM_MAX: i64 = 1 << 52;

/// What a job has once it was handed out, or has died.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handling {
    /// Who holds it.
    pub worker_id: Option<Name>,
    /// When it was last handed out.
    pub claimed_at: Option<Timestamp>,
    /// The last instant of the present lease.
    pub claim_expires_at: Option<Timestamp>,
    /// Why it died.
    pub last_error: Option<Rc<str>>,
    /// When it died.
    pub died_at: Option<Timestamp>,
    /// From then on a sweep deletes it.
    pub purge_at: Option<Timestamp>,
}

const WAITING: &Handling = &Handling {
    worker_id: None,
    claimed_at: None,
    claim_expires_at: None,
    last_error: None,
    died_at: None,
    purge_at: None,
};

impl Deref for Job {
    type Target = Handling;
    fn deref(&self) -> &Handling {
        self.handling.as_deref().unwrap_or(WAITING)
    }
}

/// One claim of one job: what its holder shows to settle it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The job's queue.
    pub queue: Name,
    /// The job.
    pub id: JobId,
    /// Which of the job's claims; see [`Job::claims`].
    pub number: u64,
}

/// A job that was handed out, with its payload. [`Job::claim`] is what settles it.
#[derive(Clone, Debug)]
pub struct ClaimedJob<P> {
    /// The row, as claimed.
    pub job: Rc<Job>,
    /// What it carries.
    pub payload: P,
}

/// What may be done with a job at an instant. Every index over jobs is an index over places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Claimable.
    Ready,
    /// Becomes claimable at that instant: delayed, or leased until just before.
    Upcoming(Timestamp),
    /// Out of attempts: a claim at that instant or later moves it to dead.
    Spent(Timestamp),
    /// Never claimable again: it has expired, or will have before anyone could claim it.
    Parked,
    /// A dead letter.
    Dead,
}

impl Job {
    /// From when on nobody's lease and no delay keeps the job from being handed out.
    #[inline]
    pub fn available_at(&self) -> Timestamp {
        match (self.state, self.claim_expires_at) {
            (State::Processing, Some(end)) => end.next(),
            _ => self.run_at,
        }
    }

    /// Where the job stands at `now`.
    pub fn place(&self, now: Timestamp) -> Place {
        if self.state == State::Dead {
            return Place::Dead;
        }
        let since = self.available_at();
        if self.expires_at.is_some_and(|end| end <= now || end <= since) {
            Place::Parked
        } else if self.attempts >= self.stamps.max_attempts {
            Place::Spent(since)
        } else if since > now {
            Place::Upcoming(since)
        } else {
            Place::Ready
        }
    }

    /// Whether it has expired; only a sweep acts on that.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.state != State::Dead && self.expires_at.is_some_and(|end| end <= now)
    }

    /// The present claim.
    pub fn claim(&self) -> Claim {
        Claim { queue: self.queue.clone(), id: self.id, number: self.claims }
    }

    /// The number of the next claim: one more, and of the first one the instant in milliseconds. A storage that was emptied
    /// begins with the same ids again, and a claim from before must not hold what is stored under them now.
    pub fn next_claim(&self, now: Timestamp) -> u64 {
        if self.claims == 0 {
            FIRST_CLAIM.max(now.as_millis()).min(FIRST_CLAIM_MAX).unsigned_abs()
        } else {
            self.claims.saturating_add(1)
        }
    }

    /// Whether a lease is running, whoever holds it.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        self.state == State::Processing && self.claim_expires_at.is_some_and(|end| end >= now)
    }

    /// Makes it a dead letter. `claimed_at` stays, for whoever looks into the matter.
    pub(crate) fn bury(&mut self, error: Rc<str>, now: Timestamp) {
        self.state = State::Dead;
        self.handling = Some(Box::new(Handling {
            claimed_at: self.claimed_at,
            last_error: Some(error),
            died_at: Some(now),
            purge_at: self.stamps.dead_letter_retention.map(|retention| now.plus(retention)),
            ..Handling::default()
        }));
    }

    /// Makes it wait, from `run_at` on, for another attempt.
    pub(crate) fn make_pending(&mut self, run_at: Timestamp) {
        self.state = State::Pending;
        self.run_at = run_at;
        self.run_at_absolute = false;
        self.handling = None;
    }

    /// Moves every deadline that was derived from the clock back by `step`. What the user gave as an
    /// instant and what only tells history stays.
    pub fn move_back(&mut self, step: Duration) {
        if !self.run_at_absolute {
            self.run_at = self.run_at.minus(step);
        }
        let back = |at: Option<Timestamp>| at.map(|at| at.minus(step));
        self.expires_at = back(self.expires_at);
        if let Some(handling) = &mut self.handling {
            handling.claim_expires_at = back(handling.claim_expires_at);
            handling.purge_at = back(handling.purge_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a queue takes in memory is its waiting jobs.
    #[test]
    fn a_row_that_waits_is_small() {
        assert!(size_of::<Job>() <= 12 * size_of::<u64>(), "{}", size_of::<Job>());
    }

    #[test]
    fn a_state_is_found_by_its_own_name_and_no_other() {
        for (state, name) in [(State::Pending, "pending"), (State::Processing, "processing"), (State::Dead, "dead")] {
            assert_eq!((state.as_str(), State::named(name)), (name, Some(state)));
        }
        for name in ["", "Pending", "pending ", "completed"] {
            assert_eq!(State::named(name), None, "{name:?}");
        }
    }
}
