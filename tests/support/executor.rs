//! A single-threaded executor: a FIFO run queue, so a turn of one task is a turn of every other.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

const MAIN: u64 = 0;

/// More than anything takes that is waited for.
const TURNS_MAX: usize = 1_000_000;

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Runs spawned tasks beside a main future; clones are the same executor.
#[derive(Clone, Default)]
pub struct Executor {
    inner: Rc<Inner>,
}

#[derive(Default)]
struct Inner {
    tasks: RefCell<BTreeMap<u64, Work>>,
    spawned: Cell<u64>,
    ready: Arc<RunQueue>,
}

#[derive(Default)]
struct RunQueue(Mutex<VecDeque<u64>>);

impl RunQueue {
    fn push(&self, id: u64) {
        let mut queue = self.0.lock().unwrap();
        if !queue.contains(&id) {
            queue.push_back(id);
        }
    }
}

struct TaskWaker {
    id: u64,
    ready: Arc<RunQueue>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.push(self.id);
    }
}

impl Executor {
    /// Starts a task: it runs until it first waits, and goes on whenever the main future waits.
    pub fn spawn<T: 'static>(&self, work: impl Future<Output = T> + 'static) -> Task<T> {
        let id = self.inner.spawned.get() + 1;
        self.inner.spawned.set(id);
        let outcome = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&outcome);
        let work: Work = Box::pin(async move {
            let done = work.await;
            *slot.borrow_mut() = Some(done);
        });
        self.inner.tasks.borrow_mut().insert(id, work);
        self.poll(id);
        Task { id, executor: self.clone(), outcome }
    }

    /// Runs until `main` is done.
    ///
    /// # Panics
    /// If every task waits and none is woken: it would wait for ever.
    pub fn run_until<T>(&self, main: impl Future<Output = T>) -> T {
        let mut main = pin!(main);
        self.inner.ready.push(MAIN);
        loop {
            let next = self.inner.ready.0.lock().unwrap().pop_front();
            let id = next.expect("every task waits, and nobody will wake one");
            if id != MAIN {
                self.poll(id);
            } else if let Poll::Ready(outcome) = main.as_mut().poll(&mut Context::from_waker(&self.waker(MAIN))) {
                return outcome;
            }
        }
    }

    fn poll(&self, id: u64) {
        // Taken out first: a task may spawn another, or end one.
        let Some(mut work) = self.inner.tasks.borrow_mut().remove(&id) else { return };
        if work.as_mut().poll(&mut Context::from_waker(&self.waker(id))).is_pending() {
            self.inner.tasks.borrow_mut().insert(id, work);
        }
    }

    fn waker(&self, id: u64) -> Waker {
        Waker::from(Arc::new(TaskWaker { id, ready: Arc::clone(&self.inner.ready) }))
    }
}

/// A spawned task.
pub struct Task<T> {
    id: u64,
    executor: Executor,
    outcome: Rc<RefCell<Option<T>>>,
}

impl<T> Task<T> {
    pub fn is_done(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// What it came to, once.
    pub fn take(&self) -> Option<T> {
        self.outcome.borrow_mut().take()
    }

    /// Waits for what it comes to, giving every other task its turns.
    ///
    /// # Panics
    /// If it comes to nothing.
    pub async fn outcome(&self) -> T {
        for _ in 0..TURNS_MAX {
            if let Some(outcome) = self.take() {
                return outcome;
            }
            turn().await;
        }
        panic!("it has not come to its end after {TURNS_MAX} turns");
    }

    /// Drops it wherever it waits: a tab that is gone.
    pub fn vanish(self) {
        let work = self.executor.inner.tasks.borrow_mut().remove(&self.id);
        drop(work);
    }
}

/// The outcome of an operation that resolves at its first poll, as all on these storages do.
pub fn now<T>(operation: impl Future<Output = T>) -> T {
    match pin!(operation).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("the operation waits"),
    }
}

/// The outcome of one that gives others a turn before it ends; `None` if it goes on waiting.
pub fn after_a_turn<T>(operation: impl Future<Output = T>) -> Option<T> {
    let (mut operation, mut context) = (pin!(operation), Context::from_waker(Waker::noop()));
    let polled = operation.as_mut().poll(&mut context);
    let outcome = if polled.is_ready() { polled } else { operation.as_mut().poll(&mut context) };
    if let Poll::Ready(outcome) = outcome { Some(outcome) } else { None }
}

/// Gives every other task a turn.
pub async fn turn() {
    let mut waited = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
