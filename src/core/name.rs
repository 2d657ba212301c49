//! Names: of queues, outboxes, locks, schedules, lock owners and workers.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use super::error::Error;

/// What the engine's own names start with. No user's shared name may.
pub const RESERVED_PREFIX: &str = "__alkstore_";

/// A checked name; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(Rc<str>);

// Most names that are compared are clones of one another.
impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        if Rc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Name {
    /// A name that users share: of a queue, an outbox, a lock or a schedule. `argument` is what the
    /// caller calls it.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if it is empty or only (Unicode) white space, [`Error::ReservedName`]
    /// if it starts with `__alkstore_`.
    pub fn shared(argument: &'static str, name: &str) -> Result<Self, Error> {
        let checked = Self::local(argument, name)?;
        if name.starts_with(RESERVED_PREFIX) {
            return Err(Error::ReservedName { argument, name: name.into() });
        }
        Ok(checked)
    }

    /// A name that only tells holders apart: the owner of a lock or the worker of a claim.
    ///
    /// Of a name that was stored, or sent to another context, this makes the same again: the engine's own ones are among
    /// them, which [`shared`](Name::shared) refuses.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if it is empty or only (Unicode) white space.
    pub fn local(argument: &'static str, name: &str) -> Result<Self, Error> {
        if name.chars().all(char::is_whitespace) {
            return Err(Error::InvalidName { argument, name: name.into() });
        }
        Ok(Self(name.into()))
    }

    /// A name of the engine's own making.
    pub(crate) fn internal(name: &str) -> Self {
        Self(name.into())
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: Result<Name, Error>) -> &'static str {
        name.err().map_or("ok", |error| error.code())
    }

    #[test]
    fn a_shared_name_is_neither_blank_nor_reserved() {
        for (name, expected) in [
            ("mail", "ok"),
            (" mail ", "ok"),
            ("", "InvalidName"),
            (" \t\n", "InvalidName"),
            ("\u{a0}\u{2003}\u{85}", "InvalidName"),
            ("\u{feff}", "ok"),
            ("__alkstore_", "ReservedName"),
            ("__alkstore_scheduler", "ReservedName"),
            ("__ALKSTORE_x", "ok"),
            (" __alkstore_x", "ok"),
            ("__proto__", "ok"),
        ] {
            assert_eq!(code(Name::shared("queue", name)), expected, "{name:?}");
        }
    }

    #[test]
    fn a_local_name_may_be_reserved_but_not_blank() {
        assert_eq!(code(Name::local("owner", "__alkstore_me")), "ok");
        assert_eq!(code(Name::local("owner", "\u{2029}")), "InvalidName");
    }
}
