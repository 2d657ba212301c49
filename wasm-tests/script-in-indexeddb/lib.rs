//! A script of the core runs inside a live IndexedDB transaction: the JavaScript side awaits requests, and resumes the
//! script between its awaits. This is what storages in browsers are built on, so it is shown first.

#![cfg(target_arch = "wasm32")]

use std::cell::RefCell;
use std::rc::Rc;

use alkstore::core::lock::TryLock;
use alkstore::core::schedule::{LEADER_LOCK, Lead, ScheduleOptions, ScheduleRow};
use alkstore::core::{
    Change, Duration, Job, LockRow, Name, Scope, Script, Step, Timestamp, View, clock::Meta, queue::inspect::Tally,
};
use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

const NOW: i64 = 1_700_000_000_000;

/// One readwrite transaction. `step(rows)` answers `{ get: [keys] }`, `{ all: true }` or `{ done: true }`, each with
/// `put: [[key, value]]`; `hops` microtasks pass before it is resumed. Resolves at `complete`, to how it went.
#[wasm_bindgen(inline_js = "
export function open(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore('rows')
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
const answer = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})
export async function transact(db, hops, abort, step) {
  const tx = db.transaction('rows', 'readwrite', { durability: 'strict' })
  const store = tx.objectStore('rows')
  const ended = new Promise((resolve) => {
    tx.oncomplete = () => resolve('complete')
    tx.onabort = () => resolve('abort')
  })
  let rows = null
  for (;;) {
    for (let hop = 0; hop < hops; hop++) await null
    const next = step(rows)
    for (const [key, value] of next.put) store.put(value, key)
    if (next.done) break
    rows = next.get ? await Promise.all(next.get.map((key) => answer(store.get(key)))) : await answer(store.getAll())
  }
  if (abort) tx.abort()
  return ended
}
export async function read(db) {
  const store = db.transaction('rows').objectStore('rows')
  const [keys, values] = await Promise.all([answer(store.getAllKeys()), answer(store.getAll())])
  return keys.map((key, at) => [key, values[at]])
}
")]
extern "C" {
    fn open(name: &str) -> Promise;
    fn transact(db: &JsValue, hops: u32, abort: bool, step: &Function) -> Promise;
    fn read(db: &JsValue) -> Promise;
}

/// The script under way, and how its rows look in the database: `["lock", name]` → `[owner, expiresAt]`, and for a
/// schedule or a job a string key that says what is in it.
struct Run<S> {
    script: S,
    view: View<JsValue>,
    schedules: Vec<ScheduleRow<JsValue>>,
    asked: Option<Scope>,
    opened: bool,
}

impl<S: Script<JsValue>> Run<S> {
    fn step(&mut self, rows: &JsValue) -> JsValue {
        if let Some(scope) = self.asked.take() {
            self.view.begin_answer();
            match scope {
                Scope::Lock { .. } => self.view.lock = lock(&Array::from(rows).get(0)),
                Scope::DueSchedules => self.view.schedules.extend(self.schedules.drain(..).map(Rc::new)),
                Scope::NextBoundary => self.view.deadline = Some(Timestamp::from_millis(NOW + 60_000)),
                other => panic!("not asked here: {other:?}"),
            }
        }
        let opened = std::mem::replace(&mut self.opened, true);
        let opening = if opened { None } else { self.script.opening() };
        let step = opening.map_or_else(|| self.script.step(&mut self.view), Step::Ask);
        let put: Array = self.view.changes.drain(..).map(|change| row(&change)).collect();
        let next = js_sys::Object::new();
        Reflect::set(&next, &"put".into(), &put).unwrap();
        match step {
            Step::Done => Reflect::set(&next, &"done".into(), &true.into()).unwrap(),
            Step::Ask(scope) => {
                let answered = match &scope {
                    Scope::Lock { name } => ("get", Array::of1(&format!("lock {name}").into()).into()),
                    _ => ("all", JsValue::TRUE),
                };
                self.asked = Some(scope);
                Reflect::set(&next, &answered.0.into(), &answered.1).unwrap()
            }
        };
        next.into()
    }
}

fn lock(row: &JsValue) -> Option<LockRow> {
    if row.is_undefined() {
        return None;
    }
    let row = Array::from(row);
    let owner = Name::local("owner", &row.get(0).as_string().unwrap()).unwrap();
    Some(LockRow { owner, expires_at: Timestamp::from_millis(row.get(1).as_f64().unwrap() as i64) })
}

