//! Scripts as text, so that an input can be read: an operation a line, a letter and numbers. A number that is missing,
//! or is none, is an absent option; what is no operation does nothing.

use std::rc::Rc;

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::schedule::{Lead, ScheduleOptions};
use alkstore::core::{Claim, Error, Job, Name, State, Tally, Timestamp};
use alkstore::runtime::{Engine, Lock, ManualClock, Outbox, Queue, ScheduleInfo, StopToken, Store, Transaction};

use super::support::{START, after_a_turn, ms, now, secs};

/// How many lines of an input count.
const LINES_MAX: usize = 120;
/// How many jobs one line may add, and how many a side takes in all.
const BURST_MAX: i64 = 100;
const JOBS_MAX: u64 = 500;

const QUEUES: [&str; 2] = ["mail", "thumbs"];
const WORKERS: [&str; 2] = ["a", "b"];

#[derive(Clone, Debug)]
pub struct Line {
    pub verb: char,
    /// The letter behind `>`.
    lie: char,
    numbers: Vec<Option<i64>>,
}

impl Line {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut letters = words.next()?.chars();
        let verb = letters.next()?;
        let lie = letters.next().unwrap_or(' ');
        Some(Self { verb, lie, numbers: words.map(|word| word.parse().ok()).collect() })
    }

    /// Of a line that begins with `>`, what lies behind it.
    pub fn rest(&self) -> Self {
        Self { verb: self.lie, ..self.clone() }
    }

    pub fn maybe(&self, at: usize) -> Option<i64> {
        self.numbers.get(at).copied().flatten()
    }

    pub fn number(&self, at: usize) -> i64 {
        self.maybe(at).unwrap_or(0)
    }

    /// Which of `n`.
    pub fn which(&self, at: usize, n: usize) -> usize {
        self.number(at).rem_euclid(n as i64) as usize
    }

    pub fn id(&self, at: usize) -> u64 {
        self.number(at).max(0).cast_unsigned()
    }

    /// The numbers from `at` on as ids; none at all is all.
    pub fn ids(&self, at: usize) -> Option<Vec<u64>> {
        let ids: Vec<u64> = (at..self.numbers.len()).map(|at| self.id(at)).collect();
        (!ids.is_empty()).then_some(ids)
    }

    pub fn state(&self, at: usize) -> Option<State> {
        [State::Pending, State::Processing, State::Dead].get(self.maybe(at)?.rem_euclid(4) as usize).copied()
    }
}

pub fn lines(bytes: &[u8]) -> Vec<Line> {
    String::from_utf8_lossy(bytes).lines().filter_map(Line::read).take(LINES_MAX).collect()
}

/// The clock of a script, and what moves it: `t <ms>`.
pub fn clock() -> ManualClock {
    ManualClock::new(Timestamp::from_millis(START))
}

pub fn move_clock(clock: &ManualClock, line: &Line) {
    use alkstore::runtime::Clock as _;
    clock.set(clock.now().unwrap().plus(ms(line.number(0))));
}

/// What an operation came to.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    Nothing,
    Refused(&'static str),
    Flag(bool),
    Count(usize),
    Ids(Vec<u64>),
    Jobs(Vec<(Rc<Job>, u64)>),
    Tally(Tally),
    Schedules(Vec<ScheduleInfo>),
    Boundary(bool, Option<Timestamp>),
}

/// One store, and what a script holds of it.
pub struct Side<S: Store<Payload = u64>> {
    pub engine: Engine<S, ManualClock>,
    pub queues: Vec<Queue<S, ManualClock>>,
    outbox: Outbox<S, ManualClock>,
    claims: Vec<Claim>,
    locks: Vec<Lock<S, ManualClock>>,
    transaction: Option<Transaction<S, ManualClock>>,
    enqueued: u64,
}

