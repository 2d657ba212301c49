//! Jobs that the scripts of a transaction ask for by id, read before the first of them runs: a group of acks takes one
//! round of reads, not one for each.

use super::answer::Answers;
use super::rows::{Answer, Read, Row};
use crate::core::queue::each_once;
use crate::core::{JobId, Scope};

/// What was read, as far as no script has written it since.
pub(super) struct Foreseen<P> {
    /// Runs of ids that follow each other: the first and the last of each.
    runs: Vec<(JobId, JobId)>,
    /// What lies there, ascending.
    rows: Vec<Row<P>>,
    /// Ascending.
    written: Vec<JobId>,
}

impl<P: Clone> Foreseen<P> {
    /// Adds the reads for what is asked for by id.
    pub(super) fn ask<'s>(scopes: impl Iterator<Item = &'s Scope>, reads: &mut Vec<Read>) -> Self {
        let ids: Vec<JobId> = scopes.flat_map(ids).copied().collect();
        let mut runs: Vec<(JobId, JobId)> = Vec::new();
        for id in each_once(&ids) {
            match runs.last_mut().filter(|(_, last)| last.saturating_add(1) == id) {
                Some((_, last)) => *last = id,
                None => runs.push((id, id)),
            }
        }
        reads.extend(
            runs.iter().map(
                |&(first, last)| {
                    if first == last { Read::Job(first) } else { Read::Jobs(first, last, usize::MAX) }
                },
            ),
        );
        Self { runs, rows: Vec::new(), written: Vec::new() }
    }

    /// Takes the answers to these reads.
    pub(super) fn fill(&mut self, answers: &mut Answers<P>) {
        for _ in &self.runs {
            self.rows.append(&mut answers.jobs());
        }
    }

    /// What was read is true no more.
    pub(super) fn forget(&mut self) {
        self.runs.clear();
    }

    /// A job was written.
    pub(super) fn wrote(&mut self, id: JobId) {
        if !self.runs.is_empty()
            && let Err(at) = self.written.binary_search(&id)
        {
            self.written.insert(at, id);
        }
    }

    /// The answers to a scope's first round, if all of them are here.
    pub(super) fn answers(&self, scope: &Scope) -> Option<Answers<P>> {
        let ids = ids(scope);
        let is_here = |id: &JobId| {
            let run = self.runs.get(self.runs.partition_point(|(_, last)| last < id));
            run.is_some_and(|(first, _)| first <= id) && self.written.binary_search(id).is_err()
        };
        if ids.is_empty() || !ids.iter().all(is_here) {
            return None;
        }
        let row = |id| self.rows.binary_search_by_key(id, |row| row.job.id).ok().and_then(|at| self.rows.get(at));
        Some(Answers::new(ids.iter().map(|id| Answer::Jobs(row(id).cloned().into_iter().collect())).collect()))
    }
}

/// Whether a scope asks for jobs by id, without their payloads.
pub(super) fn is_by_id(scope: &Scope) -> bool {
    !ids(scope).is_empty()
}

// A payload that was read is handed out once: whoever asks for one asks for itself.
fn ids(scope: &Scope) -> &[JobId] {
    match scope {
        Scope::Job { id, payload: false, .. } => std::slice::from_ref(id),
        Scope::Jobs { ids, .. } => ids,
        _ => &[],
    }
}
