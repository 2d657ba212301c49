//! Which invariant a change breaks that the contract does not know.

use std::rc::Rc;

use alkstore::core::clock::Meta;
use alkstore::core::{Duration, JobId, Name, ScheduleOptions, ScheduleRow, State, Timestamp};

use crate::invariant::{Invariant, Violation};
use crate::job::is_leased;
use crate::operation::{Answer, Operation};
use crate::support::Rows;
use crate::truth::{Delta, Truth, leader_lock};

/// How many ids a context takes at a time.
const ID_BLOCK: u64 = 32;

/// How many missed boundaries of a schedule a tick makes up for.
const CATCH_UP: usize = 64;

fn violation<T>(invariant: Invariant, how: String) -> Result<T, Violation> {
    Err(Violation::new(invariant, how))
}

/// What an operation changed, against what it should have.
pub fn operation(
    rows: &Truth,
    operation: &Operation,
    now: Timestamp,
    done: &Delta,
    due: &Delta,
) -> Result<(), Violation> {
    let is_settlement = operation.claim().is_some() || matches!(operation, Operation::AckBatch { .. });
    let mut ids: Vec<JobId> = done.jobs.keys().chain(due.jobs.keys()).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let (did, should) = (done.jobs.get(&id), due.jobs.get(&id));
        if did == should {
            continue;
        }
        let before = rows.jobs.get(&id).map(|(job, _)| &**job);
        let how = format!("{operation:?} at {}: {before:?} became {did:?}, not {should:?}", now.as_millis());
        let claimed = did.and_then(Option::as_ref).is_some_and(|job| job.state == State::Processing);
        let invariant = match (operation, did, should) {
            (_, Some(_), None) if is_settlement => Invariant::NoLateSettlement,
            (_, None, Some(_)) if is_settlement => Invariant::SettlementLands,
            (Operation::Claim { .. }, ..) if claimed && before.is_some_and(|job| is_leased(job, now)) => {
                Invariant::OneHolder
            }
            (_, Some(None), None | Some(Some(_))) => Invariant::NothingIsLost,
            (Operation::Enqueue { .. } | Operation::Commit { .. }, None, _) => Invariant::NothingIsLost,
            _ => Invariant::AsTheContractSays,
        };
        return violation(invariant, how);
    }
    let is_lock = matches!(operation, Operation::TryLock { .. } | Operation::Renew { .. } | Operation::Release { .. });
    if done.locks != due.locks {
        let invariant = if is_lock { Invariant::OneLockHolder } else { Invariant::AsTheContractSays };
        let how = format!("{operation:?} at {}: {:?}, not {:?}", now.as_millis(), done.locks, due.locks);
        return violation(invariant, how);
    }
    if done.payloads != due.payloads || !same_schedules(done, due) {
        let how = format!("{operation:?} at {}: schedules or payloads differ", now.as_millis());
        return violation(Invariant::AsTheContractSays, how);
    }
    Ok(())
}

