//! Instants and spans: whole milliseconds, saturating at ±(2^53 − 1).
//!
//! The bound is JavaScript's safe-integer range, so every instant survives the trip through a
//! double unchanged. Nothing here reads a clock: an instant is always an argument.

use std::fmt;
use std::num::NonZeroI64;

/// The largest number of milliseconds either way: 2^53 − 1.
pub const MILLIS_MAX: i64 = (1 << 53) - 1;

/// A number of milliseconds, as an odd number: that is never zero, so an `Option` of it takes no more room.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Millis(NonZeroI64);

impl Millis {
    /// Saturates.
    const fn new(ms: i64) -> Self {
        let ms = if ms > MILLIS_MAX {
            MILLIS_MAX
        } else if ms < -MILLIS_MAX {
            -MILLIS_MAX
        } else {
            ms
        };
        match NonZeroI64::new(ms << 1 | 1) {
            Some(odd) => Self(odd),
            None => Self(NonZeroI64::MIN),
        }
    }

    const fn get(self) -> i64 {
        self.0.get() >> 1
    }
}

impl Default for Millis {
    fn default() -> Self {
        Self::new(0)
    }
}

impl fmt::Debug for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// An instant: milliseconds since the Unix epoch, within ±[`MILLIS_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(Millis);

impl Timestamp {
    /// The latest instant there is.
    pub const MAX: Self = Self::from_millis(MILLIS_MAX);

    /// The instant `ms` milliseconds after the Unix epoch, saturating.
    pub const fn from_millis(ms: i64) -> Self {
        Self(Millis::new(ms))
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0.get()
    }

    /// The instant `span` later (earlier, if it is negative), saturating.
    pub const fn plus(self, span: Duration) -> Self {
        Self::from_millis(self.as_millis().saturating_add(span.as_millis()))
    }

    /// The instant `span` earlier, saturating.
    pub const fn minus(self, span: Duration) -> Self {
        Self::from_millis(self.as_millis().saturating_sub(span.as_millis()))
    }

    /// The span from `earlier` to this instant; negative if `earlier` lies later. Saturating.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.as_millis().saturating_sub(earlier.as_millis()))
    }

    /// The first instant after this one.
    pub const fn next(self) -> Self {
        self.plus(Duration::from_millis(1))
    }
}

/// A span of time: whole milliseconds, of either sign, within ±[`MILLIS_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(Millis);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self::from_millis(0);

    /// A span of `ms` milliseconds, saturating.
    pub const fn from_millis(ms: i64) -> Self {
        Self(Millis::new(ms))
    }

    /// A span of `secs` seconds, saturating.
    pub const fn from_secs(secs: i64) -> Self {
        Self::from_millis(secs.saturating_mul(1000))
    }

    /// Whole milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0.get()
    }

    /// Whether any time is left: more than zero.
    pub const fn is_positive(self) -> bool {
        self.as_millis() > 0
    }

    /// Reads a duration string: digits, an optional decimal part, one of `ms s m h d`. No sign, no
    /// spaces. Exact (`"1.005s"` is 1005 ms); what is left below a millisecond is dropped, and a
    /// span beyond the range saturates. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let (whole, rest) = text.split_at_checked(digits)?;
        let (fraction, unit) = match rest.strip_prefix('.') {
            Some(tail) => {
                let end = tail.find(|c: char| !c.is_ascii_digit())?;
                let (fraction, unit) = tail.split_at_checked(end)?;
                (Some(fraction).filter(|f| !f.is_empty())?, unit)
            }
            None => ("", rest),
        };
        if whole.is_empty() {
            return None;
        }
        let unit_ms: i64 = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        // From the right, dropping below a millisecond at every place: a nested floor is the floor of
        // the whole, so this is exact however long the decimal part is.
        let below = fraction.bytes().rev().fold(0_i64, |below, digit| {
            i64::from(digit.saturating_sub(b'0')).saturating_mul(unit_ms).saturating_add(below) / 10
        });
        Some(Self::from_millis(decimal(whole).saturating_mul(unit_ms).saturating_add(below)))
    }
}

/// Of digits: the number, saturating.
pub(super) fn decimal(digits: &str) -> i64 {
    digits
        .bytes()
        .fold(0_i64, |value, digit| value.saturating_mul(10).saturating_add(i64::from(digit.saturating_sub(b'0'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_string_is_exact() {
        for (text, ms) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("1.005s", 1005),
            ("0.29s", 290),
            ("1.0009s", 1000),
            ("0.9999999999999999999999ms", 0),
            ("0.333333333333333333333333333333m", 19_999),
            ("007s", 7000),
            ("99999999999999999999999d", MILLIS_MAX),
        ] {
            assert_eq!(Duration::parse(text).map(Duration::as_millis), Some(ms), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_duration() {
        for text in ["", "5", "s", ".5s", "1.s", "-1s", "+1s", " 1s", "1 s", "1s ", "1S", "1e3s", "1.2.3s", "١s", "1sm"]
        {
            assert_eq!(Duration::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_instant_comes_out_as_it_went_in_and_keeps_its_order() {
        let [min, max] = [-MILLIS_MAX, MILLIS_MAX];
        let instants = [min, min + 1, -2, -1, 0, 1, 2, max - 1, max].map(Timestamp::from_millis);
        assert_eq!(instants.map(Timestamp::as_millis), [min, min + 1, -2, -1, 0, 1, 2, max - 1, max]);
        assert!(instants.is_sorted());
        assert_eq!(Timestamp::default().as_millis(), 0);
        assert_eq!(format!("{:?}", Timestamp::from_millis(-7)), "Timestamp(-7)");
    }

    #[test]
    fn an_instant_that_may_be_absent_takes_no_more_room() {
        assert_eq!(size_of::<Option<Timestamp>>(), size_of::<i64>());
        assert_eq!(size_of::<Option<Duration>>(), size_of::<i64>());
    }

    #[test]
    fn sums_saturate_at_the_safe_integers() {
        let far = Duration::from_millis(i64::MAX);
        assert_eq!(Timestamp::from_millis(5).plus(far), Timestamp::MAX);
        assert_eq!(Timestamp::from_millis(-5).minus(far).as_millis(), -MILLIS_MAX);
        assert_eq!(Timestamp::MAX.next(), Timestamp::MAX);
        assert_eq!(Timestamp::MAX.since(Timestamp::from_millis(-MILLIS_MAX)).as_millis(), MILLIS_MAX);
    }
}
