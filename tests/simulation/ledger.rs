//! The ground truth: what was asked for, what was committed, and what may therefore be answered.
//!
//! Every transaction is followed script by script, on a copy of the truth that its commit puts in place. So each change
//! is held against the rows and the instant it was decided on, whoever else waits, fails or is gone.

use std::collections::{BTreeMap, VecDeque};

use alkstore::core::clock::Meta;
use alkstore::core::{Change, Duration, Error, JobId, Name, Scope, Timestamp};

use crate::invariant::{Invariant, Violation};
use crate::operation::{Answer, Operation};
use crate::sim::{Label, Sim};
use crate::support::Rows;
use crate::truth::{Delta, Staged, Truth, leader_lock};
use crate::{job, judge};

type CallId = u64;

/// How long a leader rests at the most.
const RENEW_EVERY: i64 = 2_000;

#[derive(Default)]
pub struct Ledger {
    pub truth: Truth,
    /// How many turns of leaders have been committed.
    pub turns: u64,
    staged: BTreeMap<JobId, Staged>,
    lives: BTreeMap<usize, Life>,
    serial: u64,
}

/// What a context has under way, from its start to its end.
#[derive(Default)]
struct Life {
    number: u64,
    /// Asked for, and not yet in a transaction; in the order of the calls.
    waiting: VecDeque<(CallId, Operation)>,
    fates: BTreeMap<CallId, Fate>,
    open: Option<Open>,
    /// Whether the transaction under way has been answered, and what the clock said after that.
    answered: bool,
    clock_read: Option<Timestamp>,
    /// The owners that schedule runners lead under.
    runners: Vec<String>,
    /// When there is something to do for the worker of a queue, seen from when it looked.
    looks: BTreeMap<Name, Seen>,
    /// The next boundary, seen from the runner's last turn.
    turn: Option<Seen>,
    /// Whether another was seen to lead.
    refused: bool,
    /// Whether an operation has failed.
    failed: bool,
    closed: bool,
}

/// What became of a call.
#[derive(Debug)]
enum Fate {
    UnderWay,
    /// It is committed, and this is to be answered.
    Committed(Answer),
    Failed,
    /// It is committed, and the engine does not know.
    Lost,
}

/// What a loop saw before it went to sleep.
#[derive(Clone, Copy)]
enum Seen {
    /// From that instant: when there is something to do.
    Due(Timestamp, Option<Timestamp>),
    /// Nothing: the storage failed.
    Nothing,
}

/// A script of a transaction.
enum Member {
    Call(CallId, Operation),
    /// A worker looks when there is something to do.
    Look(Name),
    /// A schedule runner's.
    Leader,
    Unknown,
}

/// A transaction under way.
struct Open {
    members: Vec<Member>,
    /// What scripts did before the storage had answered, each with what it was told then: it counts if that is committed.
    trials: Vec<(Meta, Script)>,
    decided: Decided,
}

/// What the scripts of a transaction have decided.
#[derive(Default)]
struct Decided {
    /// Whether a script ran: not while what the clock says has to move.
    ran: bool,
    rows: Truth,
    /// No id below may be given; a script that gives none may be offered another.
    next_id: JobId,
    answers: Vec<(CallId, Answer)>,
    staged: Vec<(JobId, Staged)>,
    set_back: Option<Duration>,
    /// The jobs that a script has written.
    written: Vec<JobId>,
    /// Whether it took the lease of the schedules, or renewed it.
    leads: bool,
    counts: Vec<(&'static str, u64)>,
}

/// A transaction whose commit was asked for.
pub struct Sealed {
    context: usize,
    life: u64,
    clock_read: bool,
    decided: Decided,
}

/// An instant that was read before the transaction was under way may be so old.
const AGE_MAX: i64 = 100;

impl Ledger {
    pub fn life_begins(&mut self, context: usize) {
        self.serial += 1;
        self.lives.insert(context, Life { number: self.serial, ..Life::default() });
    }

