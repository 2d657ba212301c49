//! One device with several contexts on one storage, and everything that may go wrong with them. A seed decides all of
//! it, on one thread: what is called when, whose turn it is, what fails, who crashes or freezes, what the clock shows.
//! Every step is held against the contract.
//!
//! `SIMULATION_FROM` and `SIMULATION_SEEDS` say which seeds are run. `bugs/` holds bugs that it must find: with
//! `SIMULATION_WANTED` only this invariant counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod context;
mod coverage;
mod device;
mod dice;
mod disk;
mod invariant;
mod job;
mod judge;
mod ledger;
mod load;
mod operation;
mod roles;
mod run;
mod sim;
mod spy;
mod truth;
mod weather;

// The part that it shares with the other native tests.
#[allow(dead_code)]
#[path = "../support/rows.rs"]
mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use coverage::Counts;
use invariant::Violation;
use run::Run;

/// How many seeds are run if nobody says otherwise. What they must meet is counted for as many.
const SEEDS: u64 = 2_000;

#[test]
fn no_seed_breaks_an_invariant() {
    let number = |name| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let (from, count) = (number("SIMULATION_FROM").unwrap_or(0), number("SIMULATION_SEEDS").unwrap_or(SEEDS));
    let wanted = std::env::var("SIMULATION_WANTED").ok();
    let counts = match run_all(from, count, wanted.as_deref()) {
        Ok(counts) => counts,
        Err(seed) => panic!("{}", run::report(seed)),
    };
    println!("{count} seeds from {from} on:\n{}", coverage::summary(&counts));
    let missing = coverage::missing(&counts);
    assert!(count < SEEDS || missing.is_empty(), "the simulation has become toothless: {missing:#?}");
}

#[test]
fn a_seed_replays_exactly() {
    let mut hashes = Vec::new();
    for seed in 0..10 {
        let (first, again) = (run::run(seed, true), run::run(seed, true));
        assert_eq!((first.hash, &first.counts), (again.hash, &again.counts), "seed {seed}");
        assert!(!hashes.contains(&first.hash), "seed {seed} is another's");
        hashes.push(first.hash);
    }
}

/// Runs seeds on all cores, each on one thread: what they met, all together, or the lowest that fails.
fn run_all(from: u64, count: u64, wanted: Option<&str>) -> Result<Counts, u64> {
    let (next, failed, met) = (AtomicU64::new(from), AtomicU64::new(u64::MAX), Mutex::new(Counts::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= from + count || seed > failed.load(Ordering::Relaxed) {
                break;
            }
            let Run { violation, counts, .. } = run::run(seed, false);
            let counts_as_found = |found: Violation| wanted.is_none_or(|name| found.invariant.to_string() == name);
            if violation.is_some_and(counts_as_found) {
                failed.fetch_min(seed, Ordering::Relaxed);
            }
            let mut met = met.lock().unwrap();
            counts.into_iter().for_each(|(what, times)| *met.entry(what).or_default() += times);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    match failed.into_inner() {
        u64::MAX => Ok(met.into_inner().unwrap()),
        seed => Err(seed),
    }
}
