//! Plays operations on the engine and on the contract, and compares.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use alkstore::core::queue::QueueOptions;
use alkstore::core::{Claim, Duration, EnqueueOptions, ScheduleOptions, Timestamp};
use alkstore::runtime::{Engine, Lock, ManualClock, Queue, StopToken};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

use super::contract::{Contract, OUTBOX, PLAIN, Row, Schedule, Stamps, queue_of};
use super::operation::{HOOKS, Operation, Options, QUEUES, Verb};
use super::support::{START, TestStore, after_a_turn, ms, now};

type Checked = Result<(), TestCaseError>;
type Handle = Queue<TestStore<u64>, ManualClock>;

/// A lock that was granted, its name and its owner.
type Held = (Lock<TestStore<u64>, ManualClock>, &'static str, &'static str);

/// How often a future is polled that ends by itself.
const POLLS_MAX: usize = 1000;

/// The options of a queue, absent ones too.
pub type Given = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// Those of the plain queues.
pub fn stamps() -> impl Strategy<Value = [Given; 2]> {
    let given = || {
        let visibility = option::of(select(vec![-1, 0, 1000, 30_000]));
        let backoff = option::of(select(vec![0, 1, 2000, 60_000]));
        let retention = option::of(select(vec![0, 5000, 120_000]));
        (visibility, option::of(0..5i64), backoff, retention)
    };
    [given(), given()]
}

/// Plays all of them.
pub fn play(stamps: [Given; 2], operations: Vec<Operation>) -> Checked {
    let mut game = Game::new(stamps);
    for operation in operations {
        game.play(&operation)?;
        // Comparing reads, and reading looks at the clock: where it went meanwhile is nobody's to see.
        if !matches!(operation, Operation::Clock(_) | Operation::ClockTo(..)) {
            game.compare()?;
        }
    }
    Ok(())
}

struct Game {
    clock: ManualClock,
    now: i64,
    engine: Engine<TestStore<u64>, ManualClock>,
    queues: Vec<Handle>,
    stamps: [Stamps; 3],
    contract: Contract,
    claims: Vec<Claim>,
    locks: Vec<Held>,
    payloads: u64,
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, engine: T, contract: T) -> Checked {
    prop_assert!(engine == contract, "{what}\n  engine   {engine:?}\n  contract {contract:?}");
    Ok(())
}

fn nth_last<T: Clone>(list: &[T], back: usize) -> Option<T> {
    list.iter().rev().nth(if list.is_empty() { 0 } else { back % list.len() }).cloned()
}

impl Game {
    fn new(given: [Given; 2]) -> Self {
        let clock = ManualClock::new(Timestamp::from_millis(START));
        let engine = Engine::new(TestStore::new(), clock.clone(), Some(7));
        let queue = |index: usize| {
            let (visibility, max_attempts, backoff, retention) = given[index];
            let options = QueueOptions {
                visibility_timeout: visibility.map(ms),
                max_attempts,
                backoff_base: backoff.map(ms),
                dead_letter_retention: retention.map(ms),
            };
            engine.queue(QUEUES[index], options).unwrap()
        };
        let outbox = (*engine.outbox("hooks").unwrap()).clone();
        let queues = vec![queue(0), queue(1), outbox];
        let stamps = |(visibility, max_attempts, backoff, retention): Given| Stamps {
            visibility: visibility.unwrap_or(PLAIN.visibility),
            max_attempts: max_attempts.unwrap_or(PLAIN.max_attempts),
            backoff: backoff.unwrap_or(PLAIN.backoff),
            retention: retention.or(PLAIN.retention),
        };
        let stamps = [stamps(given[0]), stamps(given[1]), OUTBOX];
        let (claims, locks) = (Vec::new(), Vec::new());
        Self { clock, now: START, engine, queues, stamps, contract: Contract::default(), claims, locks, payloads: 0 }
    }

