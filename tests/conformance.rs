//! The recorded traces in `vectors`, replayed through the Rust API: every answer, every job handed out
//! and every job left at the end is as recorded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::schedule::ScheduleOptions;
use alkstore::core::{Claim, ClaimedJob, Duration, Error, Job, Timestamp};
use alkstore::runtime::{Engine, Lock, ManualClock, Queue, StopToken};
use serde_json::{Map, Value, json};

use support::{TestStore, now};

type Payload = Rc<Value>;
type Storage = TestStore<Payload>;
type Handle = Queue<Storage, ManualClock>;
type Answer = Result<Value, Error>;

const OUTBOX_PREFIX: &str = "__alkstore_outbox:";

#[test]
fn every_recorded_trace_replays() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    for file in files {
        let trace: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let name = file.file_name().unwrap().to_string_lossy();
        wrong.extend(Replay::of(&trace).run(&trace).into_iter().map(|mismatch| format!("{name} {mismatch}")));
    }
    let shown = wrong.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} mismatches\n{shown}", wrong.len());
}

/// Seconds of a trace, as milliseconds.
fn millis(seconds: &Value) -> i64 {
    seconds.as_i64().expect("whole seconds") * 1000
}

fn span(seconds: &Value) -> Duration {
    Duration::from_millis(millis(seconds))
}

fn given<T>(options: &Value, key: &str, read: impl Fn(&Value) -> T) -> Option<T> {
    options.get(key).filter(|value| !value.is_null()).map(read)
}

fn count(value: &Value) -> i64 {
    value.as_i64().expect("a whole number")
}

fn enqueue_options(options: &Value) -> EnqueueOptions {
    EnqueueOptions {
        delay: given(options, "delay", span),
        run_at: given(options, "run_at", |at| Timestamp::from_millis(millis(at))),
        priority: given(options, "priority", count),
        max_attempts: given(options, "max_attempts", count),
        expires: given(options, "expires", span),
    }
}

fn schedule_options(options: &Value) -> ScheduleOptions {
    let EnqueueOptions { priority, max_attempts, expires, .. } = enqueue_options(options);
    ScheduleOptions { priority, max_attempts, expires }
}

fn queue_options(options: &Value) -> QueueOptions {
    QueueOptions {
        visibility_timeout: given(options, "visibility_timeout", span),
        max_attempts: given(options, "max_attempts", count),
        backoff_base: given(options, "backoff_base", span),
        dead_letter_retention: given(options, "dead_letter_retention", span),
    }
}

/// A job as traces write it, instants and spans in milliseconds.
fn written(job: &Job, payload: &Value) -> Map<String, Value> {
    let at = |at: Option<Timestamp>| json!(at.map(Timestamp::as_millis));
    let Value::Object(fields) = json!({
        "id": job.id,
        "queue": *job.queue,
        "state": job.state.as_str(),
        "payload": payload,
        "priority": job.priority,
        "run_at": job.run_at.as_millis(),
        "attempts": job.attempts,
        "max_attempts": job.stamps.max_attempts,
        "worker_id": job.worker_id.as_deref(),
        "claimed_at": at(job.claimed_at),
        "claim_expires_at": at(job.claim_expires_at),
        "created_at": job.created_at.as_millis(),
        "expires_at": at(job.expires_at),
        "visibility_timeout": job.stamps.visibility_timeout.as_millis(),
        "backoff_base": job.stamps.backoff_base.as_millis(),
        "dead_letter_retention": job.stamps.dead_letter_retention.map(Duration::as_millis),
        "last_error": job.last_error.as_deref(),
        "died_at": at(job.died_at),
    }) else {
        panic!("an object")
    };
    fields
}

const IN_SECONDS: [&str; 9] = [
    "run_at",
    "claimed_at",
    "claim_expires_at",
    "created_at",
    "expires_at",
    "died_at",
    "visibility_timeout",
    "backoff_base",
    "dead_letter_retention",
];

/// Ids as recorded and as given here: paired at first sight, and growing together.
#[derive(Default)]
struct Ids {
    given: BTreeMap<u64, u64>,
}

