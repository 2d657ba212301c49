//! A lock's handle.

use super::engine::Engine;
use super::host::Host;
use super::store::Store;
use crate::core::lock::{Release, Renew};
use crate::core::{Duration, Error, Name};

/// A lock that was granted; see [`Engine::try_lock`]. Dropping it releases nothing: the lease ends
/// by itself.
#[derive(Debug)]
pub struct Lock<S: Store, H: Host> {
    engine: Engine<S, H>,
    name: Name,
    owner: Name,
}

impl<S: Store, H: Host> Clone for Lock<S, H> {
    fn clone(&self) -> Self {
        Self { engine: self.engine.clone(), name: self.name.clone(), owner: self.owner.clone() }
    }
}

impl<S: Store, H: Host> Lock<S, H> {
    pub(super) const fn new(engine: Engine<S, H>, name: Name, owner: Name) -> Self {
        Self { engine, name, owner }
    }

    /// The lock's name.
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// A full new window from now; `false` once it has lapsed or was taken: a renewal never revives.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `ttl` is not positive, for a lapsed lock too.
    pub async fn renew(&self, ttl: Duration) -> Result<bool, Error> {
        let script = self.engine.run(Renew::new(self.name.clone(), self.owner.clone(), ttl)?).await?;
        Ok(script.renewed)
    }

    /// Gives the lock up: `true` if the entry was still this owner's, even lapsed; `false` if it was
    /// gone or taken.
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn release(&self) -> Result<bool, Error> {
        let script = self.engine.run(Release::new(self.name.clone(), self.owner.clone())).await?;
        Ok(script.released)
    }
}
