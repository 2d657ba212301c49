//! A clock that was set back: how the engine notices, and by how much every deadline moves.
//!
//! Devices wake up hours ahead and are corrected a minute later. What was derived from the wrong
//! clock (ready times, leases, boundaries, expiries) would then lie hours in the future, so it moves
//! back by as much as the clock did. Steps forwards need nothing: things become due.

use super::time::{Duration, Timestamp};

/// How precisely the latest instant is remembered: remembering costs a write, so it moves in steps
/// of at least this. A correction can leave things late by as much, never early.
pub const LATEST_GRAIN: Duration = Duration::from_secs(10);

/// A clock further behind the latest instant than this was set back. A smaller step back only makes
/// things late by as much.
pub const SET_BACK_MIN: Duration = Duration::from_secs(60);

/// What the storage remembers as a whole, beside its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The id that the next job gets.
    pub next_id: u64,
    /// The latest instant that any operation has seen, to [`LATEST_GRAIN`]; `None` before the first.
    pub latest: Option<Timestamp>,
    /// By how much deadlines have been moved back, all corrections together.
    pub moved_back: Duration,
}

impl Default for Meta {
    fn default() -> Self {
        Self { next_id: 1, latest: None, moved_back: Duration::ZERO }
    }
}

impl Meta {
    /// Takes note of the clock at the start of an operation. `Some(step)` if it was set back: every
    /// derived deadline in the storage must move back by `step` before the operation reads a row.
    pub fn observe(&mut self, now: Timestamp) -> Option<Duration> {
        let Some(latest) = self.latest else {
            self.latest = Some(now);
            return None;
        };
        let ahead = latest.since(now);
        if ahead > SET_BACK_MIN {
            self.latest = Some(now);
            self.moved_back = Duration::from_millis(self.moved_back.as_millis().saturating_add(ahead.as_millis()));
            return Some(ahead);
        }
        if now.since(latest) >= LATEST_GRAIN {
            self.latest = Some(now);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_step_of_more_than_a_minute_is_a_set_back() {
        let at = Timestamp::from_millis;
        let mut meta = Meta::default();
        for (now, step) in [
            (1_000_000, None),
            (1_009_999, None), // remembered as 1,000,000
            (940_000, None),   // one minute behind: not more
            (939_999, Some(60_001)),
            (939_999, None),
            (20_000_000, None),
            (2_000_000, Some(18_000_000)),
        ] {
            assert_eq!(meta.observe(at(now)).map(Duration::as_millis), step, "at {now}");
        }
        assert_eq!(meta.moved_back.as_millis(), 18_060_001);
    }
}