impl Ids {
    /// Whether the two may be the same job.
    fn pair(&mut self, recorded: u64, given: u64) -> bool {
        let before = self.given.range(..recorded).next_back().is_none_or(|(_, id)| *id < given);
        let after = self.given.range(recorded + 1..).next().is_none_or(|(_, id)| *id > given);
        before && after && *self.given.entry(recorded).or_insert(given) == given
    }

    fn given(&self, recorded: &Value) -> u64 {
        self.given[&recorded.as_u64().unwrap()]
    }
}

struct Replay {
    clock: ManualClock,
    store: Engine<Storage, ManualClock>,
    queues: BTreeMap<String, QueueOptions>,
    ids: Ids,
    claims: BTreeMap<String, (Handle, Claim)>,
    locks: BTreeMap<String, Lock<Storage, ManualClock>>,
    wrong: Vec<String>,
    /// Which step is being played, for messages.
    step: String,
}

impl Replay {
    fn of(trace: &Value) -> Self {
        let clock = ManualClock::new(Timestamp::from_millis(millis(&trace["start"])));
        let queues = trace["queues"].as_object().unwrap();
        Self {
            store: Engine::new(Storage::new(), clock.clone(), trace["seed"].as_u64()),
            clock,
            queues: queues.iter().map(|(name, options)| (name.clone(), queue_options(options))).collect(),
            ids: Ids::default(),
            claims: BTreeMap::new(),
            locks: BTreeMap::new(),
            wrong: Vec::new(),
            step: String::new(),
        }
    }

    fn run(mut self, trace: &Value) -> Vec<String> {
        for (index, step) in trace["steps"].as_array().unwrap().iter().enumerate() {
            self.step = format!("step {index} at {} {}", step["at"], step["op"].as_str().unwrap());
            self.clock.set(Timestamp::from_millis(millis(&step["at"])));
            let answer = self.play(step);
            self.compare(&step["expect"], answer);
        }
        self.step = "at the end".into();
        self.clock.set(Timestamp::from_millis(millis(&trace["end"]["at"])));
        self.compare_end(&trace["end"]["jobs"]);
        self.wrong
    }

    fn mismatch(&mut self, expected: impl std::fmt::Display, actual: impl std::fmt::Display) {
        self.wrong.push(format!("{}\n  expected {expected}\n  actual   {actual}", self.step));
    }

    /// Compares an answer: a job or a list of jobs field by field, ids by pairs, the rest as it is.
    fn compare(&mut self, expected: &Value, answer: Answer) {
        let expected = match (expected.get("error"), &answer) {
            (Some(code), Err(error)) => {
                // A trace's name for it, where it differs.
                let code = if code == "Rejected" { "InvalidArgument" } else { code.as_str().unwrap() };
                if code != error.code() {
                    self.mismatch(code, error);
                }
                return;
            }
            (Some(code), Ok(value)) => return self.mismatch(code, value),
            (None, Err(error)) => return self.mismatch(&expected["ok"], error),
            (None, Ok(_)) => &expected["ok"],
        };
        let value = answer.unwrap_or_default();
        match (expected, &value) {
            (Value::Array(jobs), Value::Array(found)) if jobs.len() == found.len() => {
                for (job, found) in jobs.iter().zip(found) {
                    self.compare_fields(job, found);
                }
            }
            (Value::Object(_), Value::Object(_)) => self.compare_fields(expected, &value),
            (Value::Number(id), Value::Object(found)) if found.contains_key("new") => {
                self.compare_id(id.as_u64().unwrap(), &found["new"]);
            }
            _ if *expected == value => {}
            _ => self.mismatch(expected, &value),
        }
    }

    fn compare_id(&mut self, recorded: u64, given: &Value) {
        if !self.ids.pair(recorded, given.as_u64().unwrap()) {
            self.mismatch(format!("id {recorded}"), format!("id {given}"));
        }
    }

