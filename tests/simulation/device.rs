//! The device's clock, which drifts and jumps, and what the engine is given of it: a reading with a context's own skew,
//! and timers that are late.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};

use alkstore::core::{Duration, Error, Timestamp};
use alkstore::runtime::{Clock, Host, Timer};

use crate::dice::Dice;
use crate::sim::{Pass, Sim};
use crate::weather::{DAY, HOUR, MINUTE, SECOND, Weather};

/// What the device's clock shows at the start: 2023-11-14, in milliseconds.
const START: i64 = 1_700_000_000_000;

pub struct Device {
    ahead: Cell<i64>,
    drift_ppm: i64,
    grain: i64,
}

impl Device {
    pub fn new(dice: &Dice, weather: &Weather) -> Self {
        // A start on a whole second makes coarse clocks meet deadlines to the millisecond.
        Self { ahead: Cell::new(dice.roll(0, 9) * SECOND), drift_ppm: weather.drift_ppm, grain: weather.grain }
    }

    /// What a context with this skew reads off the clock at a true time.
    pub fn reading(&self, now: i64, skew: i64) -> i64 {
        let shown = START + now + now * self.drift_ppm / 1_000_000 + self.ahead.get() + skew;
        shown.div_euclid(self.grain) * self.grain
    }

    fn step(&self, by: i64) {
        self.ahead.set(self.ahead.get() + by);
    }
}

/// Lets the clock be set, again and again.
pub fn set_the_clock_now_and_then(sim: &Sim) {
    let mean = sim.weather.clock_steps;
    if mean == 0 {
        return;
    }
    sim.after(sim.dice.roll(0, 2 * mean), |sim| {
        if sim.is_calm() {
            return;
        }
        if sim.is_asleep() {
            return set_the_clock_now_and_then(sim);
        }
        let dice = &sim.dice;
        let by = match dice.roll(1, 8) {
            1 | 2 => dice.roll(1, 6) * HOUR,
            3 | 4 => -dice.roll(1, 6) * HOUR,
            5 => dice.roll(1, 10) * MINUTE,
            6 => -dice.roll(1, 10) * MINUTE,
            7 => -dice.roll(1, 59) * SECOND,
            _ => {
                // Wakes up ahead, and is corrected soon after.
                let ahead = dice.roll(1, 6) * HOUR;
                sim.after(dice.roll(0, MINUTE), move |sim| set_clock(sim, -ahead));
                ahead
            }
        };
        set_clock(sim, by);
        set_the_clock_now_and_then(sim);
    });
}

fn set_clock(sim: &Sim, by: i64) {
    sim.device.step(by);
    sim.count(if by > 0 {
        "clock set forward"
    } else if by < -MINUTE {
        "clock set back"
    } else {
        "clock set back a little"
    });
    sim.note(|| format!("the device's clock is set {by} ms forward"));
}

/// The world, as the engine of one context sees it.
#[derive(Clone)]
pub struct World {
    pub sim: Sim,
    pub context: usize,
    pub skew: i64,
}

impl World {
    pub fn reading(&self) -> i64 {
        self.sim.device.reading(self.sim.now(), self.skew)
    }
}

impl Clock for World {
    fn now(&self) -> Result<Timestamp, Error> {
        let now = Timestamp::from_millis(self.reading());
        self.sim.ledger.borrow_mut().reads_clock(self.context, now);
        Ok(now)
    }
}

impl Timer for World {
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> {
        let sim = &self.sim;
        if let Some((_, label)) = sim.running() {
            let checked = sim.ledger.borrow_mut().sleeps(self.context, label, span);
            sim.check(checked);
        }
        let late = if sim.strikes(sim.weather.late_timer) {
            sim.count("timer late");
            sim.dice.pick(&[SECOND, 20 * SECOND, MINUTE, HOUR, 3 * DAY])
        } else {
            sim.dice.pick(&[0, 0, 0, 1, 4])
        };
        let due = sim.now() + span.as_millis();
        Sleep { sim: sim.clone(), due, pass: sim.until(due + late) }
    }
}

impl Host for World {
    fn random(&self) -> u64 {
        let bits = self.sim.dice.bits();
        self.sim.ledger.borrow_mut().runner_drawn(self.context, bits);
        bits
    }
}

/// A timer. Being late is a fault, and ends with the last one.
struct Sleep {
    sim: Sim,
    due: i64,
    pass: Pass,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<()> {
        if self.sim.is_calm() && self.pass.at() > self.due {
            self.pass = self.sim.until(self.due);
        }
        Pin::new(&mut self.pass).poll(poller)
    }
}
