//! One queue in memory: its rows, and indexes over their places, so that no operation looks at all rows.
//!
//! A row's place ([`Job::place`]) changes as time passes. Before an operation the lane *settles* at
//! its instant: what became due since the last one moves, each row once per deadline. Only a clock
//! that steps back behind a deadline already passed makes the lane look at all its ready rows, once
//! per such step.

use std::rc::Rc;

use super::slab::Slab;
use super::sorted::Sorted;
use crate::core::index::{FIRST, LAST, Sort, after, claim_order, crossed, until};
use crate::core::queue::inspect::Tally;
use crate::core::{Duration, Job, JobId, Place, State, Timestamp, View};

/// The rows of one queue.
#[derive(Debug)]
pub(super) struct Lane<P> {
    rows: Slab<Row<P>>,
    index: Index,
    /// The instant that all places are true for.
    settled: Timestamp,
}

#[derive(Debug)]
struct Row<P> {
    job: Rc<Job>,
    payload: P,
}

/// The slots of rows.
#[derive(Debug)]
struct Index {
    /// All jobs, by id.
    all: Sorted,
    /// Claimable jobs, in claim order.
    ready: Sorted,
    /// Jobs that become claimable, by when.
    upcoming: Sorted,
    /// Jobs out of attempts, by when a claim may bury them.
    spent: Sorted,
    /// Jobs that expire and are not dead, by when.
    expiring: Sorted,
    /// Dead jobs, by id.
    dead: Sorted,
    /// Dead jobs that are not kept for ever, by the end of their retention.
    aging: Sorted,
    pending: usize,
    processing: usize,
    /// The latest instant whose passing made a row ready or parked it.
    crossed: Timestamp,
}

/// The slots of the first `limit` entries from one key to another, both included.
// One copy of it: a range over blocks is a lot of code.
#[inline(never)]
fn slots(index: &Sorted, from: Sort, to: Sort, limit: usize) -> Vec<usize> {
    index.from(from).take_while(|(key, _)| *key <= to).take(limit).map(|(_, slot)| *slot).collect()
}

/// The id first, where the comparison of two keys ends.
const fn by_id(id: JobId) -> Sort {
    (id.cast_signed(), 0, 0)
}

const fn by_instant(at: Timestamp, id: JobId) -> Sort {
    (at.as_millis(), 0, id)
}

impl<P> Default for Lane<P> {
    fn default() -> Self {
        let start = Timestamp::from_millis(i64::MIN);
        Self { rows: Slab::new(), index: Index::new(start), settled: start }
    }
}

impl<P: Clone> Lane<P> {
    pub(super) fn is_empty(&self) -> bool {
        self.index.all.is_empty()
    }

    /// Makes all places true at `now`.
    #[inline]
    pub(super) fn settle(&mut self, now: Timestamp) {
        if now != self.settled {
            self.pass(now);
        }
    }

    #[inline(never)]
    fn pass(&mut self, now: Timestamp) {
        if now < self.settled && now < self.index.crossed {
            self.settle_back(now);
        }
        while let Some((_, slot)) =
            self.index.upcoming.first().copied().filter(|((due, ..), _)| *due <= now.as_millis())
        {
            self.replace(slot, now);
        }
        if now > self.settled && !self.index.expiring.is_empty() {
            for slot in slots(&self.index.expiring, after(self.settled), until(now), usize::MAX) {
                self.replace(slot, now);
            }
        }
        self.settled = now;
    }

    fn settle_back(&mut self, now: Timestamp) {
        let mut wrong = slots(&self.index.expiring, after(now), LAST, usize::MAX);
        // Those that are ready too are among the next.
        wrong.retain(|slot| self.rows.get(*slot).is_some_and(|row| row.job.place(self.settled) != Place::Ready));
        wrong.append(&mut slots(&self.index.ready, FIRST, LAST, usize::MAX));
        self.index.crossed = now;
        for slot in wrong {
            self.replace(slot, now);
        }
    }

    /// Moves a row from its place when the lane was last settled to that at `now`.
    #[inline(never)]
    fn replace(&mut self, slot: usize, now: Timestamp) {
        if let Some(row) = self.rows.get(slot) {
            self.index.remove(&row.job, self.settled);
            self.index.add(&row.job, slot, now);
        }
    }

    // The writes. All of them want a lane that is settled at `now`.

    pub(super) fn insert(&mut self, job: Rc<Job>, payload: P, now: Timestamp) {
        let slot = self.rows.insert(Row { job: Rc::clone(&job), payload });
        self.index.all.insert(by_id(job.id), slot);
        self.index.add(&job, slot, now);
    }

    pub(super) fn update(&mut self, job: Rc<Job>, now: Timestamp) {
        let Some(slot) = self.index.all.get(&by_id(job.id)) else { return };
        if let Some(row) = self.rows.get_mut(slot) {
            self.index.remove(&row.job, now);
            self.index.add(&job, slot, now);
            row.job = job;
        }
    }

    /// Whether there was one.
    pub(super) fn remove(&mut self, id: JobId, now: Timestamp) -> bool {
        let removed = self.index.all.remove(&by_id(id)).and_then(|slot| self.rows.remove(slot));
        if let Some(row) = &removed {
            self.index.remove(&row.job, now);
        }
        removed.is_some()
    }