    fn compare_fields(&mut self, expected: &Value, found: &Value) {
        for (key, value) in expected.as_object().unwrap() {
            let expected = match value {
                Value::Number(_) if IN_SECONDS.contains(&key.as_str()) => json!(millis(value)),
                _ => value.clone(),
            };
            if key == "id" {
                self.compare_id(value.as_u64().unwrap(), &found[key]);
            } else if expected != found[key] {
                self.mismatch(format!("{key} {expected}"), &found[key]);
            }
        }
    }

    fn compare_end(&mut self, expected: &Value) {
        let mut names: Vec<Handle> = self.queues.keys().map(|name| self.queue(name).unwrap()).collect();
        let recorded = expected.as_array().unwrap().iter().filter_map(|job| job["queue"].as_str());
        let outboxes: std::collections::BTreeSet<_> = ["notes", "orders"]
            .into_iter()
            .chain(recorded.filter_map(|name| name.strip_prefix(OUTBOX_PREFIX)))
            .collect();
        names.extend(outboxes.into_iter().map(|name| (*self.store.outbox(name).unwrap()).clone()));
        let mut left = Vec::new();
        for queue in names {
            let mut after = 0;
            // In pages, as a user would.
            loop {
                let page = now(queue.list(None, after, 7)).unwrap();
                let Some((last, _)) = page.last() else { break };
                after = last.id;
                left.extend(page.iter().map(|(job, payload)| written(job, payload)));
            }
        }
        left.sort_by_key(|job| job["id"].as_u64());
        let mut expected = expected.clone();
        expected.as_array_mut().unwrap().sort_by_key(|job| job["id"].as_u64());
        self.compare(&json!({ "ok": expected }), Ok(left.into_iter().map(Value::Object).collect()));
    }

    fn queue(&self, name: &str) -> Result<Handle, Error> {
        self.store.queue(name, self.queues.get(name).copied().unwrap_or_default())
    }

    fn play(&mut self, step: &Value) -> Answer {
        let text = |key: &str| step[key].as_str().unwrap();
        let payload = || Rc::new(step["payload"].clone());
        let options = &step["opts"];
        match text("op") {
            "enqueue" => {
                let queue = self.queue(text("queue"))?;
                now(queue.enqueue(payload(), &enqueue_options(options))).map(|id| json!({ "new": id }))
            }
            "outbox_enqueue" => {
                let outbox = self.store.outbox(text("outbox"))?;
                now(outbox.enqueue(payload(), &enqueue_options(options))).map(|id| json!({ "new": id }))
            }
            "claim" => self.claim(step),
            "ack" => self.settle(step, |queue, claim| now(queue.ack(claim))),
            "heartbeat" => self.settle(step, |queue, claim| now(queue.heartbeat(claim, span(&step["extend"])))),
            "retry" => self.settle(step, |queue, claim| {
                now(queue.retry(claim, step["error"].as_str(), given(step, "delay", span)))
            }),
            "fail" => self.settle(step, |queue, claim| now(queue.fail(claim, step["error"].as_str()))),
            "get_job" => self.get_job(step),
            "cancel" => now(self.queue(text("queue"))?.cancel(self.ids.given(&step["id"]))).map(Value::from),
            "sweep_expired" => now(self.queue(text("queue"))?.sweep_expired()).map(Value::from),
            "try_lock" => {
                let lock = now(self.store.try_lock(text("name"), text("owner"), span(&step["ttl"])))?;
                let granted = lock.is_some();
                self.locks.extend(step["lock"].as_str().map(String::from).zip(lock));
                Ok(granted.into())
            }
            "renew_lock" => now(self.locks[text("lock")].renew(span(&step["ttl"]))).map(Value::from),
            "release_lock" => now(self.locks[text("lock")].release()).map(Value::from),
            "schedule" => self.schedule(step),
            "unschedule" => now(self.store.unschedule(text("name"))).map(Value::from),
            "run_schedules_once" => self.run_schedules_once(),
            "outbox_run_once" => self.outbox_run_once(step),
            "transaction" => self.transaction(step),
            op => panic!("no such op: {op}"),
        }
    }

