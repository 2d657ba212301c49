//! Schedules: upsert, unschedule, list, and the tick that fires them.

use std::rc::Rc;

use super::error::Error;
use super::every;
use super::lock::LockRow;
use super::name::Name;
use super::queue::QUEUE_STAMPS;
use super::queue::enqueue::EnqueueOptions;
use super::scope::Scope;
use super::script::{Script, Step};
use super::time::{Duration, Timestamp};
use super::view::{Change, View};

/// How many missed boundaries of one schedule a tick makes up for; what lies past that is skipped.
pub const CATCH_UP_FIRES_MAX: i64 = 64;

/// The lock that a schedule runner leads under.
pub const LEADER_LOCK: &str = "__alkstore_scheduler";

/// How long a leader's lease lasts without a renewal.
pub const LEADER_TTL: Duration = Duration::from_secs(10);

/// How often a leader renews its lease, and a standby looks for a free one.
pub const RENEW_EVERY: Duration = Duration::from_secs(2);

/// Options of a schedule's jobs; all may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// Higher is handed out first; default 0.
    pub priority: Option<i64>,
    /// How often a job is handed out before it dies; default 3.
    pub max_attempts: Option<i64>,
    /// A job is not handed out any more this long after it was fired; default never.
    pub expires: Option<Duration>,
}

impl ScheduleOptions {
    /// Checks the counts.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `priority` or `max_attempts` is not a safe integer.
    pub fn check(&self) -> Result<(), Error> {
        self.enqueue_options().check()
    }

    const fn enqueue_options(&self) -> EnqueueOptions {
        let Self { priority, max_attempts, expires } = *self;
        EnqueueOptions { delay: None, run_at: None, priority, max_attempts, expires }
    }
}

/// A schedule, with the boundary that is due next.
#[derive(Clone, Debug)]
pub struct ScheduleRow<P> {
    /// Its name.
    pub name: Name,
    /// Its spec, as it was written.
    pub spec: Rc<str>,
    /// The spec's interval.
    pub interval: Duration,
    /// Where its jobs go.
    pub queue: Name,
    /// What they carry.
    pub payload: P,
    /// Their options.
    pub options: ScheduleOptions,
    /// The next boundary.
    pub next_fire_at: Timestamp,
}

impl<P> ScheduleRow<P> {
    /// Whether a tick at `now` works on it: a boundary is due, or lies more than an interval ahead.
    pub fn wants_tick(&self, now: Timestamp) -> bool {
        self.next_fire_at <= now || self.next_fire_at.minus(self.interval) > now
    }

    /// Moves the boundary back with a clock that was set back by `step`.
    pub fn move_back(&mut self, step: Duration) {
        self.next_fire_at = self.next_fire_at.minus(step);
    }
}

/// What a tick does to one schedule at `now`: how many jobs it fires, and its next boundary.
///
/// One job per missed boundary, at most [`CATCH_UP_FIRES_MAX`]; the next boundary is the first one
/// strictly after `now` on the same grid. A boundary more than one interval ahead is pulled in.
pub fn tick(next_fire_at: Timestamp, interval: Duration, now: Timestamp) -> (i64, Timestamp) {
    let late = now.since(next_fire_at).as_millis();
    if late < 0 {
        return (0, next_fire_at.min(now.plus(interval)));
    }
    let missed = late.checked_div(interval.as_millis()).unwrap_or(0).saturating_add(1);
    let skipped = Duration::from_millis(missed.saturating_mul(interval.as_millis()));
    (missed.min(CATCH_UP_FIRES_MAX), next_fire_at.plus(skipped))
}

/// Registers a schedule, or replaces the one of that name.
///
/// The same spec keeps the boundary that is due; a changed one starts again, one interval from now.
#[derive(Debug)]
pub struct Upsert<P> {
    /// The schedule, checked; its boundary is set by the script, which takes it.
    pub row: Option<Rc<ScheduleRow<P>>>,
    /// Outcome: the boundary that is due, or why it was refused.
    pub registered: Result<Timestamp, Error>,
}

impl<P> Upsert<P> {
    /// Registers the schedule `name`.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::ReservedName`], [`Error::InvalidArgument`], [`Error::InvalidSpec`], in
    /// this order.
    pub fn new(name: &str, spec: &str, queue: &str, payload: P, options: ScheduleOptions) -> Result<Self, Error> {
        let name = Name::shared("name", name)?;
        let queue = Name::shared("queue", queue)?;
        options.check()?;
        let interval = every::parse(spec)?;
        let next_fire_at = Timestamp::default();
        let row = ScheduleRow { name, spec: spec.into(), interval, queue, payload, options, next_fire_at };
        Ok(Self { row: Some(Rc::new(row)), registered: Ok(next_fire_at) })
    }
}

impl<P: Clone> Script<P> for Upsert<P> {
    fn opening(&mut self) -> Option<Scope> {
        self.row.as_ref().map(|row| Scope::Schedule { name: row.name.clone() })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let Some(mut new) = self.row.take() else { return Step::Done };
        let row = Rc::make_mut(&mut new);
        let now = view.now();
        match view.schedules.pop().filter(|old| old.spec == row.spec) {
            Some(old) => row.next_fire_at = old.next_fire_at,
            None if now.as_millis().saturating_add(row.interval.as_millis()) > Timestamp::MAX.as_millis() => {
                self.registered = Err(every::overflow(&row.spec));
                return Step::Done;
            }
            None => row.next_fire_at = now.plus(row.interval),
        }
        self.registered = Ok(row.next_fire_at);
        view.changes.push(Change::PutSchedule(new));
        view.wake_schedules();
        Step::Done
    }
}

