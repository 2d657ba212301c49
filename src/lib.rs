#![doc = include_str!("../docs/rust.md")]
// Every future here belongs to one thread: Rc, not Arc, and no Send bounds.
#![allow(async_fn_in_trait)]

pub mod core;
pub mod runtime;
#[cfg(all(target_arch = "wasm32", feature = "javascript"))]
mod wasm;
