//! One device with several contexts on one storage, and everything that may go wrong with them. A seed decides all of it,
//! on one thread: what is called when, whose turn it is, what fails, who crashes or freezes, what the clock shows.
//! Every step is held against the contract.
//!
//! `SIMULATION_SEEDS` and `SIMULATION_FROM` say which seeds are run; see `npm run soak`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod context;
mod device;
mod dice;
mod disk;
mod invariant;
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

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use invariant::Violation;
use run::Run;

const SEEDS: u64 = 2_000;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Runs seeds on all cores, each on one thread; what they met, all together, or the lowest that failed.
fn run_seeds(from: u64, count: u64, wanted: Option<&str>) -> Result<BTreeMap<&'static str, u64>, u64> {
    let (next, failed, met) = (AtomicU64::new(from), AtomicU64::new(u64::MAX), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count || seed > failed.load(Ordering::Relaxed) {
                        break;
                    }
                    let Run { violation, counts, .. } = run::run(seed, false);
                    let is_wanted = |found: Violation| wanted.is_none_or(|name| found.invariant.to_string() == name);
                    if violation.is_some_and(is_wanted) {
                        failed.fetch_min(seed, Ordering::Relaxed);
                    }
                    let mut met = met.lock().unwrap();
                    for (what, times) in counts {
                        *met.entry(what).or_default() += times;
                    }
                }
            });
        }
    });
    match failed.into_inner() {
        u64::MAX => Ok(met.into_inner().unwrap()),
        seed => Err(seed),
    }
}

#[test]
fn no_seed_breaks_an_invariant() {
    let from = from_environment("SIMULATION_FROM").unwrap_or(0);
    let count = from_environment("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let wanted = std::env::var("SIMULATION_WANTED").ok();
    match run_seeds(from, count, wanted.as_deref()) {
        Ok(met) => println!("{met:#?}"),
        Err(seed) => panic!("{}", run::report(seed)),
    }
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 0..10 {
        let (first, again) = (run::run(seed, true), run::run(seed, true));
        assert_eq!((first.hash, first.counts), (again.hash, again.counts), "seed {seed}");
        assert_ne!(first.hash, run::run(seed + 1_000_000, true).hash);
    }
}