/// Removes a schedule.
#[derive(Debug)]
pub struct Unschedule {
    /// Its name.
    pub name: Name,
    /// Outcome: whether there was one.
    pub found: bool,
}

impl Unschedule {
    /// Removes the schedule `name`.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::ReservedName`].
    pub fn new(name: &str) -> Result<Self, Error> {
        Ok(Self { name: Name::shared("name", name)?, found: false })
    }
}

impl<P> Script<P> for Unschedule {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Schedule { name: self.name.clone() })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.found = view.schedules.pop().is_some();
        if self.found {
            view.changes.push(Change::RemoveSchedule(self.name.clone()));
            view.wake_schedules();
        }
        Step::Done
    }
}

/// Reads all schedules, in name order.
#[derive(Debug)]
pub struct ListSchedules<P> {
    /// Outcome.
    pub schedules: Vec<Rc<ScheduleRow<P>>>,
}

impl<P> Default for ListSchedules<P> {
    fn default() -> Self {
        Self { schedules: Vec::new() }
    }
}

impl<P> Script<P> for ListSchedules<P> {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Schedules)
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.schedules.append(&mut view.schedules);
        Step::Done
    }
}

/// One turn of a leader, in one transaction, so that no boundary is ever fired by one who does not
/// lead: take or renew the lease, fire what is due, find the next boundary.
#[derive(Debug)]
pub struct Lead {
    /// The runner, unique among all runners of the storage.
    pub owner: Name,
    /// How far the script is.
    phase: Phase,
    /// Outcome: whether this runner leads. If not, nothing was fired.
    pub leads: bool,
    /// Outcome: the next boundary of any schedule.
    pub next_fire_at: Option<Timestamp>,
    /// Outcome: the instant of the turn.
    pub now: Timestamp,
}

#[derive(Debug)]
enum Phase {
    Lease,
    Fire,
    Next,
}

impl Lead {
    /// A turn of the runner `owner`.
    pub fn new(owner: Name) -> Self {
        Self { owner, phase: Phase::Lease, leads: false, next_fire_at: None, now: Timestamp::default() }
    }
}

impl<P: Clone> Script<P> for Lead {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Lock { name: Name::internal(LEADER_LOCK) })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let now = view.now();
        match self.phase {
            Phase::Lease => {
                self.now = now;
                let held = view.lock.take().filter(|row| row.is_held(now));
                if held.is_some_and(|row| row.owner != self.owner) {
                    return Step::Done;
                }
                self.leads = true;
                let row = LockRow { owner: self.owner.clone(), expires_at: now.plus(LEADER_TTL) };
                view.changes.push(Change::PutLock(Name::internal(LEADER_LOCK), row));
                self.phase = Phase::Fire;
                Step::Ask(Scope::DueSchedules)
            }
            Phase::Fire => {
                for row in std::mem::take(&mut view.schedules) {
                    fire(row, view);
                }
                self.phase = Phase::Next;
                Step::Ask(Scope::NextBoundary)
            }
            Phase::Next => {
                self.next_fire_at = view.deadline;
                Step::Done
            }
        }
    }
}

/// Fires a schedule and advances it: one change, so a boundary is fully fired or not at all.
fn fire<P: Clone>(mut row: Rc<ScheduleRow<P>>, view: &mut View<P>) {
    let (fires, next_fire_at) = tick(row.next_fire_at, row.interval, view.now());
    let options = row.options.enqueue_options();
    for _ in 0..fires {
        let id = view.take_id();
        let job = options.draft(id, row.queue.clone(), QUEUE_STAMPS.into(), view.now());
        view.insert(Rc::new(job), row.payload.clone());
    }
    Rc::make_mut(&mut row).next_fire_at = next_fire_at;
    view.changes.push(Change::PutSchedule(row));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_fires_each_missed_boundary_once_and_stays_on_the_grid() {
        let at = Timestamp::from_millis;
        for (next, interval, now, fires, then) in [
            (1000, 1000, 999, 0, 1000),
            (1000, 1000, 1000, 1, 2000),
            (1000, 1000, 1999, 1, 2000),
            (1000, 1000, 2000, 2, 3000),
            (1000, 1000, 64_999, 64, 65_000),
            (1000, 1000, 65_000, 64, 66_000),
            (1000, 1000, 9_000_500, 64, 9_001_000),
            (5000, 1000, 3000, 0, 4000), // more than an interval ahead: pulled in
            (4000, 1000, 3000, 0, 4000),
        ] {
            let interval = Duration::from_millis(interval);
            assert_eq!(tick(at(next), interval, at(now)), (fires, at(then)), "due at {next}, now {now}");
        }
    }

    #[test]
    fn a_schedule_wants_a_tick_exactly_if_one_would_change_it() {
        let at = Timestamp::from_millis;
        for next_fire_at in 2_990..=4_010 {
            let row = ScheduleRow {
                name: Name::internal("report"),
                spec: "@every 1s".into(),
                interval: Duration::from_secs(1),
                queue: Name::internal("mail"),
                payload: (),
                options: ScheduleOptions::default(),
                next_fire_at: at(next_fire_at),
            };
            let unchanged = (0, row.next_fire_at);
            let ticked = tick(row.next_fire_at, row.interval, at(3_000));
            assert_eq!(row.wants_tick(at(3_000)), ticked != unchanged, "due at {next_fire_at}");
        }
    }
}
