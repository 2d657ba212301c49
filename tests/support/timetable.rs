//! Specifications as timetables: a row per event, with the clock, the call and its answer.
//!
//! ```text
//! 0     | mail.enqueue a delay=10s | 1
//! 9999ms| mail.claim w1            | -
//! 10s   | mail.claim w1            | 1#1
//! ```
//!
//! Instants are counted from the start of the world, a row sets the wall clock and nothing else, so
//! rows may go back. `mail.` calls the queue `mail`, `>orders.` the outbox `orders`, `lock.`,
//! `store.` and `tx.` the rest. `1#2` is the second claim of job 1. A dash is null or nothing, an
//! error its code.

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::schedule::ScheduleOptions;
use alkstore::core::{Claim, Duration, Error, Job, State, Timestamp};
use alkstore::runtime::{Lock, ManualClock, StopToken, Transaction};

use super::executor::now;
use super::storage::TestStore;
use super::world::{Handle, START, Text, World};

type Words<'a> = std::str::SplitWhitespace<'a>;

/// Plays rows against a store in memory.
pub struct Timetable {
    pub world: World,
    queues: BTreeMap<String, Handle>,
    locks: BTreeMap<(String, String), Lock<TestStore<Text>, ManualClock>>,
    transaction: Option<Transaction<TestStore<Text>, ManualClock>>,
    /// The number of each job's first claim: claims are counted from there.
    first_claims: BTreeMap<u64, u64>,
}

impl Timetable {
    pub fn new() -> Self {
        Self::of(World::new())
    }

    pub fn of(world: World) -> Self {
        Self {
            world,
            queues: BTreeMap::new(),
            locks: BTreeMap::new(),
            transaction: None,
            first_claims: BTreeMap::new(),
        }
    }

    /// Gives a queue its options; others have none.
    pub fn queue(mut self, name: &str, options: QueueOptions) -> Self {
        self.queues.insert(name.into(), self.world.store.queue(name, options).unwrap());
        self
    }

    /// Plays all rows.
    ///
    /// # Panics
    /// If an answer differs from the row's; all that do are listed.
    pub fn rows(mut self, rows: &str) -> Self {
        let mut wrong = Vec::new();
        for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let [at, call, expected] = cells(row);
            self.world.at(span(at));
            let answer = self.call(call).unwrap_or_else(|error| error.code().into());
            if answer != expected {
                wrong.push(format!("{row}\n    answered {answer}"));
            }
        }
        assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
        self
    }

    fn call(&mut self, call: &str) -> Result<String, Error> {
        let (subject, rest) = call.split_once('.').unwrap_or_else(|| panic!("no subject: {call}"));
        let mut words = rest.split_whitespace();
        let verb = words.next().unwrap();
        match subject {
            "store" => self.store(verb, words),
            "lock" => self.lock(verb, words),
            "tx" => self.transaction(verb, words),
            name => {
                let handle = self.handle(name)?;
                queue(&handle, verb, words, &mut self.first_claims)
            }
        }
    }

    fn handle(&self, name: &str) -> Result<Handle, Error> {
        match (self.queues.get(name), name.strip_prefix('>')) {
            (Some(handle), _) => Ok(handle.clone()),
            (None, Some(outbox)) => Ok((*self.world.store.outbox(outbox)?).clone()),
            (None, None) => self.world.store.queue(name, QueueOptions::default()),
        }
    }

    fn store(&self, verb: &str, mut words: Words<'_>) -> Result<String, Error> {
        let store = &self.world.store;
        Ok(match verb {
            "schedule" => {
                let [name, every, queue] = take(&mut words);
                let EnqueueOptions { priority, max_attempts, expires, .. } = options(words);
                let options = ScheduleOptions { priority, max_attempts, expires };
                now(store.schedule(name, &format!("@every {every}"), queue, name.into(), options))?;
                "ok".into()
            }
            "unschedule" => now(store.unschedule(take::<1>(&mut words)[0]))?.to_string(),
            "schedules" => {
                let all = now(store.schedules())?;
                list(all.iter().map(|row| format!("{}@{}", row.name, instant(row.next_fire_at))))
            }
            "tick" => {
                let stop = StopToken::new();
                let mut run = pin!(store.run_schedules(&stop, false));
                if let Poll::Ready(outcome) = run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    return outcome.map(|()| "no wait".into());
                }
                stop.set();
                now(run).map(|()| "ok".into())?
            }
            _ => panic!("store.{verb}"),
        })
    }

    fn lock(&mut self, verb: &str, mut words: Words<'_>) -> Result<String, Error> {
        let [name, owner] = take(&mut words);
        let key = (name.to_string(), owner.to_string());
        let held = |locks: &BTreeMap<_, Lock<_, _>>| locks.get(&key).cloned().expect("never granted");
        let answer = match verb {
            "try" => {
                let lock = now(self.world.store.try_lock(name, owner, span(take::<1>(&mut words)[0])))?;
                let granted = lock.is_some();
                self.locks.extend(lock.map(|lock| (key, lock)));
                granted
            }
            "renew" => now(held(&self.locks).renew(span(take::<1>(&mut words)[0])))?,
            "release" => now(held(&self.locks).release())?,
            _ => panic!("lock.{verb}"),
        };
        Ok(answer.to_string())
    }

    fn transaction(&mut self, verb: &str, mut words: Words<'_>) -> Result<String, Error> {
        if verb == "begin" {
            self.transaction = Some(self.world.store.transaction()?);
            return Ok("ok".into());
        }
        let tx = self.transaction.as_ref().expect("a transaction");
        Ok(match verb {
            "enqueue" => {
                let [queue, payload] = take(&mut words);
                now(tx.enqueue(queue, payload.into(), &options(words)))?.to_string()
            }
            "outbox" => {
                let [outbox, payload] = take(&mut words);
                now(tx.outbox_enqueue(outbox, payload.into(), &options(words)))?.to_string()
            }
            "get" => {
                let [queue, id] = take(&mut words);
                let found = now(tx.get(queue, id.parse().unwrap()))?;
                row(found, words)
            }
            "commit" => now(tx.commit()).map(|()| "ok".into())?,
            "roll_back" => {
                tx.roll_back();
                "ok".into()
            }
            _ => panic!("tx.{verb}"),
        })
    }
}

