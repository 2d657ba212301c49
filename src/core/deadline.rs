//! When something is next to be done.

use super::time::{Duration, Timestamp};

/// The answer to "when next?". Waking early is allowed, waking late is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// There is something to do already.
    Now,
    /// There will be at this instant, if nothing changes before.
    At(Timestamp),
    /// Not before something changes.
    Idle,
}

impl Deadline {
    /// The deadline that `at` is, seen from `now`; `None` is [`Deadline::Idle`].
    pub fn from_instant(at: Option<Timestamp>, now: Timestamp) -> Self {
        match at {
            None => Self::Idle,
            Some(at) if at <= now => Self::Now,
            Some(at) => Self::At(at),
        }
    }

    /// How long there is to wait at `now`; `None` when idle.
    pub fn wait(self, now: Timestamp) -> Option<Duration> {
        match self {
            Self::Now => Some(Duration::ZERO),
            Self::At(at) => Some(at.since(now).max(Duration::ZERO)),
            Self::Idle => None,
        }
    }
}
