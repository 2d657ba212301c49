//! What a runner of 10,000 schedules costs: a turn in which one is due, one in which all are, and a minute in which none is.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use alkstore::core::schedule::{RENEW_EVERY, ScheduleOptions};
use alkstore::core::{Duration, Error, Timestamp};
use alkstore::runtime::{Clock, Engine, Host, MemoryStore, StopToken, Timer};

use super::{median, now};

const SCHEDULES: u32 = 10_000;
const TURNS: u32 = 200;
const MINUTE_MS: i64 = 60_000;

/// The most that a turn with one due may take, of the quickest ones.
const ONE_DUE_NS_MAX: f64 = 20_000.0;

/// A clock that is moved by hand, and a timer that counts its sleeps and keeps the end of the last one.
#[derive(Clone, Debug, Default)]
struct Steps {
    now: Rc<Cell<i64>>,
    wakes_at: Rc<Cell<i64>>,
    sleeps: Rc<Cell<u32>>,
}

impl Clock for Steps {
    fn now(&self) -> Result<Timestamp, Error> {
        Ok(Timestamp::from_millis(self.now.get()))
    }
}

impl Timer for Steps {
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> {
        let at = self.now.get() + span.as_millis();
        self.wakes_at.set(at);
        self.sleeps.set(self.sleeps.get() + 1);
        let clock = Rc::clone(&self.now);
        std::future::poll_fn(move |_| if clock.get() >= at { Poll::Ready(()) } else { Poll::Pending })
    }
}

impl Host for Steps {
    fn random(&self) -> u64 {
        0
    }
}

pub fn measure(missed: &mut Vec<String>) {
    // One after another: of 10,000 that are registered a second apart one is due each second.
    let one_due = turns(&format!("@every {SCHEDULES}s"), 1_000);
    // All at once.
    let all_due = turns("@every 1m", 0);
    let (one, all) = (median(one_due.iter().copied()), median(all_due.iter().copied()));
    println!("{SCHEDULES} schedules: a turn with one due takes {:.1} µs, with all due {:.1} ms", one / 1e3, all / 1e6);
    let quickest = one_due.iter().copied().fold(f64::INFINITY, f64::min);
    if quickest > ONE_DUE_NS_MAX {
        missed.push(format!("{quickest:.0}, at most {ONE_DUE_NS_MAX} ns a turn of {SCHEDULES} schedules with one due"));
    }
    let (wakes, nanos) = idle_minute();
    let renewals = MINUTE_MS / RENEW_EVERY.as_millis();
    println!(
        "{SCHEDULES} schedules, none due: {wakes} wakes a minute, {renewals} are renewals; {:.0} µs of work",
        nanos / 1e3
    );
    if i64::from(wakes) > renewals {
        missed.push(format!("{wakes}, at most {renewals} wakes in a minute without a boundary"));
    }
}

fn registered(spec: &str, apart_ms: i64) -> (Engine<MemoryStore<u32>, Steps>, Steps) {
    let steps = Steps::default();
    let engine = Engine::new(MemoryStore::new(), steps.clone(), Some(1));
    for n in 0..SCHEDULES {
        steps.now.set(steps.now.get() + apart_ms);
        // Names are not registered in their order.
        let name = format!("report-{}", n.wrapping_mul(7_919) % SCHEDULES);
        now(engine.schedule(&name, spec, "mail", n, ScheduleOptions::default())).expect("memory");
    }
    (engine, steps)
}

/// Nanoseconds of each turn that fires.
fn turns(spec: &str, apart_ms: i64) -> Vec<f64> {
    let (engine, steps) = registered(spec, apart_ms);
    let (queue, stop) = (engine.queue("mail", Default::default()).expect("a name"), StopToken::new());
    let mut running = pin!(engine.run_schedules(&stop, false));
    turn(running.as_mut());
    let mut nanos = Vec::new();
    let count = if apart_ms > 0 { TURNS } else { TURNS / 20 };
    while nanos.len() < count as usize {
        let before = now(queue.stats()).expect("memory").pending;
        steps.now.set(steps.wakes_at.get());
        let took = turn(running.as_mut());
        if now(queue.stats()).expect("memory").pending > before {
            nanos.push(took);
        }
    }
    nanos
}

/// How often a runner wakes in a minute, and how many nanoseconds it works then.
fn idle_minute() -> (u32, f64) {
    let (engine, steps) = registered("@every 365d", 0);
    let stop = StopToken::new();
    let mut running = pin!(engine.run_schedules(&stop, false));
    turn(running.as_mut());
    let (start, end) = (steps.sleeps.get(), steps.now.get() + MINUTE_MS);
    let mut nanos = 0.0;
    while steps.wakes_at.get() <= end {
        steps.now.set(steps.wakes_at.get());
        nanos += turn(running.as_mut());
    }
    (steps.sleeps.get() - start, nanos)
}

fn turn(running: Pin<&mut impl Future<Output = Result<(), Error>>>) -> f64 {
    let start = Instant::now();
    assert!(running.poll(&mut Context::from_waker(Waker::noop())).is_pending(), "the runner leads on");
    start.elapsed().as_nanos() as f64
}
