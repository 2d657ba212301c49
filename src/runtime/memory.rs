//! A storage in memory: indexed, ready at once, gone with the process. Clones share it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::by_name::ByName;
use super::host::Clock;
use super::lane::Lane;
use super::store::Store;
use super::wakes::Wakes;
use crate::core::clock::Meta;
use crate::core::index::Sort;
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
        let inner = Inner { rows: RefCell::new(Rows::default()), view: RefCell::default(), wakes: Wakes::certain() };
        Self { inner: Rc::new(inner) }
    }
}

impl<P> MemoryStore<P> {
    /// An empty storage.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<P: Clone + 'static> Store for MemoryStore<P> {
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

#[derive(Debug)]
struct Rows<P> {
    meta: Meta,
    lanes: ByName<Lane<P>>,
    /// How often a queue has run empty since empty ones were last forgotten.
    emptied: usize,
    locks: ByName<LockRow>,
    schedules: Schedules<P>,
}

impl<P> Default for Rows<P> {
    fn default() -> Self {
        Self {
            meta: Meta::default(),
            lanes: ByName::new(),
            emptied: 0,
            locks: ByName::new(),
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
            match &change {
                Change::Insert(job, _) | Change::Update(job) => self.in_lane(&job.queue.clone(), now, change),
                Change::Remove { queue, .. } => self.in_lane(&queue.clone(), now, change),
                _ => self.apply_beside(change),
            }
        }
    }

    /// What is not about jobs.
    #[inline(never)]
    fn apply_beside(&mut self, change: Change<P>) {
        match change {
            Change::PutLock(name, lock) => self.locks.insert(name, Box::new(lock)),
            Change::RemoveLock(name) => drop(self.locks.remove(&name)),
            Change::PutSchedule(row) => self.schedules.put(row),
            Change::RemoveSchedule(name) => self.schedules.remove(&name),
            Change::Insert(..) | Change::Update(_) | Change::Remove { .. } => {}
        }
    }

    /// Writes to the lane of a queue, settled; made if there is none.
    fn in_lane(&mut self, queue: &Name, now: Timestamp, change: Change<P>) {
        let Some(lane) = self.lanes.get_or_insert(queue) else { return };
        lane.settle(now);
        match change {
            Change::Insert(job, payload) => lane.insert(job, payload, now),
            Change::Update(job) => lane.update(job, now),
            Change::Remove { id, .. } if lane.remove(id) && lane.is_empty() => self.retire_lane(),
            _ => {}
        }
    }

    fn retire_lane(&mut self) {
        self.emptied = self.emptied.saturating_add(1);
        if self.emptied >= LANES_EMPTIED_MAX {
            self.lanes.retain(|lane| !lane.is_empty());
            self.emptied = 0;
        }
    }

    // Apart from what every operation runs: wasm is compiled function by function, at the first call.
    #[inline(never)]
    fn answer(&mut self, scope: Scope, view: &mut View<P>) {
        let now = view.now();
        match scope {
            Scope::Lock { name } => view.lock = self.locks.get(&name).cloned(),
            Scope::Schedule { name } => {
                view.schedules.extend(self.schedules.rows.get(&name).map(|found| Rc::clone(&found.row)));
            }
            Scope::Schedules => view.schedules.extend(self.schedules.rows.values().map(|found| Rc::clone(&found.row))),
            Scope::DueSchedules => self.schedules.due(view),
            Scope::NextBoundary => {
                view.deadline = self.schedules.by_boundary.first_key_value().map(|(_, row)| row.next_fire_at);
            }
            Scope::Job { queue, id, payload } => {
                if let Some(lane) = self.settled(&queue, now) {
                    lane.job(id, payload, view);
                }
            }
            Scope::Jobs { queue, ids } => {
                if let Some(lane) = self.settled(&queue, now) {
                    ids.into_iter().for_each(|id| lane.job(id, false, view));
                }
            }
            Scope::Head { ref queue, .. }
            | Scope::Overdue { ref queue }
            | Scope::Dead { ref queue }
            | Scope::Page { ref queue, .. }
            | Scope::Tally { ref queue }
            | Scope::Deadline { ref queue } => {
                view.tally = Tally::default();
                let Some(lane) = self.settled(queue, now) else { return };
                match scope {
                    Scope::Head { n, .. } => lane.head(n, view),
                    Scope::Overdue { .. } => lane.overdue(view),
                    Scope::Dead { .. } => lane.dead(view),
                    Scope::Page { state, after, limit, .. } => lane.page(state, after, limit, view),
                    Scope::Tally { .. } => view.tally = lane.tally(),
                    _ => view.deadline = lane.deadline(now),
                }
            }
        }
    }

    /// The lane of a queue, settled, if there is one.
    #[inline(never)]
    fn settled(&mut self, queue: &Name, now: Timestamp) -> Option<&Lane<P>> {
        let lane = self.lanes.get_mut(queue)?;
        lane.settle(now);
        Some(lane)
    }
}

/// The schedules by name, and by what a tick looks for.
#[derive(Debug)]
struct Schedules<P> {
    rows: ByName<Numbered<P>>,
    /// By the next boundary. Numbered, so that the map has the shape of a lane's.
    by_boundary: BTreeMap<Sort, Rc<ScheduleRow<P>>>,
    /// By the boundary before the next: one in the future gives a boundary too far ahead away.
    by_previous: BTreeMap<Sort, Rc<ScheduleRow<P>>>,
    put: u64,
}

#[derive(Debug)]
struct Numbered<P> {
    number: u64,
    row: Rc<ScheduleRow<P>>,
}

impl<P> Default for Schedules<P> {
    fn default() -> Self {
        Self { rows: ByName::new(), by_boundary: BTreeMap::new(), by_previous: BTreeMap::new(), put: 0 }
    }
}

impl<P: Clone> Schedules<P> {
    fn put(&mut self, row: Rc<ScheduleRow<P>>) {
        self.remove(&row.name);
        self.put = self.put.saturating_add(1);
        let number = self.put;
        let [boundary, previous] = keys(&row, number);
        self.by_boundary.insert(boundary, Rc::clone(&row));
        self.by_previous.insert(previous, Rc::clone(&row));
        self.rows.insert(row.name.clone(), Box::new(Numbered { number, row }));
    }

    fn remove(&mut self, name: &Name) {
        if let Some(old) = self.rows.remove(name) {
            let [boundary, previous] = keys(&old.row, old.number);
            self.by_boundary.remove(&boundary);
            self.by_previous.remove(&previous);
        }
    }

    fn due(&self, view: &mut View<P>) {
        let now = view.now();
        let due = self.by_boundary.values().take_while(|row| row.next_fire_at <= now);
        let too_far = self.by_previous.iter().rev().take_while(|((at, ..), _)| *at > now.as_millis());
        for row in due.chain(too_far.map(|(_, row)| row)) {
            view.add_schedule(row);
        }
    }

    fn move_back(&mut self, step: Duration) {
        let Self { rows, put, .. } = std::mem::take(self);
        self.put = put;
        for numbered in rows.values() {
            let mut row = Rc::clone(&numbered.row);
            Rc::make_mut(&mut row).move_back(step);
            self.put(row);
        }
    }
}

fn keys<P>(row: &ScheduleRow<P>, number: u64) -> [Sort; 2] {
    [(row.next_fire_at.as_millis(), 0, number), (row.next_fire_at.minus(row.interval).as_millis(), 0, number)]
}
