//! One queue in memory: its rows, and indexes over their places, so that no operation looks at all rows.
//!
//! A row's place ([`Job::place`]) changes as time passes. Before an operation the lane *settles* at
//! its instant: what became due since the last one moves, each row once per deadline. Only a clock
//! that steps back behind a deadline already passed makes the lane look at all its ready rows, once
//! per such step.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::core::queue::inspect::Tally;
use crate::core::{Duration, Job, JobId, Place, State, Timestamp, View};

/// One shape of key for all indexes: two sort columns and the id.
type Key = (i64, i64, JobId);

#[derive(Debug)]
struct Entry<P> {
    job: Rc<Job>,
    payload: P,
    place: Place,
}

/// The rows of one queue.
#[derive(Debug)]
pub(super) struct Lane<P> {
    rows: BTreeMap<JobId, Entry<P>>,
    index: Index,
    /// The instant that all places are true for.
    settled: Timestamp,
}

#[derive(Debug, Default)]
struct Index {
    /// Claimable jobs, in claim order.
    ready: BTreeSet<Key>,
    /// Jobs that become claimable, by when.
    upcoming: BTreeSet<Key>,
    /// Jobs out of attempts, by when a claim may bury them.
    spent: BTreeSet<Key>,
    /// Jobs that expire and are not dead, by when.
    expiring: BTreeSet<Key>,
    /// Dead jobs, by id.
    dead: BTreeSet<Key>,
    /// Dead jobs that are not kept for ever, by the end of their retention.
    aging: BTreeSet<Key>,
    pending: usize,
    processing: usize,
    /// The latest instant whose passing made a row ready or parked it.
    crossed: Timestamp,
}

const FIRST: Key = (i64::MIN, i64::MIN, 0);
const LAST: Key = (i64::MAX, i64::MAX, JobId::MAX);

/// The first `limit` ids of an index from one key to another, both included.
// One copy of it: a range over a tree is a lot of code.
#[inline(never)]
fn ids(index: &BTreeSet<Key>, from: Key, to: Key, limit: usize) -> Vec<JobId> {
    index.range(from..=to).take(limit).map(|(_, _, id)| *id).collect()
}

const fn until(instant: Timestamp) -> Key {
    (instant.as_millis(), i64::MAX, JobId::MAX)
}

const fn after(instant: Timestamp) -> Key {
    (instant.as_millis().saturating_add(1), i64::MIN, 0)
}

impl<P> Default for Lane<P> {
    fn default() -> Self {
        let start = Timestamp::from_millis(i64::MIN);
        Self { rows: BTreeMap::new(), index: Index { crossed: start, ..Index::default() }, settled: start }
    }
}

impl<P: Clone> Lane<P> {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Makes all places true at `now`.
    pub(super) fn settle(&mut self, now: Timestamp) {
        if now < self.settled && now < self.index.crossed {
            self.settle_back(now);
        }
        while let Some(&(due, _, id)) = self.index.upcoming.first() {
            if due > now.as_millis() {
                break;
            }
            self.replace(id, now);
        }
        if now > self.settled && !self.index.expiring.is_empty() {
            for id in ids(&self.index.expiring, after(self.settled), until(now), usize::MAX) {
                self.replace(id, now);
            }
        }
        self.settled = now;
    }

    fn settle_back(&mut self, now: Timestamp) {
        let ready = ids(&self.index.ready, FIRST, LAST, usize::MAX);
        let unexpired = ids(&self.index.expiring, after(now), LAST, usize::MAX);
        self.index.crossed = now;
        for id in ready {
            self.replace(id, now);
        }
        for id in unexpired {
            self.replace(id, now);
        }
    }

    fn replace(&mut self, id: JobId, now: Timestamp) {
        if let Some(entry) = self.rows.get_mut(&id) {
            self.index.remove(&entry.job, entry.place);
            entry.place = entry.job.place(now);
            self.index.add(&entry.job, entry.place, now);
        }
    }

    pub(super) fn insert(&mut self, job: Rc<Job>, payload: P, now: Timestamp) {
        let place = job.place(now);
        self.index.add(&job, place, now);
        self.rows.insert(job.id, Entry { job, payload, place });
    }

    pub(super) fn update(&mut self, job: Rc<Job>, now: Timestamp) {
        if let Some(entry) = self.rows.get_mut(&job.id) {
            self.index.remove(&entry.job, entry.place);
            entry.job = job;
            entry.place = entry.job.place(now);
            self.index.add(&entry.job, entry.place, now);
        }
    }

    /// Whether there was one.
    pub(super) fn remove(&mut self, id: JobId) -> bool {
        let removed = self.rows.remove(&id);
        if let Some(entry) = &removed {
            self.index.remove(&entry.job, entry.place);
        }
        removed.is_some()
    }

    /// Moves every derived deadline back by `step`, and settles anew.
    pub(super) fn move_back(&mut self, step: Duration, now: Timestamp) {
        self.index = Index { crossed: now, ..Index::default() };
        for entry in self.rows.values_mut() {
            Rc::make_mut(&mut entry.job).move_back(step);
            entry.place = entry.job.place(now);
            self.index.add(&entry.job, entry.place, now);
        }
        self.settled = now;
    }

