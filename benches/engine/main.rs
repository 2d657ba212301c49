//! The native engine over the memory storage: what one enqueue → claim → ack costs, by how many jobs wait.
//!
//! `cargo bench --bench engine`; with `-- --check` it fails if a cycle with a million jobs waiting costs more
//! than twice what it costs with a thousand.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::{Duration, Timestamp};
use alkstore::runtime::{Engine, ManualClock, MemoryStore, Queue};

const CYCLES: u32 = 5_000;
const ROUNDS: usize = 31;
const DEPTHS: [u64; 4] = [0, 1_000, 100_000, 1_000_000];
const RATIO_MAX: f64 = 2.0;

type Mail = Queue<MemoryStore<u32>, ManualClock>;

fn main() -> ExitCode {
    let mut failed = false;
    for (name, fill) in FILLS {
        let rounds = measure(fill);
        let nanos = [0, 1, 2, 3].map(|at| median(rounds.iter().map(|round| round[at])));
        let ratio = median(rounds.iter().map(|round| round[3] / round[1]));
        failed |= ratio > RATIO_MAX;
        println!(
            "{name:<24} ns a cycle with 0 / 1k / 100k / 1M waiting: {:.0} / {:.0} / {:.0} / {:.0}; 1M over 1k: {ratio:.2}",
            nanos[0], nanos[1], nanos[2], nanos[3]
        );
    }
    if failed && std::env::args().any(|argument| argument == "--check") {
        println!("a claim among a million jobs must cost at most {RATIO_MAX} times one among a thousand");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// What waits: how the n-th job is enqueued, and whether it is claimed then.
type Fill = fn(u64) -> (EnqueueOptions, bool);

const FILLS: [(&str, Fill); 5] = [
    ("ready", |_| (EnqueueOptions { priority: Some(-1), ..EnqueueOptions::default() }, false)),
    ("delayed", |n| (delayed(n, 0), false)),
    ("leased", |_| (EnqueueOptions::default(), true)),
    ("1,000 delayed priorities", |n| (delayed(n, i64::try_from(n % 1000).unwrap_or(0)), false)),
    ("mixed", |n| match n % 3 {
        0 => (
            EnqueueOptions { priority: Some(-1 - i64::try_from(n % 100).unwrap_or(0)), ..EnqueueOptions::default() },
            false,
        ),
        1 => (delayed(n, i64::try_from(n % 100).unwrap_or(0)), false),
        _ => (EnqueueOptions::default(), true),
    }),
];

fn delayed(n: u64, priority: i64) -> EnqueueOptions {
    let delay = Duration::from_secs(3600 + i64::try_from(n).unwrap_or(0));
    EnqueueOptions { delay: Some(delay), priority: Some(priority), ..EnqueueOptions::default() }
}

/// Nanoseconds a cycle at each depth, by rounds. The depths take turns in each: a machine changes its speed meanwhile.
fn measure(fill: Fill) -> Vec<[f64; 4]> {
    let queues = DEPTHS.map(|depth| filled(depth, fill));
    for queue in &queues {
        cycles(queue);
    }
    (0..ROUNDS).map(|_| [0, 1, 2, 3].map(|at| cycles(&queues[at]))).collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn filled(depth: u64, fill: Fill) -> Mail {
    let engine = Engine::new(MemoryStore::new(), ManualClock::new(Timestamp::from_millis(0)), Some(1));
    let queue = engine.queue("mail", QueueOptions::default()).expect("a name");
    for n in 0..depth {
        let (options, claimed) = fill(n);
        now(queue.enqueue(0, &options)).expect("memory");
        if claimed {
            now(queue.claim_one("holder")).expect("memory");
        }
    }
    queue
}

fn cycles(queue: &Mail) -> f64 {
    let start = Instant::now();
    for n in 0..CYCLES {
        now(queue.enqueue(n, &EnqueueOptions::default())).expect("memory");
        let job = now(queue.claim_one("worker")).expect("memory").expect("a job");
        assert!(now(queue.ack(job.job.claim())).expect("memory"));
    }
    start.elapsed().as_nanos() as f64 / f64::from(CYCLES)
}

/// The memory storage never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the memory storage never waits"),
    }
}