    pub fn life_ends(&mut self, context: usize) {
        self.lives.remove(&context);
    }

    pub fn closes(&mut self, context: usize) {
        self.life(context).closed = true;
    }

    fn life(&mut self, context: usize) -> &mut Life {
        self.lives.entry(context).or_default()
    }

    /// A call is made.
    pub fn asked(&mut self, context: usize, operation: Operation) -> CallId {
        self.serial += 1;
        let id = self.serial;
        self.life(context).waiting.push_back((id, operation));
        id
    }

    /// A call's future is dropped: it does not happen, unless it is in a transaction already.
    pub fn gives_up(&mut self, context: usize, id: CallId) {
        self.life(context).waiting.retain(|(waiting, _)| *waiting != id);
    }

    /// Whether a call that is not answered yet is committed.
    pub fn is_committed(&mut self, context: usize, id: CallId) -> bool {
        matches!(self.life(context).fates.get(&id), Some(Fate::Committed(_)))
    }

    /// A call is answered; `None` where its caller was not told what.
    pub fn answered_call(
        &mut self,
        context: usize,
        id: CallId,
        answer: Result<Option<Answer>, &Error>,
    ) -> Result<(), Violation> {
        let life = self.life(context);
        let fate = life.fates.remove(&id);
        match (answer, fate) {
            (Ok(given), Some(Fate::Committed(due))) => {
                if given.as_ref().is_none_or(|given| *given == due) {
                    return Ok(());
                }
                let how = format!("answered {given:?}, committed was {due:?}");
                Err(Violation::new(Invariant::AnswersAreTrue, how))
            }
            (Ok(given), Some(Fate::Failed | Fate::Lost)) => {
                let how = format!("the storage failed, and the answer was {given:?}");
                Err(Violation::new(Invariant::FailureNeverLooksEmpty, how))
            }
            (Ok(given), Some(Fate::UnderWay) | None) => {
                let how = format!("answered {given:?}, and nothing is committed yet");
                Err(Violation::new(Invariant::NoAnswerBeforeItsCommit, how))
            }
            (Err(Error::Storage(_)), Some(Fate::Failed | Fate::Lost)) => {
                life.failed = true;
                Ok(())
            }
            (Err(Error::Closed), None) if life.closed => {
                life.waiting.retain(|(waiting, _)| *waiting != id);
                Ok(())
            }
            (Err(error), fate) => {
                let how = format!("refused with \"{error}\", and what became of it is {fate:?}");
                Err(Violation::new(Invariant::FailureHasACause, how))
            }
        }
    }

    /// A schedule runner has ended.
    pub fn runner_ended(&mut self, context: usize, ended: Result<(), &Error>, standby: bool) -> Result<(), Violation> {
        let life = self.life(context);
        let is_due = match ended {
            Ok(()) => true,
            Err(Error::LeadershipLost) => life.refused && !standby,
            Err(Error::Storage(_)) => life.failed,
            Err(Error::Closed) => life.closed,
            Err(_) => false,
        };
        life.refused = false;
        if is_due {
            return Ok(());
        }
        let how = format!("a runner ended with {ended:?}, standby {standby}");
        Err(Violation::new(Invariant::FailureHasACause, how))
    }

    /// A worker's wait has ended.
    pub fn loop_ended(&mut self, context: usize, ended: Result<(), &Error>) -> Result<(), Violation> {
        let life = self.life(context);
        match ended {
            Ok(()) => Ok(()),
            Err(Error::Storage(_)) if life.failed => Ok(()),
            Err(Error::Closed) if life.closed => Ok(()),
            Err(error) => Err(Violation::new(Invariant::FailureHasACause, format!("a wait ended with {error:?}"))),
        }
    }

    pub fn runner_drawn(&mut self, context: usize, bits: u64) {
        self.life(context).runners.push(format!("runner-{bits}"));
    }

    pub fn reads_clock(&mut self, context: usize, now: Timestamp) {
        let life = self.life(context);
        life.clock_read = life.answered.then_some(now);
    }

