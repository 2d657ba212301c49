//! A storage in memory: indexed, ready at once, gone with the process. Clones share it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::host::Clock;
use super::lane::Lane;
use super::store::Store;
use super::wakes::Wakes;
use crate::core::clock::Meta;
use crate::core::queue::inspect::Tally;
use crate::core::{Change, Duration, Error, LockRow, Name, ScheduleRow, Scope, Script, Step, Timestamp, View};

/// How often queues run empty before the empty ones are forgotten: so many at the most are kept, and
/// one that is drained and filled in turn costs nothing.
const LANES_EMPTIED_MAX: usize = 1024;

/// Keeps everything in memory. Its operations resolve at the first poll.
#[derive(Debug)]
pub struct MemoryStore<P> {
    inner: Rc<Inner<P>>,
}

#[derive(Debug)]
struct Inner<P> {
    /// Never borrowed while a script runs.
    rows: RefCell<Rows<P>>,
    /// Used again and again, so that an operation allocates no view.
    view: RefCell<Option<Box<View<P>>>>,
    wakes: Wakes,
}

impl<P> Clone for MemoryStore<P> {
    fn clone(&self) -> Self {
        Self { inner: Rc::clone(&self.inner) }
    }
}

impl<P> Default for MemoryStore<P> {
    fn default() -> Self {
        let inner = Inner { rows: RefCell::new(Rows::default()), view: RefCell::default(), wakes: Wakes::new() };
        Self { inner: Rc::new(inner) }
    }
}

impl<P> MemoryStore<P> {
    /// An empty storage.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<P: Clone> Store for MemoryStore<P> {
    type Payload = P;

    async fn transact(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<P>]) -> Result<(), Error> {
        self.run_all(clock, scripts)
    }

    fn transact_now(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<P>]) -> Option<Result<(), Error>> {
        Some(self.run_all(clock, scripts))
    }

    fn wakes(&self) -> &Wakes {
        &self.inner.wakes
    }
}

impl<P: Clone> MemoryStore<P> {
    // One copy of it, wherever it is called from.
    #[inline(never)]
    fn run_all(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<P>]) -> Result<(), Error> {
        let now = clock.now()?;
        let mut view = self.inner.view.take().unwrap_or_default();
        for script in scripts {
            self.run(*script, now, &mut view);
        }
        for topic in view.wakes.drain(..) {
            self.inner.wakes.wake(&topic);
        }
        self.inner.view.replace(Some(view));
        Ok(())
    }

    fn run(&self, script: &mut dyn Script<P>, now: Timestamp, view: &mut View<P>) {
        let meta = self.inner.rows.borrow_mut().observe(now);
        view.begin(now, meta);
        let mut question = script.opening();
        loop {
            if let Some(scope) = question {
                let mut rows = self.inner.rows.borrow_mut();
                rows.apply(view);
                view.begin_answer();
                rows.answer(scope, view);
            }
            match script.step(view) {
                Step::Ask(scope) => question = Some(scope),
                Step::Done => break,
            }
        }
        self.inner.rows.borrow_mut().apply(view);
    }
}

// The maps hold boxes so that they share one shape: to wasm they are one map then, not three.
#[derive(Debug)]
struct Rows<P> {
    meta: Meta,
    lanes: BTreeMap<Name, Box<Lane<P>>>,
    /// How often a queue has run empty since empty ones were last forgotten.
    emptied: usize,
    locks: BTreeMap<Name, Box<LockRow>>,
    schedules: Schedules<P>,
}

impl<P> Default for Rows<P> {
    fn default() -> Self {
        Self {
            meta: Meta::default(),
            lanes: BTreeMap::new(),
            emptied: 0,
            locks: BTreeMap::new(),
            schedules: Schedules::default(),
        }
    }
}

impl<P: Clone> Rows<P> {
    fn observe(&mut self, now: Timestamp) -> Meta {
        if let Some(step) = self.meta.observe(now) {
            self.lanes.values_mut().for_each(|lane| lane.move_back(step, now));
            self.locks.values_mut().for_each(|lock| lock.move_back(step));
            self.schedules.move_back(step);
        }
        self.meta
    }

    fn apply(&mut self, view: &mut View<P>) {
        let now = view.now();
        self.meta = view.meta;
        for change in view.changes.drain(..) {
            match change {
                Change::Insert(job, payload) => {
                    self.lane(&job.queue.clone(), now).insert(job, payload, now);
                }
                Change::Update(job) => self.lane(&job.queue.clone(), now).update(job, now),
                Change::Remove { queue, id } => {
                    let lane = self.lane(&queue, now);
                    if lane.remove(id) && lane.is_empty() {
                        self.retire_lane();
                    }
                }
                other => self.apply_beside(other),
            }
        }
    }

