//! The contract over plain lists: what is stored, and what every operation makes of it.

use std::collections::BTreeMap;
use std::rc::Rc;

use alkstore::core::clock::Meta;
use alkstore::core::index::schedules_queue;
use alkstore::core::queue::QUEUE_STAMPS;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::{
    Change, Claim, Duration, Handling, Job, JobId, LockRow, Name, ScheduleRow, State, Tally, Timestamp,
};
use alkstore::runtime::Header;

use crate::invariant::{Invariant, Violation};
use crate::job::{self, dead, draft, free_at, in_jitter, is_due, is_leased, moved, waiting};
use crate::operation::{Answer, Operation};
use crate::weather::{HOUR, MINUTE, SECOND};

// The contract's numbers, in milliseconds where they are times.
const GRAIN: i64 = 10 * SECOND;
const LEADER_TTL: i64 = 10 * SECOND;
const CATCH_UP: usize = 64;

/// Everything that is stored.
#[derive(Clone, Default)]
pub struct Truth {
    pub jobs: BTreeMap<JobId, (Rc<Job>, u64)>,
    pub locks: BTreeMap<Name, LockRow>,
    pub schedules: BTreeMap<Name, Rc<ScheduleRow<u64>>>,
    pub meta: Meta,
    /// A move that some transactions have begun, and none has ended: by how much, and up to which job.
    pub moving: Option<(Duration, JobId)>,
}

/// What changes; `None` goes.
#[derive(Default)]
pub struct Delta {
    pub jobs: BTreeMap<JobId, Option<Rc<Job>>>,
    /// Those of new jobs.
    pub payloads: BTreeMap<JobId, u64>,
    pub locks: BTreeMap<Name, Option<LockRow>>,
    pub schedules: BTreeMap<Name, Option<Rc<ScheduleRow<u64>>>>,
}

/// A job that waits for its transaction to commit.
#[derive(Clone)]
pub struct Staged {
    pub job: Rc<Job>,
    pub payload: u64,
    /// [`Meta::moved_back`] when it was staged.
    pub moved_back: Duration,
}

pub fn leader_lock() -> Name {
    schedules_queue()
}

fn span(ms: i64) -> Duration {
    Duration::from_millis(ms)
}

impl Delta {
    pub fn of(changes: Vec<Change<u64>>) -> Self {
        let mut delta = Self::default();
        for change in changes {
            match change {
                Change::Insert(job, payload) => {
                    delta.payloads.insert(job.id, payload);
                    delta.jobs.insert(job.id, Some(job));
                }
                Change::Update(job) => drop(delta.jobs.insert(job.id, Some(job))),
                Change::Remove { id, .. } => drop(delta.jobs.insert(id, None)),
                Change::PutLock(name, row) => drop(delta.locks.insert(name, Some(row))),
                Change::RemoveLock(name) => drop(delta.locks.insert(name, None)),
                Change::PutSchedule(row) => drop(delta.schedules.insert(row.name.clone(), Some(row))),
                Change::RemoveSchedule(name) => drop(delta.schedules.insert(name, None)),
            }
        }
        delta
    }

    fn update(&mut self, job: Job) {
        self.jobs.insert(job.id, Some(Rc::new(job)));
    }

    fn insert(&mut self, job: Job, payload: u64) {
        self.payloads.insert(job.id, payload);
        self.update(job);
    }
}

impl Truth {
    /// Every transaction starts with a look at the clock. By how much it was set back, if it was.
    pub fn observe(&mut self, now: Timestamp) -> Option<Duration> {
        self.end_move();
        let latest = *self.meta.latest.get_or_insert(now);
        let step = latest.since(now);
        if step.as_millis() <= MINUTE {
            if now.since(latest).as_millis() >= GRAIN {
                self.meta.latest = Some(now);
            }
            return None;
        }
        self.begin_move(now, step);
        self.end_move();
        Some(step)
    }

