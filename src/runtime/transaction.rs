//! A transaction's handle.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::engine::Engine;
use super::flag::Pending;
use super::host::Host;
use super::store::Store;
use crate::core::job::Stamps;
use crate::core::outbox::{OUTBOX_STAMPS, queue_name};
use crate::core::queue::QUEUE_STAMPS;
use crate::core::queue::enqueue::EnqueueOptions;
use crate::core::queue::inspect::Get;
use crate::core::transaction::{Commit, GetStaged, Stage, Staged};
use crate::core::{Error, Job, JobId, Name};

/// Stages enqueues and applies all of them at [`commit`](Transaction::commit), or none. Others see
/// nothing before; reads inside see the transaction's own writes. Dropping it rolls back; an id that
/// was returned is never given again. After the commit every call is [`Error::Closed`]. If the storage fails an
/// enqueue, the commit fails alike: it is all of them or none.
#[derive(Debug)]
pub struct Transaction<S: Store, H: Host> {
    engine: Engine<S, H>,
    staged: RefCell<Vec<(Staged, S::Payload)>>,
    phase: Cell<Phase>,
    /// The enqueues under way: called before the end, they belong to the transaction.
    staging: Pending,
    /// Why the first of those failed that did.
    failed: RefCell<Option<Error>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// What was called before is waited for.
    Committing,
    Over,
}

/// Where a transaction puts a job: a queue, plain or an outbox's, and what is stamped on it.
#[derive(Debug)]
pub(crate) struct Target {
    queue: Name,
    stamps: Stamps,
}

impl Target {
    pub(crate) fn queue(name: &str) -> Result<Self, Error> {
        Ok(Self { queue: Name::shared("queue", name)?, stamps: QUEUE_STAMPS })
    }

    pub(crate) fn outbox(name: &str) -> Result<Self, Error> {
        Ok(Self { queue: queue_name(name)?, stamps: OUTBOX_STAMPS })
    }
}

impl<S: Store, H: Host> Transaction<S, H> {
    pub(super) fn new(engine: Engine<S, H>) -> Self {
        Self {
            engine,
            staged: RefCell::new(Vec::new()),
            phase: Cell::new(Phase::Open),
            staging: Pending::default(),
            failed: RefCell::default(),
        }
    }

    /// Stages a job for a queue and returns its id. The job has the plain stamps. The clock is read now.
    ///
    /// # Errors
    /// As [`Queue::enqueue`](super::Queue::enqueue), and those of the queue's name.
    pub async fn enqueue(&self, queue: &str, payload: S::Payload, options: &EnqueueOptions) -> Result<JobId, Error> {
        self.stage(Target::queue(queue)?, payload, options).await
    }

    /// Stages a job for an outbox and returns its id. The job has the outbox's stamps.
    ///
    /// # Errors
    /// As [`enqueue`](Transaction::enqueue).
    pub async fn outbox_enqueue(
        &self,
        outbox: &str,
        payload: S::Payload,
        options: &EnqueueOptions,
    ) -> Result<JobId, Error> {
        self.stage(Target::outbox(outbox)?, payload, options).await
    }

    pub(crate) async fn stage(
        &self,
        Target { queue, stamps }: Target,
        payload: S::Payload,
        options: &EnqueueOptions,
    ) -> Result<JobId, Error> {
        options.check()?;
        self.check_running()?;
        let _staging = self.staging.start();
        let script = Rc::new(RefCell::new(Stage { queue, stamps, options: *options, staged: None }));
        if let Err(error) = self.engine.run_shared(Rc::clone(&script) as _).await {
            self.failed.borrow_mut().get_or_insert_with(|| error.clone());
            return Err(error);
        }
        let Some(staged) = script.borrow_mut().staged.take() else { return Err(Error::Closed) };
        let id = staged.job.id;
        if self.phase.get() != Phase::Over {
            self.staged.borrow_mut().push((staged, payload));
        }
        Ok(id)
    }

    /// Reads a job of a queue, the staged ones too.
    ///
    /// # Errors
    /// Those of the queue's name.
    pub async fn get(&self, queue: &str, id: JobId) -> Result<Option<(Rc<Job>, S::Payload)>, Error> {
        let queue = Name::shared("queue", queue)?;
        self.check_running()?;
        let own = self.staged.borrow().iter().find(|(s, _)| s.job.id == id && s.job.queue == queue).cloned();
        match own {
            Some((staged, payload)) => {
                let script = Rc::new(RefCell::new(GetStaged { staged, found: None }));
                self.engine.run_shared(Rc::clone(&script) as _).await?;
                let found = script.borrow_mut().found.take();
                Ok(found.map(|job| (job, payload)))
            }
            None => {
                let script = Rc::new(RefCell::new(Get::new(queue, id)));
                self.engine.run_shared(Rc::clone(&script) as _).await?;
                let found = script.borrow_mut().found.take();
                Ok(found)
            }
        }
    }

    /// Applies what was staged, once the enqueues under way have been.
    ///
    /// # Errors
    /// [`Error::Closed`] if the store was closed meanwhile, or the transaction rolled back; the storage's, those of an enqueue
    /// too. Nothing was applied then, and the transaction has ended all the same: what it was for is done again in another.
    pub async fn commit(&self) -> Result<(), Error> {
        self.check_running()?;
        self.phase.set(Phase::Committing);
        self.staging.ended().await;
        if self.phase.replace(Phase::Over) == Phase::Over {
            return Err(Error::Closed);
        }
        let staged = self.staged.take();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if staged.is_empty() {
            return Ok(());
        }
        self.engine.run_shared(Rc::new(RefCell::new(Commit { staged }))).await
    }

    /// Ends the transaction, and with it all that it has staged, or has yet to stage. One whose commit has begun to be applied is
    /// not stopped any more.
    pub fn roll_back(&self) {
        self.phase.set(Phase::Over);
        self.staged.take();
    }

    fn check_running(&self) -> Result<(), Error> {
        self.engine.check_open()?;
        if self.phase.get() == Phase::Open { Ok(()) } else { Err(Error::Closed) }
    }
}
