//! Rows under keys with one sorted index over them, in memory: what a durable storage does for the engine, without the
//! durability. Transactions take turns; each works on a copy that its commit puts in place.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use alkstore::core::index::Section;
use alkstore::core::{Error, Job, JobId, StoreError, Topic};
use alkstore::runtime::{Answer, Keyed, KeyedTransaction, Read, Write};

use super::executor::turn;
use super::rows::Rows;

/// The storage; clones share it, each as a context of its own.
pub struct Table<P> {
    inner: Rc<Inner<P>>,
}

struct Inner<P> {
    rows: RefCell<Rows<P>>,
    busy: Cell<bool>,
    /// How many turns each read, and the commit, takes.
    turns: Cell<usize>,
    /// How many rounds of reads there have been.
    rounds: Cell<usize>,
    /// How many jobs were written before their transaction's first read was answered.
    early: Cell<usize>,
    /// How often the header was written.
    headers: Cell<usize>,
    /// How many transactions have been committed.
    commits: Cell<usize>,
    /// How many commits from now on fail.
    failures: Cell<usize>,
    /// The job that is damaged: whoever reads it is told.
    damaged: Cell<Option<JobId>>,
}

impl<P> Clone for Table<P> {
    fn clone(&self) -> Self {
        Self { inner: Rc::clone(&self.inner) }
    }
}

impl<P> Default for Table<P> {
    fn default() -> Self {
        let inner = Inner {
            rows: RefCell::default(),
            busy: Cell::new(false),
            turns: Cell::new(0),
            rounds: Cell::new(0),
            early: Cell::new(0),
            headers: Cell::new(0),
            commits: Cell::new(0),
            failures: Cell::new(0),
            damaged: Cell::new(None),
        };
        Self { inner: Rc::new(inner) }
    }
}

impl<P> Table<P> {
    /// A storage that answers each read, and a commit, after so many turns.
    pub fn slow(turns: usize) -> Self {
        let table = Self::default();
        table.inner.turns.set(turns);
        table
    }

    /// Lets a job be damaged.
    pub fn damage(&self, id: JobId) {
        self.inner.damaged.set(Some(id));
    }

    /// How many transactions have been committed.
    pub fn commits(&self) -> usize {
        self.inner.commits.get()
    }

    /// How many rounds of reads there have been.
    pub fn rounds(&self) -> usize {
        self.inner.rounds.get()
    }

    /// How many jobs were written before their transaction's first read was answered.
    pub fn early(&self) -> usize {
        self.inner.early.get()
    }

    /// How often the header was written.
    pub fn headers(&self) -> usize {
        self.inner.headers.get()
    }

    /// Lets the next `count` commits fail.
    pub fn fail(&self, count: usize) {
        self.inner.failures.set(count);
    }

    /// All jobs, by id.
    pub fn jobs(&self) -> Vec<Rc<Job>> {
        self.inner.rows.borrow().jobs.values().map(|(job, _)| Rc::clone(job)).collect()
    }

    /// How many entries the index has in a section.
    pub fn entries(&self, section: Section) -> usize {
        self.inner.rows.borrow().entries(section)
    }
}

impl<P: Clone + 'static> Keyed for Table<P> {
    type Payload = P;
    type Transaction = Transaction<P>;

    async fn begin(&self) -> Result<Transaction<P>, Error> {
        Ok(Transaction {
            table: self.clone(),
            rows: RefCell::default(),
            is_asked: Cell::default(),
            is_answered: Cell::default(),
            early: RefCell::default(),
            is_spoiled: Cell::default(),
            known: RefCell::default(),
        })
    }

    fn takes_early_writes(&self) -> bool {
        true
    }

    fn announce(&self, _topics: &[Topic]) {}
}

pub struct Transaction<P> {
    table: Table<P>,
    /// `None` until the first read: others may be under way.
    rows: RefCell<Option<Rows<P>>>,
    /// Whether that was asked, and answered.
    is_asked: Cell<bool>,
    is_answered: Cell<bool>,
    /// What was written before that.
    early: RefCell<Vec<Write<P>>>,
    /// Whether a job was among that which is there: this must not be committed.
    is_spoiled: Cell<bool>,
    /// The jobs that were read or inserted: only they may be updated.
    known: RefCell<Vec<JobId>>,
}

impl<P: Clone> Transaction<P> {
    async fn under_way(&self) {
        if self.rows.borrow().is_none() {
            while self.table.inner.busy.get() {
                turn().await;
            }
            self.table.inner.busy.set(true);
            let rows = self.table.inner.rows.borrow().clone();
            self.rows.replace(Some(rows));
        }
        for _ in 0..self.table.inner.turns.get() {
            turn().await;
        }
    }

    fn put(&self, write: Write<P>) {
        let mut rows = self.rows.borrow_mut();
        let rows = rows.as_mut().unwrap();
        self.is_spoiled.set(self.is_spoiled.get() || rows.has(&write));
        if !self.is_spoiled.get() {
            let _ = rows.write(write);
        }
    }
}

impl<P: Clone> KeyedTransaction for Transaction<P> {
    type Payload = P;

    async fn read(&self, reads: &[Read]) -> Result<Vec<Answer<P>>, Error> {
        self.is_asked.set(true);
        self.under_way().await;
        self.is_answered.set(true);
        self.table.inner.rounds.set(self.table.inner.rounds.get() + 1);
        let rows = self.rows.borrow();
        let answers: Vec<_> = reads.iter().map(|read| rows.as_ref().unwrap().read(read.clone())).collect();
        for answer in &answers {
            if let Answer::Jobs(jobs) = answer {
                if jobs.iter().any(|row| Some(row.job.id) == self.table.inner.damaged.get()) {
                    return Err(Error::Storage(StoreError { message: "a stored row is damaged".into(), cause: None }));
                }
                self.known.borrow_mut().extend(jobs.iter().map(|row| row.job.id));
            }
        }
        drop(rows);
        self.early.take().into_iter().for_each(|write| self.put(write));
        Ok(answers)
    }

    fn write(&self, write: Write<P>) {
        assert!(self.is_asked.get(), "what is there already would fail the read that tells of it");
        match &write {
            Write::Insert(job, ..) => {
                let early = &self.table.inner.early;
                early.set(early.get() + usize::from(!self.is_answered.get()));
                self.known.borrow_mut().push(job.id);
            }
            Write::Update(job, _) => assert!(self.known.borrow().contains(&job.id), "job {} was never read", job.id),
            Write::Header(_) => self.table.inner.headers.set(self.table.inner.headers.get() + 1),
            _ => {}
        }
        if self.is_answered.get() {
            self.put(write);
        } else {
            self.early.borrow_mut().push(write);
        }
    }

    async fn commit(self) -> Result<(), Error> {
        self.under_way().await;
        assert!(!self.is_spoiled.get(), "a job was inserted that is there already");
        let inner = &self.table.inner;
        if inner.failures.get() > 0 {
            inner.failures.set(inner.failures.get() - 1);
            return Err(Error::Storage(StoreError { message: "the disk is full".into(), cause: None }));
        }
        inner.commits.set(inner.commits.get() + 1);
        inner.rows.replace(self.rows.take().unwrap());
        inner.busy.set(false);
        Ok(())
    }
}

impl<P> Drop for Transaction<P> {
    fn drop(&mut self) {
        if self.rows.take().is_some() {
            self.table.inner.busy.set(false);
        }
    }
}
