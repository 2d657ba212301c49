//! Rows under keys, kept by an adapter in JavaScript: IndexedDB, or a table of an SQL database.
//!
//! What an adapter is asked for and given are plain arrays; js/keyed.ts describes them. It moves rows and decides
//! nothing.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::rows;
use crate::core::index::{FIRST, Section, Sort, schedules_queue};
use crate::core::schedule::LEADER_LOCK;
use crate::core::{Error, Name, StoreError, Topic};
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

    /// A transaction of an adapter: `KeyedTransaction` in js/keyed.ts.
    #[derive(Clone, Debug)]
    pub type Handle;

    #[wasm_bindgen(method)]
    fn read(this: &Handle, reads: &Array) -> Promise;

    #[wasm_bindgen(method)]
    fn insert(this: &Handle, id: f64, entries: &Array, columns: &Array, payload: &JsValue);

    #[wasm_bindgen(method)]
    fn update(this: &Handle, id: f64, entries: &Array, columns: &Array);

    #[wasm_bindgen(method)]
    fn remove(this: &Handle, id: f64);

    #[wasm_bindgen(method)]
    fn put(this: &Handle, key: &Array, entries: &Array, columns: &Array, payload: &JsValue);

    #[wasm_bindgen(method)]
    fn delete(this: &Handle, key: &Array);

    #[wasm_bindgen(method)]
    fn commit(this: &Handle) -> Promise;

    #[wasm_bindgen(method)]
    fn abort(this: &Handle);

    /// Of a transaction that is the caller's own: wakes whoever waits, here and elsewhere, once it has committed.
    #[wasm_bindgen(method, js_name = wakeAfter)]
    fn wake_after(this: &Handle, topics: &Array);
}

impl Keyed for Adapter {
    type Payload = JsValue;
    type Transaction = Transaction;

    async fn begin(&self) -> Result<Transaction, Error> {
        let begun = Adapter::begin(self).map_err(failure)?;
        let handle = if begun.has_type::<Promise>() {
            JsFuture::from(begun.unchecked_into::<Promise>()).await.map_err(failure)?
        } else {
            begun
        };
        Ok(Transaction::new(handle.unchecked_into()))
    }

    fn announce(&self, given: &[Topic]) {
        self.wake(&topics(given));
    }
}

/// What an adapter rejected with, or threw: an error of the package's own already.
fn failure(cause: JsValue) -> Error {
    Error::Storage(StoreError { message: "the storage failed".into(), cause: Some(Rc::new(cause)) })
}

fn topics(topics: &[Topic]) -> Array {
    let name = |topic: &Topic| match topic {
        Topic::Queue(name) => JsValue::from_str(name),
        Topic::Schedules => LEADER_LOCK.into(),
    };
    topics.iter().map(name).collect()
}

/// What a context told the others: a queue's name, or that of the lock under which schedules are run.
pub fn topic(name: &str) -> Topic {
    if name == LEADER_LOCK { Topic::Schedules } else { Topic::Queue(Name::internal(name)) }
}

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
        JsFuture::from(self.handle.commit()).await.map(drop).map_err(failure)
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
        let requests: Array = reads.iter().map(request).collect();
        let answers = JsFuture::from(self.handle.read(&requests)).await.map_err(failure)?;
        let answers: Array = answers.unchecked_into();
        let mut given = Vec::new();
        for (read, found) in reads.iter().zip(answers.iter()) {
            given.push(answer(read, found)?);
        }
        Ok(given)
    }

    fn write(&self, write: Write<JsValue>) {
        let handle = &self.handle;
        match write {
            Write::Header(header) => put(handle, &key("m"), &format::header(&header)),
            Write::Insert(job, payload, now) => {
                handle.insert(job.id as f64, &rows::job_entries(&job, now), &format::job(&job), &payload);
            }
            Write::Update(job, now) => handle.update(job.id as f64, &rows::job_entries(&job, now), &format::job(&job)),
            Write::Remove(id) => handle.remove(id as f64),
            Write::PutLock(name, lock) => put(handle, &named("l", &name), &format::lock(&name, &lock)),
            Write::RemoveLock(name) => handle.delete(&named("l", &name)),
            Write::PutSchedule(row) => {
                handle.put(
                    &named("s", &row.name),
                    &rows::schedule_entries(&row),
                    &format::schedule(&row),
                    &row.payload,
                );
            }
            Write::RemoveSchedule(name) => handle.delete(&named("s", &name)),
        }
    }

    async fn commit(self) -> Result<(), Error> {
        self.finish().await
    }
}

fn put(handle: &Handle, key: &Array, columns: &Array) {
    handle.put(key, &Array::new(), columns, &JsValue::UNDEFINED);
}

fn key(kind: &str) -> Array {
    Array::of1(&kind.into())
}

fn named(kind: &str, name: &str) -> Array {
    Array::of2(&kind.into(), &name.into())
}

/// `["get", key]`, `["rows", from, to, limit]`, `["index", from, to, limit]` or `["count", from, to]`.
fn request(read: &Read) -> JsValue {
    let get = |key: JsValue| Array::of2(&"get".into(), &key).into();
    match read {
        Read::Header => get(key("m").into()),
        Read::Job(id) => get((*id as f64).into()),
        Read::Payload(id) => get(Array::of2(&"p".into(), &(*id as f64).into()).into()),
        Read::Lock(name) => get(named("l", name).into()),
        Read::Schedule(name) => get(named("s", name).into()),
        Read::Jobs(from, to, most) => {
            Array::of4(&"rows".into(), &(*from as f64).into(), &(*to as f64).into(), &limit(*most)).into()
        }
        Read::Locks => all("l"),
        Read::Schedules => all("s"),
        Read::Index { queue, section, from, to, limit: most } => {
            let (from, to) = (entry(queue, *section, *from), entry(queue, *section, *to));
            Array::of4(&"index".into(), &from, &to, &limit(*most)).into()
        }
        Read::Count { queue, section, to } => {
            Array::of3(&"count".into(), &entry(queue, *section, FIRST), &entry(queue, *section, *to)).into()
        }
    }
}

/// Everything of a kind: an array sorts after every string.
fn all(kind: &str) -> JsValue {
    let to = Array::of2(&kind.into(), &Array::new());
    Array::of4(&"rows".into(), &key(kind), &to, &limit(usize::MAX)).into()
}

fn limit(limit: usize) -> JsValue {
    (limit as f64).into()
}

/// An entry's key.
pub fn entry(queue: &str, section: Section, (a, b, id): Sort) -> JsValue {
    Array::of5(&queue.into(), &section.as_str().into(), &(a as f64).into(), &(b as f64).into(), &(id as f64).into())
        .into()
}

fn answer(read: &Read, found: JsValue) -> Result<Answer<JsValue>, Error> {
    let rows = match read {
        Read::Header if found.is_undefined() => return Ok(Answer::Header(Header::default())),
        Read::Header => return Ok(Answer::Header(rows::columns(&found).header()?)),
        Read::Payload(_) => return Ok(Answer::Payload(rows::has_payload(&found).then(|| rows::payload(&found)))),
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
        let columns = rows::columns(&row);
        match &mut answer {
            Answer::Locks(locks) => locks.push(columns.lock()?),
            Answer::Schedules(schedules) => schedules.push(columns.schedule(rows::payload(&row))?),
            Answer::Jobs(jobs) => {
                let payload = rows::has_payload(&row).then(|| rows::payload(&row));
                jobs.push(Row { job: columns.job()?, payload });
            }
            _ => {}
        }
    }
    Ok(answer)
}
