//! How rows are stored: as columns, of which the first is the number of their format.
//!
//! What the engine never writes is damage, and an error: rows lie where others can write, and releases come and go.
//! What a column is made of is the storage's own affair: a value of JavaScript's, or of a database's.

use std::rc::Rc;

use super::rows::Header;
use crate::core::clock::Meta;
use crate::core::time::MILLIS_MAX;
use crate::core::{
    Duration, Error, Handling, Job, JobId, LockRow, Name, ScheduleOptions, ScheduleRow, Stamps, State, StoreError,
    Timestamp,
};

/// The format that this release writes. Later ones read it, and write their own.
const FORMAT: i64 = 1;

/// The columns of a row.
pub trait Columns: Default {
    /// What lies in one.
    type Column: Column;

    /// What lies at `at`; past the end it is neither a number nor text nor null.
    fn column(&self, at: u32) -> Self::Column;

    /// Adds one at the end.
    fn push(&mut self, column: &Self::Column);
}

/// What lies in a column. One that was read may be anything.
pub trait Column {
    /// What stands for absence.
    fn null() -> Self;

    /// A whole number.
    fn of_number(n: f64) -> Self;

    /// Text.
    fn of_text(text: &str) -> Self;

    /// Whether it is null.
    fn is_null(&self) -> bool;

    /// The number, if it is one.
    fn number(&self) -> Option<f64>;

    /// The text, if it is that.
    fn text(&self) -> Option<String>;
}

/// Columns under way. Its functions, like a reader's, stay apart: in wasm a row is a list of calls then.
struct Writer<C>(C);

impl<C: Columns> Writer<C> {
    fn new() -> Self {
        Self(C::default()).number(FORMAT)
    }

    #[inline(never)]
    fn number(self, n: i64) -> Self {
        self.column(&C::Column::of_number(n as f64))
    }

    #[inline(never)]
    fn maybe(self, n: Option<i64>) -> Self {
        self.column(&n.map_or_else(C::Column::null, |n| C::Column::of_number(n as f64)))
    }

    #[inline(never)]
    fn instant(self, at: Option<Timestamp>) -> Self {
        self.maybe(at.map(Timestamp::as_millis))
    }

    #[inline(never)]
    fn span(self, span: Option<Duration>) -> Self {
        self.maybe(span.map(Duration::as_millis))
    }

    #[inline(never)]
    fn text(self, text: Option<&str>) -> Self {
        self.column(&text.map_or_else(C::Column::null, C::Column::of_text))
    }

    fn column(mut self, column: &C::Column) -> Self {
        self.0.push(column);
        self
    }
}

/// The columns of the header; the last two only while something is moving.
pub fn header<C: Columns>(header: &Header) -> C {
    let columns = Writer::new()
        .number(header.meta.next_id.cast_signed())
        .instant(header.meta.latest)
        .span(Some(header.meta.moved_back))
        .instant(Some(header.crossed));
    if header.is_moving() {
        return columns.span(Some(header.moving)).number(header.moved.cast_signed()).0;
    }
    columns.0
}

/// The columns of a lock.
pub fn lock<C: Columns>(name: &Name, row: &LockRow) -> C {
    Writer::new().text(Some(name)).text(Some(&row.owner)).instant(Some(row.expires_at)).0
}

/// The columns of a schedule, whose payload is kept beside them.
pub fn schedule<C: Columns, P>(row: &ScheduleRow<P>) -> C {
    let ScheduleOptions { priority, max_attempts, expires } = row.options;
    Writer::new()
        .text(Some(&row.name))
        .text(Some(&row.spec))
        .span(Some(row.interval))
        .text(Some(&row.queue))
        .maybe(priority)
        .maybe(max_attempts)
        .span(expires)
        .instant(Some(row.next_fire_at))
        .0
}

