//! A storage in memory: indexed, ready at once, gone with the process. Clones share it.

use std::cell::RefCell;
use std::rc::Rc;

use super::by_name::ByName;
use super::host::Clock;
use super::lane::Lane;
use super::slab::Slab;
use super::sorted::Sorted;
use super::store::Store;
use super::wakes::Wakes;
use crate::core::clock::Meta;
use crate::core::index::{FIRST, Sort, after, until};
use crate::core::queue::inspect::Tally;
use crate::core::{Change, Duration, Error, LockRow, Name, ScheduleRow, Scope, Script, Step, Timestamp, View};

/// How often queues run empty before the empty ones are forgotten: so many at the most are kept, and
/// one that is drained and filled in turn costs nothing.
const LANES_EMPTIED_MAX: usize = 1024;

/// How many due schedules a tick sorts by name. If more are due, it looks at all schedules, which are sorted.
const SORTED_MAX: usize = 64;

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

    #[inline]
    fn run(&self, script: &mut dyn Script<P>, now: Timestamp, view: &mut View<P>) {
        let meta = self.inner.rows.borrow_mut().observe(now);
        view.begin(now, meta);
        if let Some(scope) = script.opening() {
            self.inner.rows.borrow_mut().answer(scope, view);
        }
        while let Step::Ask(scope) = script.step(view) {
            let mut rows = self.inner.rows.borrow_mut();
            rows.apply(view);
            view.begin_answer();
            rows.answer(scope, view);
        }
        self.inner.rows.borrow_mut().apply(view);
    }
}

#[derive(Debug)]
struct Rows<P> {
    meta: Meta,
    lanes: ByName<Box<Lane<P>>>,
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
            match change {
                Change::Insert(job, payload) => {
                    if let Some(lane) = self.lane(&job.queue, now) {
                        lane.insert(job, payload, now);
                    }
                }
                Change::Update(job) => {
                    if let Some(lane) = self.lane(&job.queue, now) {
                        lane.update(job, now);
                    }
                }
                Change::Remove { queue, id } => {
                    if self.lane(&queue, now).is_some_and(|lane| lane.remove(id, now) && lane.is_empty()) {
                        self.retire_lane();
                    }
                }
                Change::PutLock(name, lock) => self.locks.insert(name, lock),
                Change::RemoveLock(name) => drop(self.locks.remove(&name)),
                Change::PutSchedule(row) => self.schedules.put(row),
                Change::RemoveSchedule(name) => self.schedules.remove(&name),
            }
        }
    }

    /// The lane of a queue, settled; made if there is none.
    fn lane(&mut self, queue: &Name, now: Timestamp) -> Option<&mut Lane<P>> {
        let lane = self.lanes.get_or_insert(queue)?;
        lane.settle(now);
        Some(lane)
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
                view.schedules.extend(self.schedules.get(&name).cloned());
            }
            Scope::Schedules => view.schedules.extend(self.schedules.all().cloned()),
            Scope::DueSchedules => self.schedules.due(view),
            Scope::NextBoundary => view.deadline = self.schedules.next_boundary(),
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
    rows: Slab<Rc<ScheduleRow<P>>>,
    /// Their slots.
    by_name: ByName<usize>,
    /// By the next boundary.
    by_boundary: Sorted,
    /// By the boundary before the next: one in the future gives a boundary too far ahead away.
    by_previous: Sorted,
}

impl<P> Default for Schedules<P> {
    fn default() -> Self {
        Self { rows: Slab::new(), by_name: ByName::new(), by_boundary: Sorted::new(), by_previous: Sorted::new() }
    }
}

impl<P: Clone> Schedules<P> {
    fn get(&self, name: &Name) -> Option<&Rc<ScheduleRow<P>>> {
        self.rows.get(*self.by_name.get(name)?)
    }

    fn all(&self) -> impl Iterator<Item = &Rc<ScheduleRow<P>>> {
        self.by_name.values().filter_map(|slot| self.rows.get(*slot))
    }

    fn put(&mut self, row: Rc<ScheduleRow<P>>) {
        let slot = match self.by_name.get(&row.name).copied() {
            Some(slot) => {
                self.leave(slot);
                slot
            }
            None => {
                let slot = self.rows.insert(Rc::clone(&row));
                self.by_name.insert(row.name.clone(), slot);
                slot
            }
        };
        let [boundary, previous] = keys(&row, slot);
        self.by_boundary.insert(boundary, slot);
        self.by_previous.insert(previous, slot);
        if let Some(old) = self.rows.get_mut(slot) {
            *old = row;
        }
    }

    fn remove(&mut self, name: &Name) {
        if let Some(slot) = self.by_name.remove(name) {
            self.leave(slot);
            self.rows.remove(slot);
        }
    }

    fn leave(&mut self, slot: usize) {
        if let Some(row) = self.rows.get(slot) {
            let [boundary, previous] = keys(row, slot);
            self.by_boundary.remove(&boundary);
            self.by_previous.remove(&previous);
        }
    }

    fn due(&self, view: &mut View<P>) {
        let now = view.now();
        let due = self.by_boundary.from(FIRST).take_while(|(key, _)| *key <= until(now));
        let too_far = self.by_previous.from(after(now));
        let mut slots = due.chain(too_far).map(|(_, slot)| *slot);
        for slot in slots.by_ref().take(SORTED_MAX) {
            self.rows.get(slot).into_iter().for_each(|row| view.add_schedule(row));
        }
        if slots.next().is_some() {
            view.schedules.clear();
            view.schedules.extend(self.all().filter(|row| row.wants_tick(now)).cloned());
        }
    }

    fn next_boundary(&self) -> Option<Timestamp> {
        self.by_boundary.first().map(|((at, ..), _)| Timestamp::from_millis(*at))
    }

    fn move_back(&mut self, step: Duration) {
        let rows: Vec<Rc<ScheduleRow<P>>> = self.all().cloned().collect();
        for mut row in rows {
            Rc::make_mut(&mut row).move_back(step);
            self.put(row);
        }
    }
}

fn keys<P>(row: &ScheduleRow<P>, slot: usize) -> [Sort; 2] {
    let by = |at: Timestamp| (at.as_millis(), 0, slot as u64);
    [by(row.next_fire_at), by(row.next_fire_at.minus(row.interval))]
}
