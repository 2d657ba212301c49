//! A store: one storage, one host, and the loops that run on them.

use std::cell::RefCell;
use std::fmt;
use std::future::ready;
use std::pin::{Pin, pin};
use std::rc::Rc;

use super::flag::{Flag, Pending, StopToken, UnderWay, first_of};
use super::group::{Group, Run};
use super::host::Host;
use super::lock::Lock;
use super::outbox::Outbox;
use super::queue::Queue;
use super::store::Store;
use super::transaction::Transaction;
use super::wakes::Listener;
use crate::core::lock::TryLock;
use crate::core::queue::QueueOptions;
use crate::core::{Duration, Entropy, Error, Name, Script, outbox};

type Waiting<'e> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'e>>;

/// A store: queues, outboxes, locks, schedules and transactions over one storage. Clones are the
/// same store.
///
/// Everything that touches the storage is a future; after [`close`](Engine::close) all of them are
/// [`Error::Closed`], and a failing storage is [`Error::Storage`]. Futures belong to one thread: run
/// them on a current-thread executor.
#[derive(Debug)]
pub struct Engine<S: Store, H: Host> {
    pub(super) shared: Rc<Shared<S, H>>,
}

pub(super) struct Shared<S: Store, H: Host> {
    pub(super) store: S,
    pub(super) host: H,
    pub(super) closed: Flag,
    /// Seeded by the host at the first draw: its randomness may be slow to start.
    entropy: RefCell<Option<Entropy>>,
    /// Calls that wait for the storage, and loops that have something to give back when the store closes.
    pub(super) under_way: Pending,
    pub(super) group: Group<S::Payload>,
}

impl<S: Store, H: Host> fmt::Debug for Shared<S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("closed", &self.closed.is_set()).finish_non_exhaustive()
    }
}

impl<S: Store, H: Host> Clone for Engine<S, H> {
    fn clone(&self) -> Self {
        Self { shared: Rc::clone(&self.shared) }
    }
}

impl<S: Store, H: Host> Engine<S, H> {
    /// Opens a store over `store`. `seed` fixes the jitter of retries, for tests; without it they
    /// are seeded by the host.
    pub fn new(store: S, host: H, seed: Option<u64>) -> Self {
        let shared = Shared {
            store,
            host,
            closed: Flag::new(),
            entropy: RefCell::new(seed.map(Entropy::new)),
            under_way: Pending::default(),
            group: Group::default(),
        };
        Self { shared: Rc::new(shared) }
    }

    /// A queue by name. Queues are not registered: any name will do, and the options are copied onto
    /// each job enqueued through this handle.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::ReservedName`], [`Error::InvalidArgument`], [`Error::Closed`].
    pub fn queue(&self, name: &str, options: QueueOptions) -> Result<Queue<S, H>, Error> {
        let name = Name::shared("queue", name)?;
        let stamps = options.stamps()?;
        self.check_open()?;
        Ok(Queue::new(self.clone(), name, stamps.into()))
    }

    /// An outbox by name.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::ReservedName`], [`Error::Closed`].
    pub fn outbox(&self, name: &str) -> Result<Outbox<S, H>, Error> {
        let queue = outbox::queue_name(name)?;
        self.check_open()?;
        Ok(Outbox::new(Queue::new(self.clone(), queue, outbox::OUTBOX_STAMPS.into())))
    }

    /// Takes a lock for `ttl`; `None` if someone else holds it. The same owner asking again while it
    /// holds the lock is granted, without moving the deadline. Exclusion lapses silently, and a lock that lapsed and was never
    /// released leaves a row of its name for good: release what you take, and keep names few.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::ReservedName`]; [`Error::InvalidArgument`] if `ttl` is not positive.
    pub async fn try_lock(&self, name: &str, owner: &str, ttl: Duration) -> Result<Option<Lock<S, H>>, Error> {
        let script = self.run(TryLock::new(name, owner, ttl)?).await?;
        let TryLock { name, owner, granted, .. } = script;
        Ok(granted.then(|| Lock::new(self.clone(), name, owner)))
    }

