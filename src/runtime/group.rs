//! Group commit: operations that wait for a storage together share one of its transactions.
//!
//! While a transaction is under way, further operations get into line; the next one takes all that wait along, in the
//! order of their calls. Each keeps its own outcome: a refusal of one disturbs no other, nor does a damaged row that only
//! one asks for. Only a transaction that fails fails all of them.
//!
//! A transaction belongs to nobody: one of the callers drives it, and if that one is dropped another goes on. With the
//! last of them it is dropped itself.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::engine::Shared;
use super::flag::UnderWay;
use super::host::Host;
use super::store::Store;
use crate::core::{Error, Scope, Script, Step, StoreError, View};

/// How many operations share a transaction at the most. More would hold up everybody else who shares the storage.
pub const GROUP_MAX: usize = 256;

type Outcome = Result<(), Error>;
type Transaction = Pin<Box<dyn Future<Output = Outcome>>>;

/// The operations of one store.
pub(super) struct Group<P> {
    line: RefCell<Vec<Member<P>>>,
    running: RefCell<Option<Running>>,
}

/// A script of the group, borrowed only while it is stepped, and whose it is.
struct Member<P> {
    script: Rc<RefCell<dyn Script<P>>>,
    call: Rc<Call>,
}

struct Call {
    /// Until its transaction has ended and all have learned how, or nobody is left.
    under_way: Cell<Option<UnderWay>>,
    /// Set when its transaction ends.
    outcome: RefCell<Option<Outcome>>,
    /// Why its script failed by itself. Till the end its caller may have to drive the others.
    failed: RefCell<Option<Error>>,
    /// From the first time that it was polled.
    waker: RefCell<Option<Waker>>,
    /// It has its outcome, or was dropped.
    is_over: Cell<bool>,
}

/// The transaction under way.
struct Running {
    /// Taken out while it is polled: one that is not back has panicked.
    transaction: Option<Transaction>,
    calls: Vec<Rc<Call>>,
    /// Who is woken by the storage. Of those in line anybody may be.
    driver: Option<Rc<Call>>,
}

impl<P> Default for Group<P> {
    fn default() -> Self {
        Self { line: RefCell::default(), running: RefCell::default() }
    }
}

impl<P: 'static> Group<P> {
    /// Begins a transaction with those who are first in line.
    fn begin<S: Store<Payload = P>, H: Host>(&self, shared: &Rc<Shared<S, H>>) -> Running {
        let mut line = self.line.borrow_mut();
        let count = line.len().min(GROUP_MAX);
        let mut members: Vec<Member<P>> = line.drain(..count).collect();
        let calls = members.iter().map(|member| Rc::clone(&member.call)).collect();
        let shared = Rc::clone(shared);
        // At its end it lets go of the scripts, before anybody learns how it went: whoever does takes theirs back.
        let transaction = Box::pin(async move {
            let mut scripts: Vec<&mut dyn Script<P>> = members.iter_mut().map(|member| member as _).collect();
            shared.store.transact(&shared.host, &mut scripts).await
        });
        Running { transaction: Some(transaction), calls, driver: None }
    }

    /// Tells everybody of the transaction how it went, and lets the next one begin.
    fn end(&self, outcome: &Outcome) {
        let ended = self.running.take();
        // Who drove it goes on by itself.
        let _own = ended.as_ref().and_then(|running| running.driver.as_ref()).and_then(|driver| driver.waker.take());
        for call in ended.iter().flat_map(|running| &running.calls) {
            let failed = call.failed.take();
            call.outcome.replace(Some(failed.map_or_else(|| outcome.clone(), Err)));
        }
        // Only then: a waker may run anything, and who has no outcome yet would begin the next transaction.
        for call in ended.iter().flat_map(|running| &running.calls) {
            call.wake();
            drop(call.under_way.take());
        }
        self.hand_over(None);
    }

    /// Finds somebody who goes on, if it was `gone`, or nobody, who was to.
    fn hand_over(&self, gone: Option<&Rc<Call>>) {
        let mut running = self.running.borrow_mut();
        let mut calls: &[Rc<Call>] = &[];
        if let Some(running) = &mut *running {
            if running.driver.as_ref().is_some_and(|driver| gone.is_none_or(|gone| !Rc::ptr_eq(driver, gone))) {
                return;
            }
            running.driver = None;
            calls = &running.calls;
        }
        let line = self.line.borrow();
        let others = || calls.iter().chain(line.iter().map(|member| &member.call)).filter(|call| !call.is_over.get());
        // Who was never polled comes by itself.
        let next = others().find(|call| call.waker.borrow().is_some()).cloned();
        let is_deserted = next.is_none() && others().next().is_none();
        drop(line);
        let deserted = running.take_if(|_| is_deserted);
        drop(running);
        drop(deserted);
        if let Some(next) = next {
            next.wake();
        }
    }
}

