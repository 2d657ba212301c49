//! The storages that a store may be opened on.

use std::rc::Rc;

use wasm_bindgen::prelude::*;

use super::Engine;
use super::keyed::{Adapter, EVERYTHING, Transaction, topic};
use crate::core::{Error, Script};
use crate::runtime::{Clock, KeyedStore, MemoryStore, Store, Wakes};

/// A storage; stores opened on one of these share it.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Storage {
    pub(super) store: AnyStore,
}

#[wasm_bindgen]
impl Storage {
    /// In memory.
    pub fn memory() -> Self {
        Self { store: AnyStore::Memory(MemoryStore::new()) }
    }

    /// Rows under keys, kept by an adapter.
    pub fn keyed(adapter: Adapter) -> Self {
        Self { store: AnyStore::Keyed(Rc::new(KeyedStore::new(adapter))) }
    }

    /// Another context has committed: whoever waits for the topic looks again.
    pub fn wake(&self, word: &str) {
        let wakes = self.store.wakes();
        if word == EVERYTHING {
            wakes.wake_all();
        } else if let Some(topic) = topic(word) {
            wakes.wake(&topic);
        }
    }
}

/// Any of them.
#[derive(Clone, Debug)]
pub enum AnyStore {
    Memory(MemoryStore<JsValue>),
    Keyed(Rc<KeyedStore<Adapter>>),
}

impl AnyStore {
    /// Runs one script in a transaction that is the caller's own; others are woken once that has committed.
    pub async fn transact_in(
        &self,
        transaction: &Transaction,
        clock: &dyn Clock,
        script: &mut dyn Script<JsValue>,
    ) -> Result<(), Error> {
        // Memory has no such transactions: the JavaScript side refuses them.
        let Self::Keyed(store) = self else { return Err(Error::Closed) };
        let topics = store.transact_in(transaction, clock, &mut [script]).await?;
        transaction.wake_after(&topics);
        transaction.finish().await
    }
}

impl Store for AnyStore {
    type Payload = JsValue;

    async fn transact(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<JsValue>]) -> Result<(), Error> {
        match self {
            Self::Memory(store) => store.transact(clock, scripts).await,
            Self::Keyed(store) => store.transact(clock, scripts).await,
        }
    }

    fn transact_now(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<JsValue>]) -> Option<Result<(), Error>> {
        match self {
            Self::Memory(store) => store.transact_now(clock, scripts),
            Self::Keyed(_) => None,
        }
    }

    fn wakes(&self) -> &Wakes {
        match self {
            Self::Memory(store) => store.wakes(),
            Self::Keyed(store) => store.wakes(),
        }
    }
}

impl Engine {
    /// Runs a script in a transaction that is the caller's own.
    pub async fn run_in(&self, transaction: Transaction, script: &mut dyn Script<JsValue>) -> Result<(), Error> {
        let _under_way = self.begin_call()?;
        self.store().transact_in(&transaction, self.host(), script).await
    }
}