fn queue(
    queue: &Handle,
    verb: &str,
    mut words: Words<'_>,
    first_claims: &mut BTreeMap<u64, u64>,
) -> Result<String, Error> {
    let claim = |words: &mut Words<'_>, first_claims: &BTreeMap<u64, u64>| {
        let (id, which) = take::<1>(words)[0].split_once('#').expect("id#claim");
        let (id, which): (u64, u64) = (id.parse().unwrap(), which.parse().unwrap());
        let first = first_claims.get(&id).copied().unwrap_or(1);
        Claim { queue: queue.name().clone(), id, number: first + which - 1 }
    };
    Ok(match verb {
        "enqueue" => {
            let [payload] = take(&mut words);
            now(queue.enqueue(payload.into(), &options(words)))?.to_string()
        }
        "claim" => {
            let [worker] = take(&mut words);
            let jobs = match words.next() {
                Some(n) => now(queue.claim_batch(worker, n.parse().unwrap()))?,
                None => now(queue.claim_one(worker))?.into_iter().collect(),
            };
            list(jobs.iter().map(|claimed| {
                let first = *first_claims.entry(claimed.job.id).or_insert(claimed.job.claims);
                format!("{}#{}", claimed.job.id, claimed.job.claims - first + 1)
            }))
        }
        "ack" => now(queue.ack(claim(&mut words, first_claims)))?.to_string(),
        "heartbeat" => {
            let claim = claim(&mut words, first_claims);
            now(queue.heartbeat(claim, span(take::<1>(&mut words)[0])))?.to_string()
        }
        "retry" => {
            let claim = claim(&mut words, first_claims);
            let (delay, error) = settling(words);
            now(queue.retry(claim, error, delay))?.to_string()
        }
        "fail" => {
            let claim = claim(&mut words, first_claims);
            now(queue.fail(claim, settling(words).1))?.to_string()
        }
        "deliver" => {
            let [worker, outcome] = take(&mut words);
            let outcome = if outcome == "ok" { Ok(()) } else { Err(outcome.to_string()) };
            now(queue.run_once(worker, async |_| outcome))?.to_string()
        }
        "ack_batch" => now(queue.ack_batch(&numbers(words)))?.to_string(),
        "cancel" => now(queue.cancel(number(&mut words)))?.to_string(),
        "get" => {
            let found = now(queue.get(number(&mut words)))?;
            row(found, words)
        }
        "list" => {
            let state = words.next().map(|word| match word {
                "pending" => State::Pending,
                "processing" => State::Processing,
                "dead" => State::Dead,
                _ => panic!("no state: {word}"),
            });
            let page = now(queue.list(state, 0, usize::MAX))?;
            list(page.iter().map(|(job, _)| job.id.to_string()))
        }
        "stats" => {
            let tally = now(queue.stats())?;
            let next = tally.next_deadline.map_or("-".into(), instant);
            format!("{} {} {} {} {next}", tally.pending, tally.ready, tally.processing, tally.dead)
        }
        "redrive" => now(queue.redrive(which(words).as_deref()))?.to_string(),
        "purge" => now(queue.purge(which(words).as_deref()))?.to_string(),
        "sweep" => now(queue.sweep_expired())?.to_string(),
        _ => panic!("queue.{verb}"),
    })
}