    fn play(&mut self, operation: &Operation) -> Checked {
        match operation {
            Operation::Clock(by) => self.move_clock(*by),
            Operation::ClockTo(which, beside) => {
                let ahead = self.contract.instants(self.now);
                let at = ahead.get(*which).or(ahead.last());
                self.move_clock(at.map_or(0, |at| at + beside - self.now));
            }
            Operation::Enqueue(queue, options) => return self.enqueue(*queue, *options),
            Operation::Claim { queue, worker, n } => return self.claim(*queue, worker, *n),
            Operation::RunOnce { worker, fails } => return self.run_once(worker, *fails),
            Operation::Settle(which, verb) => return self.settle(*which, verb),
            Operation::AckBatch(queue, back) => {
                let (ids, now_at) = (self.ids(back), self.observed());
                let acked = self.contract.remove(*queue, |row| ids.contains(&row.id) && row.leased(now_at));
                return same("acked", now(self.queues[*queue].ack_batch(&ids)).unwrap(), acked);
            }
            Operation::Cancel(queue, back) => {
                let id = self.contract.last_id.saturating_sub(*back);
                self.observed();
                let cancelled = self.contract.remove(*queue, |row| row.id == id && row.state != "dead");
                return same("cancelled", now(self.queues[*queue].cancel(id)).unwrap(), cancelled == 1);
            }
            Operation::Redrive(queue, back) => {
                let (ids, now_at) = (back.as_ref().map(|back| self.ids(back)), self.observed());
                let redriven = self.contract.redrive(*queue, ids.as_deref(), now_at);
                return same("redriven", now(self.queues[*queue].redrive(ids.as_deref())).unwrap(), redriven);
            }
            Operation::Purge(queue, back) => {
                let ids = back.as_ref().map(|back| self.ids(back));
                self.observed();
                let given = |id| ids.as_ref().is_none_or(|ids| ids.contains(&id));
                let purged = self.contract.remove(*queue, |row| row.state == "dead" && given(row.id));
                return same("purged", now(self.queues[*queue].purge(ids.as_deref())).unwrap(), purged);
            }
            Operation::Sweep(queue) => {
                let now_at = self.observed();
                let swept = self.contract.sweep(*queue, now_at);
                return same("swept", now(self.queues[*queue].sweep_expired()).unwrap(), swept);
            }
            Operation::Wait(queue) => return self.wait(*queue),
            Operation::Transaction { staged, pause, commits } => return self.transaction(staged, *pause, *commits),
            Operation::TryLock { name, owner, ttl } => return self.try_lock(name, owner, *ttl),
            Operation::Renew(which, ttl) => {
                let Some(at) = self.lock(*which) else { return Ok(()) };
                let now_at = self.observed();
                let (lock, name, owner) = &self.locks[at];
                let renewed = self.contract.renew(name, owner, *ttl, now_at);
                return same("renewed", now(lock.renew(ms(*ttl))).unwrap(), renewed);
            }
            Operation::Release(which) => {
                let Some(at) = self.lock(*which) else { return Ok(()) };
                self.observed();
                let (lock, name, owner) = &self.locks[at];
                return same("released", now(lock.release()).unwrap(), self.contract.release(name, owner));
            }
            Operation::Schedule { name, spec, queue, options } => return self.schedule(name, spec, *queue, *options),
            Operation::Unschedule(name) => {
                self.observed();
                let found = self.contract.schedules.remove(name).is_some();
                return same("unscheduled", now(self.engine.unschedule(name)).unwrap(), found);
            }
            Operation::RunSchedules => {
                let now_at = self.observed();
                self.contract.tick(now_at);
                self.run_schedules();
            }
        }
        Ok(())
    }

    fn move_clock(&mut self, by: i64) {
        self.now += by;
        self.clock.set(Timestamp::from_millis(self.now));
    }

    /// What an operation begins with.
    fn observed(&mut self) -> i64 {
        self.contract.observe(self.now);
        self.now
    }

    fn payload(&mut self) -> u64 {
        self.payloads += 1;
        self.payloads
    }

    fn ids(&self, back: &[u64]) -> Vec<u64> {
        back.iter().map(|back| self.contract.last_id.saturating_sub(*back)).collect()
    }

    fn lock(&self, which: usize) -> Option<usize> {
        let places: Vec<usize> = (0..self.locks.len()).collect();
        nth_last(&places, which)
    }

    fn given(&self, options: Options) -> EnqueueOptions {
        EnqueueOptions {
            delay: options.delay.map(ms),
            run_at: options.run_at.map(|by| Timestamp::from_millis(self.now + by)),
            priority: options.priority,
            max_attempts: options.max_attempts,
            expires: options.expires.map(ms),
        }
    }

