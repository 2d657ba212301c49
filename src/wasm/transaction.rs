//! A transaction's exports.

use std::rc::Rc;

use wasm_bindgen::prelude::*;

use super::Storage;
use super::convert;
use super::host::JsHost;
use super::settle::settle;
use crate::runtime;

#[wasm_bindgen]
#[derive(Debug)]
pub struct Transaction {
    transaction: Rc<runtime::Transaction<Storage, JsHost>>,
    host: JsHost,
}

impl Transaction {
    pub fn new(transaction: runtime::Transaction<Storage, JsHost>, host: JsHost) -> Self {
        Self { transaction: Rc::new(transaction), host }
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
    ) -> Result<JsValue, JsValue> {
        let transaction = Rc::clone(&self.transaction);
        let options = convert::enqueue_options(delay, run_at, priority, max_attempts, expires);
        let operation = async move {
            if outbox {
                transaction.outbox_enqueue(&name, payload, &options).await
            } else {
                transaction.enqueue(&name, payload, &options).await
            }
        };
        settle(&self.host, operation, |_, id| (id as f64).into())
    }

    pub fn get(&self, queue: String, id: f64) -> Result<JsValue, JsValue> {
        let transaction = Rc::clone(&self.transaction);
        settle(&self.host, async move { transaction.get(&queue, convert::id(id)).await }, |host, found| {
            found.map_or(JsValue::NULL, |job| convert::job(host, job))
        })
    }

    pub fn commit(&self) -> Result<JsValue, JsValue> {
        let transaction = Rc::clone(&self.transaction);
        settle(&self.host, async move { transaction.commit().await }, |_, ()| JsValue::UNDEFINED)
    }

    pub fn roll_back(&self) {
        self.transaction.roll_back();
    }
}
