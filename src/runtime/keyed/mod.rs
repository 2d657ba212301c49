//! Storages that keep rows under keys, with one index over them: IndexedDB, or a table. What is read and written for
//! each scope is decided here, once; the storage moves rows.

mod answer;
mod check;
mod foreseen;
pub mod format;
mod rows;
mod scripts;

use std::cell::Cell;
use std::mem::replace;

use super::host::Clock;
use super::store::Store;
use super::wakes::Wakes;
use crate::core::{Error, JobId, Scope, Script, Topic};

pub use rows::{Answer, Header, Read, Row, Write};

/// A place where rows are kept under keys. [`mod@format`] makes columns of rows, and rows of columns; who stores names otherwise
/// makes them again with [`Name::local`](crate::core::Name::local), since some are the engine's own.
pub trait Keyed: 'static {
    /// A handle to a payload, as [`Store::Payload`].
    type Payload: Clone + 'static;
    /// A transaction of it.
    type Transaction: KeyedTransaction<Payload = Self::Payload>;

    /// Begins a transaction that no other one of the storage overlaps. It need not be under way yet: whoever waits for
    /// its first answer has waited for the others.
    ///
    /// # Errors
    /// [`Error::Storage`]: nothing has begun.
    async fn begin(&self) -> Result<Self::Transaction, Error>;

    /// Whether its transactions take writes while their first read is under way, and others perhaps still before them. What
    /// is enqueued then goes out together with that read. A row that is inserted so may be there already: the read is answered all
    /// the same, and tells whether the transaction is to be dropped. By default not.
    fn takes_early_writes(&self) -> bool {
        false
    }

    /// Tells everybody else who shares the storage of a commit that is about to be asked for: the transactions that they
    /// begin then wait for this one. Whoever waits in this context is woken once it has committed.
    ///
    /// How they are told is the storage's affair: there each topic is handed to `store.wakes().wake(&topic)`
    /// ([`Wakes::wake`]), or where some may have been missed [`Wakes::wake_all`] is called. Where there is no way to tell
    /// them this does nothing: they look again by themselves, after [`Wakes::idle_sleep_max`] at the latest.
    fn announce(&self, topics: &[Topic]);
}

/// A transaction under way. Dropping it before it is committed leaves nothing of it.
pub trait KeyedTransaction {
    /// A handle to a payload, as [`Store::Payload`].
    type Payload: Clone;

    /// Answers all of `reads`, in their order. They see what was written before.
    ///
    /// # Errors
    /// [`Error::Storage`]: the transaction has failed, or a row is damaged.
    async fn read(&self, reads: &[Read]) -> Result<Vec<Answer<Self::Payload>>, Error>;

    /// Writes. What goes wrong with it comes out of the next read, or the commit.
    fn write(&self, write: Write<Self::Payload>);

    /// Resolves once all of it is durable.
    ///
    /// Who drops its future gives up the answer. The commit may have been asked for by then and go through all the same:
    /// afterwards all of it is there, or nothing, and nobody here is told or woken. Never a part of it.
    ///
    /// # Errors
    /// [`Error::Storage`]: nothing of it was persisted.
    async fn commit(self) -> Result<(), Error>;
}

/// How many ids a context takes at a time.
const ID_BLOCK: u64 = 32;

/// How many scripts may go ahead of the header. Of more it saves nothing that counts, and costs much if they have to go once more.
const AHEAD_MAX: usize = 32;

/// How many jobs move in one transaction after the clock was set back: a second's work, so that others get their turn, and
/// a page that is closed meanwhile has not moved all of them in vain.
const MOVES_MAX: usize = 4_096;

/// A [`Store`] over rows under keys.
#[derive(Debug)]
pub struct KeyedStore<K> {
    rows: K,
    wakes: Wakes,
    ids: Ids,
    moves_max: usize,
}

