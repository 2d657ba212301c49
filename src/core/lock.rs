//! Named locks: leases that lapse silently at their deadline.

use super::error::Error;
use super::name::Name;
use super::scope::Scope;
use super::script::{Script, Step};
use super::time::{Duration, Timestamp};
use super::view::{Change, View};

/// A lock's entry: who has it, and until when. It is free at and after `expires_at`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRow {
    /// The holder.
    pub owner: Name,
    /// The end of the exclusion.
    pub expires_at: Timestamp,
}

impl LockRow {
    /// Whether it excludes others at `now`.
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.expires_at > now
    }

    /// Moves the deadline back with a clock that was set back by `step`.
    pub fn move_back(&mut self, step: Duration) {
        self.expires_at = self.expires_at.minus(step);
    }
}

fn check_ttl(ttl: Duration) -> Result<Duration, Error> {
    if ttl.is_positive() { Ok(ttl) } else { Err(Error::argument("ttl", ttl.as_millis(), "at least 1 ms")) }
}

/// Takes a lock unless someone else holds it. The same owner asking again while it holds the lock is
/// granted, without moving the deadline.
#[derive(Debug)]
pub struct TryLock {
    /// The lock.
    pub name: Name,
    /// Who asks.
    pub owner: Name,
    /// How long to hold it, checked.
    pub ttl: Duration,
    /// Outcome: whether `owner` holds it now.
    pub granted: bool,
}

impl TryLock {
    /// Asks for the lock `name`.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::ReservedName`]; [`Error::InvalidArgument`] if `ttl` is not positive.
    pub fn new(name: &str, owner: &str, ttl: Duration) -> Result<Self, Error> {
        let name = Name::shared("name", name)?;
        let owner = Name::local("owner", owner)?;
        Ok(Self { name, owner, ttl: check_ttl(ttl)?, granted: false })
    }
}

impl<P> Script<P> for TryLock {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Lock { name: self.name.clone() })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        match view.lock.take().filter(|row| row.is_held(view.now())) {
            Some(row) => self.granted = row.owner == self.owner,
            None => {
                let row = LockRow { owner: self.owner.clone(), expires_at: view.now().plus(self.ttl) };
                view.changes.push(Change::PutLock(self.name.clone(), row));
                self.granted = true;
            }
        }
        Step::Done
    }
}

/// Gives the holder a full new window from now. Never revives: lapsed or taken is `false`.
#[derive(Debug)]
pub struct Renew {
    /// The lock.
    pub name: Name,
    /// Who asks.
    pub owner: Name,
    /// How long to hold it from now, checked.
    pub ttl: Duration,
    /// Outcome: whether it was still held.
    pub renewed: bool,
}

impl Renew {
    /// Asks for more of the lock `name`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `ttl` is not positive.
    pub fn new(name: Name, owner: Name, ttl: Duration) -> Result<Self, Error> {
        Ok(Self { name, owner, ttl: check_ttl(ttl)?, renewed: false })
    }
}

impl<P> Script<P> for Renew {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Lock { name: self.name.clone() })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        let now = view.now();
        self.renewed = view.lock.take().is_some_and(|row| row.is_held(now) && row.owner == self.owner);
        if self.renewed {
            let row = LockRow { owner: self.owner.clone(), expires_at: now.plus(self.ttl) };
            view.changes.push(Change::PutLock(self.name.clone(), row));
        }
        Step::Done
    }
}

/// Gives a lock up. `true` if the entry was still this owner's, even lapsed.
#[derive(Debug)]
pub struct Release {
    /// The lock.
    pub name: Name,
    /// Who asks.
    pub owner: Name,
    /// Outcome: whether there was an entry of this owner's.
    pub released: bool,
}

impl Release {
    /// Gives up the lock `name`.
    pub const fn new(name: Name, owner: Name) -> Self {
        Self { name, owner, released: false }
    }
}

impl<P> Script<P> for Release {
    fn opening(&mut self) -> Option<Scope> {
        Some(Scope::Lock { name: self.name.clone() })
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.released = view.lock.take().is_some_and(|row| row.owner == self.owner);
        if self.released {
            view.changes.push(Change::RemoveLock(self.name.clone()));
            if *self.name == *super::schedule::LEADER_LOCK {
                view.wake_schedules();
            }
        }
        Step::Done
    }
}
