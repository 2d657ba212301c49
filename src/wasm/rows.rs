//! Rows as they are stored: `{ k: entries, v: columns, p: payload }`.
//!
//! The columns begin with the number of their format. What the engine never writes is damage, and an error: rows lie
//! where others can write, and releases come and go.

use std::rc::Rc;

use js_sys::{Array, Reflect};
use wasm_bindgen::prelude::*;

use super::keyed::entry;
use crate::core::clock::Meta;
use crate::core::index::{self, Section, Sort};
use crate::core::{
    Duration, Error, Job, LockRow, Name, ScheduleOptions, ScheduleRow, Stamps, State, StoreError, Timestamp,
};
use crate::runtime::Header;

/// The format that this release writes. Later ones read it, and write their own.
const FORMAT: i64 = 1;

#[wasm_bindgen]
extern "C" {
    type Stored;

    #[wasm_bindgen(method, getter)]
    fn v(this: &Stored) -> JsValue;

    #[wasm_bindgen(method, getter)]
    fn p(this: &Stored) -> JsValue;
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

/// Columns under way.
struct Writer(Array);

impl Writer {
    fn new() -> Self {
        let writer = Self(Array::new());
        writer.number(FORMAT)
    }

    #[inline(never)]
    fn number(self, n: i64) -> Self {
        self.value(&(n as f64).into())
    }

    #[inline(never)]
    fn maybe(self, n: Option<i64>) -> Self {
        self.value(&n.map_or(JsValue::NULL, |n| (n as f64).into()))
    }

    fn instant(self, at: Option<Timestamp>) -> Self {
        self.maybe(at.map(Timestamp::as_millis))
    }

    fn span(self, span: Option<Duration>) -> Self {
        self.maybe(span.map(Duration::as_millis))
    }

    #[inline(never)]
    fn text(self, text: Option<&str>) -> Self {
        self.value(&text.map_or(JsValue::NULL, JsValue::from_str))
    }

    fn value(self, value: &JsValue) -> Self {
        self.0.push(value);
        self
    }
}

pub fn header(Header { meta, crossed }: &Header) -> Array {
    Writer::new()
        .number(meta.next_id.cast_signed())
        .instant(meta.latest)
        .span(Some(meta.moved_back))
        .instant(Some(*crossed))
        .0
}

pub fn lock(name: &Name, row: &LockRow) -> Array {
    Writer::new().text(Some(name)).text(Some(&row.owner)).instant(Some(row.expires_at)).0
}

pub fn schedule(row: &ScheduleRow<JsValue>) -> Array {
    let ScheduleOptions { priority, max_attempts, expires } = row.options;
    Writer::new()
        .text(Some(&row.name))
        .text(Some(&row.spec))
        .span(Some(row.interval))
        .text(Some(&row.queue))
        .maybe(priority)
        .maybe(max_attempts)
        .span(expires)
        .instant(Some(row.next_fire_at))
        .0
}

pub fn job(job: &Job) -> Array {
    let Stamps { visibility_timeout, max_attempts, backoff_base, dead_letter_retention } = job.stamps;
    Writer::new()
        .number(job.id.cast_signed())
        .text(Some(&job.queue))
        .text(Some(job.state.as_str()))
        .number(job.priority)
        .instant(Some(job.run_at))
        .number(i64::from(job.run_at_absolute))
        .number(job.attempts)
        .span(Some(visibility_timeout))
        .number(max_attempts)
        .span(Some(backoff_base))
        .span(dead_letter_retention)
        .text(job.worker_id.as_deref())
        .instant(job.claimed_at)
        .instant(job.claim_expires_at)
        .number(job.claims.cast_signed())
        .instant(Some(job.created_at))
        .instant(job.expires_at)
        .text(job.last_error.as_deref())
        .instant(job.died_at)
        .instant(job.purge_at)
        .0
}

/// A row's columns, taken in the order in which they were written. What is wrong is noticed, and told at the end.
pub struct Columns {
    columns: Array,
    next: u32,
    format: i64,
    damaged: bool,
}

impl Columns {
    pub fn of(row: &JsValue) -> Self {
        let columns = if row.is_object() { row.unchecked_ref::<Stored>().v() } else { JsValue::UNDEFINED };
        let damaged = !Array::is_array(&columns);
        let columns = if damaged { Array::new() } else { columns.unchecked_into() };
        let mut columns = Self { columns, next: 0, format: FORMAT, damaged };
        columns.format = columns.number();
        columns
    }

    fn end<T>(&self, row: T) -> Result<T, Error> {
        if self.format > FORMAT {
            return Err(newer(self.format));
        }
        if self.damaged || self.format < FORMAT { Err(self.damage()) } else { Ok(row) }
    }

    /// Names the row by its second column, an id or a name, if it has one.
    fn damage(&self) -> Error {
        let which = self.columns.get(1);
        let number = which.as_f64().map(|n| (n as i64).to_string());
        let which = which.as_string().or(number).unwrap_or_default();
        refused(["a stored row is damaged (", &which, "): not what this engine writes"].concat())
    }

    fn value(&mut self) -> JsValue {
        let value = self.columns.get(self.next);
        self.next = self.next.saturating_add(1);
        value
    }

    #[inline(never)]
    fn maybe(&mut self) -> Option<i64> {
        let value = self.value();
        let number = value.as_f64().filter(|n| n.is_finite());
        self.damaged |= number.is_none() && !value.is_null();
        number.map(|n| n as i64)
    }

    #[inline(never)]
    fn number(&mut self) -> i64 {
        let number = self.maybe();
        self.damaged |= number.is_none();
        number.unwrap_or_default()
    }

    #[inline(never)]
    fn natural(&mut self) -> u64 {
        let number = self.number();
        self.damaged |= number < 0;
        number.unsigned_abs()
    }

    fn instant(&mut self) -> Timestamp {
        Timestamp::from_millis(self.number())
    }

    fn maybe_instant(&mut self) -> Option<Timestamp> {
        self.maybe().map(Timestamp::from_millis)
    }

    fn span(&mut self) -> Duration {
        Duration::from_millis(self.number())
    }

    fn maybe_span(&mut self) -> Option<Duration> {
        self.maybe().map(Duration::from_millis)
    }

    #[inline(never)]
    fn maybe_text(&mut self) -> Option<String> {
        let value = self.value();
        let text = value.as_string();
        self.damaged |= text.is_none() && !value.is_null();
        text
    }

    fn text(&mut self) -> String {
        let text = self.maybe_text();
        self.damaged |= text.is_none();
        text.unwrap_or_default()
    }

    #[inline(never)]
    fn name(&mut self) -> Name {
        Name::internal(&self.text())
    }

    pub fn header(mut self) -> Result<Header, Error> {
        let meta = Meta { next_id: self.natural(), latest: self.maybe_instant(), moved_back: self.span() };
        let header = Header { meta, crossed: self.instant() };
        self.end(header)
    }

    pub fn lock(mut self) -> Result<(Name, LockRow), Error> {
        let row = (self.name(), LockRow { owner: self.name(), expires_at: self.instant() });
        self.end(row)
    }

    pub fn schedule(mut self, payload: JsValue) -> Result<Rc<ScheduleRow<JsValue>>, Error> {
        let row = ScheduleRow {
            name: self.name(),
            spec: Rc::from(self.text()),
            interval: self.span(),
            queue: self.name(),
            payload,
            options: ScheduleOptions { priority: self.maybe(), max_attempts: self.maybe(), expires: self.maybe_span() },
            next_fire_at: self.instant(),
        };
        self.damaged |= !row.interval.is_positive();
        self.end(Rc::new(row))
    }

    pub fn job(mut self) -> Result<Rc<Job>, Error> {
        let job = Job {
            id: self.natural(),
            queue: self.name(),
            state: self.state(),
            priority: self.number(),
            run_at: self.instant(),
            run_at_absolute: self.number() != 0,
            attempts: self.number(),
            stamps: Stamps {
                visibility_timeout: self.span(),
                max_attempts: self.number(),
                backoff_base: self.span(),
                dead_letter_retention: self.maybe_span(),
            },
            worker_id: self.maybe_text().as_deref().map(Name::internal),
            claimed_at: self.maybe_instant(),
            claim_expires_at: self.maybe_instant(),
            claims: self.natural(),
            created_at: self.instant(),
            expires_at: self.maybe_instant(),
            last_error: self.maybe_text().map(Rc::from),
            died_at: self.maybe_instant(),
            purge_at: self.maybe_instant(),
        };
        self.end(Rc::new(job))
    }

    fn state(&mut self) -> State {
        let state = super::convert::state(&self.text());
        self.damaged |= state.is_none();
        state.unwrap_or(State::Dead)
    }
}

fn newer(format: i64) -> Error {
    let format = format.to_string();
    refused(["the storage was written by a newer release (format ", &format, "): update alkstore-wasm"].concat())
}

fn refused(message: String) -> Error {
    Error::Storage(StoreError { message: message.into(), cause: None })
}
