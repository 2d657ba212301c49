//! What is fuzzed. A target takes any bytes, and panics if what it promises about them does not hold.

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
