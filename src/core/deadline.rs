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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_now_and_what_never_comes_is_idle() {
        let at = Timestamp::from_millis;
        for (due, deadline, wait_ms) in [
            (None, Deadline::Idle, None),
            (Some(999), Deadline::Now, Some(0)),
            (Some(1000), Deadline::Now, Some(0)),
            (Some(1001), Deadline::At(at(1001)), Some(1)),
        ] {
            let found = Deadline::from_instant(due.map(at), at(1000));
            assert_eq!(found, deadline, "due at {due:?}");
            assert_eq!(found.wait(at(1000)).map(Duration::as_millis), wait_ms, "due at {due:?}");
        }
    }

    #[test]
    fn a_deadline_that_has_passed_meanwhile_is_not_waited_for() {
        let at = Timestamp::from_millis;
        assert_eq!(Deadline::At(at(1000)).wait(at(1001)), Some(Duration::ZERO));
    }
}
