//! How each scope is read.
//!
//! Every row that a range gives is asked where it stands now ([`Job::place`]): entries are as old as the row's last
//! write. A row that has expired meanwhile is written anew, so that it leaves the way of others.

use std::future::ready;
use std::pin::Pin;
use std::rc::Rc;

use super::KeyedTransaction;
use super::check::{beyond, position};
use super::format::lost_payload;
use super::rows::{Answer, Header, Read, Row};
use super::scripts::{CROSSED_AHEAD, Scripts};
use crate::core::index::{FIRST, LAST, Section, Sort, after, claim_order, schedules_queue, until};
use crate::core::{Error, Job, JobId, LockRow, Name, Place, ScheduleRow, Scope, State, Tally, Timestamp};

/// How many delayed and how many lapsed rows a claim looks at beside the ready ones. If as many are due, it walks the
/// delayed ones by priority, and makes the lapsed ones ready.
const DUE_MAX: usize = 64;

/// How many rows are read at a time where the first ones turn out not to count.
const CHUNK: usize = 32;

/// Up to so many ready rows are looked at in one round; only if there are more are their priorities walked.
const READY_MAX: usize = 64;

/// The answers of one round, taken in the order of the questions.
pub(super) struct Answers<P>(std::vec::IntoIter<Answer<P>>);

impl<P> Answers<P> {
    pub(super) fn new(answers: Vec<Answer<P>>) -> Self {
        Self(answers.into_iter())
    }

    pub(super) fn header(&mut self) -> Header {
        if let Some(Answer::Header(header)) = self.0.next() { header } else { Header::default() }
    }

    pub(super) fn jobs(&mut self) -> Vec<Row<P>> {
        if let Some(Answer::Jobs(rows)) = self.0.next() { rows } else { Vec::new() }
    }

    pub(super) fn schedules(&mut self) -> Vec<Rc<ScheduleRow<P>>> {
        if let Some(Answer::Schedules(rows)) = self.0.next() { rows } else { Vec::new() }
    }

    pub(super) fn locks(&mut self) -> Vec<(Name, LockRow)> {
        if let Some(Answer::Locks(rows)) = self.0.next() { rows } else { Vec::new() }
    }

    fn payload(&mut self) -> Option<P> {
        if let Some(Answer::Payload(payload)) = self.0.next() { payload } else { None }
    }

    fn count(&mut self) -> usize {
        if let Some(Answer::Count(count)) = self.0.next() { count } else { 0 }
    }
}

/// The first round for a scope: all that can be asked without having seen a row. Ranges by time end at `horizon`.
pub(super) fn opening_reads(scope: &Scope, horizon: Timestamp, reads: &mut Vec<Read>) {
    let due = until(horizon);
    match scope {
        Scope::Job { id, .. } => reads.push(Read::Job(*id)),
        Scope::Jobs { ids, .. } => reads.extend(ids.iter().map(|id| Read::Job(*id))),
        Scope::Head { queue, n } => {
            let limits = [(LAST, *n), (due, DUE_MAX), (due, DUE_MAX), (due, usize::MAX)];
            for (section, (to, limit)) in CLAIMS.into_iter().zip(limits) {
                range(reads, queue, section, &FIRST, &to, limit);
            }
        }
        Scope::Overdue { queue } => {
            for section in [Section::Expiring, Section::Expired, Section::Aging] {
                range(reads, queue, section, &FIRST, &due, usize::MAX);
            }
        }
        Scope::Dead { queue } => range(reads, queue, Section::Dead, &FIRST, &LAST, usize::MAX),
        Scope::Page { queue, state, after, limit } => {
            for each in [State::Pending, State::Processing, State::Dead] {
                if *limit > 0 && state.is_none_or(|state| state == each) {
                    let from = (0, 0, after.saturating_add(1));
                    range(reads, queue, Section::of_state(each), &from, &LAST, *limit);
                }
            }
        }
        Scope::Tally { queue } => range(reads, queue, Section::Expiring, &FIRST, &due, usize::MAX),
        Scope::Deadline { queue } => {
            for section in CLAIMS {
                range(reads, queue, section, &FIRST, &LAST, 1);
            }
        }
        Scope::Lock { name } => reads.push(Read::Lock(name.clone())),
        Scope::Schedule { name } => reads.push(Read::Schedule(name.clone())),
        Scope::Schedules => reads.push(Read::Schedules),
        Scope::DueSchedules => {
            range(reads, &schedules_queue(), Section::Boundary, &FIRST, &due, usize::MAX);
            range(reads, &schedules_queue(), Section::Previous, &after(horizon), &LAST, usize::MAX);
        }
        Scope::NextBoundary => range(reads, &schedules_queue(), Section::Boundary, &FIRST, &LAST, 1),
    }
}

