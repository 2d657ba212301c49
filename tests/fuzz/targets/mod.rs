//! What is fuzzed. A target takes any bytes, and panics if what it promises about them does not hold.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
// Each program of the fuzzer uses one of them.
#![allow(dead_code)]

mod columns;
mod hostile;
mod script;
#[path = "../../support/mod.rs"]
mod support;

pub mod durations;
pub mod names;
pub mod nonsense;
pub mod rows;
pub mod scripts;
pub mod specs;
