//! Who waits for a commit. A wake is only a hint: whoever gets one looks again.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::flag::{Flag, Wait};
use super::host::{TIMER_SLEEP_MAX, WALL_SLEEP_MAX};
use crate::core::{Duration, Topic};

/// The listeners of one storage; clones share them.
#[derive(Clone, Debug)]
pub struct Wakes {
    listeners: Rc<RefCell<Listeners>>,
    idle_sleep_max: Duration,
}

/// In the order in which they came: who has waited longest is woken first.
#[derive(Debug, Default)]
struct Listeners {
    all: Vec<Rc<Listening>>,
    /// How many of them are gone. Never more than half: thousands may come and go.
    gone: usize,
}

#[derive(Debug)]
struct Listening {
    topic: Topic,
    flag: Flag,
    is_gone: Cell<bool>,
}

impl Default for Wakes {
    fn default() -> Self {
        Self { listeners: Rc::default(), idle_sleep_max: WALL_SLEEP_MAX }
    }
}

impl Wakes {
    /// Of a storage that others share, who may vanish between a commit and its wake, or never hear that
    /// it happened. Nobody listens yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of a storage of which no commit is without its wake: nobody else can make one.
    pub fn certain() -> Self {
        Self { idle_sleep_max: TIMER_SLEEP_MAX, ..Self::default() }
    }

    /// How long whoever waits for nothing in particular sleeps before looking again.
    pub const fn idle_sleep_max(&self) -> Duration {
        self.idle_sleep_max
    }

    /// Listens for the next wake on `topic`. Listen first, look second: a commit in between is heard.
    pub fn listen(&self, topic: Topic) -> Listener {
        let listening = Rc::new(Listening { topic, flag: Flag::new(), is_gone: Cell::new(false) });
        self.listeners.borrow_mut().all.push(Rc::clone(&listening));
        Listener { wakes: self.clone(), listening }
    }

    /// Wakes those whom `topic` reaches.
    pub fn wake(&self, topic: &Topic) {
        self.wake_those(&|listening| topic.reaches(listening));
    }

    /// Wakes everybody, to look again: wakes may have been missed. That a job is ready is not known.
    pub fn wake_all(&self) {
        self.wake_those(&|listening| !matches!(listening, Topic::Ready(_)));
    }

    fn wake_those(&self, is_reached: &dyn Fn(&Topic) -> bool) {
        // Collected first: a waker may run anything, this very list included.
        let listeners = self.listeners.borrow();
        let reached = listeners.all.iter().filter(|listening| !listening.is_gone.get() && is_reached(&listening.topic));
        let woken: Vec<Rc<Listening>> = reached.cloned().collect();
        drop(listeners);
        woken.iter().for_each(|listening| listening.flag.set());
    }

    /// How many listen.
    pub fn listening(&self) -> usize {
        let listeners = self.listeners.borrow();
        listeners.all.len().saturating_sub(listeners.gone)
    }
}

/// See [`Wakes::listen`]. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Listener {
    wakes: Wakes,
    listening: Rc<Listening>,
}

impl Listener {
    /// Resolves at the first wake since this listener was made.
    pub fn woken(&self) -> Wait {
        self.listening.flag.wait()
    }

    /// Whether there was one.
    pub fn is_woken(&self) -> bool {
        self.listening.flag.is_set()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut listeners = self.wakes.listeners.borrow_mut();
        self.listening.is_gone.set(true);
        listeners.gone = listeners.gone.saturating_add(1);
        if listeners.gone > listeners.all.len() / 2 {
            listeners.all.retain(|listening| !listening.is_gone.get());
            listeners.gone = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Name;
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Wake, Waker};

    /// Notes its number when it is woken.
    struct Noted(usize, Arc<Mutex<Vec<usize>>>);

    impl Wake for Noted {
        fn wake(self: Arc<Self>) {
            self.1.lock().into_iter().for_each(|mut noted| noted.push(self.0));
        }
    }

    #[test]
    fn listeners_that_are_gone_leave_nothing_behind_and_those_that_stay_are_woken_in_the_order_in_which_they_came() {
        let (wakes, noted) = (Wakes::new(), Arc::new(Mutex::new(Vec::new())));
        let mut stay = Vec::new();
        for n in 0..10_000 {
            let listener = wakes.listen(Topic::Schedules);
            if n % 1000 == 0 {
                stay.push(listener)
            } else {
                drop(listener)
            }
            assert_eq!(wakes.listening(), stay.len());
            assert!(wakes.listeners.borrow().all.len() <= 2 * stay.len());
        }
        let mut waits: Vec<Wait> = stay.iter().map(Listener::woken).collect();
        for (n, wait) in waits.iter_mut().enumerate().rev() {
            let waker = Waker::from(Arc::new(Noted(n, Arc::clone(&noted))));
            assert!(Pin::new(wait).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        wakes.wake(&Topic::Schedules);
        assert_eq!(noted.lock().map(|noted| noted.clone()).ok(), Some((0..10).collect()));
        stay.clear();
        assert_eq!((wakes.listening(), wakes.listeners.borrow().all.len()), (0, 0));
    }

    #[test]
    fn who_may_have_missed_a_wake_looks_again_and_is_not_told_that_a_job_is_ready() {
        let (wakes, mail) = (Wakes::new(), Name::internal("mail"));
        let topics = [Topic::Queue(mail.clone()), Topic::Schedules, Topic::Ready(mail)];
        let listeners = topics.map(|topic| wakes.listen(topic));
        wakes.wake_all();
        assert_eq!(listeners.each_ref().map(Listener::is_woken), [true, true, false]);
    }
}
