//! The baseline: a queue of binary heaps with leases, as one would write it by hand.
//!
//! Claim order, delays, leases, attempts and the fence between claims are the engine's. What is no longer true stays in
//! the heaps until it comes up ("lazy deletion"), or until it outweighs the rest. It has one queue, no transactions, no
//! dead letters to look into, no expiry, checks no argument and does not repair a clock that was set back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

/// A job's columns.
#[allow(dead_code, reason = "some are for those who are handed a job, and a bench reads none of them")]
#[derive(Clone, Debug)]
pub struct Row {
    pub payload: u32,
    pub priority: i64,
    pub run_at: i64,
    pub attempts: i64,
    pub max_attempts: i64,
    pub visibility_timeout_ms: i64,
    pub backoff_base_ms: i64,
    pub worker: Option<Rc<str>>,
    pub claimed_at: Option<i64>,
    pub claim_expires_at: Option<i64>,
    /// Which claim holds it, or held it last.
    pub claims: u64,
    pub created_at: i64,
}

/// A job that was handed out.
#[derive(Debug)]
pub struct Claimed {
    pub id: u64,
    pub row: Row,
}

/// Highest priority first, then the earliest, then the lowest id; with the claims at that time.
type Ready = Reverse<(i64, i64, u64, u64)>;
/// By an instant; with the id, and the claims at that time.
type Due = Reverse<(i64, u64, u64)>;

/// Stale leases are thrown out once they are this many, and more than what is stored.
const STALE_MIN: usize = 1_024;

#[derive(Debug, Default)]
pub struct Heap {
    rows: HashMap<u64, Row>,
    ready: BinaryHeap<Ready>,
    delayed: BinaryHeap<Due>,
    leased: BinaryHeap<Due>,
    last_id: u64,
}

impl Heap {
    pub fn enqueue(&mut self, payload: u32, delay_ms: i64, priority: i64, now: i64) -> u64 {
        self.last_id += 1;
        let (id, run_at) = (self.last_id, now + delay_ms);
        let row = Row {
            payload,
            priority,
            run_at,
            attempts: 0,
            max_attempts: 3,
            visibility_timeout_ms: 300_000,
            backoff_base_ms: 5_000,
            worker: None,
            claimed_at: None,
            claim_expires_at: None,
            claims: 0,
            created_at: now,
        };
        if run_at > now {
            self.delayed.push(Reverse((run_at, id, 0)));
        } else {
            self.ready.push(Reverse((-priority, run_at, id, 0)));
        }
        self.rows.insert(id, row);
        id
    }

    pub fn claim(&mut self, worker: &Rc<str>, now: i64) -> Option<Claimed> {
        self.promote(now);
        while let Some(Reverse((_, _, id, claims))) = self.ready.pop() {
            let Some(row) = self.rows.get_mut(&id).filter(|row| row.claims == claims) else { continue };
            if row.attempts >= row.max_attempts {
                self.rows.remove(&id);
                continue;
            }
            let end = now + row.visibility_timeout_ms;
            row.worker = Some(Rc::clone(worker));
            row.claimed_at = Some(now);
            row.claim_expires_at = Some(end);
            row.attempts += 1;
            row.claims += 1;
            self.leased.push(Reverse((end + 1, id, row.claims)));
            return Some(Claimed { id, row: row.clone() });
        }
        None
    }

    pub fn ack(&mut self, id: u64, claims: u64, now: i64) -> bool {
        let is_held = self
            .rows
            .get(&id)
            .is_some_and(|row| row.claims == claims && row.claim_expires_at.is_some_and(|end| end >= now));
        if is_held {
            self.rows.remove(&id);
            if self.leased.len() > STALE_MIN + 2 * self.rows.len() {
                let rows = &self.rows;
                self.leased.retain(|Reverse((_, id, claims))| rows.get(id).is_some_and(|row| row.claims == *claims));
            }
        }
        is_held
    }

    /// Makes ready what is due and what is no longer held.
    fn promote(&mut self, now: i64) {
        for heap in [&mut self.delayed, &mut self.leased] {
            while let Some(Reverse((_, id, claims))) = heap.peek().copied().filter(|Reverse((at, ..))| *at <= now) {
                heap.pop();
                if let Some(row) = self.rows.get(&id).filter(|row| row.claims == claims) {
                    self.ready.push(Reverse((-row.priority, row.run_at, id, claims)));
                }
            }
        }
    }
}