impl<S: Store<Payload = u64> + 'static> Side<S> {
    pub fn new(store: S, clock: &ManualClock) -> Self {
        let engine = Engine::new(store, clock.clone(), Some(1));
        let short = QueueOptions {
            visibility_timeout: Some(secs(20)),
            max_attempts: Some(2),
            backoff_base: Some(ms(1500)),
            dead_letter_retention: Some(secs(40)),
        };
        let queues =
            vec![engine.queue(QUEUES[0], QueueOptions::default()).unwrap(), engine.queue(QUEUES[1], short).unwrap()];
        let outbox = engine.outbox("hooks").unwrap();
        Self { engine, queues, outbox, claims: Vec::new(), locks: Vec::new(), transaction: None, enqueued: 0 }
    }

    /// The queue of an operation that has one.
    pub fn queue(&self, line: &Line) -> &Queue<S, ManualClock> {
        &self.queues[line.which(0, QUEUES.len())]
    }

    /// The claim that is to be settled: counted from the latest one back.
    pub fn claim(&self, line: &Line) -> Option<Claim> {
        if self.claims.is_empty() {
            None
        } else {
            self.claims.iter().rev().nth(line.which(0, self.claims.len())).cloned()
        }
    }

    pub fn run(&mut self, line: &Line) -> Outcome {
        let outcome = match line.verb {
            'e' | 'm' | 'o' => self.enqueue(line),
            'c' | 'D' => self.claim_some(line),
            'a' | 'r' | 'f' | 'h' => self.settle(line),
            'l' | 'n' | 'u' => self.lock(line),
            'S' | 'U' | 'L' => self.schedule(line),
            'T' | 'E' | 'O' | 'G' | 'C' | 'R' => self.transact(line),
            _ => self.look(line),
        };
        outcome.unwrap_or_else(|error| Outcome::Refused(error.code()))
    }

    /// `e <queue> <delay> <priority> <max attempts> <expires> <run at, from the start>`; `m` the same, as often as the
    /// seventh says, one priority more each; `o` into the outbox.
    fn enqueue(&mut self, line: &Line) -> Result<Outcome, Error> {
        let times = if line.verb == 'm' { line.number(6).clamp(1, BURST_MAX) } else { 1 };
        let mut ids = Vec::new();
        for more in 0..times {
            if self.enqueued >= JOBS_MAX {
                break;
            }
            self.enqueued += 1;
            let mut options = options(line);
            if line.verb == 'm' {
                options.priority = options.priority.map(|priority| priority.saturating_add(more % 7));
            }
            ids.push(match line.verb {
                'o' => now(self.outbox.enqueue(self.enqueued, &options))?,
                _ => now(self.queue(line).enqueue(self.enqueued, &options))?,
            });
        }
        Ok(Outcome::Ids(ids))
    }

    /// `c <queue> <n> <worker>`; `D <fails>` delivers one of the outbox.
    fn claim_some(&mut self, line: &Line) -> Result<Outcome, Error> {
        if line.verb == 'D' {
            let outcome = if line.number(0) == 0 { Ok(()) } else { Err("no answer".to_owned()) };
            return now(self.outbox.run_once("w", async |_| outcome)).map(Outcome::Flag);
        }
        let worker = WORKERS[line.which(2, WORKERS.len())];
        let claimed = now(self.queue(line).claim_batch(worker, line.id(1) as usize))?;
        self.claims.extend(claimed.iter().map(|claimed| claimed.job.claim()));
        Ok(Outcome::Jobs(claimed.into_iter().map(|claimed| (claimed.job, claimed.payload)).collect()))
    }

    /// `a <claim>`, `r <claim> <delay> <error>`, `f <claim> <error>`, `h <claim> <extend>`.
    fn settle(&mut self, line: &Line) -> Result<Outcome, Error> {
        let Some(claim) = self.claim(line) else { return Ok(Outcome::Nothing) };
        let queue = self.queues.iter().find(|queue| *queue.name() == claim.queue).unwrap();
        let error = |at| line.maybe(at).map(|_| "boom");
        Ok(Outcome::Flag(match line.verb {
            'a' => now(queue.ack(claim)),
            'r' => now(queue.retry(claim, error(2), line.maybe(1).map(ms))),
            'f' => now(queue.fail(claim, error(1))),
            _ => now(queue.heartbeat(claim, ms(line.number(1)))),
        }?))
    }

    /// `l <name> <owner> <ttl>`, `n <lock> <ttl>`, `u <lock>`.
    fn lock(&mut self, line: &Line) -> Result<Outcome, Error> {
        if line.verb == 'l' {
            let (name, owner) = (QUEUES[line.which(0, 2)], WORKERS[line.which(1, 2)]);
            let lock = now(self.engine.try_lock(name, owner, ms(line.number(2))))?;
            let granted = lock.is_some();
            self.locks.extend(lock);
            return Ok(Outcome::Flag(granted));
        }
        if self.locks.is_empty() {
            return Ok(Outcome::Nothing);
        }
        let lock = &self.locks[line.which(0, self.locks.len())];
        Ok(Outcome::Flag(if line.verb == 'n' { now(lock.renew(ms(line.number(1)))) } else { now(lock.release()) }?))
    }

    /// `S <name> <seconds> <queue> <priority> <max attempts> <expires>`, `U <name>`, and a turn of a leader, `L <owner>`.
    fn schedule(&mut self, line: &Line) -> Result<Outcome, Error> {
        let name = QUEUES[line.which(0, 2)];
        match line.verb {
            'S' => {
                let (priority, max_attempts) = (line.maybe(3), line.maybe(4));
                let options = ScheduleOptions { priority, max_attempts, expires: line.maybe(5).map(ms) };
                let (spec, queue) = (format!("@every {}s", line.number(1)), QUEUES[line.which(2, 2)]);
                now(self.engine.schedule(name, &spec, queue, 7, options)).map(|info| Outcome::Schedules(vec![info]))
            }
            'U' => now(self.engine.unschedule(name)).map(Outcome::Flag),
            _ if self.enqueued >= JOBS_MAX => Ok(Outcome::Nothing),
            _ => {
                let owner = Name::local("owner", WORKERS[line.which(0, 2)])?;
                let turn = now(self.engine.run(Lead::new(owner)))?;
                self.enqueued += 16;
                Ok(Outcome::Boundary(turn.leads, turn.next_fire_at))
            }
        }
    }

    /// `T` begins, `E` and `O` stage as `e` and `o` do, `G <queue> <id>` looks, `C` commits and `R` does not.
    fn transact(&mut self, line: &Line) -> Result<Outcome, Error> {
        if line.verb == 'T' {
            self.transaction = Some(self.engine.transaction()?);
            return Ok(Outcome::Nothing);
        }
        let Some(transaction) = &self.transaction else { return Ok(Outcome::Nothing) };
        let queue = QUEUES[line.which(0, 2)];
        self.enqueued += 1;
        Ok(match line.verb {
            'E' => Outcome::Ids(vec![now(transaction.enqueue(queue, self.enqueued, &options(line)))?]),
            'O' => Outcome::Ids(vec![now(transaction.outbox_enqueue("hooks", self.enqueued, &options(line)))?]),
            'G' => Outcome::Jobs(now(transaction.get(queue, line.id(1)))?.into_iter().collect()),
            'C' => now(transaction.commit()).map(|()| Outcome::Nothing)?,
            _ => {
                transaction.roll_back();
                Outcome::Nothing
            }
        })
    }

    /// `b <queue> <ids>` acks, `x <queue> <id>` cancels, `d` redrives and `p` purges `<queue> <ids>`, `s <queue>` sweeps;
    /// `w <queue>` waits, `g <queue> <id>` and `i <queue> <state> <after> <limit>` read, `y <queue>` counts.
    fn look(&self, line: &Line) -> Result<Outcome, Error> {
        let queue = self.queue(line);
        match line.verb {
            'b' => now(queue.ack_batch(&line.ids(1).unwrap_or_default())).map(Outcome::Count),
            'x' => now(queue.cancel(line.id(1))).map(Outcome::Flag),
            'd' => now(queue.redrive(line.ids(1).as_deref())).map(Outcome::Count),
            'p' => now(queue.purge(line.ids(1).as_deref())).map(Outcome::Count),
            's' => now(queue.sweep_expired()).map(Outcome::Count),
            'w' => {
                let stop = StopToken::new();
                after_a_turn(queue.wait(&stop)).map_or(Ok(Outcome::Nothing), |found| found.map(Outcome::Flag))
            }
            'g' => Ok(Outcome::Jobs(now(queue.get(line.id(1)))?.into_iter().collect())),
            'i' => now(queue.list(line.state(1), line.id(2), line.id(3) as usize)).map(Outcome::Jobs),
            'y' => now(queue.stats()).map(Outcome::Tally),
            _ => Ok(Outcome::Nothing),
        }
    }

    /// All that can be seen.
    pub fn everything(&self) -> Vec<Outcome> {
        let jobs = self.queues.iter().map(|queue| now(queue.list(None, 0, usize::MAX)).map(Outcome::Jobs));
        let stats = self.queues.iter().map(|queue| now(queue.stats()).map(Outcome::Tally));
        let schedules = now(self.engine.schedules()).map(Outcome::Schedules);
        jobs.chain(stats)
            .chain([schedules])
            .map(|seen| seen.unwrap_or_else(|error| Outcome::Refused(error.code())))
            .collect()
    }
}

fn options(line: &Line) -> EnqueueOptions {
    EnqueueOptions {
        delay: line.maybe(1).map(ms),
        priority: line.maybe(2),
        max_attempts: line.maybe(3),
        expires: line.maybe(4).map(ms),
        run_at: line.maybe(5).map(|at| Timestamp::from_millis(START).plus(ms(at))),
    }
}
