//! The outbox: a queue under a name of the engine's own, with stamps of its own.

use super::error::Error;
use super::job::Stamps;
use super::name::Name;
use super::time::Duration;

/// What the queue behind an outbox is called, before the outbox's name. Only outbox calls reach it.
pub const OUTBOX_PREFIX: &str = "__alkstore_outbox:";

/// What every job of an outbox is stamped with: visibility timeout 60 s, 5 attempts, backoff base
/// 5 s, dead letters kept for ever.
pub const OUTBOX_STAMPS: Stamps = Stamps {
    visibility_timeout: Duration::from_secs(60),
    max_attempts: 5,
    backoff_base: Duration::from_secs(5),
    dead_letter_retention: None,
};

/// The queue behind the outbox `name`.
///
/// # Errors
/// As [`Name::shared`].
pub fn queue_name(name: &str) -> Result<Name, Error> {
    let name = Name::shared("outbox", name)?;
    Ok(Name::internal(&[OUTBOX_PREFIX, &name].concat()))
}
