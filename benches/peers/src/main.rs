//! The engine beside queues of other crates, as they are released: what a job costs from its enqueue to its end, awaited one
//! by one, by turns.
//!
//! - apalis-core's `MemoryStorage` is a bounded channel: no leases, no delays, no priorities, and no more than a hundred
//!   and one jobs waiting. What is taken out is gone.
//! - effectum keeps jobs in SQLite, here in memory, and runs them itself: what is measured is an enqueue and the run of a
//!   job that does nothing. It has priorities, delays, retries and heartbeats.
//!
//! `npm run bench -- peers`; with `--check` it fails if effectum, which keeps a job until it is done, is quicker.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use alkstore::core::Timestamp;
use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::runtime::{Engine, ManualClock, MemoryStore};
use apalis_core::memory::MemoryStorage;
use apalis_core::mq::MessageQueue;
use effectum::{Job, JobRunner, RunningJob, Worker};
use tokio::sync::Notify;

const ROUNDS: usize = 21;
const JOBS: u32 = 2_000;
/// A job of effectum's takes so much longer.
const SLOW_JOBS: u32 = 50;
/// One database in memory for all of effectum's connections.
const IN_MEMORY: &str = "file:peers?mode=memory&cache=shared";

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(tokio::task::LocalSet::new().run_until(measure()))
}

/// What effectum's jobs tell.
#[derive(Debug, Default)]
struct Done {
    count: AtomicU64,
    changed: Notify,
}

async fn measure() -> Result<ExitCode, Failure> {
    let engine = Engine::new(MemoryStore::<u32>::new(), ManualClock::new(Timestamp::from_millis(0)), Some(1));
    let mail = engine.queue("mail", QueueOptions::default())?;
    let mut apalis = MemoryStorage::<u32>::new();
    let effectum = effectum::Queue::new(Path::new(IN_MEMORY)).await?;
    let done = Arc::new(Done::default());
    let runner = JobRunner::builder("mail", deliver).build();
    let _worker = Worker::builder(&effectum, Arc::clone(&done)).jobs([runner]).build().await?;

    let mut rounds = Vec::new();
    for _ in 0..=ROUNDS {
        let ours = timed(JOBS, async |n| {
            mail.enqueue(n, &EnqueueOptions::default()).await?;
            let claimed = mail.claim_one("worker").await?.ok_or("a job")?;
            mail.ack(claimed.job.claim()).await?;
            Ok(())
        });
        let ours = ours.await?;
        let channel = timed(JOBS, async |n| {
            apalis.enqueue(n).await.map_err(|()| "full")?;
            apalis.dequeue().await.map_err(|()| "closed")?.ok_or("a job")?;
            Ok(())
        });
        let channel = channel.await?;
        let sqlite = timed(SLOW_JOBS, async |n| {
            let before = done.count.load(Ordering::Relaxed);
            Job::builder("mail").json_payload(&n)?.add_to(&effectum).await?;
            while done.count.load(Ordering::Relaxed) == before {
                done.changed.notified().await;
            }
            Ok(())
        });
        rounds.push([ours, channel, sqlite.await?]);
    }
    // The first round warms up.
    Ok(report(rounds.get(1..).unwrap_or_default()))
}

async fn deliver(_job: RunningJob, done: Arc<Done>) -> Result<(), std::convert::Infallible> {
    done.count.fetch_add(1, Ordering::Relaxed);
    done.changed.notify_one();
    Ok(())
}

/// Nanoseconds a job.
async fn timed(jobs: u32, mut job: impl AsyncFnMut(u32) -> Result<(), Failure>) -> Result<f64, Failure> {
    let start = Instant::now();
    for n in 0..jobs {
        job(n).await?;
    }
    Ok(start.elapsed().as_nanos() as f64 / f64::from(jobs))
}

fn report(rounds: &[[f64; 3]]) -> ExitCode {
    let mut is_behind = false;
    // A channel keeps nothing until it is done: it is the floor, and no limit.
    println!("alkstore, memory: {:.0} ns a job", median(rounds.iter().map(|[ours, ..]| *ours)));
    for (name, at, is_queue) in
        [("apalis-core, MemoryStorage (a channel, no leases)", 1, false), ("effectum, SQLite in memory", 2, true)]
    {
        let figure = |round: &[f64; 3]| round.get(at).copied().unwrap_or(f64::NAN);
        let nanos = median(rounds.iter().map(figure));
        let times = median(rounds.iter().map(|round| figure(round) / round[0]));
        println!("{name}: {nanos:.0} ns a job; {times:.2} times ours");
        is_behind |= is_queue && times < 1.0;
    }
    if is_behind && std::env::args().any(|argument| argument == "--check") {
        println!("missed: a job of ours takes longer than one of effectum's");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
