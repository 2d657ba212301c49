//! Scripts on memory and on rows under keys: the same answers, and the same rows after each.

use alkstore::runtime::{KeyedStore, MemoryStore};

use super::script::{Side, clock, lines, move_clock};
use super::support::Table;

pub fn check(bytes: &[u8]) {
    let clock = clock();
    let mut memory = Side::new(MemoryStore::new(), &clock);
    let mut keyed = Side::new(KeyedStore::new(Table::default()), &clock);
    for (number, line) in lines(bytes).iter().enumerate() {
        if line.verb == 't' {
            move_clock(&clock, line);
        }
        assert_eq!(memory.run(line), keyed.run(line), "operation {number}: {line:?}");
        assert_eq!(memory.everything(), keyed.everything(), "after operation {number}: {line:?}");
    }
}