fn cells(row: &str) -> [&str; 3] {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    cells.try_into().unwrap_or_else(|_| panic!("a row has three cells: {row}"))
}

fn take<'a, const N: usize>(words: &mut Words<'a>) -> [&'a str; N] {
    std::array::from_fn(|_| words.next().expect("another word"))
}

fn number(words: &mut Words<'_>) -> u64 {
    take::<1>(words)[0].parse().unwrap()
}

fn numbers(words: Words<'_>) -> Vec<u64> {
    words.map(|word| word.parse().unwrap()).collect()
}

/// `all`, `none`, or ids.
fn which(words: Words<'_>) -> Option<Vec<u64>> {
    let words: Vec<&str> = words.collect();
    match words[..] {
        ["all"] => None,
        ["none"] => Some(Vec::new()),
        _ => Some(words.iter().map(|word| word.parse().unwrap()).collect()),
    }
}

fn span(text: &str) -> Duration {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let millis = if digits == "0" { 0 } else { Duration::parse(digits).expect(text).as_millis() };
    Duration::from_millis(sign * millis)
}

fn options(words: Words<'_>) -> EnqueueOptions {
    let mut options = EnqueueOptions::default();
    for (key, value) in words.map(|word| word.split_once('=').expect("key=value")) {
        match key {
            "delay" => options.delay = Some(span(value)),
            "run_at" => options.run_at = Some(Timestamp::from_millis(START).plus(span(value))),
            "priority" => options.priority = Some(value.parse().unwrap()),
            "max" => options.max_attempts = Some(value.parse().unwrap()),
            "expires" => options.expires = Some(span(value)),
            _ => panic!("no option: {key}"),
        }
    }
    options
}

fn settling(words: Words<'_>) -> (Option<Duration>, Option<&str>) {
    let (mut delay, mut error) = (None, None);
    for (key, value) in words.map(|word| word.split_once('=').expect("key=value")) {
        match key {
            "delay" => delay = Some(span(value)),
            "error" => error = Some(value),
            _ => panic!("no option: {key}"),
        }
    }
    (delay, error)
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "-".into() } else { items.join(" ") }
}

/// The asked fields of a job; its state, if none is.
fn row(found: Option<(Rc<Job>, Text)>, fields: Words<'_>) -> String {
    let Some((job, payload)) = found else { return "-".into() };
    let mut fields = fields.peekable();
    if fields.peek().is_none() {
        return job.state.as_str().into();
    }
    list(fields.map(|field| value(&job, &payload, field)))
}

fn value(job: &Job, payload: &Text, field: &str) -> String {
    let at = |at: Option<Timestamp>| at.map_or("-".into(), instant);
    match field {
        "payload" => payload.to_string(),
        "queue" => job.queue.to_string(),
        "state" => job.state.as_str().into(),
        "priority" => job.priority.to_string(),
        "run_at" => instant(job.run_at),
        "attempts" => job.attempts.to_string(),
        "max_attempts" => job.stamps.max_attempts.to_string(),
        "visibility_timeout" => span_text(job.stamps.visibility_timeout),
        "backoff_base" => span_text(job.stamps.backoff_base),
        "retention" => job.stamps.dead_letter_retention.map_or("-".into(), span_text),
        "worker" => job.worker_id.as_ref().map_or("-".into(), ToString::to_string),
        "claimed_at" => at(job.claimed_at),
        "claim_expires_at" => at(job.claim_expires_at),
        "created_at" => instant(job.created_at),
        "expires_at" => at(job.expires_at),
        "last_error" => job.last_error.as_deref().map_or("-".into(), |error| error.replace(' ', "_")),
        "died_at" => at(job.died_at),
        _ => panic!("no field: {field}"),
    }
}

fn instant(at: Timestamp) -> String {
    span_text(at.since(Timestamp::from_millis(START)))
}

fn span_text(span: Duration) -> String {
    match span.as_millis() {
        0 => "0".into(),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}
