//! One seed, from its first step until all is still.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use alkstore::core::{Job, State};

use crate::invariant::{Invariant, Violation};
use crate::sim::{Label, Sim};
use crate::truth::{free_at, leader_lock};
use crate::weather::{MINUTE, SECOND};
use crate::{context, device, roles};

/// How long a vanished leader's lease, a standby's look for it, and a new leader's first turn take, skews included.
const LEADS_WITHIN: i64 = 50 * SECOND;

/// How long it may take after the last deadline until everything is delivered: a worker that sleeps looks at the clock
/// once a minute.
const DRAINS_WITHIN: i64 = 5 * MINUTE;

/// So many steps after the last fault are more than anything needs.
const STEPS_MAX: u64 = 60_000;

pub struct Run {
    pub violation: Option<Violation>,
    pub counts: BTreeMap<&'static str, u64>,
    pub hash: u64,
    pub last_steps: Vec<String>,
}

pub fn run(seed: u64, traced: bool) -> Run {
    let sim = Sim::new(seed, traced);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        play(&sim);
        sim.end();
    }));
    if let Err(panic) = outcome {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
        sim.violated(Invariant::NothingPanics, || text.unwrap_or_default());
    }
    sim.count_many("step", sim.steps());
    Run { violation: sim.violation(), counts: sim.counts(), hash: sim.trace_hash(), last_steps: sim.last_steps() }
}

/// What a person needs in order to understand a seed that fails.
pub fn report(seed: u64) -> String {
    let Run { violation, last_steps, .. } = run(seed, true);
    let Some(Violation { invariant, how }) = violation else {
        return format!("seed {seed} fails, and does not when it is run again: the simulation itself is at fault");
    };
    format!(
        "the last steps of seed {seed}:\n{}\n\nseed {seed} breaks \"{invariant}\": {how}\n\n\
         to replay it: SIMULATION_FROM={seed} SIMULATION_SEEDS=1 cargo test --test simulation no_seed\n",
        last_steps.join("\n")
    )
}

fn play(sim: &Sim) {
    context::open_all(sim);
    device::set_the_clock_now_and_then(sim);
    go_on(sim, |sim| sim.steps() >= sim.weather.steps);
    sim.note(|| "the last fault".into());
    sim.calm_down();
    context::recover(sim);
    lead(sim);
    drain(sim);
}

/// Step by step, until `is_over` or something is violated.
fn go_on(sim: &Sim, is_over: impl Fn(&Sim) -> bool) {
    while sim.violation().is_none() && !is_over(sim) {
        if !sim.step() {
            return;
        }
        if sim.steps() > sim.weather.steps + STEPS_MAX {
            sim.violated(Invariant::Drains, || format!("no end after {STEPS_MAX} steps"));
        }
    }
}

/// Somebody leads soon, and what is due has fired.
fn lead(sim: &Sim) {
    let until = sim.now() + LEADS_WITHIN;
    go_on(sim, |sim| sim.now() >= until);
    let ledger = sim.ledger.borrow();
    let now = sim.device.reading(sim.now(), 0);
    let is_led =
        ledger.truth.locks.get(&leader_lock()).is_some_and(|row| row.expires_at.as_millis() > now - LEADS_WITHIN);
    let late = ledger.truth.schedules.values().find(|row| row.next_fire_at.as_millis() < now - LEADS_WITHIN);
    if sim.violation().is_none() && (!is_led || late.is_some()) {
        let how = format!("nobody leads {LEADS_WITHIN} ms after the last fault: {:?}, {late:?}", ledger.truth.locks);
        drop(ledger);
        sim.violated(Invariant::Drains, || how);
    }
}

/// Every job is delivered, or is dead, soon after its last deadline.
fn drain(sim: &Sim) {
    sim.drain();
    context::stop_runners(sim);
    let tidy = Rc::new(Cell::new(false));
    sim.spawn(0, Label::Other, {
        let (tab, tidy) = (context::first(sim), Rc::clone(&tidy));
        async move {
            roles::clear_up(tab).await;
            tidy.set(true);
        }
    });
    go_on(sim, |_| tidy.get());
    if !sim.all_is_heard() {
        sim.note(|| "somebody was not told of a commit: all look afresh".into());
        context::reload(sim);
    }
    sim.spawn(0, Label::Other, roles::sweep_up(context::first(sim)));
    let now = sim.device.reading(sim.now(), 0);
    let last = live(sim).iter().map(|job| free_at(job).as_millis() - now).max().unwrap_or(0).clamp(0, 2 * roles::FAR);
    let until = sim.now() + last + DRAINS_WITHIN;
    sim.note(|| format!("everything is to drain until {until} ms"));
    go_on(sim, |sim| sim.now() >= until || live(sim).is_empty());
    let left = live(sim);
    if let Some(job) = left.first() {
        let now = sim.device.reading(sim.now(), 0);
        sim.violated(Invariant::Drains, || format!("{} jobs are left at {now}, such as {job:?}", left.len()));
    }
}

fn live(sim: &Sim) -> Vec<Rc<Job>> {
    let ledger = sim.ledger.borrow();
    let jobs = ledger.truth.jobs.values().map(|(job, _)| Rc::clone(job));
    jobs.filter(|job| job.state != State::Dead).collect()
}
