//! What the engine needs of the world beside a storage: a clock, a timer and randomness.

use crate::core::{Duration, Error, Timestamp};

/// No timer is asked to sleep longer at once: 2^31 − 1 ms, beyond which JavaScript's fires at once.
pub const TIMER_SLEEP_MAX: Duration = Duration::from_millis(i32::MAX as i64);

/// No loop that waits for an instant sleeps longer at once, before it looks at the clock again:
/// timers count elapsed time, and sleep, throttling and corrections part that from the clock.
pub const WALL_SLEEP_MAX: Duration = Duration::from_secs(60);

/// Tells the time.
pub trait Clock {
    /// The present instant. May step either way: clocks are corrected.
    ///
    /// # Errors
    /// If the clock cannot tell. The operation that asked does not happen.
    fn now(&self) -> Result<Timestamp, Error>;
}

/// Waits.
pub trait Timer {
    /// Resolves once `span` has elapsed, or later. `span` lies between zero and [`TIMER_SLEEP_MAX`].
    /// Dropping the future cancels the timer.
    fn sleep(&self, span: Duration) -> impl Future<Output = ()>;
}

/// The world, in one.
pub trait Host: Clock + Timer + 'static {
    /// 64 random bits that no seed fixes: runners are told apart by them.
    fn random(&self) -> u64;
}
