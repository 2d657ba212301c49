//! The native engine over the memory storage: what one enqueue → claim → ack costs by how many jobs wait, how much memory
//! a waiting job takes, both beside binary heaps written by hand (`heap.rs`), and what schedules cost (`schedules.rs`).
//!
//! `cargo bench --bench engine`; with `-- --check` it fails if a limit is missed.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod heap;
mod memory;
mod schedules;

use std::pin::pin;
use std::process::ExitCode;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::{Duration, Timestamp};
use alkstore::runtime::{Engine, ManualClock, MemoryStore, Queue};

use heap::Heap;

const CYCLES: u32 = 2_000;
const ROUNDS: usize = 61;
const DEPTHS: [u64; 4] = [0, 1_000, 100_000, 1_000_000];

/// The most that a cycle may take with nothing and with a million jobs waiting.
const EMPTY_NS_MAX: f64 = 500.0;
const MILLION_NS_MAX: f64 = 1_000.0;

/// The most that a cycle with a million waiting may take of one with a thousand.
const RATIO_MAX: f64 = 2.0;

type Mail = Queue<MemoryStore<u32>, ManualClock>;

fn main() -> ExitCode {
    if memory::is_child() {
        return ExitCode::SUCCESS;
    }
    let mut missed = Vec::new();
    for (name, fill) in FILLS {
        cycle(name, fill, &mut missed);
    }
    memory::measure(&mut missed);
    schedules::measure(&mut missed);
    let is_checked = std::env::args().any(|argument| argument == "--check");
    for limit in &missed {
        println!("missed: {limit}");
    }
    if is_checked && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What waits: by how much the n-th job is delayed, its priority, and whether it is claimed.
type Fill = fn(u64) -> (i64, i64, bool);

const FILLS: [(&str, Fill); 7] = [
    ("ready", |_| (0, -1, false)),
    ("delayed", |n| (delay(n), 0, false)),
    ("leased", |_| (0, 0, true)),
    ("100 ready priorities", |n| (0, -1 - within(n, 100), false)),
    ("1,000 ready priorities", |n| (0, -1 - within(n, 1_000), false)),
    ("1,000 delayed priorities", |n| (delay(n), within(n, 1_000), false)),
    ("mixed", mixed),
];

/// A third each: ready at 100 priorities, delayed at 100 higher ones, and claimed.
fn mixed(n: u64) -> (i64, i64, bool) {
    match n % 3 {
        0 => (0, -1 - within(n, 100), false),
        1 => (delay(n), within(n, 100), false),
        _ => (0, 0, true),
    }
}

fn within(n: u64, count: u64) -> i64 {
    (n % count).cast_signed()
}

/// An hour, and a second more for each.
fn delay(n: u64) -> i64 {
    3_600_000 + n.cast_signed() * 1_000
}

/// Measures the engine and the heap by turns, at all depths in each round: a machine changes its speed meanwhile.
fn cycle(name: &str, fill: Fill, missed: &mut Vec<String>) {
    let queues = DEPTHS.map(|depth| filled(depth, fill));
    let mut heaps = DEPTHS.map(|depth| filled_heap(depth, fill));
    let rounds: Vec<[[f64; 2]; 4]> =
        (0..=ROUNDS).map(|_| [0, 1, 2, 3].map(|at| [cycles(&queues[at]), heap_cycles(&mut heaps[at])])).collect();
    // The first round warms up.
    let rounds = &rounds[1..];
    let of = |figure: &dyn Fn(&[[f64; 2]; 4]) -> f64| median(rounds.iter().map(figure));
    let (ours, theirs) =
        ([0, 1, 2, 3].map(|at| of(&|round| round[at][0])), [0, 1, 2, 3].map(|at| of(&|round| round[at][1])));
    let speed = [0, 1, 2, 3].map(|at| of(&|round| round[at][1] / round[at][0]));
    let depth = of(&|round| round[3][0] / round[1][0]);
    let row = |figures: [f64; 4], digits: usize| figures.map(|figure| format!("{figure:>7.digits$}")).join("");
    println!("{name:<25} {:>28}{:>30}", "ns a cycle", "the heap");
    println!("{:<25}{}  {}", "0 / 1k / 100k / 1M", row(ours, 0), row(theirs, 0));
    println!("{:<25}{}   1M over 1k: {depth:.2}", "times the heap's speed", row(speed, 2));
    // Limits in nanoseconds are for a machine that does nothing else: of the quickest round.
    let quickest = |at: usize| rounds.iter().map(|round| round[at][0]).fold(f64::INFINITY, f64::min);
    for (figure, limit, what) in [
        (quickest(0), EMPTY_NS_MAX, "ns a cycle with nothing waiting"),
        (quickest(3), MILLION_NS_MAX, "ns a cycle with a million waiting"),
        (depth, RATIO_MAX, "times a cycle with a thousand waiting, with a million"),
    ] {
        if figure > limit {
            missed.push(format!("{name}: {figure:.2}, at most {limit} {what}"));
        }
    }
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
        let (delay, priority, is_claimed) = fill(n);
        let delay = (delay > 0).then(|| Duration::from_millis(delay));
        now(queue.enqueue(0, &EnqueueOptions { delay, priority: Some(priority), ..Default::default() }))
            .expect("memory");
        if is_claimed {
            now(queue.claim_one("holder")).expect("memory");
        }
    }
    queue
}

fn filled_heap(depth: u64, fill: Fill) -> Heap {
    let (mut heap, holder) = (Heap::default(), Rc::from("holder"));
    for n in 0..depth {
        let (delay, priority, is_claimed) = fill(n);
        heap.enqueue(0, delay, priority, 0);
        if is_claimed {
            heap.claim(&holder, 0);
        }
    }
    heap
}

fn cycles(queue: &Mail) -> f64 {
    let start = Instant::now();
    for n in 0..CYCLES {
        now(queue.enqueue(n, &EnqueueOptions::default())).expect("memory");
        let job = now(queue.claim_one("worker")).expect("memory").expect("a job");
        assert!(job.payload == n && now(queue.ack(job.job.claim())).expect("memory"));
    }
    start.elapsed().as_nanos() as f64 / f64::from(CYCLES)
}

fn heap_cycles(heap: &mut Heap) -> f64 {
    let worker = Rc::from("worker");
    let start = Instant::now();
    for n in 0..CYCLES {
        heap.enqueue(n, 0, 0, 0);
        let job = heap.claim(&worker, 0).expect("a job");
        assert!(job.row.payload == n && heap.ack(job.id, job.row.claims, 0));
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
