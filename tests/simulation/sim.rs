//! One device: true time, what happens when, and the tasks of its contexts, one at a time in an order that the seed
//! chooses. Nothing here knows the engine.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context as Poller, Poll, Wake, Waker};

use crate::context::Contexts;
use crate::device::Device;
use crate::dice::Dice;
use crate::disk::Disk;
use crate::invariant::{Invariant, Violation};
use crate::ledger::Ledger;
use crate::weather::Weather;

/// How many of the last steps a failing seed prints.
const TRACE_LINES: usize = 80;

type Event = Box<dyn FnOnce(&Sim)>;
type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Which loop of a context a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A worker of a queue.
    Worker(&'static str),
    /// A schedule runner.
    Runner,
    /// Anything else.
    Other,
}

struct Task {
    context: usize,
    label: Label,
    work: Work,
}

/// The simulation; clones are the same one.
#[derive(Clone)]
pub struct Sim(Rc<Inner>);

pub struct Inner {
    pub dice: Dice,
    pub weather: Weather,
    pub device: Device,
    pub disk: RefCell<Disk>,
    pub ledger: RefCell<Ledger>,
    pub contexts: RefCell<Contexts>,
    now: Cell<i64>,
    events: RefCell<BTreeMap<(i64, u64, u64), Event>>,
    tasks: RefCell<BTreeMap<u64, Task>>,
    ready: Arc<Mutex<Vec<u64>>>,
    running: Cell<Option<(usize, Label)>>,
    serial: Cell<u64>,
    steps: Cell<u64>,
    turns: Cell<u64>,
    calm: Cell<bool>,
    draining: Cell<bool>,
    /// Held by whoever is at something that ends with the last fault.
    acts: Rc<()>,
    /// Whether a commit happened of which nobody was told.
    unheard: Cell<bool>,
    counts: RefCell<BTreeMap<&'static str, u64>>,
    trace: Option<RefCell<Trace>>,
    violation: RefCell<Option<Violation>>,
}

#[derive(Default)]
struct Trace {
    last: VecDeque<String>,
    hash: u64,
}

impl Deref for Sim {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Sim {
    pub fn new(seed: u64, traced: bool) -> Self {
        let dice = Dice::new(seed);
        let weather = Weather::draw(&dice);
        Self(Rc::new(Inner {
            device: Device::new(&dice, &weather),
            disk: RefCell::default(),
            ledger: RefCell::default(),
            contexts: RefCell::default(),
            now: Cell::new(0),
            events: RefCell::default(),
            tasks: RefCell::default(),
            ready: Arc::default(),
            running: Cell::new(None),
            serial: Cell::new(0),
            steps: Cell::new(0),
            turns: Cell::new(0),
            calm: Cell::new(false),
            draining: Cell::new(false),
            acts: Rc::new(()),
            unheard: Cell::new(!weather.channel),
            counts: RefCell::default(),
            trace: traced.then(RefCell::default),
            violation: RefCell::default(),
            dice,
            weather,
        }))
    }

    /// True time, in milliseconds since the start; no clock of the simulation shows it.
    pub fn now(&self) -> i64 {
        self.now.get()
    }

    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// How often a task went on.
    pub fn turns(&self) -> u64 {
        self.turns.get()
    }

    /// A number that was not used before.
    pub fn serial(&self) -> u64 {
        self.serial.set(self.serial.get() + 1);
        self.serial.get()
    }

    /// Lets something happen at a true time; what happens at one time does so in any order.
    pub fn at(&self, at: i64, event: impl FnOnce(&Self) + 'static) {
        let key = (at.max(self.now()), self.dice.bits(), self.serial());
        self.events.borrow_mut().insert(key, Box::new(event));
    }

    pub fn after(&self, span: i64, event: impl FnOnce(&Self) + 'static) {
        self.at(self.now() + span, event);
    }

    /// Waits, in true time.
    pub fn pass(&self, span: i64) -> Pass {
        self.until(self.now() + span)
    }

    pub fn until(&self, at: i64) -> Pass {
        Pass { sim: self.clone(), at, waker: None }
    }

    /// Starts a task of a context.
    pub fn spawn(&self, context: usize, label: Label, work: impl Future<Output = ()> + 'static) {
        let id = self.serial();
        self.tasks.borrow_mut().insert(id, Task { context, label, work: Box::pin(work) });
        self.ready.lock().unwrap().push(id);
    }

    /// Which loop of which context runs at the moment.
    pub fn running(&self) -> Option<(usize, Label)> {
        self.running.get()
    }

    /// Whether a loop of this kind has not ended, in any context.
    pub fn is_under_way(&self, label: Label) -> bool {
        self.tasks.borrow().values().any(|task| task.label == label)
    }

    /// Drops all tasks of a context, wherever they wait.
    pub fn drop_tasks(&self, context: usize) {
        let gone: Vec<u64> =
            self.tasks.borrow().iter().filter(|(_, task)| task.context == context).map(|(id, _)| *id).collect();
        for id in gone {
            let task = self.tasks.borrow_mut().remove(&id);
            drop(task);
        }
    }

    /// One step: a task goes on, or, if none can, time does. `false` if nothing will ever happen again.
    pub fn step(&self) -> bool {
        self.steps.set(self.steps() + 1);
        if let Some(id) = self.pick() {
            self.turns.set(self.turns() + 1);
            self.poll(id);
            return true;
        }
        let Some(((at, ..), event)) = self.events.borrow_mut().pop_first() else { return false };
        self.now.set(at.max(self.now()));
        event(self);
        true
    }

