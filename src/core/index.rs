//! The index of storages that keep rows under keys: which entries a row has, so that every read shape is a range.
//!
//! Entries are written with their row and stay as they are while time passes. So a section says where a row stood when
//! it was written: a delayed one that has become due is found among the delayed, by its ready time, and whoever reads
//! a row asks [`Job::place`] where it stands now. Moving rows between sections as they become due would cost a write
//! for each.

use super::job::{Job, JobId, Place, State};
use super::name::Name;
use super::schedule::{LEADER_LOCK, ScheduleRow};
use super::time::Timestamp;

/// A part of the index. All but the last two are about the jobs of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Claimable when written, in claim order: priority (highest first), ready time, id.
    Ready,
    /// Delayed when written, by ready time.
    Delayed,
    /// The same jobs in claim order.
    Waiting,
    /// Under a lease when written, by when it has ended.
    Leased,
    /// Out of attempts, by when a claim may bury them.
    Spent,
    /// Expiring, by when; not yet expired when written.
    Expiring,
    /// Expired when written, by when; a claim does not come across them any more.
    Expired,
    /// Pending, by id.
    Pending,
    /// Processing, by id.
    Processing,
    /// Dead letters, by id.
    Dead,
    /// Dead letters that are not kept for ever, by the end of their retention.
    Aging,
    /// Schedules, by their next boundary.
    Boundary,
    /// Schedules, by the boundary before: one in the future gives a boundary too far ahead away.
    Previous,
}

impl Section {
    /// The section's name in stored keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "o",
            Self::Delayed => "d",
            Self::Waiting => "w",
            Self::Leased => "l",
            Self::Spent => "x",
            Self::Expiring => "e",
            Self::Expired => "z",
            Self::Pending => "p",
            Self::Processing => "r",
            Self::Dead => "t",
            Self::Aging => "a",
            Self::Boundary => "f",
            Self::Previous => "b",
        }
    }

    /// The section of all jobs in a state.
    pub const fn of_state(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Processing => Self::Processing,
            State::Dead => Self::Dead,
        }
    }
}

/// What a section is sorted by: two columns and the id, zero where a section has less.
///
/// A job's ends with its id, so in a section of a queue each is there once. Those of schedules are an instant and zeros,
/// and several schedules may have the same: an index whose entries must be unique needs the row's own key behind it.
pub type Sort = (i64, i64, JobId);

/// Before everything in a section.
pub const FIRST: Sort = (i64::MIN, i64::MIN, 0);

/// After everything in a section.
pub const LAST: Sort = (i64::MAX, i64::MAX, JobId::MAX);

/// The last position at an instant, in a section that is sorted by one.
pub const fn until(instant: Timestamp) -> Sort {
    (instant.as_millis(), i64::MAX, JobId::MAX)
}

/// The first position after an instant.
pub const fn after(instant: Timestamp) -> Sort {
    (instant.as_millis().saturating_add(1), i64::MIN, 0)
}

/// Claim order: highest priority, then earliest ready time, then lowest id.
pub fn claim_order(job: &Job) -> Sort {
    (job.priority.saturating_neg(), job.run_at.as_millis(), job.id)
}

/// The queue that schedules are indexed under: no job's, the name is the engine's own.
pub fn schedules_queue() -> Name {
    Name::internal(LEADER_LOCK)
}

/// Calls `entry` with each entry of a job that is written at `now`.
pub fn job_entries(job: &Job, now: Timestamp, mut entry: impl FnMut(Section, Sort)) {
    let by = |at: Timestamp| (at.as_millis(), 0, job.id);
    entry(Section::of_state(job.state), (0, 0, job.id));
    match (job.place(now), job.state) {
        (Place::Ready, _) => entry(Section::Ready, claim_order(job)),
        (Place::Upcoming(at), State::Processing) => entry(Section::Leased, by(at)),
        (Place::Upcoming(at), _) => {
            entry(Section::Delayed, by(at));
            entry(Section::Waiting, claim_order(job));
        }
        (Place::Spent(at), _) => entry(Section::Spent, by(at)),
        (Place::Parked | Place::Dead, _) => {}
    }
    match (job.state, job.expires_at, job.purge_at) {
        (State::Dead, _, Some(at)) => entry(Section::Aging, by(at)),
        (State::Dead, ..) | (_, None, _) => {}
        (_, Some(at), _) if at <= now => entry(Section::Expired, by(at)),
        (_, Some(at), _) => entry(Section::Expiring, by(at)),
    }
}

/// Calls `entry` with each entry of a schedule, of [`schedules_queue`]: `(instant, 0, 0)`, which another schedule may have
/// too. In a table whose primary key is queue, section and [`Sort`] the one would replace the other, and never fire.
pub fn schedule_entries<P>(row: &ScheduleRow<P>, mut entry: impl FnMut(Section, Sort)) {
    entry(Section::Boundary, (row.next_fire_at.as_millis(), 0, 0));
    entry(Section::Previous, (row.next_fire_at.minus(row.interval).as_millis(), 0, 0));
}

/// The latest instant that a clock must not step back behind for the `place` of a job at `now` to stay true: beyond it a
/// ready job was not ready yet, and an expired one had not expired. `None` if there is no such instant.
pub fn crossed(job: &Job, place: Place, now: Timestamp) -> Option<Timestamp> {
    match place {
        Place::Ready => Some(job.available_at()),
        // Not one that will expire before it is available: no step back makes that claimable.
        Place::Parked if job.is_expired(now) => job.expires_at,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::queue::QUEUE_STAMPS;
    use crate::core::queue::enqueue::EnqueueOptions;
    use crate::core::time::Duration;

    #[test]
    fn a_place_rests_on_the_ready_time_or_the_expiry_that_has_passed() {
        let (at, after) = (Timestamp::from_millis, Duration::from_millis);
        let now = at(10_000);
        for (delay, expires, passed) in [
            (0, None, Some(0)),
            (9_000, None, Some(9_000)),
            (11_000, None, None),
            (0, Some(10_000), Some(10_000)),
            (20_000, Some(15_000), None), // will have expired before anyone could claim it
            (20_000, Some(10_000), Some(10_000)),
        ] {
            let (delay, expires) = (Some(after(delay)), expires.map(after));
            let options = EnqueueOptions { delay, expires, ..Default::default() };
            let job = options.draft(1, Name::internal("mail"), QUEUE_STAMPS.into(), at(0));
            assert_eq!(crossed(&job, job.place(now), now), passed.map(at), "{options:?}");
        }
    }

    #[test]
    fn the_names_of_sections_are_stored_and_never_change() {
        for (section, stored) in [
            (Section::Ready, "o"),
            (Section::Delayed, "d"),
            (Section::Waiting, "w"),
            (Section::Leased, "l"),
            (Section::Spent, "x"),
            (Section::Expiring, "e"),
            (Section::Expired, "z"),
            (Section::Pending, "p"),
            (Section::Processing, "r"),
            (Section::Dead, "t"),
            (Section::Aging, "a"),
            (Section::Boundary, "f"),
            (Section::Previous, "b"),
        ] {
            assert_eq!(section.as_str(), stored, "{section:?}");
        }
    }
}