    fn enqueue(&mut self, queue: usize, options: Options) -> Checked {
        let (now_at, payload) = (self.observed(), self.payload());
        let row = self.contract.job(queue, self.stamps[queue], options, payload, now_at);
        let id = row.id;
        self.contract.rows.push(row);
        same("id", now(self.queues[queue].enqueue(payload, &self.given(options))).unwrap(), id)
    }

    fn claim(&mut self, queue: usize, worker: &'static str, n: usize) -> Checked {
        let now_at = if n > 0 { self.observed() } else { self.now };
        let claimed = now(self.queues[queue].claim_batch(worker, n)).unwrap();
        self.claims.extend(claimed.iter().map(|claimed| claimed.job.claim()));
        let claimed: Vec<Row> = claimed.iter().map(|claimed| Row::of(&claimed.job, claimed.payload)).collect();
        same("claimed", claimed, self.contract.claim(queue, worker, n, now_at))
    }

    fn run_once(&mut self, worker: &'static str, fails: Option<&'static str>) -> Checked {
        let now_at = self.observed();
        let expected = self.contract.claim(HOOKS, worker, 1, now_at);
        let mut delivered = Vec::new();
        let delivery = async |claimed: alkstore::core::ClaimedJob<u64>| {
            delivered.push((Row::of(&claimed.job, claimed.payload), claimed.job.claim()));
            fails.map_or(Ok(()), |error| Err(error.to_string()))
        };
        let ran = now(self.queues[HOOKS].run_once(worker, delivery)).unwrap();
        same("ran", ran, !expected.is_empty())?;
        let Some((row, claim)) = delivered.pop() else { return same("delivered", Vec::new(), expected) };
        same("delivered", vec![row], expected)?;
        self.claims.push(claim.clone());
        match fails {
            None => drop(self.contract.remove(HOOKS, |row| row.id == claim.id)),
            Some(error) => self.retried(&claim, Some(error), None)?,
        }
        Ok(())
    }

    /// Settles some claim, most of them recent, many of them lost.
    fn settle(&mut self, which: usize, verb: &Verb) -> Checked {
        let Some(claim) = nth_last(&self.claims, which) else { return Ok(()) };
        let now_at = self.observed();
        let queue = self.queues[queue_of(&claim.queue)].clone();
        let held = self.contract.held(&claim, now_at);
        let landed = held.is_some();
        let answer = match verb {
            Verb::Ack => {
                if landed {
                    self.contract.rows.retain(|row| row.id != claim.id);
                }
                now(queue.ack(claim)).unwrap()
            }
            Verb::Fail(error) => {
                if let Some(row) = held {
                    row.die(error.unwrap_or("failed"), now_at);
                }
                now(queue.fail(claim, *error)).unwrap()
            }
            Verb::Heartbeat(extend) => {
                if let Some(row) = held {
                    row.claim_expires_at = Some(now_at + extend);
                }
                now(queue.heartbeat(claim, ms(*extend))).unwrap()
            }
            Verb::Retry(error, delay) => {
                let answer = now(queue.retry(claim.clone(), *error, delay.map(ms))).unwrap();
                if landed {
                    self.retried(&claim, *error, *delay)?;
                }
                answer
            }
        };
        same("landed", answer, landed)
    }

    /// After a retry that landed. Which delay is drawn is the engine's own affair, within the bounds.
    fn retried(&mut self, claim: &Claim, error: Option<&str>, delay: Option<i64>) -> Checked {
        let queue = &self.queues[queue_of(&claim.queue)];
        let drawn = now(queue.get(claim.id)).unwrap().map(|(job, _)| job.run_at.as_millis() - self.now);
        let now_at = self.now;
        let row = self.contract.held(claim, now_at).unwrap();
        if row.attempts >= row.max_attempts {
            row.die(error.unwrap_or("max attempts exceeded"), now_at);
            return Ok(());
        }
        let (least, most) = row.backoff_bounds();
        let waits = delay.or(drawn);
        prop_assert!(
            delay.is_some() || drawn.is_some_and(|drawn| (least..=most).contains(&drawn)),
            "{drawn:?} is not within {least}..={most}"
        );
        row.wait(now_at + waits.unwrap_or(0));
        Ok(())
    }

