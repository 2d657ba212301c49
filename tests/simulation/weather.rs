//! How bad it gets in a run. Each seed has weather of its own, so that some meet one kind of trouble alone and others
//! all of it at once.

use crate::dice::Dice;

pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;

/// What may go wrong at an operation of the storage happens so many times in ten thousand.
pub struct Weather {
    pub contexts: usize,
    /// How often a task goes on until the last fault.
    pub turns: u64,
    pub begin_fails: i64,
    pub read_fails: i64,
    pub commit_fails: i64,
    pub answer_lost: i64,
    /// The storage fails altogether for a while.
    pub outage: i64,
    pub crash: i64,
    pub freeze: i64,
    /// A context is busy with something else for a moment.
    pub busy: i64,
    /// How long the storage takes, in milliseconds, at the most; now and then it takes seconds.
    pub latency: i64,
    pub slow: i64,
    /// How far the readings of two contexts are apart, in milliseconds, at the most.
    pub apart: i64,
    pub drift_ppm: i64,
    /// How many times longer those at work rest than they would.
    pub pace: i64,
    /// Clocks show multiples of this: browsers that guard against fingerprinting show 100 ms.
    pub grain: i64,
    /// The mean time between two steps of the clock; 0 is never.
    pub clock_steps: i64,
    /// The mean time until the device falls asleep; 0 is never.
    pub suspends: i64,
    /// A timer is late.
    pub late_timer: i64,
    /// Whether contexts hear of each other's commits.
    pub channel: bool,
    /// A caller does not wait for an answer any more.
    pub gives_up: i64,
    /// A context closes its store.
    pub closes: i64,
    /// How many jobs move in one transaction after the clock was set back, at the most.
    pub moves: usize,
}

impl Weather {
    pub fn draw(dice: &Dice) -> Self {
        let seldom = |dice: &Dice| dice.pick(&[0, 0, 20, 100, 400]);
        Self {
            contexts: dice.roll(2, 4) as usize,
            turns: dice.roll(300, 1_000) as u64,
            begin_fails: seldom(dice),
            read_fails: seldom(dice),
            commit_fails: seldom(dice),
            answer_lost: seldom(dice),
            outage: dice.pick(&[0, 0, 10, 40]),
            crash: dice.pick(&[0, 10, 40, 150]),
            freeze: dice.pick(&[0, 10, 40, 150]),
            busy: dice.pick(&[0, 300, 2_000]),
            latency: dice.pick(&[0, 2, 20, 300]),
            slow: dice.pick(&[0, 0, 30, 150]),
            apart: dice.pick(&[0, 0, 2 * SECOND, 30 * SECOND]),
            drift_ppm: dice.pick(&[0, -200, 200]),
            pace: dice.pick(&[1, 1, 5]),
            grain: dice.pick(&[1, 1, 20, 100]),
            clock_steps: dice.pick(&[0, 20 * SECOND, MINUTE, 5 * MINUTE]),
            suspends: dice.pick(&[0, 0, 2 * MINUTE]),
            late_timer: dice.pick(&[0, 100, 1_000]),
            channel: dice.percent(75),
            gives_up: dice.pick(&[0, 0, 100, 500]),
            closes: dice.pick(&[0, 0, 0, 20]),
            moves: dice.pick(&[1, 3, 4_096]),
        }
    }
}
