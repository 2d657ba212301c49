//! What a script sees and writes: the answer to its last question, and its change set.

use std::rc::Rc;

use super::clock::Meta;
use super::job::{Job, JobId, Place};
use super::lock::LockRow;
use super::name::Name;
use super::queue::inspect::Tally;
use super::schedule::ScheduleRow;
use super::time::Timestamp;

/// A write. Rows are values: a changed one is another. Payloads are handles: written once with their
/// job, deleted with it, never looked at.
#[derive(Clone, Debug)]
pub enum Change<P> {
    /// A new job.
    Insert(Rc<Job>, P),
    /// A job's row; its payload stays.
    Update(Rc<Job>),
    /// A job and its payload go.
    Remove {
        /// The job's queue.
        queue: Name,
        /// The job.
        id: JobId,
    },
    /// A lock's entry.
    PutLock(Name, LockRow),
    /// A lock's entry goes.
    RemoveLock(Name),
    /// A schedule, with its payload.
    PutSchedule(Rc<ScheduleRow<P>>),
    /// A schedule goes.
    RemoveSchedule(Name),
}

/// What a commit may have given others to do: whoever waits for it looks again. Only ever a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A job of this queue may be claimable earlier than before.
    Queue(Name),
    /// A job of this queue is claimable: whoever waits for one need not look first.
    Ready(Name),
    /// A schedule was changed, or nobody leads any more.
    Schedules,
}

impl Topic {
    /// Whether whoever waits for `other` is to hear of this.
    pub fn reaches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ready(ready), Self::Queue(queue)) => ready == queue,
            _ => self == other,
        }
    }
}

/// The rows a script asked for, the changes it makes, and what it may know of the world.
///
/// Storages own one and use it again, so that a step allocates nothing.
#[derive(Debug)]
pub struct View<P> {
    now: Timestamp,
    /// Whether the script may be stepped once more: it keeps what it hands over.
    pub is_trial: bool,
    /// What the storage remembers as a whole. A storage writes it back if it differs.
    pub meta: Meta,
    /// Jobs, as the scope says.
    pub jobs: Vec<Rc<Job>>,
    /// The payloads of `jobs`, in the same order, where the scope gives them.
    pub payloads: Vec<P>,
    /// Jobs that a claim moves to dead.
    pub spent: Vec<Rc<Job>>,
    /// Dead jobs past their retention.
    pub aged: Vec<JobId>,
    /// How many jobs there are.
    pub tally: Tally,
    /// When there is next something to do.
    pub deadline: Option<Timestamp>,
    /// A lock's entry.
    pub lock: Option<LockRow>,
    /// Schedules.
    pub schedules: Vec<Rc<ScheduleRow<P>>>,
    /// What the script has written, in order.
    pub changes: Vec<Change<P>>,
    /// Who should look again once this is committed.
    pub wakes: Vec<Topic>,
}

impl<P> Default for View<P> {
    fn default() -> Self {
        Self {
            now: Timestamp::default(),
            is_trial: false,
            meta: Meta::default(),
            jobs: Vec::new(),
            payloads: Vec::new(),
            spent: Vec::new(),
            aged: Vec::new(),
            tally: Tally::default(),
            deadline: None,
            lock: None,
            schedules: Vec::new(),
            changes: Vec::new(),
            wakes: Vec::new(),
        }
    }
}

impl<P> View<P> {
    /// For the storage: starts a script, at `now`.
    #[inline]
    pub fn begin(&mut self, now: Timestamp, meta: Meta) {
        self.now = now;
        self.meta = meta;
        self.changes.clear();
        self.begin_answer();
    }

    /// For the storage: makes room for the next answer.
    pub fn begin_answer(&mut self) {
        // Most scripts leave nothing of an answer behind.
        let is_used_up = self.jobs.is_empty() && self.payloads.is_empty() && self.spent.is_empty();
        if !(is_used_up && self.aged.is_empty() && self.schedules.is_empty()) {
            self.jobs.clear();
            self.payloads.clear();
            self.spent.clear();
            self.aged.clear();
            self.schedules.clear();
        }
        self.lock = None;
        self.deadline = None;
    }

