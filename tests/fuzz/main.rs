//! What fuzzing has found, and where it starts from: every file of the corpora, by the targets that `npm run fuzz` runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod targets;

use std::fs;
use std::path::Path;

/// Every input of a corpus; those that fail are named at the end.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.retain(|file| {
        let input = fs::read(file).unwrap();
        std::panic::catch_unwind(|| check(&input)).is_err()
    });
    assert!(files.is_empty(), "{files:#?}");
}

#[test]
fn a_spec_is_read_as_by_the_letter_of_the_grammar() {
    replay("specs", targets::specs::check);
}

#[test]
fn a_duration_is_read_as_by_long_multiplication() {
    replay("durations", targets::durations::check);
}

#[test]
fn a_name_is_judged_as_by_lists_of_characters() {
    replay("names", targets::names::check);
}

#[test]
fn a_stored_row_is_read_as_it_was_written_or_is_storage() {
    replay("rows", targets::rows::check);
}

#[test]
fn rows_under_keys_do_what_memory_does() {
    replay("scripts", targets::scripts::check);
}

#[test]
fn a_storage_that_answers_nonsense_does_no_harm() {
    replay("nonsense", targets::nonsense::check);
}
