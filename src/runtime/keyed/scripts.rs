//! Scripts in one transaction of a storage that keeps rows under keys.

use std::future::poll_fn;
use std::mem::take;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use super::answer::{Answers, opening_reads};
use super::check::check;
use super::foreseen::{Foreseen, is_by_id};
use super::format::is_damage;
use super::rows::{Header, Read, Row, Write};
use super::{Ids, KeyedTransaction};
use crate::core::index::crossed;
use crate::core::{Change, Duration, Error, Job, JobId, Place, Scope, Script, Step, Timestamp, Topic, View};
use crate::runtime::host::Clock;

/// How far ahead of the clock the first reads of a transaction look. They are asked before it is under way, and must
/// find what becomes due while it waits for others; one that waits for longer asks again.
const HORIZON: Duration = Duration::from_secs(1);

/// How many rows are moved at a time when the clock was set back.
const MOVE_CHUNK: usize = 256;

/// How far ahead of the rows that are inserted [`Header::crossed`] is set, so that most enqueues write no header.
pub(super) const CROSSED_AHEAD: Duration = Duration::from_secs(1);

/// How old the instant may be at which jobs were enqueued before the transaction was under way.
const AGE_MAX: Duration = Duration::from_millis(100);

/// Runs the scripts one after another; who is to look again once the transaction has committed, and the header then. If that
/// is still [`moving`](Header::moving) none of them has run: as many jobs have moved as one transaction may. Of new ids a
/// block is taken.
///
/// Scripts that ask for nothing may go `ahead`: they run while the header is being read, as if it were still the one that this
/// context has committed last, and what they write goes out with the first read. If it is, and nobody here has been given an
/// id meanwhile, their ids are the next ones. `None` if not, or if their instant does not hold any more because the transaction
/// has waited for others or the clock was set back: nothing of it may be committed then.
pub(super) async fn run<T: KeyedTransaction>(
    transaction: &T,
    ids: &Ids,
    (block, mut moves): (u64, usize),
    clock: &dyn Clock,
    scripts: &mut [&mut dyn Script<T::Payload>],
    questions: &mut [Option<Scope>],
    goes_ahead: bool,
) -> Result<Option<(Vec<Topic>, Header)>, Error> {
    let began = clock.now()?;
    let horizon = began.plus(HORIZON);
    let mut reads = vec![Read::Header];
    let foreseen = Foreseen::ask(questions.iter().flatten(), &mut reads);
    let expected = (ids.header.get(), ids.floor.get());
    let mut running =
        Scripts { transaction, view: View::default(), header: expected.0, now: began, foreseen, has_written: false };
    let first = questions.first().and_then(Option::as_ref).filter(|scope| !is_by_id(scope));
    if let Some(scope) = first {
        opening_reads(scope, horizon, &mut reads);
    }
    let mut is_asked = first.is_some();
    let is_alone = reads.len() == 1;
    let mut reading = read(transaction, reads);
    let (mut answered, mut is_done) = (Poll::Pending, false);
    if goes_ahead {
        answered = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
        is_done = running.ahead(expected.1, scripts);
    }
    let first_answers = if let Poll::Ready(answers) = answered { answers } else { reading.await };
    let mut answers = match first_answers {
        // It may be about what one of them asks for: each asks for itself then.
        Err(_) if !is_alone => {
            running.foreseen.forget();
            is_asked = false;
            read(transaction, vec![Read::Header]).await?
        }
        answers => answers?,
    };
    // Read only now: the answers have waited for every transaction before this one.
    let now = clock.now()?;
    let stored = answers.header();
    let is_unchanged = stored == ids.header.get();
    let is_recent = now >= began && now <= began.plus(AGE_MAX);
    ids.is_unchanged.set(is_unchanged && is_recent);
    running.now = now;
    if goes_ahead {
        // Another store on these rows, or a transaction of the caller's, may have been in line before it.
        let is_expected = (stored, ids.floor.get()) == expected;
        if !is_done || !is_expected || !is_recent || running.must_move() {
            return Ok(None);
        }
        let first_id = ids.floor.replace(running.header.meta.next_id);
        return Ok(Some(running.end(first_id, block, &stored)));
    }
    running.header = stored;
    running.foreseen.fill(&mut answers);
    let floor = if is_unchanged { 0 } else { stored.meta.next_id };
    let first_id = ids.floor.get().max(floor);
    running.header.meta.next_id = first_id;
    ids.floor.set(first_id);
    let mut asked = Some(answers).filter(|_| is_asked && now <= horizon);
    let mut written = stored;
    while running.must_move() && moves > 0 {
        let chunk = moves.min(MOVE_CHUNK);
        moves = moves.saturating_sub(chunk);
        running.move_back(chunk).await?;
        // In one turn with what has moved: in a transaction of somebody else's too, whatever becomes of that, nothing moves
        // twice.
        written = running.header;
        written.meta.next_id = stored.meta.next_id;
        transaction.write(Write::Header(written));
        running.foreseen.forget();
        asked = None;
    }
    let scripts = if running.header.is_moving() { &mut [] } else { scripts };
    // The transaction of which nothing is left has failed.
    let mut left = scripts.len();
    for (script, question) in scripts.iter_mut().zip(questions) {
        if let Err(error) = running.script(*script, question.take(), asked.take()).await {
            left = left.saturating_sub(1);
            if left == 0 || running.has_written {
                return Err(error);
            }
            // A transaction that still answers is none that failed: a row is damaged.
            running.read(vec![Read::Header]).await?;
            script.fail(error)?;
        }
        ids.floor.set(running.header.meta.next_id);
    }
    Ok(Some(running.end(first_id, block, &written)))
}

