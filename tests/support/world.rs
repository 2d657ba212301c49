//! One store on a manual clock.

use std::rc::Rc;

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::{Duration, Error, Job, Timestamp};
use alkstore::runtime::{Engine, ManualClock, Queue, StopToken};

use super::executor::{Executor, Task, now};
use super::storage::TestStore;

/// When every world begins: 2023-11-14, in milliseconds.
pub const START: i64 = 1_700_000_000_000;

pub type Text = Rc<str>;
pub type Store = Engine<TestStore<Text>, ManualClock>;
pub type Handle = Queue<TestStore<Text>, ManualClock>;

pub const fn secs(secs: i64) -> Duration {
    Duration::from_secs(secs)
}

pub const fn ms(ms: i64) -> Duration {
    Duration::from_millis(ms)
}

/// No options at all.
pub fn plain() -> EnqueueOptions {
    EnqueueOptions::default()
}

/// A clock, a storage, a store on both, and an executor for whatever waits. Clones are the same world.
#[derive(Clone)]
pub struct World {
    pub executor: Executor,
    pub clock: ManualClock,
    pub storage: TestStore<Text>,
    pub store: Store,
}

impl World {
    pub fn new() -> Self {
        let (clock, storage) = (ManualClock::new(Timestamp::from_millis(START)), TestStore::new());
        let store = Engine::new(storage.clone(), clock.clone(), Some(7));
        Self { executor: Executor::default(), clock, storage, store }
    }

    /// Runs a test that waits.
    pub fn run<T>(test: impl AsyncFnOnce(Self) -> T) -> T {
        let world = Self::new();
        world.executor.clone().run_until(test(world))
    }

    /// Another store on the same storage and clock: another tab.
    pub fn another(&self) -> Store {
        Engine::new(self.storage.clone(), self.clock.clone(), Some(7))
    }

    /// Sets the wall clock to `since_start` after the start; no time elapses.
    pub fn at(&self, since_start: Duration) {
        self.clock.set(Timestamp::from_millis(START).plus(since_start));
    }

    pub fn queue(&self, name: &str) -> Handle {
        self.store.queue(name, QueueOptions::default()).unwrap()
    }

    pub fn enqueue(&self, queue: &str, payload: &str) -> u64 {
        now(self.queue(queue).enqueue(payload.into(), &plain())).unwrap()
    }

    pub fn get(&self, queue: &str, id: u64) -> Option<Rc<Job>> {
        now(self.queue(queue).get(id)).unwrap().map(|(job, _)| job)
    }

    /// How many jobs of the queue wait.
    pub fn pending(&self, queue: &str) -> usize {
        now(self.queue(queue).stats()).unwrap().pending
    }

    pub fn schedule(&self, name: &str, spec: &str, queue: &str) {
        now(self.store.schedule(name, spec, queue, name.into(), Default::default())).unwrap();
    }

    /// A schedule runner on `store`, as a task.
    pub fn runner(&self, store: &Store, standby: bool) -> (StopToken, Task<Result<(), Error>>) {
        let (store, stop) = (store.clone(), StopToken::new());
        let token = stop.clone();
        (stop, self.executor.spawn(async move { store.run_schedules(&token, standby).await }))
    }
}