/// What a schedule runner changed. Whether it was refused: another leads.
pub fn leader(
    rows: &Truth,
    runners: &[String],
    now: Timestamp,
    done: &Delta,
    counts: &mut Vec<(&'static str, u64)>,
) -> Result<bool, Violation> {
    let is_mine = |owner: &Name| runners.iter().any(|runner| **runner == **owner);
    let entry = rows.locks.get(&leader_lock());
    let held = entry.filter(|row| row.expires_at > now);
    let fires = !done.jobs.is_empty() || !done.schedules.is_empty();
    let lease = done.locks.get(&leader_lock());
    let owner = match lease {
        Some(Some(row)) => Some(&row.owner),
        Some(None) => {
            if fires || !entry.is_some_and(|row| is_mine(&row.owner)) {
                return violation(Invariant::OneLockHolder, format!("{entry:?} was given back by another"));
            }
            counts.push(("lease given back", 1));
            return Ok(false);
        }
        None if fires => held.map(|row| &row.owner),
        None => return Ok(held.is_some()),
    };
    let Some(owner) = owner.filter(|owner| is_mine(owner)) else {
        let how = format!("at {} fires who does not lead: {held:?}", now.as_millis());
        return violation(Invariant::OnlyTheLeaderFires, how);
    };
    if let Some(row) = held.filter(|row| row.owner != *owner) {
        let how = format!("{owner} leads at {}, and {} does until {:?}", now.as_millis(), row.owner, row.expires_at);
        return violation(Invariant::OnlyTheLeaderFires, how);
    }
    if let Some(row) = entry.filter(|row| row.owner != *owner) {
        counts.push((if is_mine(&row.owner) { "lease taken again" } else { "lease taken over" }, 1));
    }
    if !fires {
        // A lease alone: who goes to sleep on that with something due is late.
        return Ok(false);
    }
    let due = rows.turn(owner, now);
    for row in rows.schedules.values() {
        let fired = |delta: &Delta| delta.payloads.values().filter(|payload| **payload == row.payload).count();
        let next = |delta: &Delta| match delta.schedules.get(&row.name) {
            Some(changed) => changed.as_ref().map(|row| row.next_fire_at),
            None => Some(row.next_fire_at),
        };
        let (did, should) = ((fired(done), next(done)), (fired(&due), next(&due)));
        if did != should {
            let invariant = if did.0 > CATCH_UP { Invariant::CatchUpBounded } else { Invariant::BoundaryOnce };
            let how = format!(
                "{} due at {:?}, now {now:?}: fired {} times and then {:?}, not {} times and {:?}",
                row.name, row.next_fire_at, did.0, did.1, should.0, should.1
            );
            return violation(invariant, how);
        }
        counts.push(("boundary fired", did.0 as u64));
        counts.push(("catch-up capped", u64::from(did.0 == CATCH_UP)));
    }
    if done.jobs != due.jobs || lease.is_some_and(|_| done.locks != due.locks) {
        let how = format!("a turn at {}: {:?}, not {:?}", now.as_millis(), done.jobs, due.jobs);
        return violation(Invariant::AsTheContractSays, how);
    }
    Ok(false)
}

/// Counts what an operation met.
pub fn count(
    rows: &Truth,
    operation: &Operation,
    now: Timestamp,
    answer: &Answer,
    counts: &mut Vec<(&'static str, u64)>,
) {
    let mut add = |what, times: usize| counts.push((what, times as u64));
    match (operation, answer) {
        (Operation::Heartbeat { .. }, Answer::Landed(true)) => add("heartbeat", 1),
        (_, Answer::Landed(landed)) if operation.claim().is_some() => {
            let there = operation.claim().and_then(|claim| rows.jobs.get(&claim.id));
            let is_anothers = there.is_some_and(|(job, _)| is_leased(job, now));
            add(if *landed { "settlement" } else { "late settlement refused" }, 1);
            add("settlement of another's claim refused", usize::from(!landed && is_anothers));
        }
        (Operation::Claim { .. }, Answer::Jobs(claimed)) => {
            let lapsed = |id: &JobId| rows.jobs.get(id).is_some_and(|(job, _)| job.state == State::Processing);
            add("claim", claimed.len());
            add("lapsed claim taken over", claimed.iter().filter(|(job, _)| lapsed(&job.id)).count());
        }
        (Operation::AckBatch { .. }, Answer::Count(acked)) => add("acked in a batch", *acked),
        (Operation::Cancel { .. }, Answer::Landed(true)) => add("cancelled", 1),
        (Operation::Redrive { .. }, Answer::Count(redriven)) => add("redriven", *redriven),
        (Operation::Purge { .. }, Answer::Count(purged)) => add("purged", *purged),
        (Operation::Sweep { .. }, Answer::Count(swept)) => add("swept", *swept),
        (Operation::Commit { staged }, _) => add("job of a transaction", staged.len()),
        (Operation::TryLock { .. } | Operation::Renew { .. }, Answer::Landed(granted)) => {
            add(if *granted { "lock granted" } else { "lock refused" }, 1);
        }
        _ => {}
    }
}

/// What a loop is told about when there is something to do. Early is allowed, late is not.
pub fn deadline(queue: &Name, told: Option<Timestamp>, due: Option<Timestamp>) -> Result<(), Violation> {
    match (told, due) {
        (_, None) => Ok(()),
        (Some(told), Some(due)) if told <= due => Ok(()),
        _ => violation(Invariant::DeadlineNeverLate, format!("{queue}: told {told:?}, due {due:?}")),
    }
}

/// What is stored, against what was decided.
pub fn same_rows(truth: &Truth, rows: &Rows<u64>, is_set_back: bool, written: &[JobId]) -> Result<(), Violation> {
    let by_the_clock = if is_set_back { Invariant::SetBackMovesAll } else { Invariant::AsTheContractSays };
    let mut stored = rows.jobs.iter();
    for (id, row) in &truth.jobs {
        let found = stored.next();
        if found.map(|(id, _)| id) != Some(id) {
            return violation(Invariant::NothingIsLost, format!("job {id} is not there, but {found:?}"));
        }
        if found.map(|(_, row)| row) != Some(row) {
            let invariant = if written.contains(id) { Invariant::AsTheContractSays } else { by_the_clock };
            return violation(invariant, format!("job {id} is stored as {found:?}, not {row:?}"));
        }
    }
    if let Some(more) = stored.next() {
        return violation(Invariant::AsTheContractSays, format!("{more:?} was never decided"));
    }
    if rows.locks != truth.locks {
        return violation(by_the_clock, format!("locks {:?}, not {:?}", rows.locks, truth.locks));
    }
    if !rows.schedules.values().map(columns).eq(truth.schedules.values().map(columns)) {
        return violation(by_the_clock, format!("schedules {:?}, not {:?}", rows.schedules, truth.schedules));
    }
    let header = rows.header.unwrap_or_default();
    let moving = Some((header.moving, header.moved)).filter(|_| header.is_moving());
    if moving != truth.moving {
        return violation(Invariant::SetBackMovesAll, format!("moves {moving:?}, not {:?}", truth.moving));
    }
    let stored = header.meta;
    // The rest of a block of ids lies between what was given and what is stored.
    let given = truth.meta.next_id;
    let same = Meta { next_id: stored.next_id, ..truth.meta };
    if stored != same || !(given..=given + ID_BLOCK).contains(&stored.next_id) {
        let invariant = if stored.next_id < given { Invariant::IdsGrow } else { by_the_clock };
        return violation(invariant, format!("{stored:?}, not {:?}", truth.meta));
    }
    Ok(())
}

type Columns<'r> = (&'r Name, &'r str, Duration, &'r Name, u64, ScheduleOptions, Timestamp);

fn columns(row: &Rc<ScheduleRow<u64>>) -> Columns<'_> {
    (&row.name, &row.spec, row.interval, &row.queue, row.payload, row.options, row.next_fire_at)
}

fn same_schedules(done: &Delta, due: &Delta) -> bool {
    let same = |(a, b): (&Option<Rc<ScheduleRow<u64>>>, &Option<_>)| a.as_ref().map(columns) == b.as_ref().map(columns);
    done.schedules.keys().eq(due.schedules.keys()) && done.schedules.values().zip(due.schedules.values()).all(same)
}
