//! The targets, compiled once for all programs.

#[path = "../../../tests/fuzz/targets/mod.rs"]
pub mod targets;
