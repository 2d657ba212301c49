//! A transaction's exports.

use std::rc::Rc;

use wasm_bindgen::prelude::*;

use super::Engine;
use super::convert;
use super::host::JsHost;
use super::perform::settle;
use super::storage::AnyStore;
use crate::runtime;
use crate::runtime::transaction::Target;

#[wasm_bindgen]
#[derive(Debug)]
pub struct Transaction {
    transaction: Rc<runtime::Transaction<AnyStore, JsHost>>,
    engine: Engine,
}

impl Transaction {
    pub fn new(transaction: runtime::Transaction<AnyStore, JsHost>, engine: Engine) -> Self {
        Self { transaction: Rc::new(transaction), engine }
    }
}

#[wasm_bindgen]
impl Transaction {
    /// Into a queue, or with `outbox` into an outbox.
    #[allow(clippy::too_many_arguments)]
    pub fn enqueue(
        &self,
        outbox: bool,
        name: String,
        payload: JsValue,
        delay: f64,
        run_at: f64,
        priority: f64,
        max_attempts: f64,
        expires: f64,
    ) -> JsValue {
        let (transaction, engine) = (Rc::clone(&self.transaction), self.engine.clone());
        let options = convert::enqueue_options(delay, run_at, priority, max_attempts, expires);
        settle(Box::pin(async move {
            let queue = if outbox { Target::outbox(&name) } else { Target::queue(&name) };
            let staged = match queue {
                Ok(queue) => transaction.stage(queue, payload, &options).await,
                Err(error) => Err(error),
            };
            convert::outcome(engine.host(), staged.map(|id| (id as f64).into()))
        }))
    }

    pub fn get(&self, queue: String, id: f64) -> JsValue {
        let (transaction, engine) = (Rc::clone(&self.transaction), self.engine.clone());
        settle(Box::pin(async move {
            let host = engine.host();
            let found = transaction.get(&queue, convert::id(id)).await;
            convert::outcome(host, found.map(|found| found.map_or(JsValue::NULL, |job| convert::job(host, job))))
        }))
    }

    pub fn commit(&self) -> JsValue {
        let (transaction, engine) = (Rc::clone(&self.transaction), self.engine.clone());
        settle(Box::pin(async move {
            convert::outcome(engine.host(), transaction.commit().await.map(|()| JsValue::UNDEFINED))
        }))
    }

    pub fn roll_back(&self) {
        self.transaction.roll_back();
    }
}
