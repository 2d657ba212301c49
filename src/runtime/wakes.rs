//! Who waits for a commit. A wake is only a hint: whoever gets one looks again.

use std::cell::RefCell;
use std::rc::Rc;

use super::flag::{Flag, Wait};
use super::host::{TIMER_SLEEP_MAX, WALL_SLEEP_MAX};
use crate::core::{Duration, Topic};

/// The listeners of one storage; clones share them.
#[derive(Clone, Debug)]
pub struct Wakes {
    listeners: Rc<RefCell<Vec<(Topic, Flag)>>>,
    idle_sleep_max: Duration,
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
        let flag = Flag::new();
        self.listeners.borrow_mut().push((topic, flag.clone()));
        Listener { wakes: self.clone(), flag }
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
        let woken: Vec<Flag> = self
            .listeners
            .borrow()
            .iter()
            .filter(|(topic, _)| is_reached(topic))
            .map(|(_, flag)| flag.clone())
            .collect();
        woken.iter().for_each(Flag::set);
    }

    /// How many listen.
    pub fn listening(&self) -> usize {
        self.listeners.borrow().len()
    }
}

/// See [`Wakes::listen`]. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Listener {
    wakes: Wakes,
    flag: Flag,
}

impl Listener {
    /// Resolves at the first wake since this listener was made.
    pub fn woken(&self) -> Wait {
        self.flag.wait()
    }

    /// Whether there was one.
    pub fn is_woken(&self) -> bool {
        self.flag.is_set()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.wakes.listeners.borrow_mut().retain(|(_, flag)| !flag.is(&self.flag));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Name;

    #[test]
    fn who_may_have_missed_a_wake_looks_again_and_is_not_told_that_a_job_is_ready() {
        let (wakes, mail) = (Wakes::new(), Name::internal("mail"));
        let topics = [Topic::Queue(mail.clone()), Topic::Schedules, Topic::Ready(mail)];
        let listeners = topics.map(|topic| wakes.listen(topic));
        wakes.wake_all();
        assert_eq!(listeners.each_ref().map(Listener::is_woken), [true, true, false]);
    }
}
