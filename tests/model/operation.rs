//! What may be done, in small numbers that shrink: which claim or id is meant is counted back from the newest.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// The queues, of which the last is an outbox's.
pub const QUEUES: [&str; 3] = ["mail", "thumbs", "__alkstore_outbox:hooks"];
/// How many of them are plain.
pub const PLAIN: usize = 2;
/// The one behind the outbox.
pub const HOOKS: usize = 2;

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 3_600_000;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub delay: Option<i64>,
    /// From now.
    pub run_at: Option<i64>,
    pub priority: Option<i64>,
    pub max_attempts: Option<i64>,
    pub expires: Option<i64>,
}

#[derive(Clone, Debug)]
pub enum Verb {
    Ack,
    Fail(Option<&'static str>),
    Retry(Option<&'static str>, Option<i64>),
    Heartbeat(i64),
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// The wall clock moves by so much.
    Clock(i64),
    /// To an instant that decides something, of those ahead the one so far away, or a millisecond beside it.
    ClockTo(usize, i64),
    Enqueue(usize, Options),
    Claim {
        queue: usize,
        worker: &'static str,
        n: usize,
    },
    /// One delivery; `None` succeeds.
    RunOnce {
        worker: &'static str,
        fails: Option<&'static str>,
    },
    /// Of the claims there were, the one so far back.
    Settle(usize, Verb),
    /// Ids are counted back from the newest.
    AckBatch(usize, Vec<u64>),
    Cancel(usize, u64),
    Redrive(usize, Option<Vec<u64>>),
    Purge(usize, Option<Vec<u64>>),
    Sweep(usize),
    Wait(usize),
    /// Stages, lets the clock move, and commits or not.
    Transaction {
        staged: Vec<(usize, Options)>,
        pause: i64,
        commits: bool,
    },
    TryLock {
        name: &'static str,
        owner: &'static str,
        ttl: i64,
    },
    /// Of the locks that were granted, the one so far back.
    Renew(usize, i64),
    Release(usize),
    Schedule {
        name: &'static str,
        spec: &'static str,
        queue: usize,
        options: Options,
    },
    Unschedule(&'static str),
    /// A runner comes, ticks once and goes.
    RunSchedules,
}

pub fn any() -> impl Strategy<Value = Operation> {
    let queue = || 0..QUEUES.len();
    let worker = || select(&["a", "b"][..]);
    let error = || option::of(Just("boom"));
    prop_oneof![
        30 => clock().prop_map(Operation::Clock),
        20 => (0..4usize, -1..2i64).prop_map(|(which, beside)| Operation::ClockTo(which, beside)),
        24 => (queue(), options()).prop_map(|(queue, options)| Operation::Enqueue(queue, options)),
        14 => (queue(), worker(), 0..5usize).prop_map(|(queue, worker, n)| Operation::Claim { queue, worker, n }),
        4 => (worker(), error()).prop_map(|(worker, fails)| Operation::RunOnce { worker, fails }),
        24 => (recent(), verb(error())).prop_map(|(which, verb)| Operation::Settle(which, verb)),
        3 => (queue(), ids()).prop_map(|(queue, ids)| Operation::AckBatch(queue, ids)),
        2 => (queue(), 0..20u64).prop_map(|(queue, id)| Operation::Cancel(queue, id)),
        3 => (queue(), option::of(ids())).prop_map(|(queue, ids)| Operation::Redrive(queue, ids)),
        2 => (queue(), option::weighted(0.8, ids())).prop_map(|(queue, ids)| Operation::Purge(queue, ids)),
        4 => queue().prop_map(Operation::Sweep),
        4 => queue().prop_map(Operation::Wait),
        5 => (vec((queue(), options()), 0..4), clock(), proptest::bool::weighted(0.7))
            .prop_map(|(staged, pause, commits)| Operation::Transaction { staged, pause, commits }),
        4 => (select(&["sync", "upload"][..]), select(&["tab-a", "tab-b"][..]), ttl())
            .prop_map(|(name, owner, ttl)| Operation::TryLock { name, owner, ttl }),
        2 => (recent(), ttl()).prop_map(|(which, ttl)| Operation::Renew(which, ttl)),
        2 => recent().prop_map(Operation::Release),
        3 => (select(&["report", "cleanup", "a"][..]), spec(), 0..PLAIN, options())
            .prop_map(|(name, spec, queue, options)| Operation::Schedule { name, spec, queue, options }),
        1 => select(&["report", "cleanup", "a"][..]).prop_map(Operation::Unschedule),
        6 => Just(Operation::RunSchedules),
    ]
}

// Forth by little, mostly; back by less than the minute that makes a clock a wrong one, and sometimes by more.
fn clock() -> impl Strategy<Value = i64> {
    let instants = [1, 1000, 30_001, MINUTE, MINUTE + 1, 299_999, 300_000, 300_001];
    prop_oneof![
        10 => 0..5000i64,
        3 => 0..40_000i64,
        4 => (0..MINUTE / 2).prop_map(|ms| -ms),
        1 => (0..20i64).prop_map(|minutes| minutes * MINUTE),
        1 => select(instants.to_vec()),
        1 => select(instants.to_vec()).prop_map(|ms: i64| -ms),
        1 => 0..5 * HOUR,
        1 => (MINUTE..5 * HOUR).prop_map(|ms| -ms),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let delay = option::weighted(0.3, select(vec![-5000, 0, 1, 4000, 20_000, HOUR]));
    let run_at = option::weighted(0.25, -20_000..20_000i64);
    let priority = option::of(-2..3i64);
    let max_attempts = option::weighted(0.3, -1..5i64);
    let expires = option::weighted(0.3, select(vec![-1, 0, 1, 3000, 15_000, 2 * MINUTE, 2 * HOUR]));
    (delay, run_at, priority, max_attempts, expires).prop_map(|(delay, run_at, priority, max_attempts, expires)| {
        Options { delay, run_at, priority, max_attempts, expires }
    })
}

fn verb(error: impl Strategy<Value = Option<&'static str>> + Clone + 'static) -> impl Strategy<Value = Verb> {
    let delay = option::of(select(vec![-5000, 0, 1, 7000]));
    prop_oneof![
        Just(Verb::Ack),
        error.clone().prop_map(Verb::Fail),
        (error, delay).prop_map(|(error, delay)| Verb::Retry(error, delay)),
        select(vec![-1, 0, 1, 5000, MINUTE]).prop_map(Verb::Heartbeat),
    ]
}

// One of the last few, mostly.
fn recent() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 0..4usize, 1 => 0..200usize]
}

fn ids() -> impl Strategy<Value = Vec<u64>> {
    vec(0..12u64, 0..6)
}

fn ttl() -> impl Strategy<Value = i64> {
    select(vec![1, 2000, 30_000, HOUR])
}

fn spec() -> impl Strategy<Value = &'static str> {
    select(&["@every 1s", "@every 10s", "@every 60s", "@every 1m", "@every 2h", "@every 1d"][..])
}
