//! The storage that tests run on: memory, or with `ALKSTORE_TEST_STORAGE=keyed` rows under keys. The tests are the same.

use alkstore::core::{Error, Script};
use alkstore::runtime::{Clock, KeyedStore, MemoryStore, Store, Wakes};
use std::rc::Rc;

use super::table::Table;

/// Whether the tests run on rows under keys.
pub fn is_keyed() -> bool {
    std::env::var_os("ALKSTORE_TEST_STORAGE").is_some_and(|storage| storage == "keyed")
}

#[derive(Clone)]
pub enum TestStore<P: Clone + 'static> {
    Memory(MemoryStore<P>),
    Keyed(Rc<KeyedStore<Table<P>>>),
}

impl<P: Clone + 'static> TestStore<P> {
    pub fn new() -> Self {
        if is_keyed() {
            // Few enough for a step back to take several transactions.
            Self::Keyed(Rc::new(KeyedStore::new(Table::default()).moving_at_most(2)))
        } else {
            Self::Memory(MemoryStore::new())
        }
    }
}

impl<P: Clone + 'static> Store for TestStore<P> {
    type Payload = P;

    async fn transact(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<P>]) -> Result<(), Error> {
        match self {
            Self::Memory(store) => store.transact(clock, scripts).await,
            Self::Keyed(store) => store.transact(clock, scripts).await,
        }
    }

    fn transact_now(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<P>]) -> Option<Result<(), Error>> {
        match self {
            Self::Memory(store) => store.transact_now(clock, scripts),
            Self::Keyed(store) => store.transact_now(clock, scripts),
        }
    }

    fn wakes(&self) -> &Wakes {
        match self {
            Self::Memory(store) => store.wakes(),
            Self::Keyed(store) => store.wakes(),
        }
    }
}
