//! The contract, as lists that are looked through. It shares no decision with the engine, and nothing in it is quick.

use std::collections::{BTreeMap, BTreeSet};

use alkstore::core::{Claim, Duration, Job, Timestamp};

use super::operation::{HOUR, MINUTE, Options, QUEUES};

/// A clock that goes forth by less is not remembered.
const GRAIN: i64 = 10_000;
/// How many missed boundaries of a schedule a tick makes up for.
const CATCH_UP_MAX: i64 = 64;

#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    pub visibility: i64,
    pub max_attempts: i64,
    pub backoff: i64,
    pub retention: Option<i64>,
}

pub const PLAIN: Stamps = Stamps { visibility: 300_000, max_attempts: 3, backoff: 5000, retention: None };
pub const OUTBOX: Stamps = Stamps { visibility: 60_000, max_attempts: 5, backoff: 5000, retention: None };

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub id: u64,
    pub queue: usize,
    pub state: &'static str,
    pub payload: u64,
    pub priority: i64,
    pub run_at: i64,
    pub absolute: bool,
    pub attempts: i64,
    pub max_attempts: i64,
    pub visibility: i64,
    pub backoff: i64,
    pub retention: Option<i64>,
    pub worker: Option<String>,
    pub claimed_at: Option<i64>,
    pub claim_expires_at: Option<i64>,
    pub claims: u64,
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub last_error: Option<String>,
    pub died_at: Option<i64>,
    pub purge_at: Option<i64>,
}

impl Row {
    pub fn of(job: &Job, payload: u64) -> Self {
        let at = |at: Option<Timestamp>| at.map(Timestamp::as_millis);
        Self {
            id: job.id,
            queue: queue_of(&job.queue),
            state: job.state.as_str(),
            payload,
            priority: job.priority,
            run_at: job.run_at.as_millis(),
            absolute: job.run_at_absolute,
            attempts: job.attempts,
            max_attempts: job.stamps.max_attempts,
            visibility: job.stamps.visibility_timeout.as_millis(),
            backoff: job.stamps.backoff_base.as_millis(),
            retention: job.stamps.dead_letter_retention.map(Duration::as_millis),
            worker: job.worker_id.as_deref().map(String::from),
            claimed_at: at(job.claimed_at),
            claim_expires_at: at(job.claim_expires_at),
            claims: job.claims,
            created_at: job.created_at.as_millis(),
            expires_at: at(job.expires_at),
            last_error: job.last_error.as_deref().map(String::from),
            died_at: at(job.died_at),
            purge_at: at(job.purge_at),
        }
    }

    /// When neither a delay nor a lease stands in the way any more.
    fn free_at(&self) -> i64 {
        if self.state == "processing" { self.claim_expires_at.unwrap() + 1 } else { self.run_at }
    }

    fn expired(&self, now: i64) -> bool {
        self.state != "dead" && self.expires_at.is_some_and(|end| end <= now)
    }

    /// Would be claimable, if attempts were no matter.
    pub fn due(&self, now: i64) -> bool {
        self.state != "dead" && !self.expired(now) && self.free_at() <= now
    }

    fn claimable(&self, now: i64) -> bool {
        self.due(now) && self.attempts < self.max_attempts
    }

    pub fn leased(&self, now: i64) -> bool {
        self.state == "processing" && self.claim_expires_at.unwrap() >= now
    }

    pub fn die(&mut self, error: &str, now: i64) {
        self.state = "dead";
        self.worker = None;
        self.claim_expires_at = None;
        self.last_error = Some(error.into());
        self.died_at = Some(now);
        self.purge_at = self.retention.map(|retention| now + retention);
    }

    pub fn wait(&mut self, run_at: i64) {
        self.state = "pending";
        self.run_at = run_at;
        self.absolute = false;
        self.worker = None;
        self.claimed_at = None;
        self.claim_expires_at = None;
    }

    /// The bounds of a retry's delay: equal jitter.
    pub fn backoff_bounds(&self) -> (i64, i64) {
        let cap = (self.backoff << (self.attempts - 1).min(20)).min(HOUR);
        (cap / 2, cap)
    }

    /// What was derived from a clock that is set back by `step` moves with it.
    fn move_back(&mut self, step: i64) {
        self.run_at -= if self.absolute { 0 } else { step };
        for at in [&mut self.claim_expires_at, &mut self.expires_at, &mut self.purge_at] {
            *at = at.map(|at| at - step);
        }
    }
}

