//! The seam to storage.

use super::host::Clock;
use super::wakes::Wakes;
use crate::core::{Error, Script};

/// A place where jobs, locks and schedules are kept.
///
/// There is no get and no put: a storage runs scripts, and answers the read shapes of
/// [`Scope`](crate::core::Scope). Its own transactions serialise everybody who shares it.
pub trait Store: 'static {
    /// A handle to a payload. The engine never looks at one.
    type Payload: Clone + 'static;

    /// Runs the scripts one after another inside one storage transaction and resolves after its
    /// commit. The clock is read inside, once, before anything else, so waiting cannot age `now`; a
    /// clock that was set back ([`Meta::observe`](crate::core::clock::Meta::observe)) first moves
    /// every deadline in the storage back.
    ///
    /// # Errors
    /// [`Error::Storage`], or the clock's error. Nothing was persisted.
    async fn transact(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<Self::Payload>]) -> Result<(), Error>;

    /// The same, done before it returns, by a storage that never waits; `None` from one that may, and
    /// then nothing has happened.
    fn transact_now(
        &self,
        clock: &dyn Clock,
        scripts: &mut [&mut dyn Script<Self::Payload>],
    ) -> Option<Result<(), Error>> {
        let _ = (clock, scripts);
        None
    }

    /// Who waits for a commit, made here or by another that shares the storage.
    fn wakes(&self) -> &Wakes;
}