    /// A task that can go on, whichever the seed likes.
    fn pick(&self) -> Option<u64> {
        let mut ready = self.ready.lock().unwrap();
        let tasks = self.tasks.borrow();
        let contexts = self.contexts.borrow();
        ready.retain(|id| tasks.contains_key(id));
        let able: Vec<usize> =
            (0..ready.len()).filter(|at| !contexts.is_still(tasks[&ready[*at]].context, self.now())).collect();
        match able.len() {
            0 => None,
            1 => Some(ready.remove(able[0])),
            _ => Some(ready.remove(self.dice.pick(&able))),
        }
    }

    fn poll(&self, id: u64) {
        // Taken out first: a task may start another.
        let Some(mut task) = self.tasks.borrow_mut().remove(&id) else { return };
        self.running.set(Some((task.context, task.label)));
        let waker = Waker::from(Arc::new(TaskWaker { id, ready: Arc::clone(&self.ready) }));
        let pending = task.work.as_mut().poll(&mut Poller::from_waker(&waker)).is_pending();
        self.running.set(None);
        if pending {
            self.tasks.borrow_mut().insert(id, task);
        }
    }

    /// Ends the run: what holds the simulation is let go of.
    pub fn end(&self) {
        let (tasks, events) = (self.tasks.take(), self.events.take());
        drop(tasks);
        drop(events);
        self.contexts.take();
    }

    /// From now on nothing goes wrong any more.
    pub fn calm_down(&self) {
        self.calm.set(true);
        // Whoever waits looks again: what was late is so no more.
        *self.ready.lock().unwrap() = self.tasks.borrow().keys().copied().collect();
    }

    pub fn is_calm(&self) -> bool {
        self.calm.get()
    }

    /// From now on nothing is scheduled any more.
    pub fn drain(&self) {
        self.draining.set(true);
    }

    pub fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Somebody is at something, until what this gives is dropped.
    pub fn acts(&self) -> Rc<()> {
        Rc::clone(&self.acts)
    }

    pub fn somebody_acts(&self) -> bool {
        Rc::strong_count(&self.acts) > 1
    }

    /// Something is committed, and those who could be told are not.
    pub fn is_not_heard(&self) {
        self.unheard.set(true);
    }

    pub fn all_is_heard(&self) -> bool {
        !self.unheard.get()
    }

    /// True so many times in ten thousand, while things may go wrong.
    pub fn strikes(&self, in_ten_thousand: i64) -> bool {
        !self.is_calm() && self.dice.chance(in_ten_thousand)
    }

    pub fn count(&self, what: &'static str) {
        self.count_many(what, 1);
    }

    pub fn count_many(&self, what: &'static str, times: u64) {
        *self.counts.borrow_mut().entry(what).or_default() += times;
    }

    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.borrow().clone()
    }

    /// Notes what happens, for whoever has to understand a failing seed.
    pub fn note(&self, line: impl FnOnce() -> String) {
        let Some(trace) = &self.trace else { return };
        let mut trace = trace.borrow_mut();
        let line = format!("{:>9} ms  {}", self.now(), line());
        for byte in line.bytes() {
            trace.hash = (trace.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        trace.last.push_back(line);
        if trace.last.len() > TRACE_LINES {
            trace.last.pop_front();
        }
    }

    pub fn last_steps(&self) -> Vec<String> {
        self.trace.as_ref().map_or_else(Vec::new, |trace| trace.borrow().last.iter().cloned().collect())
    }

    pub fn trace_hash(&self) -> u64 {
        self.trace.as_ref().map_or(0, |trace| trace.borrow().hash)
    }

    /// The first violation is the one that counts.
    pub fn violated(&self, invariant: Invariant, how: impl FnOnce() -> String) {
        if self.violation.borrow().is_none() {
            let how = how();
            self.note(|| format!("VIOLATED: {invariant}: {how}"));
            self.violation.replace(Some(Violation::new(invariant, how)));
        }
    }

    pub fn check(&self, outcome: Result<(), Violation>) {
        if let Err(Violation { invariant, how }) = outcome {
            self.violated(invariant, || how);
        }
    }

    pub fn violation(&self) -> Option<Violation> {
        self.violation.borrow().clone()
    }
}

struct TaskWaker {
    id: u64,
    ready: Arc<Mutex<Vec<u64>>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock().unwrap();
        if !ready.contains(&self.id) {
            ready.push(self.id);
        }
    }
}

/// See [`Sim::until`].
pub struct Pass {
    sim: Sim,
    at: i64,
    /// Of whoever polled it last.
    waker: Option<Rc<RefCell<Waker>>>,
}

impl Pass {
    pub const fn at(&self) -> i64 {
        self.at
    }
}

impl Future for Pass {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, poller: &mut Poller<'_>) -> Poll<()> {
        if self.sim.now() >= self.at {
            return Poll::Ready(());
        }
        if let Some(waker) = &self.waker {
            waker.replace(poller.waker().clone());
        } else {
            let waker = Rc::new(RefCell::new(poller.waker().clone()));
            self.waker = Some(Rc::clone(&waker));
            self.sim.at(self.at, move |_| waker.borrow().wake_by_ref());
        }
        Poll::Pending
    }
}
