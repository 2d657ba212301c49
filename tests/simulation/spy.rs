//! A store that tells the ledger of every transaction: which scripts it runs, and what each of them sees and changes.

use alkstore::core::{Error, Scope, Script, Step, View};
use alkstore::runtime::{Clock, KeyedStore, Store, Wakes};

use crate::disk::Connection;
use crate::ledger;
use crate::sim::Sim;

pub struct Watched {
    inner: KeyedStore<Connection>,
    sim: Sim,
    context: usize,
}

impl Watched {
    pub fn new(sim: &Sim, context: usize) -> Self {
        let inner = KeyedStore::new(Connection { sim: sim.clone(), context }).moving_at_most(sim.weather.moves);
        Self { inner, sim: sim.clone(), context }
    }
}

impl Store for Watched {
    type Payload = u64;

    async fn transact(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<u64>]) -> Result<(), Error> {
        let (sim, context) = (&self.sim, self.context);
        let openings: Vec<Option<Scope>> = scripts.iter_mut().map(|script| script.opening()).collect();
        sim.count_many(
            "operation in a transaction of several",
            if openings.len() > 1 { openings.len() as u64 } else { 0 },
        );
        sim.note(|| format!("{} begins a transaction of {}", sim.name(context), openings.len()));
        sim.ledger.borrow_mut().begins(context, &openings);
        let mut under_way = UnderWay { sim, context, is_failed: true };
        let mut spies: Vec<Spy> = (scripts.iter_mut().zip(openings).enumerate())
            .map(|(at, (script, opening))| Spy {
                script: *script,
                opening,
                at,
                changes: Vec::new(),
                begun: false,
                sim,
                context,
            })
            .collect();
        let mut members: Vec<&mut dyn Script<u64>> = spies.iter_mut().map(|spy| spy as _).collect();
        let outcome = self.inner.transact(clock, &mut members).await;
        under_way.is_failed = outcome.is_err();
        if let Err(error) = &outcome {
            sim.note(|| format!("{}'s transaction fails: {error}", sim.name(context)));
        }
        outcome
    }

    fn wakes(&self) -> &Wakes {
        self.inner.wakes()
    }
}

/// However it ends, dropped at an await too.
struct UnderWay<'s> {
    sim: &'s Sim,
    context: usize,
    is_failed: bool,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.sim.ledger.borrow_mut().ends(self.context, self.is_failed);
    }
}

struct Spy<'s> {
    script: &'s mut dyn Script<u64>,
    opening: Option<Scope>,
    at: usize,
    begun: bool,
    changes: Vec<alkstore::core::Change<u64>>,
    sim: &'s Sim,
    context: usize,
}

impl Script<u64> for Spy<'_> {
    fn opening(&mut self) -> Option<Scope> {
        self.opening.take()
    }

    fn step(&mut self, view: &mut View<u64>) -> Step {
        let Self { sim, context, at, .. } = *self;
        if view.is_trial {
            let before = view.meta;
            let step = self.script.step(view);
            let (changes, meta) = (view.changes.clone(), view.meta);
            let script = ledger::Script { now: view.now(), changes, meta, deadline: None };
            sim.ledger.borrow_mut().script_tries(context, before, script);
            return step;
        }
        if !std::mem::replace(&mut self.begun, true) {
            let started = sim.ledger.borrow_mut().script_starts(context, at, view.now(), &view.meta);
            sim.check(started);
        }
        let deadline = view.deadline;
        let before = view.changes.len();
        let step = self.script.step(view);
        self.changes.extend(view.changes.iter().skip(before).cloned());
        if step == Step::Done && sim.violation().is_none() {
            let changes = std::mem::take(&mut self.changes);
            let script = ledger::Script { now: view.now(), changes, meta: view.meta, deadline };
            let decided = sim.ledger.borrow_mut().script_decides(sim, context, at, script);
            sim.check(decided);
        }
        step
    }
}
