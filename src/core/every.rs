//! The grammar of a schedule's spec: exactly `@every <n><unit>`.

use super::error::Error;
use super::time::{Duration, MILLIS_MAX, decimal};

const GRAMMAR: &str = "must be \"@every <n><unit>\": one space, a positive whole number, one of s m h d";

/// Reads a spec: `@every`, one space, a positive decimal integer without sign, one of `s m h d`.
///
/// # Errors
/// [`Error::InvalidSpec`] for everything else, cron strings included, and for an interval that a
/// clock cannot count.
pub fn parse(spec: &str) -> Result<Duration, Error> {
    let invalid = |why| Error::InvalidSpec { spec: spec.into(), why };
    let text = spec.strip_prefix("@every ").ok_or_else(|| invalid(GRAMMAR))?;
    let unit_at = text.len().saturating_sub(1);
    let (digits, unit) = text.split_at_checked(unit_at).ok_or_else(|| invalid(GRAMMAR))?;
    let unit_ms: i64 = match unit {
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(invalid(GRAMMAR)),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || digits.bytes().all(|b| b == b'0') {
        return Err(invalid(GRAMMAR));
    }
    let most = MILLIS_MAX.checked_div(unit_ms).unwrap_or(0);
    match decimal(digits) {
        n if n <= most => Ok(Duration::from_millis(n.saturating_mul(unit_ms))),
        _ => Err(overflow(spec)),
    }
}

/// The error of a spec whose first boundary lies beyond the clock.
pub(crate) fn overflow(spec: &str) -> Error {
    Error::InvalidSpec { spec: spec.into(), why: "must have its first boundary within the clock's range" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_exact() {
        for (spec, ms) in
            [("@every 1s", 1000), ("@every 90m", 5_400_000), ("@every 2h", 7_200_000), ("@every 01d", 86_400_000)]
        {
            assert_eq!(parse(spec).map(Duration::as_millis).ok(), Some(ms), "{spec}");
        }
        for spec in [
            "",
            "@every",
            "@every ",
            "@every s",
            "@every 5",
            "@every 0s",
            "@every 00s",
            "@every -1s",
            "@every +1s",
            "@every 1.5s",
            "@every  5s",
            "@every 5 s",
            "@every 5s ",
            " @every 5s",
            "@every\t5s",
            "@Every 5s",
            "@every 5ms",
            "@every 5S",
            "@every 1w",
            "@every 5é",
            "0 * * * *",
            "@daily",
            "@every 5s5m",
        ] {
            assert!(parse(spec).is_err(), "{spec:?}");
        }
    }

    #[test]
    fn an_interval_beyond_the_clock_is_refused() {
        assert!(parse("@every 104249991d").is_ok());
        assert!(parse("@every 104249992d").is_err());
        assert!(parse("@every 99999999999999999999999s").is_err());
    }
}