    fn begin_move(&mut self, now: Timestamp, step: Duration) {
        self.meta.latest = Some(now);
        self.meta.moved_back = span(self.meta.moved_back.as_millis() + step.as_millis());
        self.moving = Some((step, 0));
    }

    /// Moves the jobs below `to` that have not moved yet. How many.
    fn move_jobs(&mut self, to: JobId) -> usize {
        let Some((step, from)) = &mut self.moving else { return 0 };
        let mut count = 0;
        for (job, _) in self.jobs.range_mut(*from..to.max(*from)).map(|(_, row)| row) {
            *job = Rc::new(moved(job, *step));
            count += 1;
        }
        *from = to;
        count
    }

    /// Moves all that has not moved yet. How many jobs.
    fn end_move(&mut self) -> usize {
        let count = self.move_jobs(JobId::MAX);
        let Some((step, _)) = self.moving.take() else { return 0 };
        for lock in self.locks.values_mut() {
            lock.expires_at = lock.expires_at.minus(step);
        }
        for row in self.schedules.values_mut() {
            let next_fire_at = row.next_fire_at.minus(step);
            *row = Rc::new(ScheduleRow { next_fire_at, ..(**row).clone() });
        }
        count
    }

    /// What a transaction did of which no script ran, and which left the storage with this header: it has moved jobs, at
    /// most `max` of them, or found that somebody else has. By how much the clock was set back, if that is news.
    pub fn moves_on(&mut self, header: &Header, max: usize) -> Result<Option<Duration>, Violation> {
        let broken = |how: String| Err(Violation::new(Invariant::SetBackMovesAll, format!("{how}: {header:?}")));
        let (latest, now) = (self.meta.latest.unwrap_or_default(), header.meta.latest.unwrap_or_default());
        let step = span(header.meta.moved_back.as_millis() - self.meta.moved_back.as_millis());
        let is_new = step != Duration::ZERO;
        let mut count = 0;
        if is_new {
            count += self.end_move();
            if latest.since(now) != step || step.as_millis() <= MINUTE {
                return broken(format!("the clock was at {latest:?}"));
            }
            self.begin_move(now, step);
        }
        if header.is_moving() {
            count += self.move_jobs(header.moved);
            if count == 0 && !is_new {
                return broken("nothing has moved".into());
            }
        } else {
            count += self.end_move();
            // With nothing left to move the clock is looked at as ever.
            if !is_new && now.since(latest).as_millis() >= GRAIN {
                self.meta.latest = Some(now);
            }
        }
        if count > max {
            return broken(format!("{count} jobs have moved, of {max} at the most"));
        }
        Ok(Some(step).filter(|_| is_new))
    }

    pub fn apply(&mut self, delta: Delta) {
        for (id, job) in delta.jobs {
            match job {
                None => drop(self.jobs.remove(&id)),
                Some(job) => match self.jobs.get_mut(&id) {
                    Some(row) => row.0 = job,
                    None => drop(self.jobs.insert(id, (job, delta.payloads.get(&id).copied().unwrap_or_default()))),
                },
            }
        }
        put_all(&mut self.locks, delta.locks);
        put_all(&mut self.schedules, delta.schedules);
    }