    /// Starts a transaction. It rolls back unless it is committed.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn transaction(&self) -> Result<Transaction<S, H>, Error> {
        self.check_open()?;
        Ok(Transaction::new(self.clone()))
    }

    /// Closes the store. Running [`run_schedules`](Engine::run_schedules) resolve after giving their
    /// lock back, and what was called before comes to its end; both are waited for, so let them be polled meanwhile: spawned, or
    /// stopped and awaited before. Waits end; open transactions roll back;
    /// every later call is [`Error::Closed`]. Jobs in delivery stay claimed until they lapse, and locks until their
    /// deadline. Closing again is nothing.
    pub async fn close(&self) {
        self.shared.closed.set();
        self.shared.under_way.ended().await;
    }

    /// Whether [`close`](Engine::close) was called.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.is_set()
    }

    /// Begins a call that goes to the storage itself, such as [`KeyedStore::transact_in`](super::KeyedStore::transact_in):
    /// [`close`](Engine::close) waits for it until what this returns is dropped.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn begin_call(&self) -> Result<UnderWay, Error> {
        self.check_open()?;
        Ok(self.shared.under_way.start())
    }

    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.is_closed() { Err(Error::Closed) } else { Ok(()) }
    }

    /// Runs one operation, and gives it back with its outcome. On a storage that waits, those that
    /// wait together share a transaction; they take effect in the order of their first polls. Dropped before its
    /// transaction has begun it does not happen; later it may.
    ///
    /// # Errors
    /// [`Error::Closed`]; the storage's.
    pub async fn run<T: Script<S::Payload> + 'static>(&self, script: T) -> Result<T, Error> {
        let script = Rc::new(RefCell::new(script));
        self.run_shared(Rc::clone(&script) as _).await?;
        Rc::into_inner(script).map(RefCell::into_inner).ok_or(Error::Closed)
    }

    /// The same, done before it returns, on a storage that never waits; `None` on one that may, and
    /// then nothing has happened.
    #[inline]
    pub fn run_now(&self, script: &mut dyn Script<S::Payload>) -> Option<Result<(), Error>> {
        match self.check_open() {
            Ok(()) => self.transact_now(script),
            Err(error) => Some(Err(error)),
        }
    }

    #[inline(never)]
    fn transact_now(&self, script: &mut dyn Script<S::Payload>) -> Option<Result<(), Error>> {
        self.shared.store.transact_now(&self.shared.host, &mut [script])
    }

    /// The same for a script that the caller keeps: one future, whatever it is. In wasm one for each is a twentieth of
    /// the code. It begins when it is called, and has let go of the script at its end.
    pub(crate) fn run_shared(&self, script: Rc<RefCell<dyn Script<S::Payload>>>) -> Waiting<'_> {
        match self.check_open() {
            Ok(()) => self.run_even_closed(script),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    /// What loops need to give back what they hold.
    pub(super) fn run_even_closed(&self, script: Rc<RefCell<dyn Script<S::Payload>>>) -> Waiting<'_> {
        let done = self.transact_now(&mut *script.borrow_mut());
        match done {
            Some(done) => Box::pin(ready(done)),
            None => Box::pin(Run::new(Rc::clone(&self.shared), script)),
        }
    }

    /// What `work` comes to; `None` if a stop or the store's end comes first: it is dropped then.
    pub(super) async fn unless_ended<T>(&self, work: impl Future<Output = T>, stop: &StopToken) -> Option<T> {
        let mut outcome = None;
        {
            let mut work = pin!(async { outcome = Some(work.await) });
            let (mut stopped, mut closed) = (pin!(stop.wait()), pin!(self.shared.closed.wait()));
            first_of([work.as_mut(), stopped.as_mut(), closed.as_mut()]).await;
        }
        outcome
    }

    /// How every loop waits: for `span`, or until a wake, a stop or the store's end.
    pub(super) async fn rest(&self, span: Duration, listener: &Listener, stop: &StopToken) {
        let mut sleep = pin!(self.shared.host.sleep(span));
        let mut woken = pin!(listener.woken());
        let (mut stopped, mut closed) = (pin!(stop.wait()), pin!(self.shared.closed.wait()));
        first_of([stopped.as_mut(), closed.as_mut(), woken.as_mut(), sleep.as_mut()]).await;
    }

    /// The storage it was opened on.
    pub fn store(&self) -> &S {
        &self.shared.store
    }

    /// What the store was opened with.
    pub fn host(&self) -> &H {
        &self.shared.host
    }

    pub(crate) fn random_bits(&self) -> u64 {
        if self.shared.entropy.borrow().is_none() {
            let seed = self.shared.host.random();
            self.shared.entropy.replace(Some(Entropy::new(seed)));
        }
        self.shared.entropy.borrow_mut().as_mut().map_or(0, Entropy::bits)
    }
}
