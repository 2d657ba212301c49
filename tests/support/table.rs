//! Rows under keys with one sorted index over them, in memory: what a durable storage does for the engine, without the
//! durability. Transactions take turns; each works on a copy that its commit puts in place.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use alkstore::core::index::{Section, Sort, job_entries, schedule_entries};
use alkstore::core::{Error, Job, JobId, LockRow, Name, ScheduleRow, StoreError, Topic};
use alkstore::runtime::{Answer, Header, Keyed, KeyedTransaction, Read, Row, Write};

use super::executor::turn;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Job(JobId),
    Schedule(Name),
}

#[derive(Clone)]
struct Rows<P> {
    header: Option<Header>,
    jobs: BTreeMap<JobId, (Rc<Job>, P)>,
    locks: BTreeMap<Name, LockRow>,
    schedules: BTreeMap<Name, Rc<ScheduleRow<P>>>,
    index: BTreeSet<Entry>,
    /// Each row's entries.
    entries: BTreeMap<Key, Vec<Entry>>,
}

type Entry = (Name, Section, Sort, Key);

impl<P> Default for Rows<P> {
    fn default() -> Self {
        Self {
            header: None,
            jobs: BTreeMap::new(),
            locks: BTreeMap::new(),
            schedules: BTreeMap::new(),
            index: BTreeSet::new(),
            entries: BTreeMap::new(),
        }
    }
}

/// The storage; clones share it, each as a context of its own.
pub struct Table<P> {
    inner: Rc<Inner<P>>,
}

struct Inner<P> {
    rows: RefCell<Rows<P>>,
    busy: Cell<bool>,
    /// How many turns each read, and the commit, takes.
    turns: Cell<usize>,
    /// How many transactions have been committed.
    commits: Cell<usize>,
    /// How many commits from now on fail.
    failures: Cell<usize>,
}

impl<P> Clone for Table<P> {
    fn clone(&self) -> Self {
        Self { inner: Rc::clone(&self.inner) }
    }
}

impl<P> Default for Table<P> {
    fn default() -> Self {
        let inner = Inner {
            rows: RefCell::default(),
            busy: Cell::new(false),
            turns: Cell::new(0),
            commits: Cell::new(0),
            failures: Cell::new(0),
        };
        Self { inner: Rc::new(inner) }
    }
}

impl<P> Table<P> {
    /// A storage that answers each read, and a commit, after so many turns.
    pub fn slow(turns: usize) -> Self {
        let table = Self::default();
        table.inner.turns.set(turns);
        table
    }

    /// How many transactions have been committed.
    pub fn commits(&self) -> usize {
        self.inner.commits.get()
    }

    /// Lets the next `count` commits fail.
    pub fn fail(&self, count: usize) {
        self.inner.failures.set(count);
    }

    /// All jobs, by id.
    pub fn jobs(&self) -> Vec<Rc<Job>> {
        self.inner.rows.borrow().jobs.values().map(|(job, _)| Rc::clone(job)).collect()
    }

    /// How many entries the index has in a section.
    pub fn entries(&self, section: Section) -> usize {
        self.inner.rows.borrow().index.iter().filter(|(_, of, ..)| *of == section).count()
    }
}

impl<P: Clone + 'static> Keyed for Table<P> {
    type Payload = P;
    type Transaction = Transaction<P>;

    async fn begin(&self) -> Result<Transaction<P>, Error> {
        Ok(Transaction { table: self.clone(), rows: RefCell::default(), known: RefCell::default() })
    }

    fn announce(&self, _topics: &[Topic]) {}
}

pub struct Transaction<P> {
    table: Table<P>,
    /// `None` until the first read: others may be under way.
    rows: RefCell<Option<Rows<P>>>,
    /// The jobs that were read or inserted: only they may be updated.
    known: RefCell<Vec<JobId>>,
}

impl<P: Clone> Transaction<P> {
    async fn under_way(&self) {
        if self.rows.borrow().is_none() {
            while self.table.inner.busy.get() {
                turn().await;
            }
            self.table.inner.busy.set(true);
            let rows = self.table.inner.rows.borrow().clone();
            self.rows.replace(Some(rows));
        }
        for _ in 0..self.table.inner.turns.get() {
            turn().await;
        }
    }
}

impl<P: Clone> KeyedTransaction for Transaction<P> {
    type Payload = P;

    async fn read(&self, reads: &[Read]) -> Result<Vec<Answer<P>>, Error> {
        self.under_way().await;
        let rows = self.rows.borrow();
        let answers: Vec<_> = reads.iter().map(|read| rows.as_ref().unwrap().read(read.clone())).collect();
        for answer in &answers {
            if let Answer::Jobs(jobs) = answer {
                self.known.borrow_mut().extend(jobs.iter().map(|row| row.job.id));
            }
        }
        Ok(answers)
    }

    fn write(&self, write: Write<P>) {
        match &write {
            Write::Insert(job, ..) => self.known.borrow_mut().push(job.id),
            Write::Update(job, _) => assert!(self.known.borrow().contains(&job.id), "job {} was never read", job.id),
            _ => {}
        }
        self.rows.borrow_mut().as_mut().unwrap().write(write);
    }

