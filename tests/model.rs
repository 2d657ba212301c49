//! The engine on memory against a model that scans a list: the queue part of the contract, in random
//! order, under a clock that goes forth, back a little, far ahead, and back by hours.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod support;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::{Claim, Duration, Job, Timestamp};
use alkstore::runtime::{Engine, ManualClock, Queue, StopToken};

use support::{START, TestStore, ms, now};

const SEEDS: u64 = 300;
const OPERATIONS: u32 = 150;
const QUEUES: [&str; 2] = ["mail", "thumbs"];

// The contract's numbers, in milliseconds.
const MINUTE: i64 = 60_000;
const GRAIN: i64 = 10_000;
const HOUR: i64 = 3_600_000;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    fn roll(&mut self, low: i64, high: i64) -> i64 {
        low + (self.bits() % (high - low + 1) as u64) as i64
    }

    fn one_in(&mut self, n: i64) -> bool {
        self.roll(1, n) == 1
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(0, from.len() as i64 - 1) as usize]
    }

    fn maybe<T>(&mut self, n: i64, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.one_in(n).then(|| value(self))
    }
}

/// A job as the contract describes it.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    id: u64,
    queue: usize,
    state: &'static str,
    payload: u64,
    priority: i64,
    run_at: i64,
    absolute: bool,
    attempts: i64,
    max_attempts: i64,
    visibility: i64,
    backoff: i64,
    retention: Option<i64>,
    worker: Option<String>,
    claimed_at: Option<i64>,
    claim_expires_at: Option<i64>,
    claims: u64,
    created_at: i64,
    expires_at: Option<i64>,
    last_error: Option<String>,
    died_at: Option<i64>,
    purge_at: Option<i64>,
}

impl Row {
    fn of(job: &Job, payload: u64) -> Self {
        let at = |at: Option<Timestamp>| at.map(Timestamp::as_millis);
        Self {
            id: job.id,
            queue: QUEUES.iter().position(|name| **name == *job.queue).unwrap(),
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

    /// When nobody's delay or lease stands in the way any more.
    fn free_at(&self) -> i64 {
        if self.state == "processing" { self.claim_expires_at.unwrap() + 1 } else { self.run_at }
    }

    fn expired(&self, now: i64) -> bool {
        self.state != "dead" && self.expires_at.is_some_and(|end| end <= now)
    }

    /// Would be claimable, if attempts were no matter.
    fn due(&self, now: i64) -> bool {
        self.state != "dead" && !self.expired(now) && self.free_at() <= now
    }

    fn claimable(&self, now: i64) -> bool {
        self.due(now) && self.attempts < self.max_attempts
    }

    fn leased(&self, now: i64) -> bool {
        self.state == "processing" && self.claim_expires_at.unwrap() >= now
    }

    fn die(&mut self, error: &str, now: i64) {
        self.state = "dead";
        self.worker = None;
        self.claim_expires_at = None;
        self.last_error = Some(error.into());
        self.died_at = Some(now);
        self.purge_at = self.retention.map(|retention| now + retention);
    }

    fn wait(&mut self, run_at: i64) {
        self.state = "pending";
        self.run_at = run_at;
        self.absolute = false;
        self.worker = None;
        self.claimed_at = None;
        self.claim_expires_at = None;
    }
}

#[derive(Default)]
struct Model {
    rows: Vec<Row>,
    next_id: u64,
    latest: Option<i64>,
}

impl Model {
    /// Every operation starts with a look at the clock.
    fn observe(&mut self, now: i64) {
        let latest = *self.latest.get_or_insert(now);
        if latest - now > MINUTE {
            let step = latest - now;
            for row in &mut self.rows {
                row.run_at -= if row.absolute { 0 } else { step };
                for at in [&mut row.claim_expires_at, &mut row.expires_at, &mut row.purge_at] {
                    *at = at.map(|at| at - step);
                }
            }
            self.latest = Some(now);
        } else if now - latest >= GRAIN {
            self.latest = Some(now);
        }
    }

    fn of(&mut self, queue: usize) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut().filter(move |row| row.queue == queue)
    }

    fn remove(&mut self, queue: usize, dies: impl Fn(&Row) -> bool) -> usize {
        let before = self.rows.len();
        self.rows.retain(|row| row.queue != queue || !dies(row));
        before - self.rows.len()
    }

    fn claim(&mut self, queue: usize, worker: &str, n: usize, now: i64) -> Vec<Row> {
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
            row.claims += 1;
            row.clone()
        });
        claimed.collect()
    }

    fn held(&mut self, claim: &Claim, now: i64) -> Option<&mut Row> {
        let queue = QUEUES.iter().position(|name| **name == *claim.queue).unwrap();
        self.of(queue).find(|row| row.id == claim.id && row.claims == claim.number && row.leased(now))
    }

    fn redrive(&mut self, queue: usize, ids: Option<&[u64]>, now: i64) -> usize {
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

    fn sweep(&mut self, queue: usize, now: i64) -> usize {
        let expired = self.of(queue).filter(|row| row.expired(now)).map(|row| row.die("expired", now)).count();
        expired + self.remove(queue, |row| row.state == "dead" && row.purge_at.is_some_and(|at| at <= now))
    }

    /// Pending, ready, processing, dead, and when a job is next claimable.
    fn tally(&self, queue: usize, now: i64) -> (usize, usize, usize, usize, Option<i64>) {
        let rows = || self.rows.iter().filter(|row| row.queue == queue);
        let count = |state| rows().filter(|row| row.state == state).count();
        let ready = rows().filter(|row| row.claimable(now)).count();
        let later = rows().filter(|row| row.state != "dead" && row.attempts < row.max_attempts);
        let later =
            later.map(|row| (row, row.free_at())).filter(|(row, at)| row.expires_at.is_none_or(|end| end > *at));
        let next = if ready > 0 { Some(now) } else { later.map(|(_, at)| at).filter(|at| *at > now).min() };
        (count("pending"), ready, count("processing"), count("dead"), next)
    }
}