/// The columns of a job.
pub fn job<C: Columns>(job: &Job) -> C {
    let Stamps { visibility_timeout, max_attempts, backoff_base, dead_letter_retention } = *job.stamps;
    Writer::new()
        .number(job.id.cast_signed())
        .text(Some(&job.queue))
        .text(Some(job.state.as_str()))
        .number(job.priority)
        .instant(Some(job.run_at))
        .number(i64::from(job.run_at_absolute))
        .number(job.attempts)
        .span(Some(visibility_timeout))
        .number(max_attempts)
        .span(Some(backoff_base))
        .span(dead_letter_retention)
        .text(job.worker_id.as_deref())
        .instant(job.claimed_at)
        .instant(job.claim_expires_at)
        .number(job.claims.cast_signed())
        .instant(Some(job.created_at))
        .instant(job.expires_at)
        .text(job.last_error.as_deref())
        .instant(job.died_at)
        .instant(job.purge_at)
        .0
}

/// Reads a row from its columns, in the order in which they were written. What is wrong with them is noticed, and told
/// at the end.
#[derive(Debug)]
pub struct Reader<C> {
    columns: C,
    next: u32,
    format: i64,
    damaged: bool,
}

impl<C: Columns> Reader<C> {
    /// Reads what lies in `columns`.
    pub fn new(columns: C) -> Self {
        let mut reader = Self { columns, next: 0, format: FORMAT, damaged: false };
        reader.format = reader.number();
        reader
    }

    fn end<T>(&self, row: T) -> Result<T, Error> {
        if self.format > FORMAT {
            return Err(refused_row(NEWER, self.format));
        }
        if self.damaged || self.format < FORMAT { Err(self.damage()) } else { Ok(row) }
    }

    /// Names the row by its second column, an id or a name, if it has one.
    fn damage(&self) -> Error {
        let which = self.columns.column(1);
        match (which.number(), which.text()) {
            (Some(id), _) => refused_row(DAMAGED, id as i64),
            (None, text) => refused([DAMAGED.0, &text.unwrap_or_default(), DAMAGED.1].concat()),
        }
    }

    #[inline(never)]
    fn column(&mut self) -> C::Column {
        let column = self.columns.column(self.next);
        self.next = self.next.saturating_add(1);
        column
    }

    #[inline(never)]
    fn maybe(&mut self) -> Option<i64> {
        let column = self.column();
        let number = column.number().filter(|n| n.trunc() == *n && n.abs() <= MILLIS_MAX as f64);
        self.damaged |= number.is_none() && !column.is_null();
        number.map(|n| n as i64)
    }

    #[inline(never)]
    fn number(&mut self) -> i64 {
        let number = self.maybe();
        self.damaged |= number.is_none();
        number.unwrap_or_default()
    }

    #[inline(never)]
    fn natural(&mut self) -> u64 {
        let number = self.number();
        self.damaged |= number < 0;
        number.unsigned_abs()
    }

    fn flag(&mut self) -> bool {
        let number = self.natural();
        self.damaged |= number > 1;
        number > 0
    }

    #[inline(never)]
    fn instant(&mut self) -> Timestamp {
        Timestamp::from_millis(self.number())
    }

    #[inline(never)]
    fn maybe_instant(&mut self) -> Option<Timestamp> {
        self.maybe().map(Timestamp::from_millis)
    }

    #[inline(never)]
    fn span(&mut self) -> Duration {
        Duration::from_millis(self.number())
    }

    #[inline(never)]
    fn maybe_span(&mut self) -> Option<Duration> {
        self.maybe().map(Duration::from_millis)
    }

    #[inline(never)]
    fn maybe_text(&mut self) -> Option<String> {
        let column = self.column();
        let text = column.text();
        self.damaged |= text.is_none() && !column.is_null();
        text
    }

    #[inline(never)]
    fn text(&mut self) -> String {
        let text = self.maybe_text();
        self.damaged |= text.is_none();
        text.unwrap_or_default()
    }

    #[inline(never)]
    fn name(&mut self) -> Name {
        Name::internal(&self.text())
    }

    fn state(&mut self) -> State {
        let state = State::named(&self.text());
        self.damaged |= state.is_none();
        state.unwrap_or(State::Dead)
    }