    /// The storage has answered a transaction of the context.
    pub fn answered(&mut self, context: usize) {
        self.life(context).answered = true;
    }

    /// A transaction of the storage is begun.
    pub fn opens(&mut self, context: usize) {
        let life = self.life(context);
        (life.answered, life.clock_read) = (false, None);
        life.open.iter_mut().for_each(|open| open.trials.clear());
    }

    /// Scripts that ask for these first are to run in one transaction.
    pub fn begins(&mut self, context: usize, openings: &[Option<Scope>]) {
        let life = self.life(context);
        let members = openings.iter().map(|opening| match opening {
            Some(Scope::Deadline { queue }) => Member::Look(queue.clone()),
            Some(Scope::Lock { name }) if *name == leader_lock() => Member::Leader,
            Some(Scope::DueSchedules | Scope::NextBoundary) => Member::Leader,
            _ => match life.waiting.pop_front() {
                Some((id, operation)) => {
                    life.fates.insert(id, Fate::UnderWay);
                    Member::Call(id, operation)
                }
                None => Member::Unknown,
            },
        });
        life.open = Some(Open { members: members.collect(), trials: Vec::new(), decided: Decided::default() });
    }

    /// The engine is through with a transaction: it has committed or failed, or whoever waited is gone.
    pub fn ends(&mut self, context: usize, is_failed: bool) {
        let life = self.life(context);
        life.failed |= is_failed;
        let members = life.open.take().map(|open| open.members).unwrap_or_default();
        if is_failed {
            for member in members {
                match member {
                    Member::Look(queue) => drop(life.looks.insert(queue, Seen::Nothing)),
                    Member::Leader => life.turn = Some(Seen::Nothing),
                    _ => {}
                }
            }
            let under_way = life.fates.values_mut().filter(|fate| matches!(fate, Fate::UnderWay));
            under_way.for_each(|fate| *fate = Fate::Failed);
        }
    }

    /// A script is handed its first rows.
    pub fn script_starts(&mut self, context: usize, at: usize, now: Timestamp, meta: &Meta) -> Result<(), Violation> {
        if at == 0 && self.life(context).clock_read.is_none() {
            let how = format!("the instant {} is older than the transaction", now.as_millis());
            return Err(Violation::new(Invariant::ClockInside, how));
        }
        let known = self.decides_on_truth(context, at, now, meta.next_id)?;
        is_remembered(meta, &known)
    }

    /// A script decides on what is true now, and gives ids from `next_id` on; what the storage remembers.
    fn decides_on_truth(
        &mut self,
        context: usize,
        at: usize,
        now: Timestamp,
        next_id: JobId,
    ) -> Result<Meta, Violation> {
        let truth = self.truth.clone();
        let decided = &mut self.life(context).open.as_mut().expect("a transaction").decided;
        if at == 0 {
            decided.ran = true;
            decided.rows = truth;
            decided.set_back = decided.rows.observe(now);
        }
        let known = &mut decided.rows.meta;
        if next_id < known.next_id {
            let how = format!("the next id is {next_id}, and {} was given", known.next_id - 1);
            return Err(Violation::new(Invariant::IdsGrow, how));
        }
        decided.next_id = std::mem::replace(&mut known.next_id, next_id);
        Ok(*known)
    }

    /// A script has decided.
    pub fn script_decides(&mut self, sim: &Sim, context: usize, at: usize, script: Script) -> Result<(), Violation> {
        let staged = std::mem::take(&mut self.staged);
        let decided = self.life(context).decide(sim, context, at, script, &staged);
        self.staged = staged;
        decided
    }

    /// A script was run before the storage had answered.
    pub fn script_tries(&mut self, context: usize, told: Meta, script: Script) {
        self.life(context).open.as_mut().expect("a transaction").trials.push((told, script));
    }

