//! The storage that all contexts share, as IndexedDB is one: transactions take turns in the order in which they were
//! begun; a commit, once asked for, takes its course whoever waits for it; and anything may fail.

use std::collections::{BTreeMap, VecDeque};

use alkstore::core::{Error, JobId, StoreError, Topic};
use alkstore::runtime::{Answer, Flag, Keyed, KeyedTransaction, Read, Write};

use crate::context;
use crate::invariant::{Invariant, Violation};
use crate::ledger::Sealed;
use crate::sim::Sim;
use crate::support::{Before, Rows};
use crate::weather::{MINUTE, SECOND};

/// No transaction holds the storage for longer: its context is frozen, and the browser aborts it; or the adapter does.
const HELD_MAX: i64 = 30 * SECOND;

/// One transaction at a time: the first of the queue.
#[derive(Default)]
pub struct Disk {
    pub rows: Rows<u64>,
    /// What the transaction under way has replaced.
    undo: Vec<Before<u64>>,
    queue: VecDeque<u64>,
    transactions: BTreeMap<u64, Entry>,
    serial: u64,
    down_until: i64,
}

struct Entry {
    context: usize,
    begun_at: i64,
    state: State,
    known: Vec<JobId>,
    /// What was written before its first read was answered; `None` after that.
    early: Option<Vec<Write<u64>>>,
    /// Whether a job was inserted that is there: this must not be committed.
    is_spoiled: bool,
    /// Set when it is the first of the queue, or has ended before.
    turn: Flag,
    ended: Flag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Committing,
    Ended(Result<(), &'static str>),
}

impl Entry {
    fn write(&mut self, rows: &mut Rows<u64>, undo: &mut Vec<Before<u64>>, write: Write<u64>) {
        self.is_spoiled |= rows.has(&write);
        if !self.is_spoiled {
            undo.push(rows.write(write));
        }
    }
}

impl Disk {
    fn begin(&mut self, context: usize, now: i64) -> u64 {
        self.serial += 1;
        let entry = Entry {
            context,
            begun_at: now,
            state: State::Open,
            known: Vec::new(),
            early: Some(Vec::new()),
            is_spoiled: false,
            turn: Flag::new(),
            ended: Flag::new(),
        };
        self.transactions.insert(self.serial, entry);
        self.queue.push_back(self.serial);
        self.serial
    }

    fn state(&self, id: u64) -> State {
        self.transactions.get(&id).map_or(State::Ended(Err("the transaction is gone")), |entry| entry.state)
    }

    /// Ends a transaction; what it wrote stays, or is taken back.
    fn end(&mut self, id: u64, outcome: Result<(), &'static str>, keep: bool) {
        let Some(entry) = self.transactions.get_mut(&id) else { return };
        if matches!(entry.state, State::Ended(_)) {
            return;
        }
        entry.state = State::Ended(outcome);
        if self.queue.front() == Some(&id) {
            while let Some(before) = self.undo.pop().filter(|_| !keep) {
                self.rows.restore(before);
            }
            self.undo.clear();
        }
        self.queue.retain(|other| *other != id);
        entry.turn.set();
        entry.ended.set();
        self.next();
    }

    fn next(&self) {
        if let Some(entry) = self.queue.front().and_then(|id| self.transactions.get(id)) {
            entry.turn.set();
        }
    }

    fn of(&self, context: usize, state: State) -> Vec<u64> {
        let mine = self.transactions.iter().filter(|(_, entry)| entry.context == context && entry.state == state);
        mine.map(|(id, _)| *id).collect()
    }
}

/// What becomes of the transactions of a context that is gone: those under way are aborted with their futures; one that
/// was committing may still make it.
pub fn context_gone(sim: &Sim, context: usize) {
    let committing = sim.disk.borrow().of(context, State::Committing);
    for id in committing {
        if sim.dice.percent(50) {
            sim.disk.borrow_mut().end(id, Err("its context is gone"), false);
        }
    }
}

/// What becomes of the transactions of a context that is frozen: aborted at once, or before they have held everybody up
/// for too long.
pub fn context_frozen(sim: &Sim, context: usize) {
    let open = sim.disk.borrow().of(context, State::Open);
    for id in open {
        let span = if sim.dice.percent(50) { 0 } else { HELD_MAX };
        sim.count("transaction of a frozen context");
        sim.after(span, move |sim| {
            if sim.disk.borrow().state(id) == State::Open {
                sim.note(|| format!("transaction {id} of the frozen context {context} is aborted"));
                sim.disk.borrow_mut().end(id, Err("the transaction was aborted"), false);
            }
        });
    }
}

/// The storage, as one context has it open.
pub struct Connection {
    pub sim: Sim,
    pub context: usize,
}

impl Connection {
    fn fails(&self, chance: i64, what: &'static str) -> bool {
        let sim = &self.sim;
        let is_down = !sim.is_calm() && sim.now() < sim.disk.borrow().down_until;
        let fails = is_down || sim.strikes(chance);
        if fails {
            sim.count(if is_down { "operation during an outage" } else { what });
        }
        fails
    }

