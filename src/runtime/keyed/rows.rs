//! What is read and written, in terms of rows.

use std::rc::Rc;

use crate::core::clock::Meta;
use crate::core::index::{Section, Sort};
use crate::core::{Duration, Job, JobId, LockRow, Name, ScheduleRow, Timestamp};

/// The row that every transaction reads first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the engine remembers.
    pub meta: Meta,
    /// A second after the latest instant behind which a clock that steps back makes entries of the index untrue; see
    /// [`crossed`](crate::core::index::crossed). Those of jobs that were ready when they were inserted may lie in that
    /// second.
    pub crossed: Timestamp,
    /// The clock was set back by so much, and what was derived from it has not all moved back yet: first of all the next
    /// transaction goes on with that. Zero if it has.
    pub moving: Duration,
    /// Jobs with smaller ids have moved. Locks and schedules go with the last job.
    pub moved: JobId,
}

impl Default for Header {
    fn default() -> Self {
        Self { meta: Meta::default(), crossed: Timestamp::from_millis(i64::MIN), moving: Duration::ZERO, moved: 0 }
    }
}

impl Header {
    /// Whether something is to move.
    pub fn is_moving(&self) -> bool {
        self.moving.is_positive()
    }
}

/// A read; all of a round are asked at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The header → [`Answer::Header`].
    Header,
    /// A job by id → [`Answer::Jobs`].
    Job(JobId),
    /// The payload of a job whose row came without → [`Answer::Payload`].
    Payload(JobId),
    /// All jobs of all queues from one id to another, both included, in the order of ids, at most so many →
    /// [`Answer::Jobs`].
    Jobs(JobId, JobId, usize),
    /// A part of the index, both ends included → [`Answer::Jobs`], or [`Answer::Schedules`] of the last two sections.
    ///
    /// Ascending by [`Sort`], column by column, as signed numbers, and the lowest ones if there are more than `limit`. No
    /// two jobs are equal, for theirs ends with the id: a job out of order, or given twice, is damage. Schedules that are
    /// equal may come in any order.
    Index {
        /// The queue.
        queue: Name,
        /// The section.
        section: Section,
        /// From here.
        from: Sort,
        /// To here.
        to: Sort,
        /// How many at the most.
        limit: usize,
    },
    /// How many entries a section has up to a position, that one included → [`Answer::Count`].
    Count {
        /// The queue.
        queue: Name,
        /// The section.
        section: Section,
        /// To here.
        to: Sort,
    },
    /// A lock → [`Answer::Locks`].
    Lock(Name),
    /// All locks but the damaged ones → [`Answer::Locks`].
    Locks,
    /// A schedule → [`Answer::Schedules`].
    Schedule(Name),
    /// All schedules, in any order → [`Answer::Schedules`].
    Schedules,
}

/// The answer to a [`Read`].
#[derive(Debug)]
pub enum Answer<P> {
    /// The header; the default one before the first is written.
    Header(Header),
    /// Jobs.
    Jobs(Vec<Row<P>>),
    /// Schedules.
    Schedules(Vec<Rc<ScheduleRow<P>>>),
    /// Locks.
    Locks(Vec<(Name, LockRow)>),
    /// A payload; `None` is a damaged storage.
    Payload(Option<P>),
    /// A number of entries.
    Count(usize),
}

/// A job as it is stored: with its payload, or with that apart.
#[derive(Clone, Debug)]
pub struct Row<P> {
    /// The row.
    pub job: Rc<Job>,
    /// The payload; `None` if it has to be asked for.
    pub payload: Option<P>,
}

/// A write. Those of jobs and schedules bring their entries in the index along:
/// [`job_entries`](crate::core::index::job_entries) at `now`, and
/// [`schedule_entries`](crate::core::index::schedule_entries).
#[derive(Clone, Debug)]
pub enum Write<P> {
    /// The header.
    Header(Header),
    /// A new job.
    Insert(Rc<Job>, P, Timestamp),
    /// A job's row, which this transaction has read or inserted; its payload stays.
    Update(Rc<Job>, Timestamp),
    /// A job and its payload go.
    Remove(JobId),
    /// A lock.
    PutLock(Name, LockRow),
    /// A lock goes.
    RemoveLock(Name),
    /// A schedule with its payload.
    PutSchedule(Rc<ScheduleRow<P>>),
    /// A schedule goes.
    RemoveSchedule(Name),
}
