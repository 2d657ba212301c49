//! A sorted map from positions to slots: blocks of neighbours, each a sorted list, in a list of blocks.
//!
//! To look for a position takes two binary searches, to add or remove one moves what lies behind it in its block. The
//! block that is left when it runs empty stays, so one that is filled and drained in turn allocates nothing.

use crate::core::index::Sort;

/// The most entries of a block. More would move more at each change, fewer make the list of blocks longer.
const BLOCK_MAX: usize = 128;

/// How many entries of a full block go over to a new one that is begun behind it. What only grows leaves full blocks
/// behind, and what grows and shrinks at a block's end does not begin a block each time.
const CARRIED: usize = 8;

/// A block that has fewer entries is joined to one beside it, where both fill half a block at the most.
const BLOCK_MIN: usize = 32;

/// An entry: where it stands, and the slot of what stands there.
pub(super) type Entry = (Sort, usize);

/// Entries in the order of their positions.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// None is empty, but for the last that is left.
    blocks: Vec<Vec<Entry>>,
    len: usize,
    /// The block that was changed last: the next change is often in the same.
    recent: usize,
}

impl Sorted {
    pub(super) const fn new() -> Self {
        Self { blocks: Vec::new(), len: 0, recent: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn first(&self) -> Option<&Entry> {
        self.blocks.first()?.first()
    }

    pub(super) fn get(&self, key: &Sort) -> Option<usize> {
        let block = self.blocks.get(self.block_of(key))?;
        let at = place(block, key);
        block.get(at).filter(|(found, _)| found == key).map(|(_, slot)| *slot)
    }

    /// The entries from a position on.
    pub(super) fn from(&self, key: Sort) -> impl Iterator<Item = &Entry> {
        let blocks = self.blocks.get(self.block_of(&key)..).unwrap_or_default();
        let skipped = blocks.first().map_or(0, |block| place(block, &key));
        blocks.iter().flatten().skip(skipped)
    }

    /// Adds an entry at a position where there is none.
    #[inline(never)]
    pub(super) fn insert(&mut self, key: Sort, slot: usize) {
        self.len = self.len.saturating_add(1);
        let at = self.block_of(&key);
        self.recent = at;
        let Some(block) = self.blocks.get_mut(at) else { return self.blocks.push(vec![(key, slot)]) };
        let place = place(block, &key);
        if block.len() < BLOCK_MAX {
            return block.insert(place, (key, slot));
        }
        let kept = if place == BLOCK_MAX { BLOCK_MAX.saturating_sub(CARRIED) } else { BLOCK_MAX / 2 };
        let mut behind = block.split_off(kept);
        match place.checked_sub(kept) {
            Some(place) => behind.insert(place, (key, slot)),
            None => block.insert(place, (key, slot)),
        }
        self.blocks.insert(at.saturating_add(1), behind);
    }

    /// Removes an entry; its slot, if there was one.
    #[inline(never)]
    pub(super) fn remove(&mut self, key: &Sort) -> Option<usize> {
        let at = self.block_of(key);
        self.recent = at;
        let block = self.blocks.get_mut(at)?;
        let place = place(block, key);
        block.get(place).filter(|(found, _)| found == key)?;
        let (_, slot) = block.remove(place);
        let left = block.len();
        self.len = self.len.saturating_sub(1);
        if left < BLOCK_MIN && self.blocks.len() > 1 {
            self.join(at, left);
        }
        Some(slot)
    }

    /// Joins a small block, which is not the only one, to one beside it; an empty one goes.
    fn join(&mut self, at: usize, len: usize) {
        if len == 0 {
            self.blocks.remove(at);
            return;
        }
        let next = at.saturating_add(1);
        let fits =
            |other: usize| self.blocks.get(other).is_some_and(|block| block.len().saturating_add(len) <= BLOCK_MAX / 2);
        let back = match at.checked_sub(1) {
            Some(before) if fits(before) => at,
            _ if fits(next) => next,
            _ => return,
        };
        let mut moved = self.blocks.remove(back);
        if let Some(front) = self.blocks.get_mut(back.saturating_sub(1)) {
            front.append(&mut moved);
        }
    }

    /// The block that a position belongs to: the last one that begins at or before it.
    fn block_of(&self, key: &Sort) -> usize {
        let begins_before = |block: &Vec<Entry>| block.first().is_some_and(|(first, _)| first <= key);
        let next = self.recent.saturating_add(1);
        let is_recent = self.recent == 0 || self.blocks.get(self.recent).is_some_and(begins_before);
        if is_recent && !self.blocks.get(next).is_some_and(begins_before) {
            return self.recent;
        }
        self.blocks.partition_point(begins_before).saturating_sub(1)
    }
}

/// Where in a block a position is, or belongs.
fn place(block: &[Entry], key: &Sort) -> usize {
    match block.split_last() {
        // The newest job has the largest id.
        Some(((last, _), before)) if last <= key => before.len().saturating_add(usize::from(last < key)),
        _ => block.partition_point(|(other, _)| other < key),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::arithmetic_side_effects)]

    use std::collections::BTreeMap;

    use super::*;
    use crate::core::Entropy;
    use crate::core::entropy::uniform;
    use crate::core::index::FIRST;

    /// As many as fit into the columns, so that all three are compared.
    fn key(n: u64) -> Sort {
        ((n / 256).cast_signed() - 8, (n / 16 % 16).cast_signed(), n % 16)
    }

    fn entries(sorted: &Sorted) -> Vec<Entry> {
        sorted.from(FIRST).copied().collect()
    }

    #[test]
    fn it_is_what_a_tree_would_be() {
        let mut entropy = Entropy::new(7);
        let mut below = |n: i64| uniform(entropy.bits(), 0, n - 1).cast_unsigned();
        let (mut sorted, mut tree) = (Sorted::new(), BTreeMap::new());
        // It grows, shrinks to nothing, and grows again; at random, and at either end.
        for round in 0..24_u64 {
            for step in 0..1_500_u64 {
                let n = match round % 4 {
                    0 => step,
                    1 => 4_000 - step,
                    _ => below(4_096),
                };
                let key = key(n);
                if round % 6 < 3 && !tree.contains_key(&key) {
                    let slot = usize::try_from(n).unwrap_or_default();
                    sorted.insert(key, slot);
                    tree.insert(key, slot);
                } else {
                    assert_eq!(sorted.remove(&key), tree.remove(&key), "{key:?}");
                }
                assert_eq!(sorted.first(), tree.first_key_value().map(|(key, slot)| (*key, *slot)).as_ref());
            }
            assert_eq!((sorted.len(), sorted.is_empty()), (tree.len(), tree.is_empty()));
            assert!(entries(&sorted).into_iter().eq(tree.clone()), "round {round}");
            for n in (0..4_096).step_by(31) {
                assert_eq!(sorted.get(&key(n)), tree.get(&key(n)).copied(), "{n}");
                let next = tree.range(key(n)..).next().map(|(key, slot)| (*key, *slot));
                assert_eq!(sorted.from(key(n)).next(), next.as_ref(), "{n}");
            }
        }
    }

    #[test]
    fn blocks_are_full_where_it_grows_and_join_where_it_shrinks() {
        let mut sorted = Sorted::new();
        for id in 0..10_000 {
            sorted.insert((0, 0, id), 0);
        }
        assert!(sorted.blocks.len() <= 10_000 / (BLOCK_MAX - CARRIED) + 1, "{}", sorted.blocks.len());
        for id in (0..10_000).filter(|id| id % 50 != 0) {
            sorted.remove(&(0, 0, id));
        }
        assert_eq!(sorted.len(), 200);
        assert!(sorted.blocks.len() <= 200 / (BLOCK_MIN / 2), "{}", sorted.blocks.len());
        for id in 0..10_000 {
            sorted.remove(&(0, 0, id));
        }
        assert_eq!(sorted.blocks.len(), 1);
    }

    #[test]
    fn one_more_and_one_less_at_the_end_of_a_full_block_begins_one_block() {
        let mut sorted = Sorted::new();
        let full = BLOCK_MAX as u64;
        (0..full).for_each(|id| sorted.insert((0, 0, id), 0));
        let blocks: Vec<usize> = (0..10)
            .map(|_| {
                sorted.insert((0, 0, full), 0);
                sorted.remove(&(0, 0, full));
                sorted.blocks.len()
            })
            .collect();
        assert_eq!(blocks, [2; 10]);
    }
}