    /// The commit of a transaction was asked for.
    pub fn seal(&mut self, sim: &Sim, context: usize) -> Result<Sealed, Violation> {
        let trials = self.life(context).open.as_mut().map(|open| std::mem::take(&mut open.trials)).unwrap_or_default();
        for (at, (told, script)) in trials.into_iter().enumerate() {
            self.trial_counts(context, at, &told, script.now)?;
            self.script_decides(sim, context, at, script)?;
            sim.count("enqueued ahead of the header");
        }
        let life = self.life(context);
        let decided = life.open.as_mut().map(|open| std::mem::take(&mut open.decided)).unwrap_or_default();
        Ok(Sealed { context, life: life.number, clock_read: life.clock_read.is_some(), decided })
    }

    /// As if the script started now, though with the instant that it has.
    fn trial_counts(&mut self, context: usize, at: usize, told: &Meta, instant: Timestamp) -> Result<(), Violation> {
        is_remembered(told, &self.truth.meta)?;
        let clock_read = self.life(context).clock_read;
        let Some(now) = clock_read.filter(|now| (0..=AGE_MAX).contains(&now.since(instant).as_millis())) else {
            let how = format!("the instant {} is too old at {clock_read:?}", instant.as_millis());
            return Err(Violation::new(Invariant::ClockInside, how));
        };
        self.decides_on_truth(context, at, now, told.next_id).map(drop)
    }

    /// A transaction is committed: from now on what it decided is true.
    pub fn committed(&mut self, sim: &Sim, sealed: Sealed, rows: &Rows<u64>, is_lost: bool) -> Result<(), Violation> {
        let Sealed { context, life, clock_read, decided } = sealed;
        if !decided.ran {
            return self.has_moved(sim, clock_read, rows);
        }
        let Decided { rows: truth, answers, staged, set_back, written, leads, counts, .. } = decided;
        let same = judge::same_rows(&truth, rows, set_back.is_some(), &written);
        self.truth = truth;
        self.staged.extend(staged);
        counts.into_iter().for_each(|(what, times)| sim.count_many(what, times));
        if set_back.is_some() {
            sim.count("correction committed");
        }
        if let Some(life) = self.lives.get_mut(&context).filter(|known| known.number == life) {
            // Who is gone leads no more, though it has taken the lease.
            self.turns += u64::from(leads);
            for (id, answer) in answers {
                if let Some(fate) = life.fates.get_mut(&id).filter(|fate| matches!(fate, Fate::UnderWay)) {
                    *fate = if is_lost { Fate::Lost } else { Fate::Committed(answer) };
                }
            }
        }
        same
    }

    /// A transaction is committed in which no script ran: as much has moved as one transaction may move.
    fn has_moved(&mut self, sim: &Sim, clock_read: bool, rows: &Rows<u64>) -> Result<(), Violation> {
        if !clock_read {
            return Err(Violation::new(Invariant::ClockInside, "a move began with an older instant".into()));
        }
        let header = rows.header.unwrap_or_default();
        if self.truth.moves_on(&header, sim.weather.moves)?.is_some() {
            sim.count("correction committed");
        }
        sim.count("part of a move committed");
        judge::same_rows(&self.truth, rows, true, &[])
    }

