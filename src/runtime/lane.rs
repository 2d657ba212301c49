//! One queue in memory: its rows, and indexes over their places, so that no operation looks at all rows.
//!
//! A row's place ([`Job::place`]) changes as time passes. Before an operation the lane *settles* at
//! its instant: what became due since the last one moves, each row once per deadline. Only a clock
//! that steps back behind a deadline already passed makes the lane look at all its ready rows, once
//! per such step.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::core::index::{FIRST, LAST, Sort, after, claim_order, crossed, until};
use crate::core::queue::inspect::Tally;
use crate::core::{Duration, Job, JobId, Place, State, Timestamp, View};

/// One shape of key for the rows and all indexes, and one of value: to wasm they are one map then. Two sort columns
/// and the id.
type Key = Sort;
type Map<P> = BTreeMap<Key, Rc<Entry<P>>>;

#[derive(Debug)]
struct Entry<P> {
    job: RefCell<Rc<Job>>,
    payload: P,
    place: Cell<Place>,
}

impl<P> Entry<P> {
    fn job(&self) -> Rc<Job> {
        Rc::clone(&self.job.borrow())
    }
}

/// The rows of one queue.
#[derive(Debug)]
pub(super) struct Lane<P> {
    rows: Map<P>,
    index: Index<P>,
    /// The instant that all places are true for.
    settled: Timestamp,
}

#[derive(Debug)]
struct Index<P> {
    /// Claimable jobs, in claim order.
    ready: Map<P>,
    /// Jobs that become claimable, by when.
    upcoming: Map<P>,
    /// Jobs out of attempts, by when a claim may bury them.
    spent: Map<P>,
    /// Jobs that expire and are not dead, by when.
    expiring: Map<P>,
    /// Dead jobs, by id.
    dead: Map<P>,
    /// Dead jobs that are not kept for ever, by the end of their retention.
    aging: Map<P>,
    pending: usize,
    processing: usize,
    /// The latest instant whose passing made a row ready or parked it.
    crossed: Timestamp,
}

/// The first `limit` entries of an index from one key to another, both included.
// One copy of it: a range over a tree is a lot of code.
#[inline(never)]
fn entries<P>(index: &Map<P>, from: Key, to: Key, limit: usize) -> Vec<Rc<Entry<P>>> {
    index.range(from..=to).take(limit).map(|(_, entry)| Rc::clone(entry)).collect()
}

/// The id first, where the comparison of two keys ends.
const fn row(id: JobId) -> Key {
    (id.cast_signed(), 0, 0)
}

impl<P> Default for Lane<P> {
    fn default() -> Self {
        let start = Timestamp::from_millis(i64::MIN);
        Self { rows: Map::new(), index: Index::new(start), settled: start }
    }
}

impl<P: Clone> Lane<P> {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Makes all places true at `now`.
    #[inline(never)]
    pub(super) fn settle(&mut self, now: Timestamp) {
        if now < self.settled && now < self.index.crossed {
            self.settle_back(now);
        }
        while let Some((&(due, ..), entry)) = self.index.upcoming.first_key_value() {
            if due > now.as_millis() {
                break;
            }
            let entry = Rc::clone(entry);
            self.index.replace(&entry, now);
        }
        if now > self.settled && !self.index.expiring.is_empty() {
            for entry in entries(&self.index.expiring, after(self.settled), until(now), usize::MAX) {
                self.index.replace(&entry, now);
            }
        }
        self.settled = now;
    }

    fn settle_back(&mut self, now: Timestamp) {
        let mut wrong = entries(&self.index.ready, FIRST, LAST, usize::MAX);
        wrong.append(&mut entries(&self.index.expiring, after(now), LAST, usize::MAX));
        self.index.crossed = now;
        for entry in wrong {
            self.index.replace(&entry, now);
        }
    }

    pub(super) fn insert(&mut self, job: Rc<Job>, payload: P, now: Timestamp) {
        let (id, place) = (job.id, Cell::new(job.place(now)));
        let entry = Rc::new(Entry { job: RefCell::new(job), payload, place });
        self.index.add(&entry, now);
        self.rows.insert(row(id), entry);
    }

    pub(super) fn update(&mut self, job: Rc<Job>, now: Timestamp) {
        if let Some(entry) = self.rows.get(&row(job.id)) {
            self.index.remove(entry);
            entry.place.set(job.place(now));
            entry.job.replace(job);
            self.index.add(entry, now);
        }
    }

    /// Whether there was one.
    pub(super) fn remove(&mut self, id: JobId) -> bool {
        let removed = self.rows.remove(&row(id));
        if let Some(entry) = &removed {
            self.index.remove(entry);
        }
        removed.is_some()
    }

    /// Moves every derived deadline back by `step`, and settles anew.
    pub(super) fn move_back(&mut self, step: Duration, now: Timestamp) {
        self.index = Index::new(now);
        for entry in self.rows.values() {
            Rc::make_mut(&mut entry.job.borrow_mut()).move_back(step);
            entry.place.set(entry.job().place(now));
            self.index.add(entry, now);
        }
        self.settled = now;
    }

    // The answers. All of them want a settled lane.

    pub(super) fn job(&self, id: JobId, payload: bool, view: &mut View<P>) {
        if let Some(entry) = self.rows.get(&row(id)) {
            give(entry, payload, view);
        }
    }

