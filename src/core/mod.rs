//! Pure decisions: rows, an instant and entropy go in; an outcome and a change set come out.
//!
//! Nothing in here knows the time, waits, does I/O or keeps anything between calls. Each operation
//! is a [`Script`]: it asks for a [`Scope`] of rows, is handed them in a [`View`], writes its
//! changes there and leaves its outcome in itself.

pub mod backoff;
pub mod clock;
pub mod deadline;
pub mod entropy;
pub mod error;
pub mod every;
pub mod index;
pub mod job;
pub mod lock;
pub mod name;
pub mod outbox;
pub mod queue;
pub mod schedule;
pub mod scope;
pub mod script;
pub mod time;
pub mod transaction;
pub mod view;

pub use deadline::Deadline;
pub use entropy::Entropy;
pub use error::{Error, StoreError};
pub use job::{Claim, ClaimedJob, Handling, Job, JobId, Place, Stamps, State};
pub use lock::LockRow;
pub use name::Name;
pub use queue::QueueOptions;
pub use queue::enqueue::EnqueueOptions;
pub use queue::inspect::Tally;
pub use schedule::{ScheduleOptions, ScheduleRow};
pub use scope::Scope;
pub use script::{Script, Step};
pub use time::{Duration, Timestamp};
pub use view::{Change, Topic, View};
