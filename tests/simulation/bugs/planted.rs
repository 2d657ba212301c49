//! Which of the bugs beside this file is planted: the one that `SIMULATION_BUG` names.

use std::sync::LazyLock;

static PLANTED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("SIMULATION_BUG").ok());

/// Whether this one is.
pub fn bug(name: &str) -> bool {
    PLANTED.as_deref() == Some(name)
}
