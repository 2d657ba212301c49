//! The waiting: operations as futures over a storage, a clock and a timer, and the loops that run
//! schedules and deliver. Generic over all three, so the races are tested under a manual clock.

mod by_name;
mod engine;
mod flag;
mod group;
mod host;
mod keyed;
mod lane;
mod lock;
mod manual_clock;
mod memory;
mod outbox;
mod queue;
mod schedules;
mod slab;
mod sorted;
mod store;
pub(crate) mod transaction;
mod wakes;

pub use engine::Engine;
pub use flag::{Flag, StopToken, UnderWay, Wait};
pub use host::{Clock, Host, TIMER_SLEEP_MAX, Timer, WALL_SLEEP_MAX};
pub use keyed::{Answer, Header, Keyed, KeyedStore, KeyedTransaction, Read, Row, Write, format};
pub use lock::Lock;
pub use manual_clock::{ManualClock, SETTLE_TURNS, Sleep};
pub use memory::MemoryStore;
pub use outbox::Outbox;
pub use queue::Queue;
pub use schedules::ScheduleInfo;
pub use store::Store;
pub use transaction::Transaction;
pub use wakes::{Listener, Wakes};
