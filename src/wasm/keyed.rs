//! Rows under keys, kept by an adapter in JavaScript: IndexedDB, or a table of an SQL database.
//!
//! What an adapter is asked for and given crosses as numbers and texts; js/crossing.ts makes plain arrays of them, which
//! js/keyed.ts describes. An adapter moves rows and decides nothing.

use std::cell::Cell;

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::convert::storage_error;
use super::rows::{Packed, length, push_entry, unpack};
use crate::core::index::{FIRST, schedules_queue};
use crate::core::{Error, Name, Topic};
use crate::runtime::{Answer, Header, Keyed, KeyedTransaction, Read, Row, Write, format};

#[wasm_bindgen]
extern "C" {
    /// An adapter: `KeyedAdapter` in js/keyed.ts.
    #[derive(Clone, Debug)]
    pub type Adapter;

    #[wasm_bindgen(method, catch)]
    fn begin(this: &Adapter) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method)]
    fn wake(this: &Adapter, topics: &Array);

    /// A transaction of an adapter: `Crossing` in js/crossing.ts.
    #[derive(Clone, Debug)]
    pub type Handle;

    // Numbers go as one slice and texts as values: more parameters would cost every start a wrapper of its own.
    #[wasm_bindgen(method)]
    fn ask(this: &Handle, numbers: &[f64], text: JsValue) -> Promise;

    /// What is in a row, into `numbers`: whether it has a payload, then its columns as in [`Packed`]. Gives their texts.
    #[wasm_bindgen(method)]
    pub fn unpack(this: &Handle, row: &JsValue, numbers: &mut [f64]) -> JsValue;

    /// A row: numbers and texts as in [`Packed`], and its payload.
    #[wasm_bindgen(method)]
    fn write(this: &Handle, numbers: &[f64], text: JsValue, payload: &JsValue);

    /// The same of a row that goes: a job by its id, anything else by its name.
    #[wasm_bindgen(method)]
    fn erase(this: &Handle, kind: u32, id: f64, name: JsValue);

    #[wasm_bindgen(method)]
    fn commit(this: &Handle) -> Promise;

    #[wasm_bindgen(method)]
    fn abort(this: &Handle);

    /// Of a transaction that is the caller's own: wakes whoever waits, here and elsewhere, once it has committed.
    #[wasm_bindgen(method, js_name = wakeAfter)]
    fn wake_after(this: &Handle, topics: &Array);
}

/// What is read or written, as a letter: that of the key, where that has one.
mod kind {
    pub const HEADER: u32 = 'm' as u32;
    pub const LOCK: u32 = 'l' as u32;
    pub const SCHEDULE: u32 = 's' as u32;
    pub const PAYLOAD: u32 = 'p' as u32;
    /// A job; written, it is one that was there.
    pub const JOB: u32 = 'j' as u32;
    pub const NEW_JOB: u32 = 'n' as u32;
    pub const JOBS: u32 = 'r' as u32;
    pub const ALL: u32 = 'a' as u32;
    pub const INDEX: u32 = 'i' as u32;
    pub const COUNT: u32 = 'c' as u32;
}

impl Keyed for Adapter {
    type Payload = JsValue;
    type Transaction = Transaction;

    async fn begin(&self) -> Result<Transaction, Error> {
        let begun = Adapter::begin(self).map_err(storage_error)?;
        let handle = if begun.has_type::<Promise>() {
            JsFuture::from(begun.unchecked_into::<Promise>()).await.map_err(storage_error)?
        } else {
            begun
        };
        Ok(Transaction::new(handle.unchecked_into()))
    }

    fn takes_early_writes(&self) -> bool {
        true
    }

    fn announce(&self, given: &[Topic]) {
        self.wake(&topics(given));
    }
}

/// Topics as contexts tell them to each other: what about, as a letter, and of which queue.
fn topics(topics: &[Topic]) -> Array {
    let word = |topic: &Topic| match topic {
        Topic::Queue(name) => JsValue::from([QUEUE, name].concat()),
        Topic::Ready(name) => JsValue::from([READY, name].concat()),
        Topic::Schedules => JsValue::from_str(SCHEDULES),
    };
    topics.iter().map(word).collect()
}

/// What another context told, if it is a topic: anybody of the origin may have.
pub fn topic(word: &str) -> Option<Topic> {
    let queue = |letter| word.strip_prefix(letter).map(Name::internal);
    let schedules = (word == SCHEDULES).then_some(Topic::Schedules);
    queue(READY).map(Topic::Ready).or_else(|| queue(QUEUE).map(Topic::Queue)).or(schedules)
}

const QUEUE: &str = "q";
const READY: &str = "r";
const SCHEDULES: &str = "s";

/// Any topic may have been missed.
pub const EVERYTHING: &str = "*";

/// A transaction under way.
#[derive(Debug)]
pub struct Transaction {
    handle: Handle,
    committed: Cell<bool>,
}

impl Transaction {
    pub const fn new(handle: Handle) -> Self {
        Self { handle, committed: Cell::new(false) }
    }

    /// For a transaction that is the caller's own.
    pub fn wake_after(&self, given: &[Topic]) {
        self.handle.wake_after(&topics(given));
    }

    /// Resolves once all writes have been taken, and in a transaction of the engine's own are durable.
    pub async fn finish(&self) -> Result<(), Error> {
        self.committed.set(true);
        JsFuture::from(self.handle.commit()).await.map(drop).map_err(storage_error)
    }

