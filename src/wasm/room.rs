//! Room ahead of need.
//!
//! A module's memory grows by the page, and after each time V8 counts all of it as newly allocated: with some hundred
//! thousand jobs every page more cost a full collection of JavaScript's heap. So memory that has grown grows on at once,
//! by a share of its size: the pages cost nothing until they are used, and the collections become few.

use std::cell::Cell;
use std::hint::black_box;

const PAGE: usize = 65_536;

/// One part in so many of the memory is what it grows by at the least.
const SHARE: usize = 8;

thread_local! {
    /// How many pages there were when this last looked.
    static PAGES: Cell<usize> = const { Cell::new(0) };
}

/// Looks whether memory has grown.
pub fn ahead() {
    let pages = core::arch::wasm32::memory_size(0);
    if PAGES.get() != pages {
        grown(pages);
    }
}

#[cold]
#[inline(never)]
fn grown(pages: usize) {
    // Not at the first look: what an engine begins with may be all that it needs.
    if PAGES.get() > 0 {
        // Where there is no more to be had, nothing is lost: it is let go of at once, for others to use.
        let mut room: Vec<u8> = Vec::new();
        let _ = room.try_reserve_exact((pages / SHARE).saturating_mul(PAGE));
        drop(black_box(room));
    }
    PAGES.set(core::arch::wasm32::memory_size(0));
}
