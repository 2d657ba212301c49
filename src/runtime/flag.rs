//! A flag that is set once, and that many may wait for.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Set once, never cleared; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Flag {
    inner: Rc<Inner>,
}

/// Stops a loop: whoever holds a clone may [`set`](Flag::set) it.
pub type StopToken = Flag;

#[derive(Debug, Default)]
struct Inner {
    set: Cell<bool>,
    waiters: RefCell<Waiters>,
}

/// Who waits, each in a slot of its own: thousands of workers may wait for one stop.
#[derive(Debug, Default)]
struct Waiters {
    slots: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl Flag {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets it, and wakes all who wait. Again is nothing.
    pub fn set(&self) {
        self.inner.set.set(true);
        // Taken out first: a waker may run anything.
        self.inner.waiters.take().slots.into_iter().flatten().for_each(Waker::wake);
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.inner.set.get()
    }

    /// Resolves once it is set; at once if it is already.
    pub fn wait(&self) -> Wait {
        Wait { flag: self.clone(), slot: None }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        let waiters = self.inner.waiters.borrow();
        waiters.slots.len().saturating_sub(waiters.free.len())
    }
}

/// See [`Flag::wait`]. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Wait {
    flag: Flag,
    /// Once it has been polled.
    slot: Option<usize>,
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { flag, slot } = &mut *self;
        if flag.is_set() {
            return Poll::Ready(());
        }
        let waker = Some(context.waker().clone());
        let mut waiters = flag.inner.waiters.borrow_mut();
        let at = *slot.get_or_insert_with(|| waiters.take_slot());
        // Dropped after the borrow, like the one below: a waker's drop may run anything.
        let _old = waiters.slots.get_mut(at).map(|slot| std::mem::replace(slot, waker));
        drop(waiters);
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut waiters = self.flag.inner.waiters.borrow_mut();
        let _old = self.slot.and_then(|at| waiters.give_back(at));
        drop(waiters);
    }
}

impl Waiters {
    fn take_slot(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len().saturating_sub(1)
        })
    }

    /// Of a flag that is set there is none any more.
    fn give_back(&mut self, at: usize) -> Option<Waker> {
        let waker = self.slots.get_mut(at)?.take();
        self.free.push(at);
        if self.free.len() == self.slots.len() {
            *self = Self::default();
        }
        waker
    }
}

/// Things under way that somebody waits for; there may be thousands.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    inner: Rc<UnderWayCount>,
}

#[derive(Debug, Default)]
struct UnderWayCount {
    count: Cell<usize>,
    /// Set when there are none any more; another then.
    ended: RefCell<Flag>,
}

impl Pending {
    /// One more is under way, until what this returns is dropped.
    pub(crate) fn start(&self) -> UnderWay {
        self.inner.count.set(self.inner.count.get().saturating_add(1));
        UnderWay(Rc::clone(&self.inner))
    }

    /// Resolves once none is.
    pub(crate) async fn ended(&self) {
        while self.inner.count.get() > 0 {
            let ended = self.inner.ended.borrow().wait();
            ended.await;
        }
    }
}

/// Something is under way until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct UnderWay(Rc<UnderWayCount>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let left = self.0.count.get().saturating_sub(1);
        self.0.count.set(left);
        if left == 0 {
            self.0.ended.take().set();
        }
    }
}

/// Waits for the first of several futures, and says which.
pub(crate) async fn first_of<const N: usize>(mut futures: [Pin<&mut dyn Future<Output = ()>>; N]) -> usize {
    std::future::poll_fn(move |context| {
        let ready = futures.iter_mut().position(|future| future.as_mut().poll(context).is_ready());
        ready.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// Gives the executor one turn.
#[derive(Debug, Default)]
pub(crate) struct Turn(bool);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[test]
    fn a_dropped_wait_leaves_no_waker_behind() {
        let flag = Flag::new();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..10_000 {
            assert!(pin!(flag.wait()).poll(&mut context).is_pending());
        }
        assert_eq!(flag.waiting(), 0);
        flag.set();
        assert!(pin!(flag.wait()).poll(&mut context).is_ready());
    }
}
