//! The engine against a model of the contract that looks through lists: the same random operations, the same answers,
//! the same rows, under a clock that goes forth, back a little, far ahead, and back by hours.
//!
//! A failure is shrunk to few operations. `PROPTEST_CASES=20000 cargo test --test model` plays more of them,
//! `PROPTEST_RNG_SEED=7` others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod contract;
mod game;
mod operation;
#[path = "../support/mod.rs"]
mod support;

use proptest::collection::vec;
use proptest::test_runner::{Config, RngSeed, TestRunner};

const CASES: u32 = 300;
/// Rows under keys take five times as long.
const KEYED_CASES: u32 = 100;
const OPERATIONS_MAX: usize = 200;

#[test]
fn the_engine_does_what_a_list_would() {
    let given = |name| std::env::var_os(name).is_some();
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if !given("PROPTEST_CASES") {
        config.cases = if support::is_keyed() { KEYED_CASES } else { CASES };
    }
    if !given("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(1);
    }
    let games = (game::stamps(), vec(operation::any(), 1..OPERATIONS_MAX));
    let played = TestRunner::new(config).run(&games, |(stamps, operations)| game::play(stamps, operations));
    if let Err(error) = played {
        panic!("{error}");
    }
}