pub fn queue_of(name: &str) -> usize {
    QUEUES.iter().position(|queue| *queue == name).unwrap()
}

#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    pub spec: &'static str,
    pub queue: usize,
    pub payload: u64,
    pub priority: Option<i64>,
    pub max_attempts: Option<i64>,
    pub expires: Option<i64>,
    pub next_fire_at: i64,
}

impl Schedule {
    fn interval(&self) -> i64 {
        let spec = self.spec.strip_prefix("@every ").unwrap();
        let (n, unit) = spec.split_at(spec.len() - 1);
        n.parse::<i64>().unwrap()
            * match unit {
                "s" => 1000,
                "m" => MINUTE,
                "h" => HOUR,
                _ => 24 * HOUR,
            }
    }
}

#[derive(Default)]
pub struct Contract {
    pub rows: Vec<Row>,
    /// Of the transaction that is open.
    pub staged: Vec<Row>,
    /// By name: the owner, and when it ends.
    pub locks: BTreeMap<&'static str, (&'static str, i64)>,
    pub schedules: BTreeMap<&'static str, Schedule>,
    pub last_id: u64,
    latest: Option<i64>,
}

impl Contract {
    /// Every operation starts with a look at the clock.
    pub fn observe(&mut self, now: i64) {
        let latest = *self.latest.get_or_insert(now);
        if latest - now > MINUTE {
            let step = latest - now;
            self.rows.iter_mut().chain(&mut self.staged).for_each(|row| row.move_back(step));
            self.locks.values_mut().for_each(|(_, ends)| *ends -= step);
            self.schedules.values_mut().for_each(|schedule| schedule.next_fire_at -= step);
            self.latest = Some(now);
        } else if now - latest >= GRAIN {
            self.latest = Some(now);
        }
    }

