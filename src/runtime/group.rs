//! Group commit: operations that wait for a storage together share one of its transactions.
//!
//! While a transaction is under way, further operations queue up; whoever finds none under way leads, and takes all
//! that wait along, in the order of their calls. Each keeps its own outcome: a refusal of one disturbs no other, nor does a
//! damaged row that only one asks for. Only a transaction that fails fails all of them.

use std::cell::RefCell;
use std::rc::Rc;

use super::flag::Flag;
use super::host::Clock;
use super::store::Store;
use crate::core::{Error, Scope, Script, Step, StoreError, View};

/// How many operations share a transaction at the most. More would hold up everybody else who shares the storage.
pub const GROUP_MAX: usize = 256;

type Shared<P> = Rc<RefCell<dyn Script<P>>>;
type Outcome = Rc<RefCell<Option<Result<(), Error>>>>;

/// The operations of one store.
pub(super) struct Group<P> {
    waiting: RefCell<Vec<Member<P>>>,
    /// While a transaction is under way: set when it ends.
    ended: RefCell<Option<Flag>>,
}

impl<P> Default for Group<P> {
    fn default() -> Self {
        Self { waiting: RefCell::default(), ended: RefCell::default() }
    }
}

impl<P> Group<P> {
    /// Runs a script, together with those that wait: it waits as soon as this is called. One whose caller is gone is run
    /// all the same.
    pub(super) fn run<S>(
        &self,
        store: &S,
        clock: &dyn Clock,
        script: Shared<P>,
    ) -> impl Future<Output = Result<(), Error>>
    where
        S: Store<Payload = P>,
    {
        let outcome = Outcome::default();
        self.waiting.borrow_mut().push(Member { script, outcome: Rc::clone(&outcome) });
        async move {
            loop {
                if let Some(outcome) = outcome.take() {
                    return outcome;
                }
                let under_way = self.ended.borrow().clone();
                match under_way {
                    // All who wait look then: the first one leads.
                    Some(ended) => ended.wait().await,
                    None => self.lead(store, clock).await,
                }
            }
        }
    }

    async fn lead<S: Store<Payload = P>>(&self, store: &S, clock: &dyn Clock) {
        let mut members = self.take();
        self.ended.replace(Some(Flag::new()));
        let outcomes = members.iter().map(|member| Rc::clone(&member.outcome)).collect();
        let mut leading = Leading { ended: &self.ended, outcomes, outcome: Err(abandoned()) };
        let mut scripts: Vec<&mut dyn Script<P>> = members.iter_mut().map(|member| member as _).collect();
        leading.outcome = store.transact(clock, &mut scripts).await;
        // Before anybody learns that it went well: whoever does takes the script back.
        drop(members);
    }

    fn take(&self) -> Vec<Member<P>> {
        let mut waiting = self.waiting.borrow_mut();
        let count = waiting.len().min(GROUP_MAX);
        waiting.drain(..count).collect()
    }
}

/// A script of the group, borrowed only while it is stepped, and where its outcome goes.
struct Member<P> {
    script: Shared<P>,
    outcome: Outcome,
}

impl<P> Script<P> for Member<P> {
    fn opening(&mut self) -> Option<Scope> {
        self.script.borrow_mut().opening()
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.script.borrow_mut().step(view)
    }

    fn fail(&mut self, error: Error) -> Result<(), Error> {
        self.outcome.replace(Some(Err(error)));
        Ok(())
    }
}

/// However a leader ends, dropped at an await too: its group learns how it went, and others may lead.
struct Leading<'g> {
    ended: &'g RefCell<Option<Flag>>,
    outcomes: Vec<Outcome>,
    outcome: Result<(), Error>,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        for outcome in &self.outcomes {
            // Some have failed by themselves.
            outcome.borrow_mut().get_or_insert_with(|| self.outcome.clone());
        }
        if let Some(ended) = self.ended.take() {
            ended.set();
        }
    }
}

fn abandoned() -> Error {
    let message = "an operation of the same transaction was dropped";
    Error::Storage(StoreError { message: message.into(), cause: None })
}