fn row(change: &Change<JsValue>) -> JsValue {
    let (key, value): (String, JsValue) = match change {
        Change::PutLock(name, LockRow { owner, expires_at }) => {
            let value = Array::of2(&owner.to_string().into(), &(expires_at.as_millis() as f64).into());
            (format!("lock {name}"), value.into())
        }
        Change::Insert(job, payload) => (job_key(job), payload.clone()),
        Change::PutSchedule(row) => (format!("schedule {}", row.name), (row.next_fire_at.as_millis() as f64).into()),
        other => panic!("not written here: {other:?}"),
    };
    Array::of2(&key.into(), &value).into()
}

fn job_key(job: &Rc<Job>) -> String {
    format!("job {} in {}", job.id, job.queue)
}

/// Runs a script in one transaction of `db`; how that ended, and the script.
async fn run<S: Script<JsValue> + 'static>(
    db: &JsValue,
    script: S,
    schedules: Vec<ScheduleRow<JsValue>>,
    hops: u32,
    abort: bool,
) -> (String, S) {
    let mut view = View::default();
    view.tally = Tally::default();
    view.begin(Timestamp::from_millis(NOW), Meta::default());
    let state = Rc::new(RefCell::new(Run { script, view, schedules, asked: None, opened: false }));
    let stepping = Rc::clone(&state);
    let step = Closure::<dyn FnMut(JsValue) -> JsValue>::new(move |rows| stepping.borrow_mut().step(&rows));
    let ended = JsFuture::from(transact(db, hops, abort, step.as_ref().unchecked_ref())).await.unwrap();
    drop(step);
    let run = Rc::try_unwrap(state).unwrap_or_else(|_| panic!("still running")).into_inner();
    (ended.as_string().unwrap(), run.script)
}

async fn rows(db: &JsValue) -> Vec<String> {
    let rows = Array::from(&JsFuture::from(read(db)).await.unwrap());
    rows.iter().map(|row| Array::from(&row).get(0).as_string().unwrap()).collect()
}

fn try_lock(owner: &str) -> TryLock {
    TryLock::new("sync", owner, Duration::from_secs(30)).unwrap()
}

#[wasm_bindgen]
pub async fn a_script_is_resumed_between_two_awaits_and_its_changes_commit_with_the_transaction() {
    for hops in [0, 1, 1000] {
        let db = JsFuture::from(open(&format!("resumed-{hops}"))).await.unwrap();
        let (ended, script) = run(&db, try_lock("tab-a"), Vec::new(), hops, false).await;
        assert_eq!((ended.as_str(), script.granted), ("complete", true), "after {hops} microtasks");
        let (ended, script) = run(&db, try_lock("tab-b"), Vec::new(), hops, false).await;
        assert_eq!((ended.as_str(), script.granted), ("complete", false), "the row of the first is read by the second");
        assert_eq!(rows(&db).await, ["lock sync"]);
    }
}

#[wasm_bindgen]
pub async fn a_script_of_several_rounds_runs_in_one_transaction() {
    let db = JsFuture::from(open("rounds")).await.unwrap();
    let schedule = ScheduleRow {
        name: Name::shared("name", "hourly").unwrap(),
        spec: "@every 1h".into(),
        interval: Duration::from_secs(3600),
        queue: Name::shared("queue", "reports").unwrap(),
        payload: JsValue::from_str("report"),
        options: ScheduleOptions::default(),
        next_fire_at: Timestamp::from_millis(NOW),
    };
    let lead = Lead::new(Name::local("owner", "tab-a").unwrap());
    let (ended, lead) = run(&db, lead, vec![schedule], 3, false).await;
    assert_eq!(ended, "complete");
    assert!(lead.leads);
    assert_eq!(lead.next_fire_at, Some(Timestamp::from_millis(NOW + 60_000)));
    assert_eq!(rows(&db).await, ["job 1 in reports", &format!("lock {LEADER_LOCK}"), "schedule hourly"]);
}

#[wasm_bindgen]
pub async fn an_aborted_transaction_leaves_nothing_of_the_script() {
    let db = JsFuture::from(open("aborted")).await.unwrap();
    let (ended, script) = run(&db, try_lock("tab-a"), Vec::new(), 2, true).await;
    assert_eq!((ended.as_str(), script.granted), ("abort", true));
    assert_eq!(rows(&db).await, Vec::<String>::new());
}