    /// Moves every derived deadline back by `step`, and settles anew.
    pub(super) fn move_back(&mut self, step: Duration, now: Timestamp) {
        let all = std::mem::take(&mut self.index.all);
        self.index = Index::new(now);
        for (_, slot) in all.from(FIRST) {
            if let Some(row) = self.rows.get_mut(*slot) {
                Rc::make_mut(&mut row.job).move_back(step);
                self.index.add(&row.job, *slot, now);
            }
        }
        self.index.all = all;
        self.settled = now;
    }

    // The answers. All of them want a settled lane.

    pub(super) fn job(&self, id: JobId, payload: bool, view: &mut View<P>) {
        if let Some(slot) = self.index.all.get(&by_id(id)) {
            self.give(slot, payload, view);
        }
    }

    pub(super) fn head(&self, n: usize, view: &mut View<P>) {
        if self.index.spent.first().is_some_and(|(key, _)| *key <= until(view.now())) {
            self.give_all(&self.index.spent, until(view.now()), usize::MAX, false, view);
            std::mem::swap(&mut view.spent, &mut view.jobs);
        }
        match (n, self.index.ready.first()) {
            (1, Some((_, slot))) => self.give(*slot, true, view),
            _ => self.give_all(&self.index.ready, LAST, n, true, view),
        }
    }

    pub(super) fn overdue(&self, view: &mut View<P>) {
        let end = until(view.now());
        self.give_all(&self.index.expiring, end, usize::MAX, false, view);
        let aged = slots(&self.index.aging, FIRST, end, usize::MAX);
        view.aged = aged.into_iter().filter_map(|slot| self.rows.get(slot)).map(|row| row.job.id).collect();
    }

    pub(super) fn dead(&self, view: &mut View<P>) {
        self.give_all(&self.index.dead, LAST, usize::MAX, false, view);
    }

    pub(super) fn page(&self, state: Option<State>, after: JobId, limit: usize, view: &mut View<P>) {
        // Ids are sorted as signed numbers, and none is larger.
        let Some(first) = after.checked_add(1).filter(|first| i64::try_from(*first).is_ok()) else { return };
        let index = if state == Some(State::Dead) { &self.index.dead } else { &self.index.all };
        for (_, slot) in index.from(by_id(first)) {
            if view.jobs.len() >= limit {
                return;
            }
            let Some(row) = self.rows.get(*slot) else { continue };
            if state.is_none_or(|state| row.job.state == state) {
                self.give(*slot, true, view);
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

    #[inline(never)]
    fn give(&self, slot: usize, payload: bool, view: &mut View<P>) {
        let Some(row) = self.rows.get(slot) else { return };
        view.jobs.push(Rc::clone(&row.job));
        if payload {
            view.payloads.push(row.payload.clone());
        }
    }

    fn give_all(&self, index: &Sorted, to: Sort, limit: usize, payload: bool, view: &mut View<P>) {
        for slot in slots(index, FIRST, to, limit) {
            self.give(slot, payload, view);
        }
    }
}

fn first(by_instant: &Sorted) -> Option<Timestamp> {
    by_instant.first().map(|((at, ..), _)| Timestamp::from_millis(*at))
}

impl Index {
    const fn new(crossed: Timestamp) -> Self {
        Self {
            all: Sorted::new(),
            ready: Sorted::new(),
            upcoming: Sorted::new(),
            spent: Sorted::new(),
            expiring: Sorted::new(),
            dead: Sorted::new(),
            aging: Sorted::new(),
            pending: 0,
            processing: 0,
            crossed,
        }
    }

    /// Adds a row at its place at `now`.
    #[inline(never)]
    fn add(&mut self, job: &Job, slot: usize, now: Timestamp) {
        let place = job.place(now);
        if let Some(at) = crossed(job, place, now) {
            self.crossed = self.crossed.max(at);
        }
        if let Some((index, key)) = self.by_place(job, place) {
            index.insert(key, slot);
        }
        if let Some((index, key)) = self.by_end(job) {
            index.insert(key, slot);
        }
        if let Some(count) = self.count(job) {
            *count = count.saturating_add(1);
        }
    }

    /// Removes a row from its place, which is the one at `settled`.
    #[inline(never)]
    fn remove(&mut self, job: &Job, settled: Timestamp) {
        if let Some((index, key)) = self.by_place(job, job.place(settled)) {
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
    #[inline]
    fn by_place(&mut self, job: &Job, place: Place) -> Option<(&mut Sorted, Sort)> {
        match place {
            Place::Ready => Some((&mut self.ready, claim_order(job))),
            Place::Upcoming(at) => Some((&mut self.upcoming, by_instant(at, job.id))),
            Place::Spent(at) => Some((&mut self.spent, by_instant(at, job.id))),
            Place::Dead => Some((&mut self.dead, by_id(job.id))),
            Place::Parked => None,
        }
    }

    /// Where a row that does not stay for ever is kept for a sweep.
    #[inline]
    fn by_end(&mut self, job: &Job) -> Option<(&mut Sorted, Sort)> {
        let (index, end) = match job.state {
            State::Dead => (&mut self.aging, job.purge_at),
            State::Pending | State::Processing => (&mut self.expiring, job.expires_at),
        };
        end.map(|at| (index, by_instant(at, job.id)))
    }

    /// The count that a row is in; dead ones are counted by their index.
    #[inline]
    fn count(&mut self, job: &Job) -> Option<&mut usize> {
        match job.state {
            State::Pending => Some(&mut self.pending),
            State::Processing => Some(&mut self.processing),
            State::Dead => None,
        }
    }
}
