//! How long a failed job waits before its next attempt: exponential backoff with equal jitter.

use super::entropy::uniform;
use super::time::Duration;

/// No retry waits longer than this: one hour. A larger exponential is cut here, before the jitter.
pub const BACKOFF_MAX: Duration = Duration::from_secs(3600);

/// The delay before the attempt after the `attempts`-th (1 for the first that failed).
///
/// With `cap = min(base · 2^(attempts − 1), 1 h)` a uniform draw from `[cap / 2, cap]`: half of the
/// delay is certain, so retries never bunch up at once, and half is spread, so that clients that
/// failed together do not come back together ("equal jitter"). A negative `base` gives a negative
/// delay: ready at once. `bits` are 64 random bits.
pub fn retry_delay(base: Duration, attempts: i64, bits: u64) -> Duration {
    let doublings = attempts.saturating_sub(1).clamp(0, 62);
    let cap = base.as_millis().saturating_mul(1_i64 << doublings);
    let cap = Duration::from_millis(cap).min(BACKOFF_MAX).as_millis();
    let half = cap / 2;
    let far = cap.saturating_sub(half);
    Duration::from_millis(if cap >= 0 { uniform(bits, far, cap) } else { uniform(bits, cap, far) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_lies_between_half_the_cap_and_the_cap() {
        for (base, attempts, low, high) in [
            (5000, 1, 2500, 5000),
            (5000, 2, 5000, 10_000),
            (5000, 4, 20_000, 40_000),
            (5000, 11, 1_800_000, 3_600_000),
            (5000, i64::MAX, 1_800_000, 3_600_000),
            (i64::MAX, 1, 1_800_000, 3_600_000),
            (5, 1, 3, 5),
            (1, 1, 1, 1),
            (0, 9, 0, 0),
            (-10, 1, -10, -5),
        ] {
            let delay = |bits| retry_delay(Duration::from_millis(base), attempts, bits).as_millis();
            assert_eq!((delay(0), delay(u64::MAX)), (low, high), "base {base}, attempt {attempts}");
        }
    }
}
