//! A storage of rows under keys that lies: what it answers is changed on its way, what it is given is kept as it is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use alkstore::core::index::{FIRST, LAST, Section};
use alkstore::core::time::MILLIS_MAX;
use alkstore::core::{Duration, Error, Job, JobId, LockRow, Name, State, StoreError, Timestamp, Topic};
use alkstore::runtime::{Answer, Header, Keyed, KeyedTransaction, Read, Row, Write};

use super::script::Line;
use super::support::{START, Table, now};

/// How many rounds an operation may ask for. With at most 500 jobs, and two rounds for each priority among them, nothing
/// honest comes near.
const ROUNDS_MAX: usize = 5_000;

/// The storage; clones are the same.
#[derive(Clone)]
pub struct Hostile {
    pub table: Table<u64>,
    lies: Rc<RefCell<Vec<Lie>>>,
    rounds: Rc<Cell<usize>>,
    /// Whether a lie was told about what the engine keeps for the storage as a whole.
    header: Rc<Cell<bool>>,
    /// The jobs that a lie was told about.
    jobs: Rc<RefCell<BTreeSet<JobId>>>,
}

/// One lie, told so many times.
struct Lie {
    line: Line,
    left: i64,
}

impl Hostile {
    pub fn new() -> Self {
        Self {
            table: Table::default(),
            lies: Rc::default(),
            rounds: Rc::default(),
            header: Rc::default(),
            jobs: Rc::default(),
        }
    }

    /// From now on, `<times>` rounds are answered with a lie: the first letter says which, then `<times>`, which answer
    /// of the round, and what the lie needs.
    pub fn arm(&self, line: &Line) {
        self.lies.borrow_mut().push(Lie { line: line.clone(), left: line.number(0) });
    }

    /// From now on it tells the truth.
    pub fn disarm(&self) {
        self.lies.borrow_mut().clear();
    }

    /// An operation begins.
    pub fn begin_operation(&self) {
        self.rounds.set(0);
    }

    pub fn has_lied_about(&self, id: JobId) -> bool {
        self.jobs.borrow().contains(&id)
    }

    pub fn has_lied_about_itself(&self) -> bool {
        self.header.get()
    }
}

impl Keyed for Hostile {
    type Payload = u64;
    type Transaction = Transaction;

    async fn begin(&self) -> Result<Transaction, Error> {
        Ok(Transaction { inner: self.table.begin().await?, hostile: self.clone(), failed: Cell::new(false) })
    }

    fn announce(&self, _: &[Topic]) {}
}

pub struct Transaction {
    inner: <Table<u64> as Keyed>::Transaction,
    hostile: Hostile,
    failed: Cell<bool>,
}

impl Transaction {
    fn there_is(&self, id: JobId) -> bool {
        let found = now(self.inner.read(&[Read::Job(id)])).unwrap();
        matches!(&found[..], [Answer::Jobs(jobs)] if !jobs.is_empty())
    }

