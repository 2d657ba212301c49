//! Tabs and workers: each with a store of its own, which start, crash, freeze and close.

use std::rc::Rc;

use alkstore::core::Topic;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::runtime::{Engine, StopToken, Store};

use crate::device::World;
use crate::disk;
use crate::load::{self, Role, Tab};
use crate::sim::{Label, Sim};
use crate::spy::Watched;
use crate::weather::{MINUTE, SECOND};

pub type Opened = Engine<Watched, World>;

#[derive(Default)]
pub struct Contexts {
    all: Vec<Context>,
    /// What stops the schedule runners.
    stops: Vec<StopToken>,
}

struct Context {
    roles: Vec<Role>,
    /// While it lives.
    store: Option<Opened>,
    life: u64,
    frozen: bool,
    busy_until: i64,
}

impl Contexts {
    /// Whether nothing of it runs at a true time.
    pub fn is_still(&self, context: usize, now: i64) -> bool {
        self.all.get(context).is_some_and(|context| context.frozen || now <= context.busy_until)
    }

    /// A schedule runner starts, which this stops.
    pub fn runs(&mut self, stop: &StopToken) {
        self.stops.retain(|stop| !stop.is_set());
        self.stops.push(stop.clone());
    }

    fn store(&self, context: usize) -> Option<Opened> {
        self.all.get(context).and_then(|context| context.store.clone())
    }
}

impl Sim {
    /// Whether nothing of any context runs.
    pub fn is_asleep(&self) -> bool {
        self.contexts.borrow().all.iter().all(|context| context.frozen || context.store.is_none())
    }

    pub fn name(&self, context: usize) -> String {
        format!("tab {context}")
    }
}

/// Opens every context, with the roles that the seed gives it.
pub fn open_all(sim: &Sim) {
    let roles = load::roles(&sim.dice, sim.weather.contexts);
    let closed = |roles| Context { roles, store: None, life: 0, frozen: false, busy_until: -1 };
    sim.contexts.borrow_mut().all = roles.into_iter().map(closed).collect();
    for context in 0..sim.weather.contexts {
        open(sim, context);
    }
    fall_asleep_now_and_then(sim);
}

fn open(sim: &Sim, context: usize) {
    let apart = sim.weather.apart;
    let world = World { sim: sim.clone(), context, skew: sim.dice.roll(-apart / 2, apart / 2) };
    sim.ledger.borrow_mut().life_begins(context);
    sim.note(|| format!("{} opens, {} ms ahead", sim.name(context), world.skew));
    let store: Opened = Engine::new(Watched::new(sim, context), world, Some(sim.dice.bits()));
    let roles = {
        let mut contexts = sim.contexts.borrow_mut();
        let known = &mut contexts.all[context];
        known.life += 1;
        known.frozen = false;
        known.store = Some(store.clone());
        known.roles.clone()
    };
    sim.note(|| format!("  and is {roles:?}"));
    let tab = Rc::new(Tab::new(sim, context, store));
    roles.into_iter().for_each(|role| load::start(&tab, role));
}

/// Its tasks stop wherever they wait. It is opened again later.
pub fn crash(sim: &Sim, context: usize) {
    if sim.is_calm() || sim.contexts.borrow().store(context).is_none() {
        return;
    }
    sim.count("crash");
    sim.note(|| format!("{} crashes", sim.name(context)));
    end(sim, context);
}

/// It is gone, by a crash or closed for good; what it leaves behind is for the others.
pub fn end(sim: &Sim, context: usize) {
    disk::context_gone(sim, context);
    sim.drop_tasks(context);
    sim.ledger.borrow_mut().life_ends(context);
    let store = sim.contexts.borrow_mut().all[context].store.take();
    drop(store);
    sim.after(sim.dice.pick(&[0, SECOND, 15 * SECOND, MINUTE]), move |sim| {
        if sim.contexts.borrow().store(context).is_none() {
            open(sim, context);
        }
    });
}

