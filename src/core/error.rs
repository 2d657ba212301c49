//! Every way an operation can fail. "There is nothing to do" and a lost race are values, never errors.

use std::fmt;
use std::sync::Arc;

/// Why an operation was refused or could not be done. Nothing was stored in either case.
///
/// Argument errors ([`Error::InvalidName`], [`Error::ReservedName`], [`Error::InvalidSpec`],
/// [`Error::InvalidArgument`]) come again however often the call is repeated. [`Error::Storage`]
/// may pass: the same call may succeed later, other than a transaction's commit, which has ended it.
#[derive(Clone, Debug)]
pub enum Error {
    /// A name that is empty or only white space. The caller must choose another.
    InvalidName {
        /// Which argument it was, such as `"queue"` or `"workerId"`.
        argument: &'static str,
        /// The offending name.
        name: Box<str>,
    },
    /// A name that starts with `__alkstore_`, which is the engine's own. The caller must choose another.
    ReservedName {
        /// Which argument it was.
        argument: &'static str,
        /// The offending name.
        name: Box<str>,
    },
    /// A schedule spec outside the grammar `@every <n><unit>`, or whose first boundary overflows the clock.
    InvalidSpec {
        /// The offending spec.
        spec: Box<str>,
        /// What was wrong with it.
        why: &'static str,
    },
    /// A number outside what the argument allows.
    InvalidArgument {
        /// Which argument it was.
        argument: &'static str,
        /// The offending value, as text.
        value: Box<str>,
        /// What would have been right.
        expected: &'static str,
    },
    /// Another runner leads the schedules of this storage.
    LeadershipLost,
    /// The store was closed, or the transaction has ended.
    Closed,
    /// The storage failed; the operation did not happen.
    Storage(StoreError),
}

impl Error {
    pub(crate) fn argument(argument: &'static str, value: i64, expected: &'static str) -> Self {
        Self::InvalidArgument { argument, value: value.to_string().into(), expected }
    }

    /// The closed set of codes that callers in every language decide by.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidName { .. } => "InvalidName",
            Self::ReservedName { .. } => "ReservedName",
            Self::InvalidSpec { .. } => "InvalidSpec",
            Self::InvalidArgument { .. } => "InvalidArgument",
            Self::LeadershipLost => "LeadershipLost",
            Self::Closed => "Closed",
            Self::Storage(_) => "Storage",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidName { argument, name } => {
                write!(f, "{argument} must not be empty or only white space, got \"{name}\"")
            }
            Self::ReservedName { argument, name } => {
                write!(f, "{argument} must not start with \"{}\", got \"{name}\"", crate::core::name::RESERVED_PREFIX)
            }
            Self::InvalidSpec { spec, why } => write!(f, "spec {why}, got \"{spec}\""),
            Self::InvalidArgument { argument, value, expected } => {
                write!(f, "{argument} must be {expected}, got {value}")
            }
            Self::LeadershipLost => f.write_str("another runner leads the schedules of this storage"),
            Self::Closed => f.write_str("the store is closed, or the transaction has ended"),
            Self::Storage(error) => f.write_str(&error.message),
        }
    }
}

impl std::error::Error for Error {
    /// Of [`Error::Storage`] what lies underneath, if the storage said.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Storage(StoreError { cause: Some(cause), .. }) => Some(&**cause),
            _ => None,
        }
    }
}

/// What a storage says when it fails. The whole storage transaction did not happen.
#[derive(Clone, Debug)]
pub struct StoreError {
    /// What failed, for a person to read.
    pub message: Box<str>,
    /// What lies underneath, in the storage's own type: the [`source`](std::error::Error::source) of the [`Error`], which
    /// `downcast_ref` gives back. `None` if the message says all.
    pub cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    type AnyError = Box<dyn std::error::Error + Send + Sync>;

    #[test]
    fn an_error_goes_wherever_errors_go_and_leads_to_what_lies_underneath() {
        fn fails(cause: impl std::error::Error + Send + Sync + 'static) -> Result<(), AnyError> {
            let error = StoreError { message: "a read failed".into(), cause: Some(Arc::new(cause)) };
            Err(Error::Storage(error))?;
            Ok(())
        }
        let error = fails(std::io::Error::other("no such page")).err();
        let source = error.as_ref().and_then(|error| error.source()?.downcast_ref::<std::io::Error>());
        let said = [error.as_ref().map(ToString::to_string), source.map(ToString::to_string)];
        assert_eq!(said.each_ref().map(Option::as_deref), [Some("a read failed"), Some("no such page")]);
    }

    #[test]
    fn nothing_lies_underneath_where_no_storage_says_so() {
        let quiet = StoreError { message: "the disk is full".into(), cause: None };
        for error in [Error::Storage(quiet), Error::Closed, Error::argument("n", 0, "positive")] {
            assert!(std::error::Error::source(&error).is_none(), "{error}");
        }
    }
}