    /// What an operation changes at `now`, and what it answers. `jittered` is when a retry without a delay let its job
    /// wait until: within bounds, that is the engine's own affair.
    pub fn play(
        &self,
        operation: &Operation,
        now: Timestamp,
        staged: &BTreeMap<JobId, Staged>,
        jittered: Option<Timestamp>,
    ) -> (Delta, Answer) {
        let mut delta = Delta::default();
        let answer = match operation {
            Operation::Enqueue { queue, stamps, options, payload } => {
                let id = self.meta.next_id;
                delta.insert(draft(id, queue, *stamps, options, now), *payload);
                Answer::Id(id)
            }
            Operation::Stage { .. } => Answer::Id(self.meta.next_id),
            Operation::Commit { staged: ids } => {
                for id in ids {
                    let Staged { job, payload, moved_back } = &staged[id];
                    let step = self.meta.moved_back.as_millis() - moved_back.as_millis();
                    delta.insert(moved(job, span(step)), *payload);
                }
                Answer::Done
            }
            Operation::Claim { queue, worker, n } => self.claim(queue, worker, *n, now, &mut delta),
            Operation::Ack(claim) => {
                Answer::Landed(self.held(claim, now).map(|job| delta.jobs.insert(job.id, None)).is_some())
            }
            Operation::Retry { claim, error, delay } => {
                let held = self.held(claim, now);
                if let Some(job) = held {
                    let run_at =
                        delay.map(|delay| now.plus(delay)).or_else(|| jittered.filter(|at| in_jitter(job, now, *at)));
                    delta.update(if job.attempts < job.stamps.max_attempts {
                        waiting(job, run_at.unwrap_or(now))
                    } else {
                        dead(job, error.unwrap_or("max attempts exceeded"), now)
                    });
                }
                Answer::Landed(held.is_some())
            }
            Operation::Fail { claim, error } => {
                let held = self.held(claim, now);
                held.into_iter().for_each(|job| delta.update(dead(job, error.unwrap_or("failed"), now)));
                Answer::Landed(held.is_some())
            }
            Operation::Heartbeat { claim, extend } => {
                let held = self.held(claim, now);
                if let Some(job) = held {
                    let claim_expires_at = Some(now.plus(*extend));
                    let handling = job.handling.as_deref().cloned().unwrap_or_default();
                    let handling = job::handling(Handling { claim_expires_at, ..handling });
                    delta.update(Job { handling, ..job.clone() });
                }
                Answer::Landed(held.is_some())
            }
            Operation::AckBatch { queue, ids } => {
                let leased = |job: &&Job| ids.contains(&job.id) && is_leased(job, now);
                self.of(queue).filter(leased).for_each(|job| drop(delta.jobs.insert(job.id, None)));
                Answer::Count(delta.jobs.len())
            }
            Operation::Cancel { queue, id } => {
                let found = self.of(queue).find(|job| job.id == *id && job.state != State::Dead);
                found.into_iter().for_each(|job| drop(delta.jobs.insert(job.id, None)));
                Answer::Landed(found.is_some())
            }
            Operation::Redrive { queue, ids } => {
                for job in self.dead_letters(queue, ids.as_deref()) {
                    delta.update(Job {
                        attempts: 0,
                        expires_at: job.expires_at.filter(|end| *end > now),
                        ..waiting(job, now)
                    });
                }
                Answer::Count(delta.jobs.len())
            }
            Operation::Purge { queue, ids } => {
                for job in self.dead_letters(queue, ids.as_deref()) {
                    delta.jobs.insert(job.id, None);
                }
                Answer::Count(delta.jobs.len())
            }
            Operation::Sweep { queue } => self.sweep(queue, now, &mut delta),
            Operation::Get { queue, id } => Answer::Jobs(self.listed(queue, |job| job.id == *id)),
            Operation::List { queue, state } => {
                Answer::Jobs(self.listed(queue, |job| state.is_none_or(|s| s == job.state)))
            }
            Operation::Stats { queue } => Answer::Tally(self.tally(queue, now)),
            Operation::TryLock { name, owner, ttl } => {
                let held = self.locks.get(&shared(name)).filter(|row| row.expires_at > now);
                if held.is_none() {
                    delta.locks.insert(shared(name), Some(lock(owner, now.plus(*ttl))));
                }
                Answer::Landed(held.is_none_or(|row| *row.owner == **owner))
            }
            Operation::Renew { name, owner, ttl } => {
                let mine =
                    self.locks.get(&shared(name)).is_some_and(|row| row.expires_at > now && *row.owner == **owner);
                if mine {
                    delta.locks.insert(shared(name), Some(lock(owner, now.plus(*ttl))));
                }
                Answer::Landed(mine)
            }
            Operation::Release { name, owner } => {
                let mine = self.locks.get(&shared(name)).is_some_and(|row| *row.owner == **owner);
                if mine {
                    delta.locks.insert(shared(name), None);
                }
                Answer::Landed(mine)
            }
            Operation::Schedule { name, spec, queue, payload, options } => {
                let interval = span(interval(spec));
                let old = self.schedules.get(&shared(name)).filter(|row| *row.spec == **spec);
                let next_fire_at = old.map_or(now.plus(interval), |row| row.next_fire_at);
                let row = ScheduleRow {
                    name: shared(name),
                    spec: (*spec).into(),
                    interval,
                    queue: shared(queue),
                    payload: *payload,
                    options: *options,
                    next_fire_at,
                };
                delta.schedules.insert(shared(name), Some(Rc::new(row)));
                Answer::Boundary(next_fire_at)
            }
            Operation::Unschedule { name } => {
                let found = self.schedules.contains_key(&shared(name));
                if found {
                    delta.schedules.insert(shared(name), None);
                }
                Answer::Landed(found)
            }
            Operation::Schedules => {
                Answer::Boundaries(self.schedules.values().map(|row| (row.name.clone(), row.next_fire_at)).collect())
            }
        };
        (delta, answer)
    }