    // The answers. All of them want a settled lane.

    pub(super) fn job(&self, id: JobId, payload: bool, view: &mut View<P>) {
        if let Some(entry) = self.rows.get(&id) {
            view.jobs.push(Rc::clone(&entry.job));
            if payload {
                view.payloads.push(entry.payload.clone());
            }
        }
    }

    fn jobs(&self, ids: Vec<JobId>, payload: bool, view: &mut View<P>) {
        for id in ids {
            self.job(id, payload, view);
        }
    }

    pub(super) fn head(&self, n: usize, view: &mut View<P>) {
        if self.index.spent.first().is_some_and(|key| *key <= until(view.now())) {
            self.jobs(ids(&self.index.spent, FIRST, until(view.now()), usize::MAX), false, view);
            std::mem::swap(&mut view.spent, &mut view.jobs);
        }
        match (n, self.index.ready.first()) {
            (1, Some((_, _, id))) => self.job(*id, true, view),
            _ => self.jobs(ids(&self.index.ready, FIRST, LAST, n), true, view),
        }
    }

    pub(super) fn overdue(&self, view: &mut View<P>) {
        let end = until(view.now());
        self.jobs(ids(&self.index.expiring, FIRST, end, usize::MAX), false, view);
        view.aged = ids(&self.index.aging, FIRST, end, usize::MAX);
    }

    pub(super) fn dead(&self, view: &mut View<P>) {
        self.jobs(ids(&self.index.dead, FIRST, LAST, usize::MAX), false, view);
    }

    pub(super) fn page(&self, state: Option<State>, after: JobId, limit: usize, view: &mut View<P>) {
        let Some(first) = after.checked_add(1) else { return };
        if state == Some(State::Dead) {
            self.jobs(ids(&self.index.dead, (0, 0, first), LAST, limit), true, view);
            return;
        }
        let rows = self.rows.range(first..).map(|(_, entry)| entry);
        for entry in rows.filter(|entry| state.is_none_or(|state| entry.job.state == state)).take(limit) {
            view.jobs.push(Rc::clone(&entry.job));
            view.payloads.push(entry.payload.clone());
        }
    }

    pub(super) fn tally(&self) -> Tally {
        Tally {
            pending: self.index.pending,
            ready: self.index.ready.len(),
            processing: self.index.processing,
            dead: self.index.dead.len(),
            next_deadline: self.index.upcoming.first().map(|(at, _, _)| Timestamp::from_millis(*at)),
        }
    }

    pub(super) fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.index.ready.is_empty() {
            return Some(now);
        }
        let firsts = [self.index.upcoming.first(), self.index.spent.first()];
        firsts.into_iter().flatten().map(|(at, _, _)| Timestamp::from_millis(*at)).min()
    }
}

impl Index {
    fn add(&mut self, job: &Job, place: Place, now: Timestamp) {
        match place {
            Place::Ready => self.crossed = self.crossed.max(job.available_at()),
            // Not for one that will expire before it is available: no step back brings that back.
            Place::Parked if job.is_expired(now) => {
                self.crossed = self.crossed.max(job.expires_at.unwrap_or_default());
            }
            _ => {}
        }
        if let Some((set, key)) = self.by_place(job, place) {
            set.insert(key);
        }
        if let Some((set, key)) = self.by_end(job) {
            set.insert(key);
        }
        if let Some(count) = self.count(job) {
            *count = count.saturating_add(1);
        }
    }

    fn remove(&mut self, job: &Job, place: Place) {
        if let Some((set, key)) = self.by_place(job, place) {
            set.remove(&key);
        }
        if let Some((set, key)) = self.by_end(job) {
            set.remove(&key);
        }
        if let Some(count) = self.count(job) {
            *count = count.saturating_sub(1);
        }
    }

    /// Where a row is kept for its place.
    fn by_place(&mut self, job: &Job, place: Place) -> Option<(&mut BTreeSet<Key>, Key)> {
        match place {
            Place::Ready => Some((&mut self.ready, ready_key(job))),
            Place::Upcoming(at) => Some((&mut self.upcoming, (at.as_millis(), 0, job.id))),
            Place::Spent(at) => Some((&mut self.spent, (at.as_millis(), 0, job.id))),
            Place::Dead => Some((&mut self.dead, (0, 0, job.id))),
            Place::Parked => None,
        }
    }

    /// Where a row that does not stay for ever is kept for a sweep.
    fn by_end(&mut self, job: &Job) -> Option<(&mut BTreeSet<Key>, Key)> {
        let (set, end) = match job.state {
            State::Dead => (&mut self.aging, job.purge_at),
            State::Pending | State::Processing => (&mut self.expiring, job.expires_at),
        };
        end.map(|at| (set, (at.as_millis(), 0, job.id)))
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

/// Claim order: highest priority, then earliest ready time, then lowest id.
fn ready_key(job: &Job) -> Key {
    (job.priority.saturating_neg(), job.run_at.as_millis(), job.id)
}
