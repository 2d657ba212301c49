//! An outbox's handle, and the delivery of one job.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;

use super::host::Host;
use super::queue::Queue;
use super::store::Store;
use crate::core::queue::ack::Ack;
use crate::core::queue::retry::Retry;
use crate::core::{ClaimedJob, Error, Script};

/// An outbox: a [`Queue`] under a name of the engine's own, stamped for delivery over a network
/// (visibility timeout 60 s, 5 attempts, backoff base 5 s).
#[derive(Debug)]
pub struct Outbox<S: Store, H: Host> {
    queue: Queue<S, H>,
}

impl<S: Store, H: Host> Clone for Outbox<S, H> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }
}

impl<S: Store, H: Host> Deref for Outbox<S, H> {
    type Target = Queue<S, H>;
    fn deref(&self) -> &Queue<S, H> {
        &self.queue
    }
}

impl<S: Store, H: Host> Outbox<S, H> {
    pub(super) const fn new(queue: Queue<S, H>) -> Self {
        Self { queue }
    }
}

impl<S: Store, H: Host> Queue<S, H> {
    /// Claims one job and delivers it; whether there was one. Success acks it, failure is a retry
    /// with the error's text, which a dead letter keeps. No heartbeat is sent meanwhile: a delivery
    /// that outlasts its visibility timeout is handed out again, and what it settles is refused.
    ///
    /// `delivery` runs outside any transaction of the engine: it may call anything on the same store.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if `worker` is blank; [`Error::Closed`] if the store was closed while
    /// it claimed or delivered (the job stays claimed until its lease ends).
    pub async fn run_once(
        &self,
        worker: &str,
        delivery: impl AsyncFnOnce(ClaimedJob<S::Payload>) -> Result<(), String>,
    ) -> Result<bool, Error> {
        let claims = Rc::new(RefCell::new(self.claim(worker, 1)?));
        self.engine.run_shared(Rc::clone(&claims) as _).await?;
        let claimed = claims.borrow_mut().claimed.pop();
        let Some(claimed) = claimed else { return Ok(false) };
        // It could not settle what it delivers.
        self.engine.check_open()?;
        let claim = claimed.job.claim();
        // A lost race is not an error: whoever holds the job now settles it.
        let settles: Rc<RefCell<dyn Script<S::Payload>>> = match delivery(claimed).await {
            Ok(()) => Rc::new(RefCell::new(Ack::new(claim))),
            Err(error) => Rc::new(RefCell::new(Retry::new(claim, Some(&error), None, self.engine.random_bits()))),
        };
        self.engine.run_shared(settles).await.map(|()| true)
    }
}