    /// A turn of the leader: its lease is renewed, and every schedule whose time has come fires. The jobs that each
    /// schedule fires.
    pub fn turn(&self, owner: &Name, now: Timestamp) -> Delta {
        let mut delta = Delta::default();
        let lease = LockRow { owner: owner.clone(), expires_at: now.plus(span(LEADER_TTL)) };
        delta.locks.insert(leader_lock(), Some(lease));
        let mut id = self.meta.next_id;
        for row in self.schedules.values() {
            let mut next = row.next_fire_at;
            let mut missed = 0;
            while next <= now {
                next = next.plus(row.interval);
                missed += 1;
            }
            let options = EnqueueOptions {
                priority: row.options.priority,
                max_attempts: row.options.max_attempts,
                expires: row.options.expires,
                ..EnqueueOptions::default()
            };
            for _ in 0..missed.min(CATCH_UP) {
                delta.insert(draft(id, &row.queue, QUEUE_STAMPS, &options, now), row.payload);
                id += 1;
            }
            next = next.min(now.plus(row.interval));
            if next != row.next_fire_at {
                let row = ScheduleRow { next_fire_at: next, ..(**row).clone() };
                delta.schedules.insert(row.name.clone(), Some(Rc::new(row)));
            }
        }
        delta
    }

    /// When a claim of a queue next has something to do: a job to hand out, or one to bury.
    pub fn deadline(&self, queue: &Name, now: Timestamp) -> Option<Timestamp> {
        let due = |job: &Job| {
            let free_at = free_at(job);
            let expires = job.expires_at.is_some_and(|end| end <= now || end <= free_at);
            (job.state != State::Dead && !expires).then_some(free_at.max(now))
        };
        self.of(queue).filter_map(due).min()
    }

    pub fn of(&self, queue: &Name) -> impl Iterator<Item = &Job> {
        self.jobs.values().map(|(job, _)| &**job).filter(move |job| job.queue == *queue)
    }

    /// The job, if this very claim holds it.
    pub fn held(&self, claim: &Claim, now: Timestamp) -> Option<&Job> {
        let (job, _) = self.jobs.get(&claim.id)?;
        Some(&**job).filter(|job| job.queue == claim.queue && job.claims == claim.number && is_leased(job, now))
    }

