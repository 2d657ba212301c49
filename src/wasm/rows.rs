//! Rows in JavaScript: `{ k: entries, v: columns, p: payload }`. What the columns hold is said in runtime/keyed/format.rs.

use js_sys::{Array, Reflect};
use wasm_bindgen::prelude::*;

use super::keyed::entry;
use crate::core::index::{self, Section, Sort};
use crate::core::{Job, Name, ScheduleRow, Timestamp};
use crate::runtime::format::{Column, Columns, Reader};

#[wasm_bindgen]
extern "C" {
    type Stored;

    #[wasm_bindgen(method, getter)]
    fn v(this: &Stored) -> JsValue;

    #[wasm_bindgen(method, getter)]
    fn p(this: &Stored) -> JsValue;
}

/// A row's columns. What is no row has none, and is as damaged as one that lacks them.
pub fn columns(row: &JsValue) -> Reader<Array> {
    let columns = if row.is_object() { row.unchecked_ref::<Stored>().v() } else { JsValue::UNDEFINED };
    Reader::new(if Array::is_array(&columns) { columns.unchecked_into() } else { Array::new() })
}

/// A row's payload, or a record's that keeps one apart; `undefined` of what is no row.
pub fn payload(row: &JsValue) -> JsValue {
    if row.is_object() { row.unchecked_ref::<Stored>().p() } else { JsValue::UNDEFINED }
}

/// Whether the payload is in the row.
pub fn has_payload(row: &JsValue) -> bool {
    row.is_object() && Reflect::has(row, &"p".into()).unwrap_or(false)
}

pub fn job_entries(job: &Job, now: Timestamp) -> Array {
    entries(&job.queue, |entry| index::job_entries(job, now, entry))
}

pub fn schedule_entries(row: &ScheduleRow<JsValue>) -> Array {
    entries(&index::schedules_queue(), |entry| index::schedule_entries(row, entry))
}

fn entries(queue: &Name, each: impl FnOnce(&mut dyn FnMut(Section, Sort))) -> Array {
    let entries = Array::new();
    each(&mut |section, sort| {
        entries.push(&entry(queue, section, sort));
    });
    entries
}

impl Columns for Array {
    type Column = JsValue;

    fn column(&self, at: u32) -> JsValue {
        self.get(at)
    }

    fn push(&mut self, column: &JsValue) {
        Self::push(self, column);
    }
}

impl Column for JsValue {
    fn null() -> Self {
        Self::NULL
    }

    fn of_number(n: f64) -> Self {
        n.into()
    }

    fn of_text(text: &str) -> Self {
        text.into()
    }

    fn is_null(&self) -> bool {
        Self::is_null(self)
    }

    fn number(&self) -> Option<f64> {
        self.as_f64()
    }

    fn text(&self) -> Option<String> {
        self.as_string()
    }
}
