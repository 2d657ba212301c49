//! What the native tests share: an executor, a store on a manual clock, and timetables.

// Each test binary uses its own part of this.
#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod executor;
mod rows;
mod storage;
mod table;
mod timetable;
mod world;

pub use executor::{Executor, Task, after_a_turn, now, turn};
pub use rows::{Before, Rows};
pub use storage::{TestStore, is_keyed};
pub use table::Table;
pub use timetable::Timetable;
pub use world::{Handle, START, Store, Text, World, ms, plain, secs};