    /// `!` fails; `+` answers once more, `-` less often, `#` with a number, `?` with a payload; `v` turns the rows round,
    /// `z` cuts them off, `2` doubles them, `k` takes their payloads, `j <column> <value>` changes them; `*` gives other
    /// rows; `H`, `L` and `S` change the header, locks and schedules.
    async fn lie(&self, line: &Line, reads: &[Read], answers: &mut Vec<Answer<u64>>) -> Result<(), Error> {
        if answers.is_empty() {
            return Ok(());
        }
        let at = line.which(1, answers.len().min(reads.len()));
        let instead = |read: Read| async { Ok::<_, Error>(self.inner.read(&[read]).await?.pop().unwrap()) };
        match (line.verb, &mut answers[at], &reads[at]) {
            ('!', ..) => return Err(failed("the disk is on fire")),
            ('+', ..) => answers.push(Answer::Count(line.id(2) as usize)),
            ('-', ..) => answers.truncate(at),
            ('#', answer, _) => *answer = Answer::Count(line.id(2) as usize),
            ('?', answer, _) => *answer = Answer::Payload(line.maybe(2).map(i64::cast_unsigned)),
            ('v', Answer::Jobs(rows), _) => rows.reverse(),
            ('z', Answer::Jobs(rows), _) => rows.truncate(line.id(2) as usize),
            ('2', Answer::Jobs(rows), _) => rows.extend_from_within(..),
            ('k', Answer::Jobs(rows), _) => rows.iter_mut().for_each(|row| row.payload = line.maybe(2).map(|_| 0)),
            ('j', Answer::Jobs(rows), Read::Job(_)) => rows.iter_mut().for_each(|row| change_id(row, line)),
            ('j', Answer::Jobs(rows), _) => {
                self.hostile.jobs.borrow_mut().extend(rows.iter().map(|row| row.job.id));
                rows.iter_mut().for_each(|row| change(Rc::make_mut(&mut row.job), line));
            }
            // Everything of the section, wherever it was to begin and to end; or of another.
            ('*', answer, Read::Index { queue, section, .. }) => {
                let section = if line.maybe(2).is_some() { SECTIONS[line.which(2, SECTIONS.len())] } else { *section };
                let queue = if line.number(3) == 0 { queue.clone() } else { other(queue) };
                *answer = instead(Read::Index { queue, section, from: FIRST, to: LAST, limit: usize::MAX }).await?;
            }
            ('*', answer, Read::Jobs(..)) => *answer = instead(Read::Jobs(0, JobId::MAX, usize::MAX)).await?,
            ('*', answer, Read::Job(_)) => *answer = instead(Read::Job(line.id(2))).await?,
            ('*', answer, Read::Lock(_)) => *answer = instead(Read::Locks).await?,
            ('*', answer, Read::Schedule(_)) => *answer = instead(Read::Schedules).await?,
            ('H', Answer::Header(header), _) => {
                self.hostile.header.set(true);
                change_header(header, line);
            }
            ('L', Answer::Locks(locks), _) => {
                let row = LockRow { owner: name("b"), expires_at: instant(line.number(2)) };
                locks.push((name(["mail", "elsewhere"][line.which(3, 2)]), row));
            }
            ('S', Answer::Schedules(rows), _) => {
                for row in rows {
                    let row = Rc::make_mut(row);
                    row.next_fire_at = instant(line.number(2));
                    row.interval = Duration::from_millis(line.number(3).max(1));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl KeyedTransaction for Transaction {
    type Payload = u64;

    async fn read(&self, reads: &[Read]) -> Result<Vec<Answer<u64>>, Error> {
        let rounds = self.hostile.rounds.get() + 1;
        self.hostile.rounds.set(rounds);
        assert!(rounds <= ROUNDS_MAX, "it reads on for ever: {reads:?}");
        let mut answers = self.inner.read(reads).await?;
        let mut lies = std::mem::take(&mut *self.hostile.lies.borrow_mut());
        lies.retain_mut(|lie| {
            lie.left -= 1;
            lie.left >= 0
        });
        let mut outcome = Ok(());
        for Lie { line, .. } in &lies {
            outcome = outcome.and(self.lie(line, reads, &mut answers).await);
        }
        self.hostile.lies.borrow_mut().append(&mut lies);
        outcome.map(|()| answers)
    }

    /// A storage can add no row where one lies, nor change one that is gone: the transaction fails then.
    fn write(&self, write: Write<u64>) {
        match &write {
            Write::Insert(job, ..) if self.there_is(job.id) => self.failed.set(true),
            Write::Update(job, _) if !self.there_is(job.id) => self.failed.set(true),
            _ => self.inner.write(write),
        }
    }

    async fn commit(self) -> Result<(), Error> {
        if self.failed.get() { Err(failed("the key exists")) } else { self.inner.commit().await }
    }
}

const SECTIONS: [Section; 11] = [
    Section::Ready,
    Section::Delayed,
    Section::Waiting,
    Section::Leased,
    Section::Spent,
    Section::Expiring,
    Section::Expired,
    Section::Pending,
    Section::Processing,
    Section::Dead,
    Section::Aging,
];

fn name(name: &str) -> Name {
    Name::local("name", name).unwrap()
}

fn other(queue: &Name) -> Name {
    name(if &**queue == "mail" { "thumbs" } else { "mail" })
}

fn instant(since_start: i64) -> Timestamp {
    Timestamp::from_millis(START.saturating_add(since_start))
}

fn failed(message: &str) -> Error {
    Error::Storage(StoreError { message: message.into(), cause: None })
}

fn change_id(row: &mut Row<u64>, line: &Line) {
    Rc::make_mut(&mut row.job).id = line.id(2).min(MILLIS_MAX as u64);
}

/// One column of a job becomes another. Its id is not among them: that is the key of its entries.
fn change(job: &mut Job, line: &Line) {
    let n = line.number(3);
    let count = n.clamp(-MILLIS_MAX, MILLIS_MAX);
    let at = line.maybe(3).map(instant);
    match line.which(2, 12) {
        0 => job.queue = other(&job.queue),
        1 => job.state = [State::Pending, State::Processing, State::Dead][line.which(3, 3)],
        2 => job.priority = count,
        3 => job.run_at = instant(n),
        4 => job.run_at_absolute = n != 0,
        5 => job.attempts = count,
        6 => Rc::make_mut(&mut job.stamps).max_attempts = count,
        7 => job.handling.get_or_insert_default().claim_expires_at = at,
        8 => job.claims = count.unsigned_abs(),
        9 => job.expires_at = at,
        10 => job.handling.get_or_insert_default().purge_at = at,
        _ => Rc::make_mut(&mut job.stamps).visibility_timeout = Duration::from_millis(n),
    }
}

fn change_header(header: &mut Header, line: &Line) {
    match line.which(2, 6) {
        0 => header.meta.next_id = line.id(3).min(MILLIS_MAX as u64),
        1 => header.meta.latest = line.maybe(3).map(instant),
        2 => header.meta.moved_back = Duration::from_millis(line.number(3)),
        3 => header.moving = Duration::from_millis(line.number(3)),
        4 => header.moved = line.id(3),
        _ => header.crossed = instant(line.number(3)),
    }
}