/// The ids that this context may give.
///
/// A context takes a block of them at a time, so that most enqueues write no header. It goes on with its block as long as
/// nobody has written a header since its own: so ids grow across contexts too. What it leaves of a block is a gap.
#[derive(Debug)]
struct Ids {
    /// No id below is given again, though the transaction that would have said so was rolled back by its owner.
    floor: Cell<JobId>,
    /// The header that this context has committed last.
    header: Cell<Header>,
    /// Whether the last transaction has found it, and had not to wait for others.
    is_unchanged: Cell<bool>,
}

impl<K: Keyed> KeyedStore<K> {
    /// A store over `rows`.
    pub fn new(rows: K) -> Self {
        let ids = Ids { floor: Cell::new(1), header: Cell::default(), is_unchanged: Cell::default() };
        Self { rows, wakes: Wakes::new(), ids, moves_max: MOVES_MAX }
    }

    /// At most so many jobs, by default 4,096, move in one transaction after the clock was set back, and one at the least.
    #[must_use]
    pub fn moving_at_most(mut self, jobs: usize) -> Self {
        self.moves_max = jobs.max(1);
        self
    }

    /// Where the rows are kept.
    pub const fn rows(&self) -> &K {
        &self.rows
    }

    /// Runs scripts in a transaction that is somebody else's: it commits with it, or vanishes with it. Gives the topics to wake
    /// once that has committed: [`Wakes::wake`] here, and others as in [`Keyed::announce`].
    ///
    /// # Errors
    /// As [`Store::transact`]; the transaction is then of no use any more.
    pub async fn transact_in(
        &self,
        transaction: &K::Transaction,
        clock: &dyn Clock,
        scripts: &mut [&mut dyn Script<K::Payload>],
    ) -> Result<Vec<Topic>, Error> {
        let mut questions = openings(scripts);
        // Whether it commits will not be known here: what it leaves of a block of ids would be lost each time.
        let limits = (0, usize::MAX);
        let ran = scripts::run(transaction, &self.ids, limits, clock, scripts, &mut questions, false).await?;
        Ok(ran.map_or_else(Vec::new, |(topics, _)| topics))
    }
}

/// The first questions. A script is asked once, however many transactions come before its turn.
fn openings<P>(scripts: &mut [&mut dyn Script<P>]) -> Vec<Option<Scope>> {
    scripts.iter_mut().map(|script| script.opening()).collect()
}

impl<K: Keyed> Store for KeyedStore<K> {
    type Payload = K::Payload;

    async fn transact(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<K::Payload>]) -> Result<(), Error> {
        let limits = (ID_BLOCK, self.moves_max);
        let mut questions = openings(scripts);
        let mut is_moving = false;
        let is_blind = questions.len() <= AHEAD_MAX && questions.iter().all(Option::is_none);
        let mut goes_ahead = is_blind && self.ids.is_unchanged.get() && self.rows.takes_early_writes();
        loop {
            // What they ask for would be read in vain until all has moved.
            let (scripts, questions) =
                if is_moving { (&mut [][..], &mut [][..]) } else { (&mut *scripts, &mut *questions) };
            let transaction = self.rows.begin().await?;
            let goes_ahead = replace(&mut goes_ahead, false);
            let ran = scripts::run(&transaction, &self.ids, limits, clock, scripts, questions, goes_ahead).await?;
            let Some((topics, header)) = ran else { continue };
            // The commit takes longest, and whoever hears of it now gets into line behind it. If it fails they look in vain.
            if !topics.is_empty() {
                self.rows.announce(&topics);
            }
            transaction.commit().await?;
            self.ids.header.set(header);
            topics.iter().for_each(|topic| self.wakes.wake(topic));
            let was_moving = replace(&mut is_moving, header.is_moving());
            if !was_moving && !is_moving {
                return Ok(());
            }
        }
    }

    fn wakes(&self) -> &Wakes {
        &self.wakes
    }
}
