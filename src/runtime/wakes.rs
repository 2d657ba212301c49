//! Who waits for a commit. A wake is only a hint: whoever gets one looks again.

use std::cell::RefCell;
use std::rc::Rc;

use super::flag::{Flag, Wait};
use crate::core::Topic;

/// The listeners of one storage; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Wakes {
    listeners: Rc<RefCell<Vec<(Topic, Flag)>>>,
}

impl Wakes {
    /// Nobody listens yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens for the next wake on `topic`. Listen first, look second: a commit in between is heard.
    pub fn listen(&self, topic: Topic) -> Listener {
        let flag = Flag::new();
        self.listeners.borrow_mut().push((topic, flag.clone()));
        Listener { wakes: self.clone(), flag }
    }

    /// Wakes those who listen for `topic`.
    pub fn wake(&self, topic: &Topic) {
        if self.listeners.borrow().is_empty() {
            return;
        }
        // Collected first: a waker may run anything, this very list included.
        let woken: Vec<Flag> =
            self.listeners.borrow().iter().filter(|(t, _)| t == topic).map(|(_, flag)| flag.clone()).collect();
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
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.wakes.listeners.borrow_mut().retain(|(_, flag)| !flag.is(&self.flag));
    }
}