/// What a claim works on.
const CLAIMS: [Section; 4] = [Section::Ready, Section::Delayed, Section::Leased, Section::Spent];

// Positions go by reference, and into reads in one place: in wasm a copy of one is a line of code for each word.
#[inline(never)]
fn range(reads: &mut Vec<Read>, queue: &Name, section: Section, from: &Sort, to: &Sort, limit: usize) {
    reads.push(Read::Index { queue: queue.clone(), section, from: *from, to: *to, limit });
}

#[inline(never)]
fn count(reads: &mut Vec<Read>, queue: &Name, section: Section, to: &Sort) {
    reads.push(Read::Count { queue: queue.clone(), section, to: *to });
}

type Answering<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

type Rows<'r, P> = Pin<Box<dyn Future<Output = Result<Vec<Row<P>>, Error>> + 'r>>;

impl<T: KeyedTransaction> Scripts<'_, T> {
    /// A part of the index of jobs. Boxed, like all reading: what waits for it is smaller by far.
    #[inline(never)]
    fn rows(&self, queue: &Name, section: Section, from: &Sort, to: &Sort, limit: usize) -> Rows<'_, T::Payload> {
        let mut reads = Vec::new();
        range(&mut reads, queue, section, from, to, limit);
        let reading = self.read(reads);
        Box::pin(async move { reading.await.map(|mut answers| answers.jobs()) })
    }

    /// Fills the view with the answer to `scope`, of which `answers` is the first round. What goes on reading is in a box:
    /// a first operation then does not have to wait until all the others have been compiled.
    pub(super) fn answer<'s>(&'s mut self, scope: &'s Scope, mut answers: Answers<T::Payload>) -> Answering<'s> {
        match scope {
            Scope::Job { queue, payload, .. } => {
                return Box::pin(self.give(of_queue(answers.jobs(), queue), *payload));
            }
            Scope::Jobs { queue, ids } => {
                for _ in ids {
                    self.view.jobs.extend(of_queue(answers.jobs(), queue).into_iter().map(|row| row.job));
                }
            }
            Scope::Head { queue, n } => return Box::pin(self.head(queue, *n, answers)),
            Scope::Overdue { .. } => self.overdue(answers),
            Scope::Dead { .. } => return Box::pin(self.give(answers.jobs(), false)),
            Scope::Page { state, limit, .. } => {
                let mut rows = answers.jobs();
                if state.is_none() {
                    for row in answers.jobs().into_iter().chain(answers.jobs()) {
                        insert(&mut rows, row, |job| (0, 0, job.id));
                    }
                }
                rows.truncate(*limit);
                return Box::pin(self.give(rows, true));
            }
            Scope::Tally { queue } => return Box::pin(self.tally(queue, answers)),
            Scope::Deadline { queue } => return Box::pin(self.deadline(queue, answers)),
            Scope::Lock { .. } => self.view.lock = answers.locks().pop().map(|(_, lock)| lock),
            Scope::Schedule { .. } => self.view.schedules = answers.schedules(),
            // Storages sort names as they like: by UTF-16, or by a collation.
            Scope::Schedules => answers.schedules().iter().for_each(|row| self.view.add_schedule(row)),
            Scope::DueSchedules => {
                let mut rows = answers.schedules();
                rows.append(&mut answers.schedules());
                rows.retain(|row| row.wants_tick(self.now));
                rows.iter().for_each(|row| self.view.add_schedule(row));
            }
            Scope::NextBoundary => self.view.deadline = answers.schedules().pop().map(|row| row.next_fire_at),
        }
        Box::pin(ready(Ok(())))
    }

    fn overdue(&mut self, mut answers: Answers<T::Payload>) {
        let now = self.now;
        let mut rows = answers.jobs();
        rows.append(&mut answers.jobs());
        self.view.jobs.extend(rows.into_iter().map(|row| row.job).filter(|job| job.is_expired(now)));
        let aged = answers.jobs().into_iter().map(|row| row.job);
        self.view.aged.extend(aged.filter(|job| job.purge_at.is_some_and(|at| at <= now)).map(|job| job.id));
    }

    /// Hands rows over; with their payloads, those that are kept apart in one more round.
    async fn give(&mut self, rows: Vec<Row<T::Payload>>, payloads: bool) -> Result<(), Error> {
        let mut apart = Vec::new();
        if payloads {
            apart.extend(rows.iter().filter(|row| row.payload.is_none()).map(|row| Read::Payload(row.job.id)));
        }
        let mut found = if apart.is_empty() { Answers::new(Vec::new()) } else { self.read(apart).await? };
        for Row { job, payload } in rows {
            if payloads {
                let payload = payload.or_else(|| found.payload()).ok_or_else(|| lost_payload(job.id))?;
                self.view.payloads.push(payload);
            }
            self.view.jobs.push(job);
        }
        Ok(())
    }

    async fn head(&mut self, queue: &Name, n: usize, mut answers: Answers<T::Payload>) -> Result<(), Error> {
        if self.settle_back(queue).await? {
            answers = self.ask(&Scope::Head { queue: queue.clone(), n }).await?;
        }
        let (mut ready, due, mut lapsed) = (answers.jobs(), answers.jobs(), answers.jobs());
        for row in answers.jobs() {
            match row.job.place(self.now) {
                Place::Spent(at) if at <= self.now => self.view.spent.push(row.job),
                Place::Spent(_) => {}
                _ => self.update(row.job),
            }
        }
        if lapsed.len() >= DUE_MAX {
            // Made ready, all of them, once: by when they lapsed says nothing about claim order.
            let rows = self.rows(queue, Section::Leased, &FIRST, &until(self.now), usize::MAX).await?;
            self.update_all(rows);
            lapsed.clear();
            ready = self.rows(queue, Section::Ready, &FIRST, &LAST, n).await?;
        }
        let mut head = Vec::new();
        self.scan(queue, (Section::Ready, &LAST), (ready, n), n, &mut head).await?;
        if due.len() >= DUE_MAX && due.last().is_some_and(|row| row.job.available_at() <= self.now) {
            self.walk(queue, n, &mut head).await?;
        } else {
            self.sift(due, &mut head);
        }
        self.sift(lapsed, &mut head);
        head.truncate(n);
        self.give(head, true).await
    }

    /// Takes what is claimable out of `rows`. When others will be, or are to be buried, is kept in the view's deadline.
    fn sift(&mut self, rows: Vec<Row<T::Payload>>, found: &mut Vec<Row<T::Payload>>) {
        for row in rows {
            match row.job.place(self.now) {
                Place::Ready => insert(found, row, claim_order),
                Place::Upcoming(at) | Place::Spent(at) => {
                    self.view.deadline = Some(self.view.deadline.map_or(at, |earliest| earliest.min(at)));
                }
                Place::Parked | Place::Dead => self.update(row.job),
            }
        }
    }

    /// Reads on in a section that is in claim order, up to `to`, until there are `n` that are claimable; `rows` are the
    /// first ones, of which `limit` were asked for.
    async fn scan(
        &mut self,
        queue: &Name,
        (section, to): (Section, &Sort),
        (mut rows, mut limit): (Vec<Row<T::Payload>>, usize),
        n: usize,
        found: &mut Vec<Row<T::Payload>>,
    ) -> Result<(), Error> {
        loop {
            let last = rows.last().filter(|_| rows.len() >= limit).map(|row| beyond(claim_order(&row.job)));
            self.sift(rows, found);
            let Some(from) = last.filter(|from| found.len() < n && from <= to) else { return Ok(()) };
            limit = CHUNK.max(n.saturating_sub(found.len()));
            rows = self.rows(queue, section, &from, to, limit).await?;
        }
    }

    /// The first `n` delayed jobs that are due, in claim order: priority by priority.
    async fn walk(&mut self, queue: &Name, n: usize, found: &mut Vec<Row<T::Payload>>) -> Result<(), Error> {
        let mut walked = Vec::new();
        let mut from = FIRST;
        while walked.len() < n {
            let first = self.rows(queue, Section::Waiting, &from, &LAST, 1).await?;
            let Some(priority) = first.last().map(|row| claim_order(&row.job).0) else { break };
            let due = (priority, self.now.as_millis(), JobId::MAX);
            self.scan(queue, (Section::Waiting, &due), (first, 1), n, &mut walked).await?;
            from = (priority.saturating_add(1), i64::MIN, 0);
        }
        self.sift(walked, found);
        Ok(())
    }

    /// A clock that stepped back a little: what had expired before that has not, now. Whether anything was written.
    async fn settle_back(&mut self, queue: &Name) -> Result<bool, Error> {
        if self.now >= self.settled() {
            return Ok(false);
        }
        let rows = self.rows(queue, Section::Expired, &after(self.now), &LAST, usize::MAX).await?;
        Ok(self.update_all(rows))
    }

    /// Behind this the clock makes entries untrue other than those of jobs that were ready when they were inserted.
    fn settled(&self) -> Timestamp {
        let crossed = self.header.crossed;
        // The end of time is not ahead of anything.
        if crossed == Timestamp::MAX { crossed } else { crossed.minus(CROSSED_AHEAD) }
    }

    /// Of the jobs that were ready when they were inserted those that are not; with a few, those that are.
    async fn unready(&self, queue: &Name) -> Result<Vec<Row<T::Payload>>, Error> {
        let mut found = self.rows(queue, Section::Ready, &FIRST, &LAST, READY_MAX).await?;
        if found.len() < READY_MAX {
            return Ok(found);
        }
        found.clear();
        let mut from = FIRST;
        loop {
            let first = self.rows(queue, Section::Ready, &from, &LAST, 1).await?;
            let Some(priority) = first.last().map(|row| claim_order(&row.job).0) else { return Ok(found) };
            let (due, last) = ((priority, self.now.as_millis().saturating_add(1), 0), (priority, i64::MAX, JobId::MAX));
            found.append(&mut self.rows(queue, Section::Ready, &due, &last, usize::MAX).await?);
            from = (priority.saturating_add(1), i64::MIN, 0);
        }
    }

    async fn deadline(&mut self, queue: &Name, mut answers: Answers<T::Payload>) -> Result<(), Error> {
        if self.settle_back(queue).await? {
            answers = self.ask(&Scope::Deadline { queue: queue.clone() }).await?;
        }
        let mut ready = Vec::new();
        let mut earliest: Option<Timestamp> = None;
        for section in CLAIMS {
            let mut rows = answers.jobs();
            let mut limit = 1;
            // Until one is found that has not expired; of the ready ones, until one is ready.
            loop {
                let last = rows.last().filter(|_| rows.len() >= limit).map(|row| beyond(position(section, &row.job)));
                self.sift(rows, &mut ready);
                let found = self.view.deadline.is_some() && section != Section::Ready;
                let Some(from) = last.filter(|_| ready.is_empty() && !found) else { break };
                limit = CHUNK;
                rows = self.rows(queue, section, &from, &LAST, limit).await?;
            }
            earliest = earliest.into_iter().chain(self.view.deadline.take()).min();
        }
        self.view.deadline = if ready.is_empty() { earliest } else { Some(self.now) };
        Ok(())
    }

    async fn tally(&mut self, queue: &Name, mut answers: Answers<T::Payload>) -> Result<(), Error> {
        let now = self.now;
        self.settle_back(queue).await?;
        // Written anew, what has expired is counted among the ready no more.
        let mut expired = answers.jobs();
        expired.retain(|row| row.job.is_expired(now));
        self.update_all(expired);
        let mut reads = Vec::new();
        for section in [Section::Pending, Section::Processing, Section::Dead, Section::Ready] {
            count(&mut reads, queue, section, &LAST);
        }
        for section in [Section::Delayed, Section::Leased] {
            count(&mut reads, queue, section, &until(now));
        }
        for section in [Section::Delayed, Section::Leased] {
            range(&mut reads, queue, section, &after(now), &LAST, 1);
        }
        let mut counts = self.read(reads).await?;
        let (pending, processing, dead) = (counts.count(), counts.count(), counts.count());
        let mut ready = counts.count().saturating_add(counts.count()).saturating_add(counts.count());
        let (mut upcoming, mut found) = (counts.jobs(), Vec::new());
        upcoming.append(&mut counts.jobs());
        // Only behind that may there be jobs among the ready that are not.
        if now < self.header.crossed {
            let mut rows = if now < self.settled() {
                self.rows(queue, Section::Ready, &FIRST, &LAST, usize::MAX).await?
            } else {
                self.unready(queue).await?
            };
            rows.retain(|row| row.job.place(now) != Place::Ready);
            ready = ready.saturating_sub(rows.len());
            upcoming.append(&mut rows);
        }
        self.view.deadline = None;
        self.sift(upcoming, &mut found);
        let next_deadline = self.view.deadline.take();
        self.view.tally = Tally { pending, ready, processing, dead, next_deadline };
        Ok(())
    }
}

fn of_queue<P>(mut rows: Vec<Row<P>>, queue: &Name) -> Vec<Row<P>> {
    rows.retain(|row| row.job.queue == *queue);
    rows
}

/// Inserts into a sorted list what is not in it: two sections may give one job, if it is damaged. Few are inserted into
/// many: a sort would cost more, in bytes above all.
fn insert<P>(rows: &mut Vec<Row<P>>, row: Row<P>, key: fn(&Job) -> Sort) {
    let new = key(&row.job);
    let at = rows.partition_point(|other| key(&other.job) < new);
    if rows.get(at).is_none_or(|other| other.job.id != row.job.id) {
        rows.insert(at, row);
    }
}
