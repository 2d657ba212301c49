//! Registering schedules, and the runner that fires them.

use std::cell::RefCell;
use std::rc::Rc;

use super::engine::Engine;
use super::flag::StopToken;
use super::host::Host;
use super::store::Store;
use crate::core::lock::Release;
use crate::core::schedule::{
    LEADER_LOCK, Lead, ListSchedules, RENEW_EVERY, ScheduleOptions, ScheduleRow, Unschedule, Upsert,
};
use crate::core::{Error, Name, Timestamp, Topic};

/// A schedule as it is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleInfo {
    /// Its name.
    pub name: Name,
    /// Its spec, as it was written.
    pub spec: Rc<str>,
    /// Where its jobs go.
    pub queue: Name,
    /// Their options.
    pub options: ScheduleOptions,
    /// The next boundary.
    pub next_fire_at: Timestamp,
}

impl<P> From<Rc<ScheduleRow<P>>> for ScheduleInfo {
    fn from(row: Rc<ScheduleRow<P>>) -> Self {
        let ScheduleRow { name, spec, queue, options, next_fire_at, .. } = &*row;
        Self {
            name: name.clone(),
            spec: Rc::clone(spec),
            queue: queue.clone(),
            options: *options,
            next_fire_at: *next_fire_at,
        }
    }
}

impl<S: Store, H: Host> Engine<S, H> {
    /// Registers a schedule, or replaces the one of that name: every `spec` a job with `payload` in
    /// `queue`. The first boundary is one interval away; the same spec again keeps the boundary that
    /// is due. Fires only while somebody [runs schedules](Engine::run_schedules).
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::ReservedName`], [`Error::InvalidArgument`]; [`Error::InvalidSpec`] for
    /// anything but `@every <n><unit>`.
    pub async fn schedule(
        &self,
        name: &str,
        spec: &str,
        queue: &str,
        payload: S::Payload,
        options: ScheduleOptions,
    ) -> Result<ScheduleInfo, Error> {
        let script = self.run(Upsert::new(name, spec, queue, payload, options)?).await?;
        let next_fire_at = script.registered?;
        let (name, queue) = (Name::shared("name", name)?, Name::shared("queue", queue)?);
        Ok(ScheduleInfo { name, spec: spec.into(), queue, options, next_fire_at })
    }

    /// Removes a schedule; whether there was one.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::ReservedName`].
    pub async fn unschedule(&self, name: &str) -> Result<bool, Error> {
        let script = self.run(Unschedule::new(name)?).await?;
        Ok(script.found)
    }

    /// All schedules, in name order (by code points).
    ///
    /// # Errors
    /// Only the storage's.
    pub async fn schedules(&self) -> Result<Vec<ScheduleInfo>, Error> {
        let script = self.run(ListSchedules::default()).await?;
        Ok(script.schedules.into_iter().map(ScheduleInfo::from).collect())
    }

    /// Fires schedules until `stop` is set or the store closes: leads under a lock that lapses after
    /// 10 s, renews it every 2 s, fires what is due in the same transaction, and sleeps until the next
    /// boundary. A changed schedule wakes it at once. At the end it gives the lock back; a future that is
    /// dropped before leaves it to lapse.
    ///
    /// A lease that lapsed and is free is taken again. With `standby` it waits to lead, instead of
    /// failing, at the start and later: it leads at once after a release here, within 2 s after one
    /// elsewhere, or when a vanished leader's lease has ended.
    ///
    /// # Errors
    /// [`Error::LeadershipLost`] if another leads, without `standby`; nothing was fired since. The
    /// storage's errors end it too, never as `LeadershipLost`.
    pub async fn run_schedules(&self, stop: &StopToken, standby: bool) -> Result<(), Error> {
        self.check_open()?;
        if stop.is_set() {
            return Ok(());
        }
        let running = self.shared.under_way.start();
        let owner = Name::internal(&runner_name(self.shared.host.random()));
        let ended = self.lead(&owner, stop, standby).await;
        // However it ended: a lease left behind would keep everybody from leading until it lapses. If
        // it is another's, or the storage is still away, this is nothing.
        let release = Release::new(Name::internal(LEADER_LOCK), owner);
        let released = self.run_even_closed(Rc::new(RefCell::new(release))).await;
        drop(running);
        ended.and(released)
    }

    /// Leads until told to stop.
    async fn lead(&self, owner: &Name, stop: &StopToken, standby: bool) -> Result<(), Error> {
        let shared = &self.shared;
        while !stop.is_set() && !shared.closed.is_set() {
            let listener = shared.store.wakes().listen(Topic::Schedules);
            let turn = Rc::new(RefCell::new(Lead::new(owner.clone())));
            self.run_even_closed(Rc::clone(&turn) as _).await?;
            let Lead { leads, next_fire_at, now, .. } = *turn.borrow();
            if !leads && !standby {
                return Err(Error::LeadershipLost);
            }
            // What was due has been fired. A boundary still not ahead lies at the end of the clock's range.
            let boundary = next_fire_at.filter(|at| *at > now).map_or(RENEW_EVERY, |at| at.since(now));
            self.rest(boundary.min(RENEW_EVERY), &listener, stop).await;
        }
        Ok(())
    }
}

/// Runners of one storage are told apart by this, whatever their seeds.
fn runner_name(bits: u64) -> String {
    ["runner-", &bits.to_string()].concat()
}
