//! Under tokio: a worker loop and a schedule runner on a current-thread runtime, stopped by one token.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use alkstore::core::queue::QueueOptions;
use alkstore::core::{ClaimedJob, Duration, Error, Timestamp};
use alkstore::runtime::{Clock, Engine, Host, ManualClock, MemoryStore, Queue, StopToken, Timer};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::Instant;

type Text = Rc<str>;

/// Tokio's clock and timer, except that a second lasts a millisecond: nobody waits for this test.
struct Hasty {
    started: Instant,
    drawn: Cell<u64>,
}

impl Hasty {
    fn new() -> Self {
        Self { started: Instant::now(), drawn: Cell::new(0) }
    }
}

impl Clock for Hasty {
    fn now(&self) -> Result<Timestamp, Error> {
        let elapsed = self.started.elapsed().as_micros();
        Ok(Timestamp::from_millis(1_700_000_000_000 + i64::try_from(elapsed).unwrap()))
    }
}

impl Timer for Hasty {
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> {
        tokio::time::sleep(std::time::Duration::from_micros(span.as_millis().try_into().unwrap()))
    }
}

impl Host for Hasty {
    fn random(&self) -> u64 {
        self.drawn.set(self.drawn.get() + 1);
        self.drawn.get()
    }
}

/// Runs `test` with `spawn_local` on one thread. A test that hangs fails after ten seconds.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let limit = std::time::Duration::from_secs(10);
    let bounded = async { tokio::time::timeout(limit, test).await.expect("it does not end") };
    LocalSet::new().block_on(&runtime, bounded)
}

/// A worker as users write one: until told to stop, deliver what there is and wait for more.
async fn work<H: Host>(
    queue: Queue<MemoryStore<Text>, H>,
    stop: StopToken,
    deliver: impl AsyncFn(ClaimedJob<Text>) -> Result<(), String>,
) -> Result<(), Error> {
    while queue.wait(&stop).await? {
        queue.run_once("worker", async |claimed| deliver(claimed).await).await?;
    }
    Ok(())
}

#[test]
fn a_worker_and_a_schedule_runner_go_on_until_they_are_stopped() {
    run(async {
        let store = Engine::new(MemoryStore::<Text>::new(), Hasty::new(), None);
        let mail = store.queue("mail", Default::default()).unwrap();
        store.schedule("report", "@every 3s", "mail", "report".into(), Default::default()).await.unwrap();
        let stop = StopToken::new();
        let (engine, token) = (store.clone(), stop.clone());
        let runner = spawn_local(async move { engine.run_schedules(&token, false).await });
        let reports = Rc::new(Cell::new(0));
        let (seen, token) = (Rc::clone(&reports), stop.clone());
        let deliver = async move |claimed: ClaimedJob<Text>| {
            assert_eq!(&*claimed.payload, "report");
            seen.set(seen.get() + 1);
            if seen.get() == 5 {
                token.set();
            }
            Ok(())
        };
        let worker = spawn_local(work(mail.clone(), stop.clone(), deliver));
        worker.await.unwrap().unwrap();
        runner.await.unwrap().unwrap();
        assert_eq!(reports.get(), 5);
        // The lock was given back: the next runner leads, and is stopped by the close.
        let engine = store.clone();
        let next = spawn_local(async move { engine.run_schedules(&StopToken::new(), false).await });
        tokio::task::yield_now().await;
        store.close().await;
        next.await.unwrap().unwrap();
    });
}

#[test]
fn jobs_that_fail_come_again_and_each_ends_once() {
    run(async {
        let store = Engine::new(MemoryStore::<Text>::new(), Hasty::new(), Some(1));
        // A lease that no machine is slow enough to outlast.
        let options = QueueOptions { visibility_timeout: Some(Duration::from_secs(86_400)), ..Default::default() };
        let mail = store.queue("mail", options).unwrap();
        let stop = StopToken::new();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let (seen, token) = (Rc::clone(&seen), stop.clone());
                let deliver = async move |claimed: ClaimedJob<Text>| {
                    tokio::task::yield_now().await;
                    if claimed.job.attempts < 3 {
                        return Err("503".to_string());
                    }
                    seen.borrow_mut().push(claimed.payload);
                    if seen.borrow().len() == 20 {
                        token.set();
                    }
                    Ok(())
                };
                spawn_local(work(mail.clone(), stop.clone(), deliver))
            })
            .collect();
        for n in 0..20 {
            mail.enqueue(n.to_string().into(), &Default::default()).await.unwrap();
        }
        for worker in workers {
            worker.await.unwrap().unwrap();
        }
        let mut delivered: Vec<u32> = seen.borrow().iter().map(|payload| payload.parse().unwrap()).collect();
        delivered.sort_unstable();
        assert_eq!(delivered, (0..20).collect::<Vec<_>>());
        assert_eq!(mail.stats().await.unwrap(), Default::default(), "no row is left");
    });
}

#[test]
fn the_manual_clock_drives_what_tokio_runs() {
    run(async {
        let clock = ManualClock::default();
        let store = Engine::new(MemoryStore::<Text>::new(), clock.clone(), None);
        let mail = store.queue("mail", Default::default()).unwrap();
        store.schedule("report", "@every 1m", "mail", "report".into(), Default::default()).await.unwrap();
        let stop = StopToken::new();
        let (engine, token) = (store.clone(), stop.clone());
        let runner = spawn_local(async move { engine.run_schedules(&token, false).await });
        let claimed_at = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&claimed_at);
        let deliver = async move |claimed: ClaimedJob<Text>| {
            seen.borrow_mut().push(claimed.job.claimed_at.unwrap().as_millis() - 1_700_000_000_000);
            Ok(())
        };
        let worker = spawn_local(work(mail, stop.clone(), deliver));
        clock.settle().await;
        clock.advance(Duration::from_secs(180)).await;
        assert_eq!(*claimed_at.borrow(), [60_000, 120_000, 180_000]);
        stop.set();
        worker.await.unwrap().unwrap();
        runner.await.unwrap().unwrap();
        assert_eq!(clock.pending(), 0);
    });
}