    fn claim(&self, queue: &Name, worker: &str, n: usize, now: Timestamp, delta: &mut Delta) -> Answer {
        let mut ready: Vec<&Job> = Vec::new();
        for job in self.of(queue).filter(|job| n > 0 && is_due(job, now)) {
            if job.attempts < job.stamps.max_attempts {
                ready.push(job);
            } else {
                delta.update(dead(job, "max attempts exceeded", now));
            }
        }
        ready.sort_by_key(|job| (-job.priority, job.run_at, job.id));
        let mut claimed = Vec::new();
        for job in ready.into_iter().take(n) {
            let job = Rc::new(Job {
                state: State::Processing,
                handling: job::handling(Handling {
                    worker_id: Name::local("workerId", worker).ok(),
                    claimed_at: Some(now),
                    claim_expires_at: Some(now.plus(job.stamps.visibility_timeout)),
                    ..Handling::default()
                }),
                attempts: job.attempts + 1,
                claims: if job.claims == 0 { now.as_millis().unsigned_abs() } else { job.claims + 1 },
                ..job.clone()
            });
            claimed.push((Rc::clone(&job), self.jobs[&job.id].1));
            delta.jobs.insert(job.id, Some(job));
        }
        Answer::Jobs(claimed)
    }

    fn sweep(&self, queue: &Name, now: Timestamp, delta: &mut Delta) -> Answer {
        let mut swept = 0;
        for job in self.of(queue) {
            let expires = job.state != State::Dead && job.expires_at.is_some_and(|end| end <= now);
            let job = if expires { dead(job, "expired", now) } else { job.clone() };
            swept += usize::from(expires);
            if job.state == State::Dead && job.purge_at.is_some_and(|at| at <= now) {
                swept += 1;
                delta.jobs.insert(job.id, None);
            } else if expires {
                delta.update(job);
            }
        }
        Answer::Count(swept)
    }

    fn dead_letters(&self, queue: &Name, ids: Option<&[JobId]>) -> impl Iterator<Item = &Job> {
        self.of(queue).filter(move |job| job.state == State::Dead && ids.is_none_or(|ids| ids.contains(&job.id)))
    }

    fn listed(&self, queue: &Name, is_asked_for: impl Fn(&Job) -> bool) -> Vec<(Rc<Job>, u64)> {
        self.jobs.values().filter(|(job, _)| job.queue == *queue && is_asked_for(job)).cloned().collect()
    }

    fn tally(&self, queue: &Name, now: Timestamp) -> Tally {
        let count = |state| self.of(queue).filter(|job| job.state == state).count();
        let claimable = |job: &&Job| job.state != State::Dead && job.attempts < job.stamps.max_attempts;
        let ready = self.of(queue).filter(claimable).filter(|job| is_due(job, now)).count();
        let later = self.of(queue).filter(claimable).filter(|job| free_at(job) > now);
        let later = later.filter(|job| job.expires_at.is_none_or(|end| end > free_at(job)));
        Tally {
            pending: count(State::Pending),
            ready,
            processing: count(State::Processing),
            dead: count(State::Dead),
            next_deadline: if ready > 0 { Some(now) } else { later.map(free_at).min() },
        }
    }
}

fn put_all<V>(map: &mut BTreeMap<Name, V>, delta: BTreeMap<Name, Option<V>>) {
    for (name, value) in delta {
        match value {
            Some(value) => drop(map.insert(name, value)),
            None => drop(map.remove(&name)),
        }
    }
}

fn lock(owner: &str, expires_at: Timestamp) -> LockRow {
    LockRow { owner: Name::local("owner", owner).expect("an owner"), expires_at }
}

pub fn shared(name: &str) -> Name {
    Name::shared("name", name).expect("a name")
}

/// Of the specs that the simulation uses.
fn interval(spec: &str) -> i64 {
    let (number, unit) = spec.trim_start_matches("@every ").split_at(spec.len() - "@every ".len() - 1);
    let unit = match unit {
        "s" => SECOND,
        "m" => MINUTE,
        _ => HOUR,
    };
    number.parse::<i64>().expect("a number") * unit
}