    /// How long an operation takes, and what happens to its context, or to all, meanwhile.
    fn takes(&self) -> i64 {
        let (sim, weather, context) = (&self.sim, &self.sim.weather, self.context);
        if sim.strikes(weather.outage) {
            sim.count("outage");
            sim.disk.borrow_mut().down_until = sim.now() + sim.dice.roll(SECOND, MINUTE);
        }
        let span = if sim.strikes(weather.slow) {
            sim.dice.roll(SECOND, 40 * SECOND)
        } else if sim.dice.percent(50) {
            0
        } else {
            sim.dice.roll(0, weather.latency)
        };
        if sim.dice.chance(weather.busy) {
            let at = sim.dice.roll(0, span);
            sim.after(at, move |sim| context::is_busy(sim, context, sim.dice.pick(&[0, 5, 100])));
        }
        if sim.strikes(weather.crash) {
            sim.after(sim.dice.roll(0, span), move |sim| context::crash(sim, context));
        }
        if sim.strikes(weather.freeze) {
            let frozen = sim.dice.pick(&[SECOND, 12 * SECOND, MINUTE, 10 * MINUTE]);
            sim.after(sim.dice.roll(0, span), move |sim| context::freeze(sim, context, frozen));
        }
        span
    }
}

impl Keyed for Connection {
    type Payload = u64;
    type Transaction = Transaction;

    async fn begin(&self) -> Result<Transaction, Error> {
        let sim = &self.sim;
        if self.fails(sim.weather.begin_fails, "begin fails") {
            sim.pass(self.takes()).await;
            return Err(failure("a transaction could not begin"));
        }
        sim.ledger.borrow_mut().opens(self.context);
        let id = sim.disk.borrow_mut().begin(self.context, sim.now());
        sim.disk.borrow().next();
        Ok(Transaction { connection: Self { sim: sim.clone(), context: self.context }, id })
    }

    fn takes_early_writes(&self) -> bool {
        true
    }

    fn announce(&self, topics: &[Topic]) {
        context::announce(&self.sim, self.context, topics);
    }
}

pub struct Transaction {
    connection: Connection,
    id: u64,
}

impl Transaction {
    fn flag(&self, which: impl Fn(&Entry) -> &Flag) -> Flag {
        self.connection
            .sim
            .disk
            .borrow()
            .transactions
            .get(&self.id)
            .map_or_else(Flag::new, |entry| which(entry).clone())
    }

    fn check_open(&self) -> Result<(), Error> {
        match self.connection.sim.disk.borrow().state(self.id) {
            State::Open => Ok(()),
            State::Committing => Err(failure("the transaction is committing")),
            State::Ended(outcome) => Err(failure(outcome.err().unwrap_or("the transaction has ended"))),
        }
    }

    fn abort(&self, why: &'static str) -> Error {
        self.connection.sim.disk.borrow_mut().end(self.id, Err(why), false);
        failure(why)
    }

    /// Waits for the transactions before this one.
    async fn under_way(&self) -> Result<(), Error> {
        let sim = &self.connection.sim;
        self.flag(|entry| &entry.turn).wait().await;
        self.check_open()?;
        let begun_at = sim.disk.borrow().transactions[&self.id].begun_at;
        if sim.now() - begun_at > HELD_MAX {
            sim.count("transaction waits too long");
            return Err(self.abort("the transaction took more than 30 s"));
        }
        Ok(())
    }
}

impl KeyedTransaction for Transaction {
    type Payload = u64;