impl Call {
    fn new(under_way: UnderWay) -> Self {
        Self {
            under_way: Cell::new(Some(under_way)),
            outcome: RefCell::default(),
            failed: RefCell::default(),
            waker: RefCell::default(),
            is_over: Cell::default(),
        }
    }

    fn wake(&self) {
        // Taken out first: a waker may run anything.
        let waker = self.waker.take();
        if let Some(waker) = waker.filter(|_| !self.is_over.get()) {
            waker.wake();
        }
    }
}

impl<P> Script<P> for Member<P> {
    fn opening(&mut self) -> Option<Scope> {
        self.script.borrow_mut().opening()
    }

    fn step(&mut self, view: &mut View<P>) -> Step {
        self.script.borrow_mut().step(view)
    }

    fn fail(&mut self, error: Error) -> Result<(), Error> {
        self.call.failed.replace(Some(error));
        Ok(())
    }
}

/// One operation of the group: in line as soon as this is made. Dropped before its transaction begins it does not
/// happen; after that it may.
pub(super) struct Run<S: Store, H: Host> {
    shared: Rc<Shared<S, H>>,
    call: Rc<Call>,
}

impl<S: Store, H: Host> Run<S, H> {
    pub(super) fn new(shared: Rc<Shared<S, H>>, script: Rc<RefCell<dyn Script<S::Payload>>>) -> Self {
        let call = Rc::new(Call::new(shared.under_way.start()));
        shared.group.line.borrow_mut().push(Member { script, call: Rc::clone(&call) });
        Self { shared, call }
    }

    /// Gets the transaction on, if it is for this call to do. Whether it has ended.
    fn drive(&self, context: &mut Context<'_>) -> bool {
        let group = &self.shared.group;
        let mut running = group.running.borrow_mut();
        let current = running.get_or_insert_with(|| group.begin(&self.shared));
        if current.driver.as_ref().is_some_and(|driver| !Rc::ptr_eq(driver, &self.call)) {
            return false;
        }
        current.driver = Some(Rc::clone(&self.call));
        let transaction = current.transaction.take();
        drop(running);
        let outcome = match transaction {
            Some(mut transaction) => match transaction.as_mut().poll(context) {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => {
                    if let Some(current) = &mut *group.running.borrow_mut() {
                        current.transaction = Some(transaction);
                    }
                    return false;
                }
            },
            None => Err(panicked()),
        };
        group.end(&outcome);
        true
    }
}

impl<S: Store, H: Host> Future for Run<S, H> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        loop {
            if let Some(outcome) = self.call.outcome.take() {
                self.call.is_over.set(true);
                return Poll::Ready(outcome);
            }
            // Dropped outside of the borrow: a waker's drop may run anything.
            let _old = self.call.waker.replace(Some(context.waker().clone()));
            if !self.drive(context) {
                return Poll::Pending;
            }
        }
    }
}

impl<S: Store, H: Host> Drop for Run<S, H> {
    fn drop(&mut self) {
        if self.call.is_over.replace(true) {
            return;
        }
        let group = &self.shared.group;
        let mut line = group.line.borrow_mut();
        let at = line.iter().position(|member| Rc::ptr_eq(&member.call, &self.call));
        let left = at.map(|at| line.remove(at));
        drop(line);
        drop(left);
        group.hand_over(Some(&self.call));
    }
}

fn panicked() -> Error {
    let message = "an operation of the same transaction panicked";
    Error::Storage(StoreError { message: message.into(), cause: None })
}