/// A context whose store is closed is gone; another that has taken its place is not.
pub fn end_closed(sim: &Sim, context: usize) {
    let store = sim.contexts.borrow().store(context);
    if store.is_some_and(|store| store.is_closed()) {
        end(sim, context);
    }
}

/// Nothing of it runs for a while; its timers go on.
pub fn freeze(sim: &Sim, context: usize, span: i64) {
    let life = {
        let mut contexts = sim.contexts.borrow_mut();
        let known = &mut contexts.all[context];
        if sim.is_calm() || known.frozen || known.store.is_none() {
            return;
        }
        known.frozen = true;
        known.life
    };
    sim.count("freeze");
    sim.note(|| format!("{} freezes for {span} ms", sim.name(context)));
    disk::context_frozen(sim, context);
    sim.after(span, move |sim| {
        let mut contexts = sim.contexts.borrow_mut();
        let known = &mut contexts.all[context];
        if known.life == life && known.frozen {
            known.frozen = false;
            drop(contexts);
            sim.note(|| format!("{} goes on", sim.name(context)));
        }
    });
}

/// Something of the app's own keeps it from going on, if only while others do.
pub fn is_busy(sim: &Sim, context: usize, span: i64) {
    let until = sim.now() + span;
    sim.contexts.borrow_mut().all[context].busy_until = until;
    sim.at(until + 1, |_| {});
}

/// All freeze together: the device sleeps.
fn fall_asleep_now_and_then(sim: &Sim) {
    let mean = sim.weather.suspends;
    if mean == 0 {
        return;
    }
    sim.after(sim.dice.roll(0, 2 * mean), |sim| {
        if sim.is_calm() {
            return;
        }
        sim.count("device asleep");
        let span = sim.dice.roll(MINUTE, 600 * MINUTE);
        (0..sim.weather.contexts).for_each(|context| freeze(sim, context, span));
        sim.after(span, fall_asleep_now_and_then);
    });
}

/// The last fault is over: who is frozen goes on, and who was gone is back.
pub fn recover(sim: &Sim) {
    for context in 0..sim.weather.contexts {
        sim.contexts.borrow_mut().all[context].frozen = false;
        let store = sim.contexts.borrow().store(context);
        match store {
            None => open(sim, context),
            Some(store) if store.is_closed() => reload(sim, context),
            Some(_) => {}
        }
    }
}

/// A context is opened again, and looks afresh.
pub fn reload(sim: &Sim, context: usize) {
    end(sim, context);
    open(sim, context);
}

/// Tells the other contexts of a commit, a little later; without a channel nobody hears of it.
pub fn announce(sim: &Sim, from: usize, topics: &[Topic]) {
    if !sim.weather.channel {
        return;
    }
    for context in (0..sim.weather.contexts).filter(|context| *context != from) {
        let topics = topics.to_vec();
        sim.after(sim.dice.pick(&[0, 0, 1, 30]), move |sim| {
            let Some(store) = sim.contexts.borrow().store(context) else { return };
            topics.iter().for_each(|topic| store.store().wakes().wake(topic));
        });
    }
}

/// All schedule runners are told to stop.
pub fn stop_runners(sim: &Sim) {
    let stops = std::mem::take(&mut sim.contexts.borrow_mut().stops);
    stops.iter().for_each(StopToken::set);
}

/// A store of the first context, for whoever clears up.
pub fn first(sim: &Sim) -> Rc<Tab> {
    let store = sim.contexts.borrow().store(0).expect("it is open");
    Rc::new(Tab::new(sim, 0, store))
}

/// One of the contexts makes a job, ready at once, a little later.
pub fn produce_one(sim: &Sim, later: i64) {
    let context = sim.dice.roll(0, sim.weather.contexts as i64 - 1) as usize;
    let store = sim.contexts.borrow().store(context).expect("it is open");
    let tab = Tab::new(sim, context, store);
    sim.spawn(context, Label::Other, async move {
        tab.sim.pass(later).await;
        let queue = tab.any().clone();
        let _ = tab.enqueue(&queue, tab.sim.serial(), EnqueueOptions::default()).await;
    });
}