type Reading<'r, P> = Pin<Box<dyn Future<Output = Result<Answers<P>, Error>> + 'r>>;

#[inline(never)]
fn read<T: KeyedTransaction>(transaction: &T, reads: Vec<Read>) -> Reading<'_, T::Payload> {
    Box::pin(async move {
        let answers = transaction.read(&reads).await?;
        check(&reads, &answers)?;
        Ok(Answers::new(answers))
    })
}

/// One transaction's scripts, at one instant.
pub(super) struct Scripts<'t, T: KeyedTransaction> {
    pub(super) transaction: &'t T,
    pub(super) view: View<T::Payload>,
    pub(super) header: Header,
    pub(super) now: Timestamp,
    foreseen: Foreseen<T::Payload>,
    /// Whether the script that runs has: it cannot be left out any more.
    has_written: bool,
}

impl<T: KeyedTransaction> Scripts<'_, T> {
    /// Runs scripts with ids from `next_id` on; whether they have asked for nothing.
    #[inline(never)]
    fn ahead(&mut self, next_id: JobId, scripts: &mut [&mut dyn Script<T::Payload>]) -> bool {
        self.header.meta.next_id = next_id;
        self.view.is_trial = true;
        scripts.iter_mut().all(|script| {
            self.begin();
            let step = script.step(&mut self.view);
            self.apply();
            step == Step::Done
        })
    }

    /// The next script begins.
    fn begin(&mut self) {
        self.view.begin(self.now, self.header.meta);
        self.has_written = false;
    }

    /// Who is to look again, and the header: if it is not what was `written`, it is. If ids were given, from `first_id` on, and
    /// none are left, a block of them is taken.
    #[inline(never)]
    fn end(&mut self, first_id: JobId, block: u64, written: &Header) -> (Vec<Topic>, Header) {
        let (next, stored) = (self.header.meta.next_id, written.meta.next_id);
        self.header.meta.next_id = if next > first_id.max(stored) { next.saturating_add(block) } else { stored };
        if self.header != *written {
            self.transaction.write(Write::Header(self.header));
        }
        (take(&mut self.view.wakes), self.header)
    }

    async fn script(
        &mut self,
        script: &mut dyn Script<T::Payload>,
        mut question: Option<Scope>,
        mut asked: Option<Answers<T::Payload>>,
    ) -> Result<(), Error> {
        self.begin();
        loop {
            if let Some(scope) = &question {
                self.apply();
                self.view.begin_answer();
                let answers = match asked.take().or_else(|| self.foreseen.answers(scope)) {
                    Some(answers) => answers,
                    None => self.ask(scope).await?,
                };
                self.answer(scope, answers).await?;
            }
            match script.step(&mut self.view) {
                Step::Ask(scope) => question = Some(scope),
                Step::Done => break,
            }
        }
        self.apply();
        Ok(())
    }

    /// The first round of reads for a scope.
    pub(super) fn ask(&self, scope: &Scope) -> Reading<'_, T::Payload> {
        let mut reads = Vec::new();
        opening_reads(scope, self.now, &mut reads);
        self.read(reads)
    }

    pub(super) fn read(&self, reads: Vec<Read>) -> Reading<'_, T::Payload> {
        read(self.transaction, reads)
    }

    #[inline(never)]
    fn apply(&mut self) {
        self.header.meta = self.view.meta;
        for change in take(&mut self.view.changes) {
            self.has_written = true;
            let write = match change {
                Change::Insert(job, payload) => {
                    self.foreseen.wrote(job.id);
                    if job.place(self.now) != Place::Ready || job.run_at > self.header.crossed {
                        self.cross(&job);
                    }
                    Write::Insert(job, payload, self.now)
                }
                Change::Update(job) => {
                    self.update(job);
                    continue;
                }
                Change::Remove { id, .. } => {
                    self.foreseen.wrote(id);
                    Write::Remove(id)
                }
                Change::PutLock(name, lock) => Write::PutLock(name, lock),
                Change::RemoveLock(name) => Write::RemoveLock(name),
                Change::PutSchedule(row) => Write::PutSchedule(row),
                Change::RemoveSchedule(name) => Write::RemoveSchedule(name),
            };
            self.transaction.write(write);
        }
    }

    /// Writes a job's row, and with it the entries that are true now.
    #[inline(never)]
    pub(super) fn update(&mut self, job: Rc<Job>) {
        self.foreseen.wrote(job.id);
        self.cross(&job);
        self.transaction.write(Write::Update(job, self.now));
    }

    /// The same for several; whether there were any.
    #[inline(never)]
    pub(super) fn update_all(&mut self, rows: Vec<Row<T::Payload>>) -> bool {
        let any = !rows.is_empty();
        rows.into_iter().for_each(|row| self.update(row.job));
        any
    }

    #[inline(never)]
    fn cross(&mut self, job: &Job) {
        if let Some(at) = crossed(job, job.place(self.now), self.now) {
            self.header.crossed = self.header.crossed.max(at.plus(CROSSED_AHEAD));
        }
    }

    /// Takes note of the clock. Whether something is to move: the clock was set back since the latest transaction, or before
    /// and not all has moved since.
    fn must_move(&mut self) -> bool {
        if !self.header.is_moving()
            && let Some(step) = self.header.meta.observe(self.now)
        {
            self.header.crossed = self.now.plus(CROSSED_AHEAD);
            (self.header.moving, self.header.moved) = (step, 0);
        }
        self.header.is_moving()
    }

    /// Moves what was derived from the clock back: the next jobs or, once there are none, locks and schedules.
    ///
    /// A damaged job stays where it is: it must not keep the others from moving. Beside a damaged schedule none moves: a
    /// tick pulls them in, if it need not read the damaged one.
    async fn move_back(&mut self, limit: usize) -> Result<(), Error> {
        let (step, from) = (self.header.moving, self.header.moved);
        let end = self.header.meta.next_id.max(from);
        let mut to = end;
        let rows = loop {
            // One more than is to move: that a row is not the job that it says is seen from the next one.
            if let Some(mut answers) = self.sound(Read::Jobs(from, to, limit.saturating_add(1))).await? {
                break answers.jobs();
            }
            if to == from {
                break Vec::new();
            }
            // Halfway, until it lies beyond or is the only one.
            to = from.saturating_add(to.saturating_sub(from) / 2);
        };
        let is_whole = rows.len() <= limit;
        if rows.is_empty() && to == end {
            let locks = self.read(vec![Read::Locks]).await?.locks();
            let schedules = self.sound(Read::Schedules).await?.map_or_else(Vec::new, |mut found| found.schedules());
            for (name, mut lock) in locks {
                lock.move_back(step);
                self.transaction.write(Write::PutLock(name, lock));
            }
            for mut row in schedules {
                Rc::make_mut(&mut row).move_back(step);
                self.transaction.write(Write::PutSchedule(row));
            }
            (self.header.moving, self.header.moved) = (Duration::ZERO, 0);
        }
        for mut row in rows.into_iter().take(limit) {
            self.header.moved = row.job.id.saturating_add(1);
            Rc::make_mut(&mut row.job).move_back(step);
            self.update(row.job);
        }
        if is_whole && to < end {
            self.header.moved = to.saturating_add(1);
        }
        Ok(())
    }

    /// The answer to a read, or `None` if something in it is damaged.
    async fn sound(&self, read: Read) -> Result<Option<Answers<T::Payload>>, Error> {
        match self.read(vec![read]).await {
            Err(error) if is_damage(&error) => Ok(None),
            answers => answers.map(Some),
        }
    }
}