    /// A wait ends at once if a claim has something to do, and only then.
    fn wait(&mut self, queue: usize) -> Checked {
        let (stop, now_at) = (StopToken::new(), self.observed());
        let ends = after_a_turn(self.queues[queue].wait(&stop));
        let due = self.contract.rows.iter().any(|row| row.queue == queue && row.due(now_at));
        same("wait", matches!(ends, Some(Ok(true))), due)?;
        same("sleepers", self.clock.pending(), 0)
    }

    fn transaction(&mut self, staged: &[(usize, Options)], pause: i64, commits: bool) -> Checked {
        let transaction = self.engine.transaction().unwrap();
        for (queue, options) in staged {
            let (now_at, payload, given) = (self.observed(), self.payload(), self.given(*options));
            let stamps = if *queue == HOOKS { OUTBOX } else { PLAIN };
            let row = self.contract.job(*queue, stamps, *options, payload, now_at);
            let id = match *queue {
                HOOKS => now(transaction.outbox_enqueue("hooks", payload, &given)).unwrap(),
                queue => now(transaction.enqueue(QUEUES[queue], payload, &given)).unwrap(),
            };
            same("staged", id, row.id)?;
            self.contract.staged.push(row);
            self.compare()?;
        }
        self.move_clock(pause);
        if commits {
            if !staged.is_empty() {
                self.observed();
            }
            self.contract.rows.append(&mut self.contract.staged);
            now(transaction.commit()).unwrap();
        }
        self.contract.staged.clear();
        Ok(())
    }

    fn try_lock(&mut self, name: &'static str, owner: &'static str, ttl: i64) -> Checked {
        let now_at = self.observed();
        let lock = now(self.engine.try_lock(name, owner, ms(ttl))).unwrap();
        same("granted", lock.is_some(), self.contract.try_lock(name, owner, ttl, now_at))?;
        self.locks.extend(lock.map(|lock| (lock, name, owner)));
        Ok(())
    }

    fn schedule(&mut self, name: &'static str, spec: &'static str, queue: usize, options: Options) -> Checked {
        let (now_at, payload) = (self.observed(), self.payload());
        let Options { priority, max_attempts, expires, .. } = options;
        let schedule = Schedule { spec, queue, payload, priority, max_attempts, expires, next_fire_at: 0 };
        self.contract.schedule(name, schedule, now_at);
        let options = ScheduleOptions { priority, max_attempts, expires: expires.map(ms) };
        let registered = now(self.engine.schedule(name, spec, QUEUES[queue], payload, options)).unwrap();
        same("next boundary", registered.next_fire_at.as_millis(), self.contract.schedules[name].next_fire_at)
    }

    fn run_schedules(&self) {
        let stop = StopToken::new();
        let mut running = pin!(self.engine.run_schedules(&stop, false));
        for _ in 0..POLLS_MAX {
            match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(ended) => return ended.unwrap(),
                Poll::Pending => stop.set(),
            }
        }
        panic!("the runner goes on after it was stopped");
    }

    fn compare(&mut self) -> Checked {
        let now_at = self.observed();
        for (index, queue) in self.queues.iter().enumerate() {
            let rows = now(queue.list(None, 0, usize::MAX)).unwrap();
            let rows: Vec<Row> = rows.iter().map(|(job, payload)| Row::of(job, *payload)).collect();
            let mut expected: Vec<Row> = self.contract.rows.iter().filter(|row| row.queue == index).cloned().collect();
            expected.sort_by_key(|row| row.id);
            same("rows", rows, expected)?;
            let tally = now(queue.stats()).unwrap();
            let next = tally.next_deadline.map(Timestamp::as_millis);
            let tally = (tally.pending, tally.ready, tally.processing, tally.dead, next);
            same("stats", tally, self.contract.tally(index, now_at))?;
        }
        let schedules = now(self.engine.schedules()).unwrap().into_iter().map(|schedule| {
            let options = schedule.options;
            let options = (options.priority, options.max_attempts, options.expires.map(Duration::as_millis));
            let (name, spec) = (schedule.name.to_string(), schedule.spec.to_string());
            (name, spec, queue_of(&schedule.queue), options, schedule.next_fire_at.as_millis())
        });
        let expected = self.contract.schedules.iter().map(|(name, schedule)| {
            let options = (schedule.priority, schedule.max_attempts, schedule.expires);
            (name.to_string(), schedule.spec.to_string(), schedule.queue, options, schedule.next_fire_at)
        });
        same("schedules", schedules.collect::<Vec<_>>(), expected.collect())
    }
}
