//! The rings, read off the sources: what an inner ring must not name, and what nobody may write.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

use std::fs;
use std::path::{Path, PathBuf};

/// A file that passes this hides a noun.
const LINES_MAX: usize = 700;

struct Source {
    path: String,
    lines: usize,
    /// Its code without comments and without its tests, a line each with its number.
    code: Vec<(usize, String)>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The sources under a folder of `src`.
fn sources(folder: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    files(&root().join("src").join(folder), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "{folder}");
    paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
            let (code, after) = text.split_at(tests);
            assert!(after.is_empty() || after.trim_end().ends_with("\n}"), "tests come last: {}", path.display());
            let code = code.lines().map(without_comment).zip(1..).map(|(line, number)| (number, line.into()));
            Source {
                path: path.strip_prefix(root()).unwrap().display().to_string(),
                lines: text.lines().count(),
                code: code.collect(),
            }
        })
        .collect()
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// Whether a line holds `word` as a word, or as it is where it is no identifier. `'static` is no word.
fn holds(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    line.match_indices(word).any(|(at, _)| {
        let before = line.split_at(at).0.chars().next_back();
        let after = line.split_at(at + word.len()).1.chars().next();
        let starts = word.starts_with(part) && before.is_some_and(part);
        let ends = word.ends_with(part) && after.is_some_and(part);
        !starts && !ends
    })
}

fn forbid(folder: &str, words: &[&str]) {
    let found: Vec<String> = sources(folder)
        .iter()
        .flat_map(|source| source.code.iter().map(move |(number, line)| (source, number, line)))
        .flat_map(|(source, number, line)| {
            let hits = words.iter().filter(move |word| holds(line, word));
            hits.map(move |word| format!("{}:{number}: {word}: {}", source.path, line.trim()))
        })
        .collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

const OF_THE_PLATFORM: [&str; 7] =
    ["wasm", "wasm_bindgen", "wasm_bindgen_futures", "js_sys", "gloo_timers", "serde", "serde_wasm_bindgen"];

#[test]
fn the_core_names_no_outer_ring_and_no_platform() {
    forbid("core", &OF_THE_PLATFORM);
    forbid("core", &["runtime"]);
}

#[test]
fn the_core_knows_no_time_and_does_not_wait() {
    forbid("core", &["std::time", "Instant", "SystemTime", "async", "await", "Future", "Waker", "Context", "Poll"]);
}

#[test]
fn the_core_does_no_io_and_keeps_nothing() {
    forbid("core", &["std::fs", "std::net", "std::io", "std::env", "std::thread", "println!", "eprintln!"]);
    forbid("core", &["static", "thread_local!", "Cell", "RefCell", "Mutex", "OnceCell", "OnceLock", "LazyLock"]);
}

#[test]
fn the_runtime_names_no_outer_ring_no_platform_and_no_clock_of_its_own() {
    forbid("runtime", &OF_THE_PLATFORM);
    forbid("runtime", &["std::time", "Instant", "SystemTime", "std::thread", "tokio"]);
}

#[test]
fn nobody_writes_what_may_panic_or_is_unsafe() {
    forbid("", &["unsafe", "unwrap()", "expect(", "todo!", "unimplemented!", "unreachable!"]);
    for ring in ["core", "runtime"] {
        forbid(ring, &["panic!", "assert!", "assert_eq!", "debug_assert!"]);
    }
}

#[test]
fn unsafe_code_is_forbidden_and_so_cannot_be_allowed_anywhere() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("[lints.rust]\nunsafe_code = \"forbid\"\n"));
}

#[test]
fn a_panic_is_raised_only_by_exports_of_the_test_build() {
    for source in sources("wasm") {
        for (index, (number, line)) in source.code.iter().enumerate() {
            if holds(line, "panic!") {
                let before = source.code.iter().take(index).rev().take(4);
                let excused = before.map(|(_, line)| line).any(|line| line.contains("feature = \"test-panic\""));
                assert!(excused, "{}:{number}: {line}", source.path);
            }
        }
    }
}

#[test]
fn a_cfg_stands_on_a_module_or_on_an_item_for_tests() {
    for source in sources("") {
        for (index, (number, line)) in source.code.iter().enumerate() {
            assert!(!holds(line, "cfg!") && !holds(line, "cfg_attr"), "{}:{number}", source.path);
            if line.contains("#[cfg(") {
                let next =
                    source.code.iter().skip(index + 1).map(|(_, line)| line.trim()).find(|line| !line.is_empty());
                let on_module = next.is_some_and(|next| next.starts_with("mod ") || next.starts_with("pub mod "));
                assert!(on_module || line.contains("feature = \"test-panic\""), "{}:{number}: {line}", source.path);
            }
        }
    }
}

#[test]
fn no_file_is_longer_than_a_noun() {
    for source in sources("") {
        assert!(source.lines <= LINES_MAX, "{} has {} lines", source.path, source.lines);
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for source in sources("") {
        let text = fs::read_to_string(root().join(&source.path)).unwrap();
        assert!(text.starts_with("//! ") || source.path.ends_with("lib.rs"), "{}", source.path);
    }
}

#[test]
fn the_engine_depends_on_nothing_outside_wasm32() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let tables: Vec<&str> =
        manifest.lines().filter(|line| line.starts_with('[') && line.contains("dependencies")).collect();
    for table in tables {
        let of_wasm = table.starts_with("[target.'cfg(target_arch = \"wasm32\")'");
        assert!(of_wasm || table.ends_with("dev-dependencies]"), "{table}");
    }
}

#[test]
fn words_are_found_as_words() {
    for (line, word, found) in [
        ("use crate::runtime::Store;", "runtime", true),
        ("let wasmtime = 1;", "wasm", false),
        ("x.unwrap_or(1)", "unwrap()", false),
        ("x.unwrap()", "unwrap()", true),
        ("x.expect_err(1)", "expect(", false),
        ("async move {}", "async", true),
        ("allow(async_fn_in_trait)", "async", false),
        ("name: &'static str", "static", false),
        ("static COUNT: u64 = 0;", "static", true),
    ] {
        assert_eq!(holds(line, word), found, "{line}");
    }
}