    async fn read(&self, reads: &[Read]) -> Result<Vec<Answer<u64>>, Error> {
        let Connection { sim, context } = &self.connection;
        self.under_way().await?;
        sim.pass(self.connection.takes()).await;
        self.check_open()?;
        if self.connection.fails(sim.weather.read_fails, "read fails") {
            return Err(self.abort("reading failed"));
        }
        sim.ledger.borrow_mut().answered(*context);
        let mut disk = sim.disk.borrow_mut();
        let Disk { rows, undo, transactions, .. } = &mut *disk;
        let entry = transactions.get_mut(&self.id).expect("it is open");
        let answers: Vec<Answer<u64>> = reads.iter().map(|read| rows.read(read.clone())).collect();
        for answer in &answers {
            if let Answer::Jobs(rows) = answer {
                entry.known.extend(rows.iter().map(|row| row.job.id));
            }
        }
        for write in entry.early.take().into_iter().flatten() {
            entry.write(rows, undo, write);
        }
        Ok(answers)
    }

    fn write(&self, write: Write<u64>) {
        let mut disk = self.connection.sim.disk.borrow_mut();
        let Disk { rows, undo, transactions, .. } = &mut *disk;
        // What goes wrong with it comes out of the next read, or the commit.
        let Some(entry) = transactions.get_mut(&self.id).filter(|entry| entry.state == State::Open) else { return };
        match &write {
            Write::Insert(job, ..) => entry.known.push(job.id),
            Write::Update(job, _) => assert!(entry.known.contains(&job.id), "job {} was never read", job.id),
            _ => {}
        }
        match &mut entry.early {
            Some(early) => early.push(write),
            None => entry.write(rows, undo, write),
        }
    }

    async fn commit(self) -> Result<(), Error> {
        let Connection { sim, context } = &self.connection;
        self.check_open()?;
        let is_spoiled = sim.disk.borrow().transactions.get(&self.id).is_some_and(|entry| entry.is_spoiled);
        if is_spoiled {
            let how = "a job was inserted that is there already".into();
            sim.check(Err(Violation::new(Invariant::IdsGrow, how)));
            return Err(failure("the simulation has ended"));
        }
        let sealed = sim.ledger.borrow_mut().seal(sim, *context);
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(violation) => {
                sim.check(Err(violation));
                return Err(failure("the simulation has ended"));
            }
        };
        let fails = self.connection.fails(sim.weather.commit_fails, "commit fails");
        let is_lost = !fails && sim.strikes(sim.weather.answer_lost);
        let id = self.id;
        sim.disk.borrow_mut().transactions.get_mut(&id).expect("it is open").state = State::Committing;
        sim.after(self.connection.takes(), move |sim| complete(sim, id, sealed, fails, is_lost));
        self.flag(|entry| &entry.ended).wait().await;
        match sim.disk.borrow().state(id) {
            State::Ended(Ok(())) => Ok(()),
            State::Ended(Err(why)) => Err(failure(why)),
            _ => Err(failure("the transaction has not ended")),
        }
    }
}

/// The course that a commit takes.
fn complete(sim: &Sim, id: u64, sealed: Sealed, fails: bool, is_lost: bool) {
    if sim.disk.borrow().state(id) != State::Committing {
        return;
    }
    if fails {
        sim.disk.borrow_mut().end(id, Err("the disk is full"), false);
        return;
    }
    sim.count("commit");
    if is_lost {
        sim.count("answer lost");
        sim.is_not_heard();
    }
    sim.note(|| format!("transaction {id} is committed{}", if is_lost { ", and its answer lost" } else { "" }));
    let checked = sim.ledger.borrow_mut().committed(sim, sealed, &sim.disk.borrow().rows, is_lost);
    sim.check(checked);
    let outcome = if is_lost { Err("the connection was lost") } else { Ok(()) };
    sim.disk.borrow_mut().end(id, outcome, true);
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let mut disk = self.connection.sim.disk.borrow_mut();
        match disk.state(self.id) {
            State::Open => disk.end(self.id, Err("the transaction was dropped"), false),
            State::Committing => return self.connection.sim.is_not_heard(),
            State::Ended(_) => {}
        }
        disk.transactions.remove(&self.id);
    }
}

pub fn failure(message: &str) -> Error {
    Error::Storage(StoreError { message: message.into(), cause: None })
}
