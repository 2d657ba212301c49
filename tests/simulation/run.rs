//! One seed, from its first step until all is still.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use alkstore::core::{Job, State};

use crate::invariant::{Invariant, Violation};
use crate::job::free_at;
use crate::sim::{Label, Sim};
use crate::truth::leader_lock;
use crate::weather::{MINUTE, SECOND};
use crate::{context, device, roles};

/// How long a vanished leader's lease and a standby's look for it take: 12 s, and later by as much as the clock stepped
/// back without that being a correction, and as the new leader's is behind.
const LEADS_WITHIN: i64 = 12 * SECOND + MINUTE + 30 * SECOND + 8 * SECOND;

/// How long it may take after the last deadline until everything is delivered: a worker that sleeps looks at the clock
/// once a minute.
const DRAINS_WITHIN: i64 = 5 * MINUTE;

/// How long a worker needs that waits, to hear of a job and to be done with it.
const HEARS_WITHIN: i64 = 10 * SECOND;

/// How often it is tried whether everybody hears.
const ROUNDS: usize = 12;

/// So many steps are more than a run needs.
const STEPS_MAX: u64 = 100_000;

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
         to replay it: SIMULATION_FROM={seed} SIMULATION_SEEDS=1 cargo test --test simulation no_seed",
        last_steps.join("\n")
    )
}

fn play(sim: &Sim) {
    context::open_all(sim);
    device::set_the_clock_now_and_then(sim);
    go_on(sim, |sim| sim.turns() >= sim.weather.turns);
    sim.note(|| "the last fault".into());
    sim.calm_down();
    context::recover(sim);
    lead(sim);
    drain(sim);
    if sim.weather.channel {
        hear(sim);
    }
}

/// Step by step, until `is_over` or something is violated.
fn go_on(sim: &Sim, is_over: impl Fn(&Sim) -> bool) {
    while sim.violation().is_none() && !is_over(sim) {
        if !sim.step() {
            return;
        }
        if sim.steps() > STEPS_MAX {
            sim.violated(Invariant::Drains, || format!("no end within {STEPS_MAX} steps"));
        }
    }
}

/// Somebody leads soon, and what is due has fired.
fn lead(sim: &Sim) {
    let within = LEADS_WITHIN + moves_within(sim);
    let (until, before) = (sim.now() + within, sim.ledger.borrow().turns);
    let late = |sim: &Sim| {
        let latest = sim.device.reading(sim.now(), -sim.weather.apart) - 5 * SECOND;
        sim.ledger.borrow().truth.schedules.values().any(|row| row.next_fire_at.as_millis() < latest)
    };
    let is_led = |sim: &Sim| sim.ledger.borrow().turns > before && !late(sim);
    go_on(sim, |sim| sim.now() >= until || (is_led(sim) && !sim.somebody_acts()));
    if sim.violation().is_none() && !is_led(sim) {
        let truth = &sim.ledger.borrow().truth;
        let how = format!("nothing fires {within} ms later: {:?}, {:?}", truth.locks, truth.schedules);
        sim.violated(Invariant::Drains, || how);
    }
}

/// Whoever stops running schedules gives the lease back.
fn stop_leading(sim: &Sim) {
    let until = sim.now() + LEADS_WITHIN;
    context::stop_runners(sim);
    go_on(sim, |sim| sim.now() >= until || !sim.is_under_way(Label::Runner));
    let held = sim.ledger.borrow().truth.locks.get(&leader_lock()).map(|row| row.expires_at.as_millis());
    if held.is_some_and(|until| until > sim.device.reading(sim.now(), sim.weather.apart)) {
        sim.violated(Invariant::Drains, || "nobody runs schedules any more, and the lease is held".into());
    }
}

/// How long it takes at the most until everything has moved, if it is to: two rounds of the storage and a commit for a few
/// jobs at a time.
fn moves_within(sim: &Sim) -> i64 {
    let transactions = sim.ledger.borrow().truth.jobs.len() / sim.weather.moves + 1;
    3 * sim.weather.latency * transactions as i64
}

/// Every job is delivered, or is dead, soon after its last deadline.
fn drain(sim: &Sim) {
    sim.drain();
    stop_leading(sim);
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
        (0..sim.weather.contexts).for_each(|context| context::reload(sim, context));
    }
    sim.spawn(0, Label::Other, roles::sweep_up(context::first(sim)));
    let since = reading(sim);
    go_on(sim, |sim| live(sim).is_empty() || overdue(sim, since, DRAINS_WITHIN).is_some());
    if let Some(job) = overdue(sim, since, DRAINS_WITHIN) {
        sim.violated(Invariant::Drains, || format!("{job:?} is left at {}", reading(sim)));
    }
}

fn reading(sim: &Sim) -> i64 {
    sim.device.reading(sim.now(), 0)
}

/// A job that could have been handed out since `since` for longer than `within`.
fn overdue(sim: &Sim, since: i64, within: i64) -> Option<Rc<Job>> {
    let latest = reading(sim) - within;
    live(sim).into_iter().find(|job| free_at(job).as_millis().max(since) < latest)
}

fn live(sim: &Sim) -> Vec<Rc<Job>> {
    let ledger = sim.ledger.borrow();
    let jobs = ledger.truth.jobs.values().map(|(job, _)| Rc::clone(job));
    jobs.filter(|job| job.state != State::Dead).collect()
}

/// While all is well, whoever waits hears of a job, wherever it was made, and takes it at once.
fn hear(sim: &Sim) {
    // What is ready for the one is not yet for another, whose clock is behind.
    let within = HEARS_WITHIN + sim.weather.apart + sim.weather.grain + 30 * sim.weather.latency;
    for _ in 0..ROUNDS {
        let (since, made) = (reading(sim), sim.now() + SECOND + 2 * sim.weather.latency);
        for _ in 0..sim.dice.roll(1, 3) {
            context::produce_one(sim, sim.dice.roll(0, 40));
        }
        let is_due = |job: &Rc<Job>| free_at(job).as_millis() <= reading(sim);
        let is_over = |sim: &Sim| sim.now() >= made && !live(sim).iter().any(is_due);
        go_on(sim, |sim| is_over(sim) || overdue(sim, since, within).is_some());
        if let Some(job) = overdue(sim, since, within) {
            sim.violated(Invariant::Drains, || format!("nobody has heard of {job:?}"));
        }
    }
}