struct Game {
    dice: Dice,
    clock: ManualClock,
    now: i64,
    queues: Vec<Queue<TestStore<u64>, ManualClock>>,
    model: Model,
    claims: Vec<Claim>,
    log: Vec<String>,
}

impl Game {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let clock = ManualClock::new(Timestamp::from_millis(START));
        let store = Engine::new(TestStore::new(), clock.clone(), Some(seed));
        let queues = QUEUES.map(|name| {
            let options = QueueOptions {
                visibility_timeout: dice.maybe(2, |dice| ms(dice.pick(&[-1, 0, 1000, 30_000]))),
                max_attempts: dice.maybe(2, |dice| dice.roll(0, 4)),
                backoff_base: dice.maybe(2, |dice| ms(dice.pick(&[0, 1, 2000, 60_000]))),
                dead_letter_retention: dice.maybe(2, |dice| ms(dice.pick(&[0, 5000, 120_000]))),
            };
            store.queue(name, options).unwrap()
        });
        let model = Model { next_id: 1, ..Model::default() };
        let (claims, log) = (Vec::new(), vec![format!("seed {seed}")]);
        Self { dice, clock, now: START, queues: queues.into(), model, claims, log }
    }

    fn play(&mut self) {
        for _ in 0..OPERATIONS {
            if self.dice.one_in(2) {
                self.move_clock();
            }
            self.model.observe(self.now);
            self.operate();
            self.compare();
        }
    }

    fn move_clock(&mut self) {
        self.now += match self.dice.roll(0, 19) {
            0..=9 => self.dice.roll(0, 5000),
            10..=12 => self.dice.roll(0, 40_000),
            13..=16 => -self.dice.roll(0, MINUTE / 2),
            17 => self.dice.roll(0, 20) * MINUTE,
            18 => self.dice.pick(&[1, 1000, 30_001, 60_001, 299_999, 300_000, 300_001]),
            _ if self.dice.one_in(3) => -self.dice.roll(MINUTE, 5 * HOUR),
            _ => self.dice.roll(0, 5 * HOUR),
        };
        self.clock.set(Timestamp::from_millis(self.now));
        self.log.push(format!("the clock shows {}", self.now - START));
    }

    #[track_caller]
    fn check<T: PartialEq + std::fmt::Debug>(&self, what: &str, engine: T, model: T) {
        let recent = self.log.iter().take(1).chain(self.log.iter().skip(1.max(self.log.len().saturating_sub(40))));
        let recent = || recent.map(String::as_str).collect::<Vec<_>>().join("\n  ");
        assert!(engine == model, "{}\n{what}\n  engine {engine:?}\n  model  {model:?}", recent());
    }

    fn operate(&mut self) {
        let queue = self.dice.roll(0, 1) as usize;
        match self.dice.roll(0, 99) {
            0..=29 => self.enqueue(queue),
            30..=49 => self.claim(queue),
            50..=79 => self.settle(),
            80..=82 => self.ack_batch(queue),
            83..=85 => self.cancel(queue),
            86..=89 => self.redrive(queue),
            90..=91 => self.purge(queue),
            92..=95 => self.sweep(queue),
            _ => self.wait(queue),
        }
    }

    fn enqueue(&mut self, queue: usize) {
        let now_at = self.now;
        let dice = &mut self.dice;
        let options = EnqueueOptions {
            delay: dice.maybe(3, |dice| ms(dice.pick(&[-5000, 0, 1, 4000, 20_000, HOUR]))),
            run_at: dice.maybe(4, |dice| Timestamp::from_millis(now_at + dice.roll(-20_000, 20_000))),
            priority: dice.maybe(2, |dice| dice.roll(-2, 2)),
            max_attempts: dice.maybe(3, |dice| dice.roll(-1, 4)),
            expires: dice.maybe(3, |dice| ms(dice.pick(&[-1, 0, 1, 3000, 15_000, 2 * MINUTE, 2 * HOUR]))),
        };
        let payload = dice.bits();
        self.log.push(format!("enqueue into {} {options:?}", QUEUES[queue]));
        let id = now(self.queues[queue].enqueue(payload, &options)).unwrap();
        let stamps = self.queues[queue].stamps();
        let run_at = options.delay.map(|delay| now_at + delay.as_millis());
        self.check("id", id, self.model.next_id);
        self.model.next_id += 1;
        self.model.rows.push(Row {
            id,
            queue,
            state: "pending",
            payload,
            priority: options.priority.unwrap_or(0),
            run_at: run_at.or(options.run_at.map(Timestamp::as_millis)).unwrap_or(now_at),
            absolute: options.delay.is_none() && options.run_at.is_some(),
            attempts: 0,
            max_attempts: options.max_attempts.unwrap_or(stamps.max_attempts),
            visibility: stamps.visibility_timeout.as_millis(),
            backoff: stamps.backoff_base.as_millis(),
            retention: stamps.dead_letter_retention.map(Duration::as_millis),
            worker: None,
            claimed_at: None,
            claim_expires_at: None,
            claims: 0,
            created_at: now_at,
            expires_at: options.expires.map(|expires| now_at + expires.as_millis()),
            last_error: None,
            died_at: None,
            purge_at: None,
        });
    }

    fn claim(&mut self, queue: usize) {
        let (n, worker) = (self.dice.roll(0, 4) as usize, self.dice.pick(&["a", "b"]));
        self.log.push(format!("{worker} claims {n} of {}", QUEUES[queue]));
        let claimed = now(self.queues[queue].claim_batch(worker, n)).unwrap();
        self.claims.extend(claimed.iter().map(|claimed| claimed.job.claim()));
        let claimed: Vec<Row> = claimed.iter().map(|claimed| Row::of(&claimed.job, claimed.payload)).collect();
        let expected = self.model.claim(queue, worker, n, self.now);
        self.check("claimed", claimed, expected);
    }

    /// Settles some claim, most of them recent, many of them lost.
    fn settle(&mut self) {
        let some = self.claims.len().min(if self.dice.one_in(4) { usize::MAX } else { 4 });
        if some == 0 {
            return;
        }
        let claim = self.claims[self.claims.len() - 1 - self.dice.roll(0, some as i64 - 1) as usize].clone();
        let queue = self.queues.iter().find(|queue| *queue.name() == claim.queue).unwrap().clone();
        let now_at = self.now;
        let error = self.dice.maybe(2, |_| "boom");
        let held = self.model.held(&claim, now_at);
        let landed = held.is_some();
        let verb = self.dice.roll(0, 3);
        self.log.push(format!("settle {} #{} by {verb}", claim.id, claim.number));
        let answer = match verb {
            0 => {
                if landed {
                    self.model.rows.retain(|row| row.id != claim.id);
                }
                now(queue.ack(claim)).unwrap()
            }
            1 => {
                if let Some(row) = held {
                    row.die(error.unwrap_or("failed"), now_at);
                }
                now(queue.fail(claim, error)).unwrap()
            }
            2 => {
                let extend = self.dice.pick(&[-1, 0, 1, 5000, MINUTE]);
                if let Some(row) = held {
                    row.claim_expires_at = Some(now_at + extend);
                }
                now(queue.heartbeat(claim, ms(extend))).unwrap()
            }
            _ => self.retry(&queue, claim, error),
        };
        self.check("landed", answer, landed);
    }

    fn retry(&mut self, queue: &Queue<TestStore<u64>, ManualClock>, claim: Claim, error: Option<&str>) -> bool {
        let now_at = self.now;
        let delay = self.dice.maybe(2, |dice| dice.pick(&[-5000, 0, 1, 7000]));
        let answer = now(queue.retry(claim.clone(), error, delay.map(ms))).unwrap();
        let jittered = now(queue.get(claim.id)).unwrap().map(|(job, _)| job.run_at.as_millis());
        let Some(row) = self.model.held(&claim, now_at) else { return answer };
        if row.attempts >= row.max_attempts {
            row.die(error.unwrap_or("max attempts exceeded"), now_at);
        } else if let Some(delay) = delay {
            row.wait(now_at + delay);
        } else {
            // Which delay is drawn is the engine's own affair, within the bounds.
            let cap = (row.backoff << (row.attempts - 1).min(20)).min(HOUR);
            let run_at = jittered.expect("the job is there");
            row.wait(run_at);
            assert!((cap / 2..=cap).contains(&(run_at - now_at)), "{}: {} of {cap}", self.log[0], run_at - now_at);
        }
        answer
    }

    fn some_ids(&mut self) -> Vec<u64> {
        let last = self.model.next_id as i64;
        (0..self.dice.roll(0, 6)).map(|_| self.dice.roll(0.max(last - 12), last) as u64).collect()
    }

    fn ack_batch(&mut self, queue: usize) {
        let ids = self.some_ids();
        self.log.push(format!("ack_batch of {} {ids:?}", QUEUES[queue]));
        let now_at = self.now;
        let acked = self.model.remove(queue, |row| ids.contains(&row.id) && row.leased(now_at));
        self.check("acked", now(self.queues[queue].ack_batch(&ids)).unwrap(), acked);
    }

    fn cancel(&mut self, queue: usize) {
        let id = self.dice.roll(0, self.model.next_id as i64) as u64;
        self.log.push(format!("cancel {id} of {}", QUEUES[queue]));
        let cancelled = self.model.remove(queue, |row| row.id == id && row.state != "dead");
        self.check("cancelled", now(self.queues[queue].cancel(id)).unwrap(), cancelled == 1);
    }

    fn redrive(&mut self, queue: usize) {
        let ids = (!self.dice.one_in(2)).then(|| self.some_ids());
        self.log.push(format!("redrive of {} {ids:?}", QUEUES[queue]));
        let redriven = self.model.redrive(queue, ids.as_deref(), self.now);
        self.check("redriven", now(self.queues[queue].redrive(ids.as_deref())).unwrap(), redriven);
    }

    fn purge(&mut self, queue: usize) {
        let ids = (!self.dice.one_in(4)).then(|| self.some_ids());
        self.log.push(format!("purge of {} {ids:?}", QUEUES[queue]));
        let given = |id| ids.as_ref().is_none_or(|ids| ids.contains(&id));
        let purged = self.model.remove(queue, |row| row.state == "dead" && given(row.id));
        self.check("purged", now(self.queues[queue].purge(ids.as_deref())).unwrap(), purged);
    }

    fn sweep(&mut self, queue: usize) {
        self.log.push(format!("sweep {}", QUEUES[queue]));
        let swept = self.model.sweep(queue, self.now);
        self.check("swept", now(self.queues[queue].sweep_expired()).unwrap(), swept);
    }

    /// A wait ends at once if a claim has something to do, and only then.
    fn wait(&mut self, queue: usize) {
        self.log.push(format!("wait for {}", QUEUES[queue]));
        let stop = StopToken::new();
        let ends = pin!(self.queues[queue].wait(&stop)).poll(&mut Context::from_waker(Waker::noop()));
        let due = self.model.rows.iter().any(|row| row.queue == queue && row.due(self.now));
        self.check("wait", matches!(ends, Poll::Ready(Ok(true))), due);
        self.check("sleepers", self.clock.pending(), 0);
    }

    fn compare(&mut self) {
        for (index, queue) in self.queues.iter().enumerate() {
            let rows = now(queue.list(None, 0, usize::MAX)).unwrap();
            let rows: Vec<Row> = rows.iter().map(|(job, payload)| Row::of(job, *payload)).collect();
            let expected: Vec<Row> = self.model.rows.iter().filter(|row| row.queue == index).cloned().collect();
            self.check("rows", rows, expected);
            let tally = now(queue.stats()).unwrap();
            let next = tally.next_deadline.map(Timestamp::as_millis);
            let tally = (tally.pending, tally.ready, tally.processing, tally.dead, next);
            self.check("stats", tally, self.model.tally(index, self.now));
        }
    }
}

#[test]
fn the_engine_does_what_a_list_would() {
    for seed in 0..SEEDS {
        Game::new(seed).play();
    }
}