    fn claim(&mut self, step: &Value) -> Answer {
        let queue = self.queue(step["queue"].as_str().unwrap())?;
        let worker = step["worker"].as_str().unwrap();
        let claimed = match count(&step["n"]) {
            1 => now(queue.claim_one(worker))?.into_iter().collect(),
            n => now(queue.claim_batch(worker, n.try_into().unwrap_or(0)))?,
        };
        for (name, ClaimedJob { job, .. }) in step["claims"].as_array().unwrap().iter().zip(&claimed) {
            self.claims.insert(name.as_str().unwrap().into(), (queue.clone(), job.claim()));
        }
        Ok(claimed.iter().map(|claimed| Value::Object(written(&claimed.job, &claimed.payload))).collect())
    }

    fn settle(&self, step: &Value, call: impl FnOnce(&Handle, Claim) -> Result<bool, Error>) -> Answer {
        let (queue, claim) = &self.claims[step["claim"].as_str().unwrap()];
        call(queue, claim.clone()).map(Value::from)
    }

    fn get_job(&self, step: &Value) -> Answer {
        let id = self.ids.given(&step["id"]);
        let mut found = Value::Null;
        for name in self.queues.keys() {
            if let Some((job, payload)) = now(self.queue(name)?.get(id))? {
                found = Value::Object(written(&job, &payload));
            }
        }
        Ok(found)
    }

    fn schedule(&self, step: &Value) -> Answer {
        let [name, spec, queue] = ["name", "spec", "queue"].map(|key| step[key].as_str().unwrap());
        let payload = Rc::new(step["payload"].clone());
        now(self.store.schedule(name, spec, queue, payload, schedule_options(&step["opts"])))?;
        let all = now(self.store.schedules())?;
        let row = all.iter().find(|row| *row.name == *name).expect("registered");
        Ok(json!({ "name": *row.name, "spec": *row.spec, "queue": *row.queue }))
    }

    /// A runner that ticks, waits, and is stopped.
    fn run_schedules_once(&self) -> Answer {
        let stop = StopToken::new();
        let mut run = pin!(self.store.run_schedules(&stop, false));
        assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "{}", self.step);
        assert_eq!(self.clock.pending(), 1);
        stop.set();
        now(run).map(|()| Value::Null)
    }

    fn outbox_run_once(&mut self, step: &Value) -> Answer {
        let outbox = self.store.outbox(step["outbox"].as_str().unwrap())?;
        let seen = RefCell::new(None);
        let found = now(outbox.run_once(step["worker"].as_str().unwrap(), async |claimed: ClaimedJob<Payload>| {
            let claim = claimed.job.claim();
            seen.replace(Some(Value::Object(written(&claimed.job, &claimed.payload))));
            if let Some(extend) = given(step, "heartbeat", span) {
                outbox.heartbeat(claim, extend).await.map_err(|error| error.to_string())?;
            }
            Ok(())
        }))?;
        match (&step["delivered"], seen.take()) {
            (Value::Null, None) => {}
            (job @ Value::Object(_), Some(seen)) => self.compare_fields(job, &seen),
            (job, seen) => self.mismatch(format!("delivery {job}"), format!("{seen:?}")),
        }
        Ok(found.into())
    }

    fn transaction(&mut self, step: &Value) -> Answer {
        let tx = self.store.transaction()?;
        for op in step["ops"].as_array().unwrap() {
            let (payload, options) = (Rc::new(op["payload"].clone()), enqueue_options(&op["opts"]));
            let id = match op["op"].as_str().unwrap() {
                "enqueue" => now(tx.enqueue(op["queue"].as_str().unwrap(), payload, &options)),
                _ => now(tx.outbox_enqueue(op["outbox"].as_str().unwrap(), payload, &options)),
            };
            // Rolled back or not: an id is never given twice.
            self.compare(&op["expect"], id.map(|id| json!({ "new": id })));
        }
        if step["commit"] == true {
            now(tx.commit())?
        } else {
            tx.roll_back()
        }
        Ok(Value::Null)
    }
}