    async fn commit(self) -> Result<(), Error> {
        self.under_way().await;
        let inner = &self.table.inner;
        if inner.failures.get() > 0 {
            inner.failures.set(inner.failures.get() - 1);
            return Err(Error::Storage(StoreError { message: "the disk is full".into(), cause: None }));
        }
        inner.commits.set(inner.commits.get() + 1);
        inner.rows.replace(self.rows.take().unwrap());
        inner.busy.set(false);
        Ok(())
    }
}

impl<P> Drop for Transaction<P> {
    fn drop(&mut self) {
        if self.rows.take().is_some() {
            self.table.inner.busy.set(false);
        }
    }
}

impl<P: Clone> Rows<P> {
    fn read(&self, read: Read) -> Answer<P> {
        match read {
            Read::Header => Answer::Header(self.header.unwrap_or_default()),
            Read::Job(id) => Answer::Jobs(self.job(id).into_iter().collect()),
            Read::Payload(id) => Answer::Payload(self.jobs.get(&id).map(|(_, payload)| payload.clone())),
            Read::Jobs(after, limit) => {
                let ids = self.jobs.range(after + 1..).map(|(id, _)| *id);
                Answer::Jobs(ids.take(limit).filter_map(|id| self.job(id)).collect())
            }
            Read::Index { queue, section, from, to, limit } => {
                let keys = self.range(&queue, section, from, to).take(limit);
                if matches!(section, Section::Boundary | Section::Previous) {
                    Answer::Schedules(keys.filter_map(|key| self.schedule(key)).collect())
                } else {
                    Answer::Jobs(
                        keys.filter_map(|key| if let Key::Job(id) = key { self.job(*id) } else { None }).collect(),
                    )
                }
            }
            Read::Count { queue, section, to } => {
                Answer::Count(self.range(&queue, section, alkstore::core::index::FIRST, to).count())
            }
            Read::Lock(name) => {
                Answer::Locks(self.locks.get(&name).map(|lock| (name, lock.clone())).into_iter().collect())
            }
            Read::Locks => Answer::Locks(self.locks.iter().map(|(name, lock)| (name.clone(), lock.clone())).collect()),
            Read::Schedule(name) => Answer::Schedules(self.schedules.get(&name).cloned().into_iter().collect()),
            // By name backwards: no storage promises an order.
            Read::Schedules => Answer::Schedules(self.schedules.values().rev().cloned().collect()),
        }
    }

    fn range(&self, queue: &Name, section: Section, from: Sort, to: Sort) -> impl Iterator<Item = &Key> {
        let first = (queue.clone(), section, from, Key::Job(0));
        let mine = self.index.range(first..).take_while({
            let queue = queue.clone();
            move |(name, of, sort, _)| *name == queue && *of == section && *sort <= to
        });
        mine.map(|(_, _, _, key)| key)
    }

    /// Payloads of odd ids are kept apart, so that both ways are seen.
    fn job(&self, id: JobId) -> Option<Row<P>> {
        let (job, payload) = self.jobs.get(&id)?;
        let payload = id.is_multiple_of(2).then(|| payload.clone());
        Some(Row { job: Rc::clone(job), payload })
    }

    fn schedule(&self, key: &Key) -> Option<Rc<ScheduleRow<P>>> {
        if let Key::Schedule(name) = key { self.schedules.get(name).cloned() } else { None }
    }

    fn write(&mut self, write: Write<P>) {
        match write {
            Write::Header(header) => self.header = Some(header),
            Write::Insert(job, payload, now) => {
                let old = self.jobs.insert(job.id, (Rc::clone(&job), payload));
                assert!(old.is_none(), "job {} was there already", job.id);
                self.index_job(&job, now);
            }
            Write::Update(job, now) => {
                self.forget(&Key::Job(job.id));
                // One that is gone is none of the writer's any more.
                self.jobs.get_mut(&job.id).expect("the row").0 = Rc::clone(&job);
                self.index_job(&job, now);
            }
            Write::Remove(id) => {
                self.forget(&Key::Job(id));
                self.jobs.remove(&id);
            }
            Write::PutLock(name, lock) => drop(self.locks.insert(name, lock)),
            Write::RemoveLock(name) => drop(self.locks.remove(&name)),
            Write::PutSchedule(row) => {
                let key = Key::Schedule(row.name.clone());
                self.forget(&key);
                let queue = alkstore::core::index::schedules_queue();
                schedule_entries(&row, |section, sort| self.enter((queue.clone(), section, sort, key.clone())));
                self.schedules.insert(row.name.clone(), row);
            }
            Write::RemoveSchedule(name) => {
                self.forget(&Key::Schedule(name.clone()));
                self.schedules.remove(&name);
            }
        }
    }

    fn index_job(&mut self, job: &Job, now: alkstore::core::Timestamp) {
        job_entries(job, now, |section, sort| self.enter((job.queue.clone(), section, sort, Key::Job(job.id))));
    }

    fn enter(&mut self, entry: Entry) {
        self.entries.entry(entry.3.clone()).or_default().push(entry.clone());
        self.index.insert(entry);
    }

    fn forget(&mut self, key: &Key) {
        for entry in self.entries.remove(key).unwrap_or_default() {
            self.index.remove(&entry);
        }
    }
}
