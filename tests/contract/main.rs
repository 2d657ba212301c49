//! The contract, a fact a test: every promise that shows natively, under the manual clock.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[path = "../support/mod.rs"]
mod support;

mod arguments;
mod claim;
mod clock;
mod closing;
mod dead;
mod deliver;
mod enqueue;
mod locks;
mod names;
mod reads;
mod runner;
mod schedules;
mod settle;
mod standby;
mod storage;
mod sweep;
mod transactions;
mod wait;