    fn put(&self, kind: u32, row: &Packed, payload: &JsValue) {
        self.handle.write(&row.numbers(kind), row.text(), payload);
    }

    fn answer(&self, read: &Read, found: JsValue) -> Result<Answer<JsValue>, Error> {
        let rows = match read {
            Read::Header if found.is_undefined() => return Ok(Answer::Header(Header::default())),
            Read::Header => return Ok(Answer::Header(unpack(&self.handle, &found).0.header()?)),
            Read::Payload(_) => return Ok(Answer::Payload(unpack(&self.handle, &found).1)),
            Read::Count { .. } => return Ok(Answer::Count(found.as_f64().unwrap_or_default() as usize)),
            // A row, whatever it is, or none; or several.
            Read::Job(_) | Read::Lock(_) | Read::Schedule(_) if found.is_undefined() => Array::new(),
            Read::Job(_) | Read::Lock(_) | Read::Schedule(_) => Array::of1(&found),
            _ => found.unchecked_into(),
        };
        let mut answer = match read {
            Read::Lock(_) | Read::Locks => Answer::Locks(Vec::new()),
            Read::Schedule(_) | Read::Schedules => Answer::Schedules(Vec::new()),
            Read::Index { queue, .. } if *queue == schedules_queue() => Answer::Schedules(Vec::new()),
            _ => Answer::Jobs(Vec::new()),
        };
        for row in rows.iter() {
            let (columns, payload) = unpack(&self.handle, &row);
            match &mut answer {
                Answer::Locks(locks) => match columns.lock() {
                    Err(error) if *read == Read::Locks && format::is_damage(&error) => {}
                    lock => locks.push(lock?),
                },
                Answer::Schedules(schedules) => {
                    schedules.push(columns.schedule(payload.unwrap_or(JsValue::UNDEFINED))?);
                }
                Answer::Jobs(jobs) => jobs.push(Row { job: columns.job()?, payload }),
                _ => {}
            }
        }
        Ok(answer)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.committed.get() {
            self.handle.abort();
        }
    }
}

impl KeyedTransaction for Transaction {
    type Payload = JsValue;

    async fn read(&self, reads: &[Read]) -> Result<Vec<Answer<JsValue>>, Error> {
        let mut asked = Asked::default();
        reads.iter().for_each(|read| asked.add(read));
        let answers =
            JsFuture::from(self.handle.ask(&asked.numbers, asked.text.into())).await.map_err(storage_error)?;
        let answers: Array = answers.unchecked_into();
        let mut given = Vec::new();
        for (read, found) in reads.iter().zip(answers.iter()) {
            given.push(self.answer(read, found)?);
        }
        Ok(given)
    }

    fn write(&self, write: Write<JsValue>) {
        let erase = |kind, id, name: &str| self.handle.erase(kind, id, name.into());
        let none = &JsValue::UNDEFINED;
        match &write {
            Write::Header(header) => self.put(kind::HEADER, &format::header(header), none),
            Write::Insert(job, payload, now) => self.put(kind::NEW_JOB, &Packed::of_job(job, *now), payload),
            Write::Update(job, now) => self.put(kind::JOB, &Packed::of_job(job, *now), none),
            Write::Remove(id) => erase(kind::JOB, *id as f64, ""),
            Write::PutLock(name, lock) => self.put(kind::LOCK, &format::lock(name, lock), none),
            Write::RemoveLock(name) => erase(kind::LOCK, 0.0, name),
            Write::PutSchedule(row) => self.put(kind::SCHEDULE, &Packed::of_schedule(row), &row.payload),
            Write::RemoveSchedule(name) => erase(kind::SCHEDULE, 0.0, name),
        }
    }

    async fn commit(self) -> Result<(), Error> {
        self.finish().await
    }
}

/// The reads of a round, one after another: a letter, and what it takes.
#[derive(Default)]
struct Asked {
    numbers: Vec<f64>,
    /// All names, in the order in which their lengths come.
    text: String,
}

impl Asked {
    fn add(&mut self, read: &Read) {
        match read {
            Read::Header => self.letter(kind::HEADER),
            Read::Job(id) => self.with(kind::JOB, &[*id as f64]),
            Read::Payload(id) => self.with(kind::PAYLOAD, &[*id as f64]),
            Read::Lock(name) => self.named(kind::LOCK, name),
            Read::Schedule(name) => self.named(kind::SCHEDULE, name),
            Read::Jobs(from, to, limit) => self.with(kind::JOBS, &[*from as f64, *to as f64, *limit as f64]),
            Read::Locks => self.with(kind::ALL, &[f64::from(kind::LOCK)]),
            Read::Schedules => self.with(kind::ALL, &[f64::from(kind::SCHEDULE)]),
            Read::Index { queue, section, from, to, limit } => {
                self.named(kind::INDEX, queue);
                push_entry(&mut self.numbers, *section, *from);
                push_entry(&mut self.numbers, *section, *to);
                self.numbers.push(*limit as f64);
            }
            Read::Count { queue, section, to } => {
                self.named(kind::COUNT, queue);
                push_entry(&mut self.numbers, *section, FIRST);
                push_entry(&mut self.numbers, *section, *to);
            }
        }
    }

    fn letter(&mut self, kind: u32) {
        self.numbers.push(f64::from(kind));
    }

    fn with(&mut self, kind: u32, numbers: &[f64]) {
        self.letter(kind);
        self.numbers.extend_from_slice(numbers);
    }

    fn named(&mut self, kind: u32, name: &str) {
        self.with(kind, &[length(name)]);
        self.text.push_str(name);
    }
}
