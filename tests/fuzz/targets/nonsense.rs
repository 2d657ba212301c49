//! Scripts on a storage that answers nonsense. A line that begins with `>` arms a lie. Whatever the lies are, an operation
//! ends, in an error of the storage's or in an answer that is one; and it touches no job that it was not told to.

use std::collections::BTreeMap;
use std::rc::Rc;

use alkstore::core::{Job, JobId, State};
use alkstore::runtime::KeyedStore;

use super::hostile::Hostile;
use super::script::{Line, Outcome, Side, clock, lines, move_clock};

type Store = KeyedStore<Hostile>;

pub fn check(bytes: &[u8]) {
    let (clock, storage) = (clock(), Hostile::new());
    let mut side = Side::new(KeyedStore::new(storage.clone()), &clock);
    for line in lines(bytes) {
        match line.verb {
            't' => move_clock(&clock, &line),
            '>' => storage.arm(&line.rest()),
            _ => operate(&storage, &mut side, &line),
        }
    }
    // Told the truth again, it works on.
    storage.disarm();
    storage.begin_operation();
    let refused = side.everything().into_iter().filter(|seen| matches!(seen, Outcome::Refused(_))).count();
    assert_eq!(refused, 0);
}

fn operate(storage: &Hostile, side: &mut Side<Store>, line: &Line) {
    let before = storage.table.jobs();
    let touches = Touches::of(line, side);
    storage.begin_operation();
    let outcome = side.run(line);
    is_an_answer(&outcome, line, side, storage);
    // What it believes of the clock may move every job.
    if !storage.has_lied_about_itself() {
        touches.nothing_else(before, storage);
    }
}

/// Whether an outcome is one that an honest storage could have led to.
fn is_an_answer(outcome: &Outcome, line: &Line, side: &Side<Store>, storage: &Hostile) {
    let Outcome::Jobs(rows) = outcome else { return };
    // Of one that it was told different things about there may be two.
    let known = rows.iter().map(|(job, _)| job.id).filter(|id| !storage.has_lied_about(*id));
    let mut ids: Vec<JobId> = known.collect();
    let is_page = line.verb == 'i';
    if !is_page {
        ids.sort_unstable();
    }
    assert!(ids.is_sorted_by(|one, next| one < next), "each once, a page by id: {ids:?}");
    let limit = match line.verb {
        'c' => line.id(1),
        'i' => line.id(3),
        _ => 1,
    };
    assert!(rows.len() as u64 <= limit, "{} of {limit}", rows.len());
    for (job, _) in rows {
        assert_eq!(job.queue, *side.queue(line).name(), "{job:?}");
        assert!(line.verb != 'c' || job.state == State::Processing && job.claims > 0, "{job:?}");
        assert!(line.verb != 'g' || job.id == line.id(1), "{job:?}");
        assert!(!is_page || job.id > line.id(2) && line.state(1).is_none_or(|state| job.state == state), "{job:?}");
    }
}

/// The jobs that an operation may change.
enum Touches {
    None,
    Some(Vec<JobId>),
    Queue(String),
}

impl Touches {
    fn of(line: &Line, side: &Side<Store>) -> Self {
        let queue = || Self::Queue(side.queue(line).name().to_string());
        match line.verb {
            'a' | 'r' | 'f' | 'h' => side.claim(line).map_or(Self::None, |claim| Self::Some(vec![claim.id])),
            'x' => Self::Some(vec![line.id(1)]),
            'b' => Self::Some(line.ids(1).unwrap_or_default()),
            'd' | 'p' => line.ids(1).map_or_else(queue, Self::Some),
            'c' | 's' => queue(),
            'D' => Self::Queue("__alkstore_outbox:hooks".into()),
            _ => Self::None,
        }
    }

    fn nothing_else(&self, before: Vec<Rc<Job>>, storage: &Hostile) {
        let after = storage.table.jobs();
        let after: BTreeMap<JobId, Rc<Job>> = after.into_iter().map(|job| (job.id, job)).collect();
        for job in before {
            let may = match self {
                Self::None => false,
                Self::Some(ids) => ids.contains(&job.id),
                Self::Queue(name) => **name == *job.queue,
            };
            let now = after.get(&job.id);
            // Of one that it was lied to about it may write what it was told.
            let may = may || storage.has_lied_about(job.id);
            assert!(may || now == Some(&job), "{job:?} is {now:?}");
        }
    }
}