    fn of(&mut self, queue: usize) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut().filter(move |row| row.queue == queue)
    }

    pub fn remove(&mut self, queue: usize, goes: impl Fn(&Row) -> bool) -> usize {
        let before = self.rows.len();
        self.rows.retain(|row| row.queue != queue || !goes(row));
        before - self.rows.len()
    }

    /// A new job, which is nowhere yet.
    pub fn job(&mut self, queue: usize, stamps: Stamps, options: Options, payload: u64, now: i64) -> Row {
        self.last_id += 1;
        let run_at = options.delay.map(|delay| now + delay);
        Row {
            id: self.last_id,
            queue,
            state: "pending",
            payload,
            priority: options.priority.unwrap_or(0),
            run_at: run_at.or(options.run_at.map(|ms| now + ms)).unwrap_or(now),
            absolute: options.delay.is_none() && options.run_at.is_some(),
            attempts: 0,
            max_attempts: options.max_attempts.unwrap_or(stamps.max_attempts),
            visibility: stamps.visibility,
            backoff: stamps.backoff,
            retention: stamps.retention,
            worker: None,
            claimed_at: None,
            claim_expires_at: None,
            claims: 0,
            created_at: now,
            expires_at: options.expires.map(|expires| now + expires),
            last_error: None,
            died_at: None,
            purge_at: None,
        }
    }

    pub fn claim(&mut self, queue: usize, worker: &str, n: usize, now: i64) -> Vec<Row> {
        if n == 0 {
            return Vec::new();
        }
        for row in self.of(queue).filter(|row| row.due(now) && !row.claimable(now)) {
            row.die("max attempts exceeded", now);
        }
        let mut ready: Vec<&mut Row> = self.of(queue).filter(|row| row.claimable(now)).collect();
        ready.sort_by_key(|row| (-row.priority, row.run_at, row.id));
        let claimed = ready.into_iter().take(n).map(|row| {
            row.state = "processing";
            row.worker = Some(worker.into());
            row.claimed_at = Some(now);
            row.claim_expires_at = Some(now + row.visibility);
            row.attempts += 1;
            row.claims = if row.claims == 0 { now.clamp(1, 1 << 52).unsigned_abs() } else { row.claims + 1 };
            row.clone()
        });
        claimed.collect()
    }

    /// The job that a claim holds, if it does.
    pub fn held(&mut self, claim: &Claim, now: i64) -> Option<&mut Row> {
        let held = |row: &&mut Row| row.id == claim.id && row.claims == claim.number && row.leased(now);
        self.of(queue_of(&claim.queue)).find(held)
    }

    pub fn redrive(&mut self, queue: usize, ids: Option<&[u64]>, now: i64) -> usize {
        let dead = self.of(queue).filter(|row| row.state == "dead" && ids.is_none_or(|ids| ids.contains(&row.id)));
        let redriven = dead.map(|row| {
            row.wait(now);
            row.attempts = 0;
            row.last_error = None;
            row.died_at = None;
            row.purge_at = None;
            row.expires_at = row.expires_at.filter(|end| *end > now);
        });
        redriven.count()
    }

    pub fn sweep(&mut self, queue: usize, now: i64) -> usize {
        let expired = self.of(queue).filter(|row| row.expired(now)).map(|row| row.die("expired", now)).count();
        expired + self.remove(queue, |row| row.state == "dead" && row.purge_at.is_some_and(|at| at <= now))
    }

    /// Every instant at which something changes by itself, after `now`, the next one first.
    pub fn instants(&self, now: i64) -> Vec<i64> {
        let of_job = |row: &Row| [Some(row.run_at), row.claim_expires_at, row.expires_at, row.purge_at];
        let locks = self.locks.values().map(|(_, ends)| *ends);
        let boundaries = self.schedules.values().map(|schedule| schedule.next_fire_at);
        let all = self.rows.iter().flat_map(of_job).flatten().chain(locks).chain(boundaries);
        let ahead: BTreeSet<i64> = all.filter(|at| *at > now).collect();
        ahead.into_iter().collect()
    }

    /// Pending, ready, processing, dead, and when a job is next claimable.
    pub fn tally(&self, queue: usize, now: i64) -> (usize, usize, usize, usize, Option<i64>) {
        let rows = || self.rows.iter().filter(|row| row.queue == queue);
        let count = |state| rows().filter(|row| row.state == state).count();
        let ready = rows().filter(|row| row.claimable(now)).count();
        let later = rows().filter(|row| row.state != "dead" && row.attempts < row.max_attempts);
        let later =
            later.map(|row| (row, row.free_at())).filter(|(row, at)| row.expires_at.is_none_or(|end| end > *at));
        let next = if ready > 0 { Some(now) } else { later.map(|(_, at)| at).filter(|at| *at > now).min() };
        (count("pending"), ready, count("processing"), count("dead"), next)
    }

    pub fn try_lock(&mut self, name: &'static str, owner: &'static str, ttl: i64, now: i64) -> bool {
        match self.locks.get(name) {
            Some((holder, ends)) if *ends > now => *holder == owner,
            _ => {
                self.locks.insert(name, (owner, now + ttl));
                true
            }
        }
    }

    pub fn renew(&mut self, name: &str, owner: &str, ttl: i64, now: i64) -> bool {
        match self.locks.get_mut(name) {
            Some((holder, ends)) if *holder == owner && *ends > now => {
                *ends = now + ttl;
                true
            }
            _ => false,
        }
    }

    pub fn release(&mut self, name: &str, owner: &str) -> bool {
        let held = self.locks.get(name).is_some_and(|(holder, _)| *holder == owner);
        held && self.locks.remove(name).is_some()
    }

    /// Registers, or replaces: the same spec keeps the boundary that is due.
    pub fn schedule(&mut self, name: &'static str, mut schedule: Schedule, now: i64) {
        schedule.next_fire_at = match self.schedules.get(name) {
            Some(old) if old.spec == schedule.spec => old.next_fire_at,
            _ => now + schedule.interval(),
        };
        self.schedules.insert(name, schedule);
    }

    pub fn tick(&mut self, now: i64) {
        for (name, mut schedule) in self.schedules.clone() {
            let interval = schedule.interval();
            let mut fired = 0;
            while schedule.next_fire_at <= now && fired < CATCH_UP_MAX {
                let Schedule { priority, max_attempts, expires, .. } = schedule;
                let options = Options { delay: None, run_at: None, priority, max_attempts, expires };
                let job = self.job(schedule.queue, PLAIN, options, schedule.payload, now);
                self.rows.push(job);
                schedule.next_fire_at += interval;
                fired += 1;
            }
            while schedule.next_fire_at <= now {
                schedule.next_fire_at += interval;
            }
            schedule.next_fire_at = schedule.next_fire_at.min(now + interval);
            self.schedules.insert(name, schedule);
        }
    }
}
