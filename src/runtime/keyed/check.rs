//! Whether a storage has given the jobs that it was asked for. Where a row's entries in the index are not its own, a part
//! of it gives jobs of others, some of them twice, or the same ones for ever.

use super::format::damaged_job;
use super::rows::{Answer, Read};
use crate::core::index::{FIRST, Section, Sort, claim_order};
use crate::core::{Error, Job, Timestamp};

/// Checks a round.
///
/// # Errors
/// [`Error::Storage`]: it names the first job that is out of place.
#[inline(never)]
pub(super) fn check<P>(reads: &[Read], answers: &[Answer<P>]) -> Result<(), Error> {
    for (read, answer) in reads.iter().zip(answers) {
        let Answer::Jobs(rows) = answer else { continue };
        let mut from = match read {
            Read::Index { from, .. } => *from,
            Read::Jobs(from, ..) => (0, 0, *from),
            _ => FIRST,
        };
        for row in rows {
            if !is_asked_for(&row.job, read, &mut from) {
                return Err(damaged_job(row.job.id));
            }
        }
    }
    Ok(())
}

/// Whether a job is one that `read` asks for, at `from` or behind. The next one lies behind it.
// In wasm a loop over all kinds of reads would become one for each.
#[inline(never)]
fn is_asked_for(job: &Job, read: &Read, from: &mut Sort) -> bool {
    let (section, asked) = match read {
        Read::Index { queue, section, .. } => (*section, job.queue == *queue && may_lie_in(*section, job)),
        Read::Job(id) => (Section::Pending, job.id == *id),
        Read::Jobs(_, to, _) => (Section::Pending, job.id <= *to),
        _ => (Section::Pending, true),
    };
    let at = position(section, job);
    let asked = asked && at >= *from;
    *from = beyond(at);
    asked
}

/// Whether a job is in the state of a section that is of one.
fn may_lie_in(section: Section, job: &Job) -> bool {
    let is_of_a_state = matches!(section, Section::Pending | Section::Processing | Section::Dead);
    !is_of_a_state || section == Section::of_state(job.state)
}

/// Where a job lies in a section.
pub(super) fn position(section: Section, job: &Job) -> Sort {
    let by = |at: Option<Timestamp>| (at.map_or(0, Timestamp::as_millis), 0, job.id);
    match section {
        Section::Ready | Section::Waiting => claim_order(job),
        Section::Delayed | Section::Leased | Section::Spent => by(Some(job.available_at())),
        Section::Expiring | Section::Expired => by(job.expires_at),
        Section::Aging => by(job.purge_at),
        _ => by(None),
    }
}

/// The next position.
pub(super) const fn beyond((a, b, id): Sort) -> Sort {
    (a, b, id.saturating_add(1))
}
