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
    next: Cell<u64>,
    wakers: RefCell<Vec<(u64, Waker)>>,
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
        for (_, waker) in self.inner.wakers.take() {
            waker.wake();
        }
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.inner.set.get()
    }

    /// Resolves once it is set; at once if it is already.
    pub fn wait(&self) -> Wait {
        let id = self.inner.next.get();
        self.inner.next.set(id.wrapping_add(1));
        Wait { flag: self.clone(), id }
    }

    /// Whether both are the same flag.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.inner.wakers.borrow().len()
    }
}

/// See [`Flag::wait`]. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Wait {
    flag: Flag,
    id: u64,
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.flag.is_set() {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let mut wakers = self.flag.inner.wakers.borrow_mut();
        // Dropped after the borrow, like the one below: a waker's drop may run anything.
        let _old = match wakers.iter_mut().find(|(id, _)| *id == self.id) {
            Some((_, known)) => Some(std::mem::replace(known, waker)),
            None => {
                wakers.push((self.id, waker));
                None
            }
        };
        drop(wakers);
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut wakers = self.flag.inner.wakers.borrow_mut();
        let at = wakers.iter().position(|(id, _)| *id == self.id);
        let _old = at.map(|at| wakers.swap_remove(at));
        drop(wakers);
    }
}

/// Things under way that somebody waits for.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    flags: RefCell<Vec<Flag>>,
}

impl Pending {
    /// One more is under way, until what this returns is dropped.
    pub(crate) fn start(&self) -> UnderWay {
        let flag = Flag::new();
        let mut flags = self.flags.borrow_mut();
        flags.retain(|flag| !flag.is_set());
        flags.push(flag.clone());
        UnderWay(flag)
    }

    /// Resolves once none is.
    pub(crate) async fn ended(&self) {
        loop {
            let Some(flag) = self.flags.borrow().iter().find(|flag| !flag.is_set()).cloned() else { break };
            flag.wait().await;
        }
    }
}

/// See [`Pending::start`].
#[derive(Debug)]
pub(crate) struct UnderWay(Flag);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.set();
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