    pub(super) fn head(&self, n: usize, view: &mut View<P>) {
        if self.index.spent.first_key_value().is_some_and(|(key, _)| *key <= until(view.now())) {
            give_all(&self.index.spent, until(view.now()), usize::MAX, false, view);
            std::mem::swap(&mut view.spent, &mut view.jobs);
        }
        match (n, self.index.ready.first_key_value()) {
            (1, Some((_, entry))) => give(entry, true, view),
            _ => give_all(&self.index.ready, LAST, n, true, view),
        }
    }

    pub(super) fn overdue(&self, view: &mut View<P>) {
        let end = until(view.now());
        give_all(&self.index.expiring, end, usize::MAX, false, view);
        view.aged = entries(&self.index.aging, FIRST, end, usize::MAX).iter().map(|entry| entry.job().id).collect();
    }

    pub(super) fn dead(&self, view: &mut View<P>) {
        give_all(&self.index.dead, LAST, usize::MAX, false, view);
    }

    pub(super) fn page(&self, state: Option<State>, after: JobId, limit: usize, view: &mut View<P>) {
        let Some(first) = after.checked_add(1) else { return };
        let all = if state == Some(State::Dead) { &self.index.dead } else { &self.rows };
        for (_, entry) in all.range(row(first)..) {
            if view.jobs.len() >= limit {
                return;
            }
            if state.is_none_or(|state| entry.job.borrow().state == state) {
                give(entry, true, view);
            }
        }
    }

    pub(super) fn tally(&self) -> Tally {
        Tally {
            pending: self.index.pending,
            ready: self.index.ready.len(),
            processing: self.index.processing,
            dead: self.index.dead.len(),
            next_deadline: first(&self.index.upcoming),
        }
    }

    pub(super) fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.index.ready.is_empty() {
            return Some(now);
        }
        first(&self.index.upcoming).into_iter().chain(first(&self.index.spent)).min()
    }
}

fn first<P>(by_instant: &Map<P>) -> Option<Timestamp> {
    by_instant.first_key_value().map(|((at, ..), _)| Timestamp::from_millis(*at))
}

#[inline(never)]
fn give<P: Clone>(entry: &Entry<P>, payload: bool, view: &mut View<P>) {
    view.jobs.push(entry.job());
    if payload {
        view.payloads.push(entry.payload.clone());
    }
}

fn give_all<P: Clone>(index: &Map<P>, to: Key, limit: usize, payload: bool, view: &mut View<P>) {
    for entry in entries(index, FIRST, to, limit) {
        give(&entry, payload, view);
    }
}

impl<P> Index<P> {
    const fn new(crossed: Timestamp) -> Self {
        Self {
            ready: Map::new(),
            upcoming: Map::new(),
            spent: Map::new(),
            expiring: Map::new(),
            dead: Map::new(),
            aging: Map::new(),
            pending: 0,
            processing: 0,
            crossed,
        }
    }

    #[inline(never)]
    fn replace(&mut self, entry: &Rc<Entry<P>>, now: Timestamp) {
        self.remove(entry);
        entry.place.set(entry.job.borrow().place(now));
        self.add(entry, now);
    }

    #[inline(never)]
    fn add(&mut self, entry: &Rc<Entry<P>>, now: Timestamp) {
        let job: &Job = &entry.job.borrow();
        if let Some(at) = crossed(job, entry.place.get(), now) {
            self.crossed = self.crossed.max(at);
        }
        if let Some((index, key)) = self.by_place(job, entry.place.get()) {
            index.insert(key, Rc::clone(entry));
        }
        if let Some((index, key)) = self.by_end(job) {
            index.insert(key, Rc::clone(entry));
        }
        if let Some(count) = self.count(job) {
            *count = count.saturating_add(1);
        }
    }

    #[inline(never)]
    fn remove(&mut self, entry: &Entry<P>) {
        let job: &Job = &entry.job.borrow();
        if let Some((index, key)) = self.by_place(job, entry.place.get()) {
            index.remove(&key);
        }
        if let Some((index, key)) = self.by_end(job) {
            index.remove(&key);
        }
        if let Some(count) = self.count(job) {
            *count = count.saturating_sub(1);
        }
    }

    /// Where a row is kept for its place.
    fn by_place(&mut self, job: &Job, place: Place) -> Option<(&mut Map<P>, Key)> {
        match place {
            Place::Ready => Some((&mut self.ready, claim_order(job))),
            Place::Upcoming(at) => Some((&mut self.upcoming, (at.as_millis(), 0, job.id))),
            Place::Spent(at) => Some((&mut self.spent, (at.as_millis(), 0, job.id))),
            Place::Dead => Some((&mut self.dead, row(job.id))),
            Place::Parked => None,
        }
    }

    /// Where a row that does not stay for ever is kept for a sweep.
    fn by_end(&mut self, job: &Job) -> Option<(&mut Map<P>, Key)> {
        let (index, end) = match job.state {
            State::Dead => (&mut self.aging, job.purge_at),
            State::Pending | State::Processing => (&mut self.expiring, job.expires_at),
        };
        end.map(|at| (index, (at.as_millis(), 0, job.id)))
    }

    /// The count that a row is in; dead ones are counted by their index.
    fn count(&mut self, job: &Job) -> Option<&mut usize> {
        match job.state {
            State::Pending => Some(&mut self.pending),
            State::Processing => Some(&mut self.processing),
            State::Dead => None,
        }
    }
}
