//! All chance of a run, from its seed.

use std::cell::RefCell;

use alkstore::core::Entropy;
use alkstore::core::entropy::uniform;

pub struct Dice(RefCell<Entropy>);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(RefCell::new(Entropy::new(seed)))
    }

    pub fn bits(&self) -> u64 {
        self.0.borrow_mut().bits()
    }

    /// From `low` to `high`, both included.
    pub fn roll(&self, low: i64, high: i64) -> i64 {
        uniform(self.bits(), low, high)
    }

    /// True so many times in ten thousand.
    pub fn chance(&self, in_ten_thousand: i64) -> bool {
        in_ten_thousand > 0 && self.roll(1, 10_000) <= in_ten_thousand
    }

    pub fn percent(&self, percent: i64) -> bool {
        self.chance(percent * 100)
    }

    pub fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.roll(0, from.len() as i64 - 1) as usize]
    }

    pub fn maybe<T>(&self, percent: i64, value: impl FnOnce() -> T) -> Option<T> {
        self.percent(percent).then(value)
    }
}
