//! How much memory a waiting job takes: what a fresh process grows by as a million are filled in, by its resident pages.
//! Measured where the kernel tells (Linux).

use std::process::Command;

use super::{filled, filled_heap, mixed};

const JOBS: u64 = 1_000_000;
const PAGE_BYTES: u64 = 4_096;
const CHILD: &str = "--grow-by";

/// The most bytes of a waiting job of ours: a third each is ready, delayed and claimed.
const BYTES_MAX: u64 = 270;

/// In a process that was started for it: fills, and prints by how much it grew.
pub fn is_child() -> bool {
    let side = std::env::args().skip_while(|argument| argument != CHILD).nth(1);
    let Some(side) = side else { return false };
    let before = resident();
    let (engine, heap) =
        if side == "engine" { (Some(filled(JOBS, mixed)), None) } else { (None, Some(filled_heap(JOBS, mixed))) };
    println!("{}", resident().saturating_sub(before) / JOBS);
    drop((engine, heap));
    true
}

pub fn measure(missed: &mut Vec<String>) {
    let bytes = ["engine", "heap"].map(grown);
    let [Some(ours), Some(theirs)] = bytes else { return println!("memory: not measured on this system") };
    println!("bytes a waiting job, of a million: {ours}; the heap: {theirs}; {:.2} times", ours as f64 / theirs as f64);
    if ours > BYTES_MAX {
        missed.push(format!("{ours}, at most {BYTES_MAX} bytes a waiting job"));
    }
}

fn grown(side: &str) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args([CHILD, side]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok().filter(|bytes| *bytes > 0)
}

fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}
