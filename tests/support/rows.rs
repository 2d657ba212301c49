//! The rows of a storage in memory: what lies under which key, and the sorted index over it. Every write gives what it
//! replaced, so that a transaction can be taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use alkstore::core::index::{FIRST, Section, Sort, job_entries, schedule_entries, schedules_queue};
use alkstore::core::{Job, JobId, LockRow, Name, ScheduleRow, Timestamp};
use alkstore::runtime::{Answer, Header, Read, Row, Write};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Job(JobId),
    Schedule(Name),
}

type Entry = (Name, Section, Sort, Key);

#[derive(Clone)]
pub struct Rows<P> {
    pub header: Option<Header>,
    pub jobs: BTreeMap<JobId, (Rc<Job>, P)>,
    pub locks: BTreeMap<Name, LockRow>,
    pub schedules: BTreeMap<Name, Rc<ScheduleRow<P>>>,
    index: BTreeSet<Entry>,
    /// Each row's entries.
    entries: BTreeMap<Key, Vec<Entry>>,
}

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

/// What a write replaced.
pub enum Before<P> {
    Header(Option<Header>),
    Job(JobId, Option<(Rc<Job>, P)>, Entries),
    Lock(Name, Option<LockRow>),
    Schedule(Name, Option<Rc<ScheduleRow<P>>>, Entries),
}

/// The entries that a row had.
pub struct Entries(Vec<Entry>);

impl<P> Rows<P> {
    /// How many entries the index has in a section.
    pub fn entries(&self, section: Section) -> usize {
        self.index.iter().filter(|(_, of, ..)| *of == section).count()
    }
}

impl<P: Clone> Rows<P> {
    pub fn read(&self, read: Read) -> Answer<P> {
        match read {
            Read::Header => Answer::Header(self.header.unwrap_or_default()),
            Read::Job(id) => Answer::Jobs(self.job(id).into_iter().collect()),
            Read::Payload(id) => Answer::Payload(self.jobs.get(&id).map(|(_, payload)| payload.clone())),
            Read::Jobs(from, to, limit) => {
                let ids = self.jobs.range(from..=to).map(|(id, _)| *id);
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
            Read::Count { queue, section, to } => Answer::Count(self.range(&queue, section, FIRST, to).count()),
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

    /// Whether a write inserts a job that is there.
    pub fn has(&self, write: &Write<P>) -> bool {
        matches!(write, Write::Insert(job, ..) if self.jobs.contains_key(&job.id))
    }

    pub fn write(&mut self, write: Write<P>) -> Before<P> {
        match write {
            Write::Header(header) => Before::Header(self.header.replace(header)),
            Write::Insert(job, payload, now) => {
                let id = job.id;
                assert!(!self.jobs.contains_key(&id), "job {id} was there already");
                self.index_job(&job, now);
                self.jobs.insert(id, (job, payload));
                Before::Job(id, None, Entries(Vec::new()))
            }
            Write::Update(job, now) => {
                let entries = self.forget(&Key::Job(job.id));
                // One that is gone is none of the writer's any more.
                let row = self.jobs.get_mut(&job.id).expect("the row");
                let before = (std::mem::replace(&mut row.0, Rc::clone(&job)), row.1.clone());
                self.index_job(&job, now);
                Before::Job(job.id, Some(before), entries)
            }
            Write::Remove(id) => {
                let entries = self.forget(&Key::Job(id));
                Before::Job(id, self.jobs.remove(&id), entries)
            }
            Write::PutLock(name, lock) => Before::Lock(name.clone(), self.locks.insert(name, lock)),
            Write::RemoveLock(name) => Before::Lock(name.clone(), self.locks.remove(&name)),
            Write::PutSchedule(row) => {
                let (name, key) = (row.name.clone(), Key::Schedule(row.name.clone()));
                let entries = self.forget(&key);
                let queue = schedules_queue();
                schedule_entries(&row, |section, sort| self.enter((queue.clone(), section, sort, key.clone())));
                Before::Schedule(name.clone(), self.schedules.insert(name, row), entries)
            }
            Write::RemoveSchedule(name) => {
                let entries = self.forget(&Key::Schedule(name.clone()));
                Before::Schedule(name.clone(), self.schedules.remove(&name), entries)
            }
        }
    }

    /// Takes a write back; the last one first.
    pub fn restore(&mut self, before: Before<P>) {
        match before {
            Before::Header(header) => self.header = header,
            Before::Job(id, row, entries) => {
                put(&mut self.jobs, id, row);
                self.restore_entries(&Key::Job(id), entries);
            }
            Before::Lock(name, lock) => put(&mut self.locks, name, lock),
            Before::Schedule(name, row, entries) => {
                self.restore_entries(&Key::Schedule(name.clone()), entries);
                put(&mut self.schedules, name, row);
            }
        }
    }

    fn restore_entries(&mut self, key: &Key, entries: Entries) {
        self.forget(key);
        entries.0.into_iter().for_each(|entry| self.enter(entry));
    }

    fn index_job(&mut self, job: &Job, now: Timestamp) {
        job_entries(job, now, |section, sort| self.enter((job.queue.clone(), section, sort, Key::Job(job.id))));
    }

    fn enter(&mut self, entry: Entry) {
        self.entries.entry(entry.3.clone()).or_default().push(entry.clone());
        self.index.insert(entry);
    }

    fn forget(&mut self, key: &Key) -> Entries {
        let entries = self.entries.remove(key).unwrap_or_default();
        for entry in &entries {
            self.index.remove(entry);
        }
        Entries(entries)
    }
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}