    /// A loop goes to sleep.
    pub fn sleeps(&mut self, context: usize, label: Label, span: Duration) -> Result<(), Violation> {
        let life = self.life(context);
        let (seen, longest) = match label {
            Label::Worker(queue) => {
                let seen = life.looks.iter().find(|(name, _)| name.ends_with(queue));
                (seen.map(|(_, seen)| *seen), None)
            }
            Label::Runner => (life.turn, Some(RENEW_EVERY)),
            Label::Other => return Ok(()),
        };
        let due = match seen {
            Some(Seen::Due(looked, due)) => due.map(|due| due.since(looked).as_millis().max(0)),
            Some(Seen::Nothing) => {
                let how = format!("{label:?} could not look, and sleeps for {} ms", span.as_millis());
                return Err(Violation::new(Invariant::FailureNeverLooksEmpty, how));
            }
            None => None,
        };
        let limit = [due, longest].into_iter().flatten().min().unwrap_or(i64::MAX);
        if span.as_millis() <= limit {
            return Ok(());
        }
        let how = format!("{label:?} sleeps for {} ms, and is needed in {limit} ms", span.as_millis());
        Err(Violation::new(Invariant::DeadlineNeverLate, how))
    }
}

/// Whether a script was told what the storage remembers of the clock.
fn is_remembered(told: &Meta, known: &Meta) -> Result<(), Violation> {
    if (told.latest, told.moved_back) == (known.latest, known.moved_back) {
        return Ok(());
    }
    let how = format!("the storage remembers {told:?}, not {known:?}");
    Err(Violation::new(Invariant::SetBackMovesAll, how))
}

/// What a script did.
pub struct Script {
    pub now: Timestamp,
    pub changes: Vec<Change<u64>>,
    pub meta: Meta,
    /// What the storage said about when there is something to do.
    pub deadline: Option<Timestamp>,
}

impl Life {
    fn decide(
        &mut self,
        sim: &Sim,
        context: usize,
        at: usize,
        script: Script,
        staged: &BTreeMap<JobId, Staged>,
    ) -> Result<(), Violation> {
        let Script { now, changes, meta, deadline } = script;
        let Open { members, decided, .. } = self.open.as_mut().expect("a transaction");
        let delta = Delta::of(changes);
        decided.written.extend(delta.jobs.keys());
        let Decided { rows, answers, counts, leads: has_led, next_id, .. } = decided;
        let first_id = rows.meta.next_id;
        let mut given = 0;
        match &members[at] {
            Member::Look(queue) => {
                let due = rows.deadline(queue, now);
                sim.note(|| format!("  {}: looks at {queue}, {now:?}: {due:?}", sim.name(context)));
                judge::deadline(queue, deadline, due)?;
                self.looks.insert(queue.clone(), Seen::Due(now, due));
            }
            Member::Leader => {
                given = delta.payloads.len() as u64;
                sim.note(|| format!("  {}: its runner, {now:?}: {:?}, {given} jobs", sim.name(context), delta.locks));
                self.refused |= judge::leader(rows, &self.runners, now, &delta, counts)?;
                let leads = matches!(delta.locks.get(&leader_lock()), Some(Some(_)));
                rows.apply(delta);
                // Who does not lead waits for the lease, whatever is due.
                let boundary = rows.schedules.values().map(|row| row.next_fire_at).filter(|_| leads).min();
                self.turn = Some(Seen::Due(now, boundary));
                *has_led = leads;
            }
            Member::Call(id, operation) => {
                let jittered =
                    operation.claim().and_then(|claim| delta.jobs.get(&claim.id)?.as_ref()).map(|job| job.run_at);
                let (due, answer) = rows.play(operation, now, staged, jittered);
                sim.note(|| format!("  {}: {operation:?} -> {answer:?}", sim.name(context)));
                judge::operation(rows, operation, now, &delta, &due)?;
                judge::count(rows, operation, now, &answer, counts);
                if let Operation::Stage { queue, stamps, options, payload } = operation {
                    let job = job::draft(first_id, queue, *stamps, options, now).into();
                    let staged = Staged { job, payload: *payload, moved_back: rows.meta.moved_back };
                    decided.staged.push((first_id, staged));
                }
                given = u64::from(matches!(answer, Answer::Id(_)));
                answers.push((*id, answer));
                rows.apply(delta);
            }
            Member::Unknown => {
                let how = "a transaction has a script that nobody asked for".into();
                return Err(Violation::new(Invariant::AsTheContractSays, how));
            }
        }
        if meta.next_id != first_id + given {
            let how = format!("{given} ids from {first_id} on, and then {}", meta.next_id);
            return Err(Violation::new(Invariant::IdsGrow, how));
        }
        rows.meta.next_id = if given > 0 { meta.next_id } else { *next_id };
        Ok(())
    }
}
