//! The seam to storage.

use std::rc::Rc;

use super::host::Clock;
use super::wakes::Wakes;
use crate::core::{Error, Script};

/// A place where jobs, locks and schedules are kept.
///
/// There is no get and no put: a storage runs scripts, and answers the read shapes of
/// [`Scope`](crate::core::Scope). Its own transactions serialise everybody who shares it.
pub trait Store: 'static {
    /// A handle to a payload. The engine never looks at one. Its `Clone` and `Drop` must not call the store: a storage
    /// runs them amid an operation, with its rows in hand.
    type Payload: Clone + 'static;

    /// Runs the scripts one after another inside one storage transaction and resolves after its
    /// commit. The clock is read inside, once, before anything else, so waiting for others cannot age
    /// `now` (by more than 100 ms); a clock that was set back ([`Meta::observe`](crate::core::clock::Meta::observe)) first moves
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

/// So that several engines may share a storage that has no clones.
impl<S: Store> Store for Rc<S> {
    type Payload = S::Payload;

    // Its future, and none around it.
    fn transact(
        &self,
        clock: &dyn Clock,
        scripts: &mut [&mut dyn Script<S::Payload>],
    ) -> impl Future<Output = Result<(), Error>> {
        S::transact(self, clock, scripts)
    }

    fn transact_now(
        &self,
        clock: &dyn Clock,
        scripts: &mut [&mut dyn Script<S::Payload>],
    ) -> Option<Result<(), Error>> {
        S::transact_now(self, clock, scripts)
    }

    fn wakes(&self) -> &Wakes {
        S::wakes(self)
    }
}
