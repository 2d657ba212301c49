//! A clock and timer that move only when told to.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use super::flag::{Flag, Turn, Wait};
use super::host::{Clock, Host, Timer};
use crate::core::{Duration, Entropy, Error, Timestamp};

/// How many turns of the executor [`ManualClock::settle`] gives to started work.
pub const SETTLE_TURNS: u32 = 64;

/// A clock for tests; clones are the same clock. Starts at 1,700,000,000,000 (2023-11-14).
///
/// Wall time and elapsed time are two things: [`advance`](ManualClock::advance) moves both, like time
/// passing; [`set`](ManualClock::set) moves only the wall, like somebody correcting the clock.
#[derive(Clone, Debug)]
pub struct ManualClock {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    now: Cell<Timestamp>,
    elapsed: Cell<Timestamp>,
    sleepers: RefCell<BTreeMap<(Timestamp, u64), Flag>>,
    next: Cell<u64>,
    entropy: RefCell<Entropy>,
}

/// Two clocks never give the same randomness: runners on one storage are told apart by it.
static CLOCKS: AtomicU64 = AtomicU64::new(0);

impl Default for ManualClock {
    fn default() -> Self {
        Self::new(Timestamp::from_millis(1_700_000_000_000))
    }
}

impl ManualClock {
    /// A clock that shows `start`.
    pub fn new(start: Timestamp) -> Self {
        let inner = Inner {
            now: Cell::new(start),
            elapsed: Cell::default(),
            sleepers: RefCell::default(),
            next: Cell::new(0),
            entropy: RefCell::new(Entropy::new(CLOCKS.fetch_add(1, Ordering::Relaxed))),
        };
        Self { inner: Rc::new(inner) }
    }

    /// Lets `by` pass: lets started work settle, then wakes sleepers in time order, and lets their work
    /// settle in between.
    pub async fn advance(&self, by: Duration) {
        let end = self.inner.elapsed.get().plus(by.max(Duration::ZERO));
        self.settle().await;
        loop {
            let due = self.inner.sleepers.borrow().keys().next().copied().filter(|(at, _)| *at <= end);
            let Some(key) = due else { break };
            self.pass(key.0);
            let sleeper = self.inner.sleepers.borrow_mut().remove(&key);
            if let Some(flag) = sleeper {
                flag.set();
            }
            self.settle().await;
        }
        self.pass(end);
        self.settle().await;
    }

    fn pass(&self, elapsed: Timestamp) {
        // Another advance may have got further: time does not run backwards.
        let step = elapsed.since(self.inner.elapsed.get()).max(Duration::ZERO);
        self.inner.elapsed.set(self.inner.elapsed.get().plus(step));
        self.inner.now.set(self.inner.now.get().plus(step));
    }

    /// Corrects the wall clock, either way. No time elapses, so no sleeper wakes.
    pub fn set(&self, now: Timestamp) {
        self.inner.now.set(now);
    }

    /// Lets started work go on, for [`SETTLE_TURNS`] turns of the executor.
    pub async fn settle(&self) {
        for _ in 0..SETTLE_TURNS {
            Turn::default().await;
        }
    }

    /// How many sleepers wait.
    pub fn pending(&self) -> usize {
        self.inner.sleepers.borrow().len()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Result<Timestamp, Error> {
        Ok(self.inner.now.get())
    }
}

impl Timer for ManualClock {
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> {
        let id = self.inner.next.get();
        self.inner.next.set(id.wrapping_add(1));
        let key = (self.inner.elapsed.get().plus(span), id);
        let flag = Flag::new();
        self.inner.sleepers.borrow_mut().insert(key, flag.clone());
        Sleep { clock: self.clone(), key, wait: flag.wait() }
    }
}

impl Host for ManualClock {
    fn random(&self) -> u64 {
        self.inner.entropy.borrow_mut().bits()
    }
}

/// See [`ManualClock`]. Dropping it cancels it.
#[derive(Debug)]
pub struct Sleep {
    clock: ManualClock,
    key: (Timestamp, u64),
    wait: Wait,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.wait).poll(context)
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.inner.sleepers.borrow_mut().remove(&self.key);
    }
}