    /// What is not about jobs.
    #[inline(never)]
    fn apply_beside(&mut self, change: Change<P>) {
        match change {
            Change::PutLock(name, lock) => drop(self.locks.insert(name, Box::new(lock))),
            Change::RemoveLock(name) => drop(self.locks.remove(&name)),
            Change::PutSchedule(row) => self.schedules.put(row),
            Change::RemoveSchedule(name) => self.schedules.remove(&name),
            Change::Insert(..) | Change::Update(_) | Change::Remove { .. } => {}
        }
    }

    /// The lane of a queue, settled; made if there is none.
    fn lane(&mut self, queue: &Name, now: Timestamp) -> &mut Lane<P> {
        let lane = self.lanes.entry(queue.clone()).or_default();
        lane.settle(now);
        lane
    }

    fn retire_lane(&mut self) {
        self.emptied = self.emptied.saturating_add(1);
        if self.emptied >= LANES_EMPTIED_MAX {
            self.lanes.retain(|_, lane| !lane.is_empty());
            self.emptied = 0;
        }
    }

    // Apart from what every operation runs: wasm is compiled function by function, at the first call.
    #[inline(never)]
    fn answer(&mut self, scope: Scope, view: &mut View<P>) {
        let now = view.now();
        match scope {
            Scope::Lock { name } => view.lock = self.locks.get(&name).map(|lock| (**lock).clone()),
            Scope::Schedule { name } => view.schedules.extend(self.schedules.rows.get(&name).cloned()),
            Scope::Schedules => view.schedules.extend(self.schedules.rows.values().cloned()),
            Scope::DueSchedules => self.schedules.due(view),
            Scope::NextBoundary => view.deadline = self.schedules.by_boundary.first().map(|(at, _)| *at),
            Scope::Job { queue, id, payload } => self.with_lane(&queue, now, |lane| lane.job(id, payload, view)),
            Scope::Jobs { queue, ids } => self.with_lane(&queue, now, |lane| {
                for id in ids {
                    lane.job(id, false, view);
                }
            }),
            Scope::Head { queue, n } => self.with_lane(&queue, now, |lane| lane.head(n, view)),
            Scope::Overdue { queue } => self.with_lane(&queue, now, |lane| lane.overdue(view)),
            Scope::Dead { queue } => self.with_lane(&queue, now, |lane| lane.dead(view)),
            Scope::Page { queue, state, after, limit } => {
                self.with_lane(&queue, now, |lane| lane.page(state, after, limit, view));
            }
            Scope::Tally { queue } => {
                view.tally = Tally::default();
                self.with_lane(&queue, now, |lane| view.tally = lane.tally());
            }
            Scope::Deadline { queue } => self.with_lane(&queue, now, |lane| view.deadline = lane.deadline(now)),
        }
    }

    fn with_lane(&mut self, queue: &Name, now: Timestamp, read: impl FnOnce(&Lane<P>)) {
        if let Some(lane) = self.lanes.get_mut(queue) {
            lane.settle(now);
            read(lane);
        }
    }
}

/// The schedules by name, and by what a tick looks for.
#[derive(Debug)]
struct Schedules<P> {
    rows: BTreeMap<Name, Box<ScheduleRow<P>>>,
    by_boundary: BTreeSet<(Timestamp, Name)>,
    /// By the boundary before the next: one in the future gives a boundary too far ahead away.
    by_previous: BTreeSet<(Timestamp, Name)>,
}

impl<P> Default for Schedules<P> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), by_boundary: BTreeSet::new(), by_previous: BTreeSet::new() }
    }
}

impl<P: Clone> Schedules<P> {
    fn put(&mut self, row: Box<ScheduleRow<P>>) {
        self.remove(&row.name);
        self.by_boundary.insert((row.next_fire_at, row.name.clone()));
        self.by_previous.insert((row.next_fire_at.minus(row.interval), row.name.clone()));
        self.rows.insert(row.name.clone(), row);
    }

    fn remove(&mut self, name: &Name) {
        if let Some(row) = self.rows.remove(name) {
            self.by_boundary.remove(&(row.next_fire_at, row.name.clone()));
            self.by_previous.remove(&(row.next_fire_at.minus(row.interval), row.name));
        }
    }

    fn due(&self, view: &mut View<P>) {
        let now = view.now();
        let due = self.by_boundary.iter().take_while(|(at, _)| *at <= now);
        let too_far = self.by_previous.iter().rev().take_while(|(at, _)| *at > now);
        let mut names = BTreeSet::new();
        for (_, name) in due.chain(too_far) {
            names.insert((Timestamp::default(), name.clone()));
        }
        view.schedules.extend(names.iter().filter_map(|(_, name)| self.rows.get(name)).cloned());
    }

    fn move_back(&mut self, step: Duration) {
        let Self { rows, .. } = std::mem::take(self);
        for mut row in rows.into_values() {
            row.move_back(step);
            self.put(row);
        }
    }
}
