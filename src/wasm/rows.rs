//! Rows on their way between the engine and JavaScript, where they are `{ k: entries, v: columns, p: payload }`. What the
//! columns hold is said in runtime/keyed/format.rs. A row crosses in one call, as one slice of numbers and one text: a
//! call for each column would cost more than all else that is done with it.

use super::keyed::Handle;
use crate::core::index::{self, Section, Sort};
use crate::core::{Job, Name, ScheduleRow, Timestamp};
use crate::runtime::format::{Column, Columns, Reader};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    type Stored;

    #[wasm_bindgen(method, getter)]
    fn p(this: &Stored) -> JsValue;
}

/// The most columns that are read of a row.
const COLUMNS_MAX: usize = 31;

/// Columns, and where they are indexed.
#[derive(Debug, Default)]
pub struct Packed {
    /// A column each: a number; `NaN` for null, infinite for a text, and below all numbers for anything else. Then how long
    /// the text is, as JavaScript counts.
    columns: Vec<[f64; 2]>,
    /// The columns that are texts, and at the end the queue of the entries.
    text: String,
    /// Four numbers for each entry: the section's letter, and what it is sorted by.
    entries: Vec<f64>,
}

impl Packed {
    pub fn of_job(job: &Job, now: Timestamp) -> Self {
        let row = crate::runtime::format::job::<Self>(job);
        row.indexed(&job.queue, |entry| index::job_entries(job, now, entry))
    }

    pub fn of_schedule(row: &ScheduleRow<JsValue>) -> Self {
        let columns = crate::runtime::format::schedule::<Self, _>(row);
        columns.indexed(&index::schedules_queue(), |entry| index::schedule_entries(row, entry))
    }

    /// What kind of row it is, how many columns it has, those, and the entries.
    pub fn numbers(&self, kind: u32) -> Vec<f64> {
        let mut numbers = vec![f64::from(kind), self.columns.len() as f64];
        numbers.extend(self.columns.as_flattened());
        numbers.extend(&self.entries);
        numbers
    }

    pub fn text(&self) -> JsValue {
        JsValue::from_str(&self.text)
    }

    fn indexed(mut self, queue: &Name, each: impl FnOnce(&mut dyn FnMut(Section, Sort))) -> Self {
        let entries = &mut self.entries;
        each(&mut |section, sort| push_entry(entries, section, sort));
        self.text.push_str(queue);
        self
    }
}

/// A section's letter, and a position in it.
pub fn push_entry(numbers: &mut Vec<f64>, section: Section, (a, b, id): Sort) {
    numbers.extend(section.as_str().bytes().map(f64::from));
    numbers.extend([a as f64, b as f64, id as f64]);
}

/// How long a text is, as JavaScript counts.
pub fn length(text: &str) -> f64 {
    text.chars().map(char::len_utf16).sum::<usize>() as f64
}

/// A row that was read, whatever it is, and its payload if one lies in it. What is no row has no columns, and is as damaged
/// as one that lacks them.
pub fn unpack(handle: &Handle, row: &JsValue) -> (Reader<Packed>, Option<JsValue>) {
    let mut numbers = [0.0; 1 + 2 * COLUMNS_MAX];
    let text = handle.unpack(row, &mut numbers).as_string().unwrap_or_default();
    let [has_payload, columns @ ..] = &numbers;
    let payload = (*has_payload > 0.0).then(|| row.unchecked_ref::<Stored>().p());
    (Reader::new(Packed { columns: columns.as_chunks().0.to_vec(), text, entries: Vec::new() }), payload)
}

impl Columns for Packed {
    type Column = Value;

    fn column(&self, at: u32) -> Value {
        let at = at as usize;
        match self.columns.get(at) {
            Some([n, _]) if n.is_nan() => Value::Null,
            Some(&[f64::INFINITY, length]) => {
                let mut skip = self.columns.iter().take(at).map(|[_, length]| length).sum::<f64>();
                let mut left = length;
                let mut text = String::new();
                for char in self.text.chars() {
                    let length = char.len_utf16() as f64;
                    if skip > 0.0 {
                        skip -= length;
                    } else if left > 0.0 {
                        left -= length;
                        text.push(char);
                    }
                }
                Value::Text(text)
            }
            Some(&[n, _]) if n > f64::NEG_INFINITY => Value::Number(n),
            _ => Value::Other,
        }
    }

    fn push(&mut self, column: &Value) {
        let (number, length) = match column {
            Value::Number(n) => (*n, 0.0),
            Value::Text(text) => {
                self.text.push_str(text);
                (f64::INFINITY, length(text))
            }
            _ => (f64::NAN, 0.0),
        };
        self.columns.push([number, length]);
    }
}

/// What lies in a column.
#[derive(Debug)]
pub enum Value {
    Null,
    Number(f64),
    Text(String),
    /// Nothing that the engine writes.
    Other,
}

impl Column for Value {
    fn null() -> Self {
        Self::Null
    }

    fn of_number(n: f64) -> Self {
        Self::Number(n)
    }

    fn of_text(text: &str) -> Self {
        Self::Text(text.into())
    }

    fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    fn number(&self) -> Option<f64> {
        if let Self::Number(n) = self { Some(*n) } else { None }
    }

    fn text(&self) -> Option<String> {
        if let Self::Text(text) = self { Some(text.clone()) } else { None }
    }
}