    /// The operation's one reading of the clock.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The id of a new job. Once taken it is never given again.
    #[inline]
    pub fn take_id(&mut self) -> JobId {
        let id = self.meta.next_id;
        self.meta.next_id = id.saturating_add(1);
        id
    }

    /// Adds a job.
    pub fn insert(&mut self, job: Rc<Job>, payload: P) {
        if job.place(self.now) == Place::Ready {
            self.wake(Topic::Ready(job.queue.clone()));
        } else {
            self.wake_queue(&job.queue);
        }
        self.changes.push(Change::Insert(job, payload));
    }

    /// For the storage: adds a schedule to the answer, in name order (by code points), once.
    pub fn add_schedule(&mut self, row: &Rc<ScheduleRow<P>>) {
        let at = self.schedules.partition_point(|other| other.name < row.name);
        if self.schedules.get(at).is_none_or(|other| other.name != row.name) {
            self.schedules.insert(at, Rc::clone(row));
        }
    }

    /// Writes a job's row.
    pub fn update(&mut self, job: Rc<Job>) {
        self.changes.push(Change::Update(job));
    }

    /// Deletes a job and its payload.
    pub fn remove(&mut self, queue: &Name, id: JobId) {
        self.changes.push(Change::Remove { queue: queue.clone(), id });
    }

    /// Says that a job of `queue` may be claimable earlier than before.
    pub fn wake_queue(&mut self, queue: &Name) {
        self.wake(Topic::Queue(queue.clone()));
    }

    /// Says that a schedule was changed, or that leadership is free.
    pub fn wake_schedules(&mut self) {
        self.wake(Topic::Schedules);
    }

    fn wake(&mut self, topic: Topic) {
        if !self.wakes.iter().any(|known| known.reaches(&topic)) {
            self.wakes.push(topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::queue::QUEUE_STAMPS;
    use crate::core::queue::enqueue::EnqueueOptions;
    use crate::core::schedule::ScheduleOptions;
    use crate::core::time::Duration;

    #[test]
    fn schedules_are_handed_over_in_name_order_each_once() {
        let mut view = View::default();
        for name in ["b", "\u{10000}", "a", "b", "\u{ff5e}", "a"] {
            view.add_schedule(&Rc::new(ScheduleRow {
                name: Name::internal(name),
                spec: "@every 1s".into(),
                interval: Duration::from_secs(1),
                queue: Name::internal("mail"),
                payload: (),
                options: ScheduleOptions::default(),
                next_fire_at: Timestamp::default(),
            }));
        }
        let names: Vec<&str> = view.schedules.iter().map(|row| &*row.name).collect();
        assert_eq!(names, ["a", "b", "\u{ff5e}", "\u{10000}"], "by code points, not by UTF-16");
    }

    #[test]
    fn a_job_that_is_ready_is_told_as_such_and_each_topic_once() {
        let (mail, chores) = (Name::internal("mail"), Name::internal("chores"));
        let mut view = View::default();
        let mut insert = |queue: &Name, delay| {
            let options = EnqueueOptions { delay: Some(Duration::from_secs(delay)), ..Default::default() };
            let job = options.draft(1, queue.clone(), QUEUE_STAMPS.into(), view.now());
            view.insert(Rc::new(job), ());
            view.wakes.clone()
        };
        assert_eq!(insert(&mail, 1), [Topic::Queue(mail.clone())]);
        assert_eq!(insert(&mail, 1), [Topic::Queue(mail.clone())]);
        insert(&mail, 0);
        insert(&chores, 0);
        insert(&chores, 1);
        assert_eq!(insert(&mail, 0), [Topic::Queue(mail.clone()), Topic::Ready(mail), Topic::Ready(chores)]);
    }
}