    /// The header.
    ///
    /// # Errors
    /// [`Error::Storage`], as of every kind of row: it is damaged, or of a later format.
    pub fn header(mut self) -> Result<Header, Error> {
        let meta = Meta { next_id: self.natural(), latest: self.maybe_instant(), moved_back: self.span() };
        let mut header = Header { meta, crossed: self.instant(), ..Header::default() };
        if self.columns.column(self.next).number().is_some() {
            (header.moving, header.moved) = (self.span(), self.natural());
            self.damaged |= !header.is_moving();
        }
        self.end(header)
    }

    /// A lock.
    ///
    /// # Errors
    /// As [`header`](Reader::header).
    pub fn lock(mut self) -> Result<(Name, LockRow), Error> {
        let row = (self.name(), LockRow { owner: self.name(), expires_at: self.instant() });
        self.end(row)
    }

    /// A schedule, with the payload that was kept beside its columns.
    ///
    /// # Errors
    /// As [`header`](Reader::header).
    pub fn schedule<P>(mut self, payload: P) -> Result<Rc<ScheduleRow<P>>, Error> {
        let row = ScheduleRow {
            name: self.name(),
            spec: Rc::from(self.text()),
            interval: self.span(),
            queue: self.name(),
            payload,
            options: ScheduleOptions { priority: self.maybe(), max_attempts: self.maybe(), expires: self.maybe_span() },
            next_fire_at: self.instant(),
        };
        self.damaged |= !row.interval.is_positive();
        self.end(Rc::new(row))
    }

    /// A job.
    ///
    /// # Errors
    /// As [`header`](Reader::header).
    pub fn job(mut self) -> Result<Rc<Job>, Error> {
        let mut job = Job {
            id: self.natural(),
            queue: self.name(),
            state: self.state(),
            priority: self.number(),
            run_at: self.instant(),
            run_at_absolute: self.flag(),
            attempts: self.number(),
            stamps: Rc::new(Stamps {
                visibility_timeout: self.span(),
                max_attempts: self.number(),
                backoff_base: self.span(),
                dead_letter_retention: self.maybe_span(),
            }),
            claims: 0,
            created_at: Timestamp::default(),
            expires_at: None,
            handling: None,
        };
        let mut handling = Handling {
            worker_id: self.maybe_text().as_deref().map(Name::internal),
            claimed_at: self.maybe_instant(),
            claim_expires_at: self.maybe_instant(),
            ..Handling::default()
        };
        job.claims = self.natural();
        job.created_at = self.instant();
        job.expires_at = self.maybe_instant();
        handling.last_error = self.maybe_text().map(Rc::from);
        handling.died_at = self.maybe_instant();
        handling.purge_at = self.maybe_instant();
        job.handling = (handling != Handling::default()).then(|| Box::new(handling));
        self.end(Rc::new(job))
    }
}

const DAMAGED: Text = ("a stored row is damaged (", "): not what this engine writes");
const NEWER: Text =
    ("the storage was written by a newer release (format ", concat!("): update ", env!("CARGO_PKG_NAME")));
const LOST_PAYLOAD: Text = ("the payload of job ", " is missing from the storage");

/// What is said before a number, and after it.
type Text = (&'static str, &'static str);

/// Whether an error is of a damaged row, and not of one that a later release wrote, or of the storage's.
pub fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Storage(StoreError { message, .. }) if message.starts_with(DAMAGED.0))
}

/// A job whose row is not what the engine writes, or not where.
pub(super) fn damaged_job(id: JobId) -> Error {
    refused_row(DAMAGED, id.cast_signed())
}

/// A job without a payload.
pub(super) fn lost_payload(id: JobId) -> Error {
    refused_row(LOST_PAYLOAD, id.cast_signed())
}

#[inline(never)]
fn refused_row((before, after): Text, number: i64) -> Error {
    refused([before, &number.to_string(), after].concat())
}

fn refused(message: String) -> Error {
    Error::Storage(StoreError { message: message.into(), cause: None })
}
