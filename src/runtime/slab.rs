//! Values in slots, which are used again.

/// A list with holes. A slot stays its value's until that is removed.
#[derive(Debug)]
pub(super) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(super) fn get(&self, slot: usize) -> Option<&T> {
        self.slots.get(slot)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut T> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// Keeps a value; its slot.
    pub(super) fn insert(&mut self, value: T) -> usize {
        if let Some(slot) = self.free.pop() {
            if let Some(hole) = self.slots.get_mut(slot) {
                *hole = Some(value);
            }
            return slot;
        }
        self.slots.push(Some(value));
        self.slots.len().saturating_sub(1)
    }

    pub(super) fn remove(&mut self, slot: usize) -> Option<T> {
        let value = self.slots.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_its_values_until_that_is_removed_and_then_anothers() {
        let mut slab = Slab::new();
        let [a, b] = ["a", "b"].map(|value| slab.insert(value));
        assert_eq!((slab.get(a), slab.get(b)), (Some(&"a"), Some(&"b")));
        assert_eq!((slab.remove(a), slab.remove(a)), (Some("a"), None));
        assert!(slab.get(a).is_none() && slab.get_mut(a).is_none());
        assert_eq!((slab.insert("c"), slab.get(a)), (a, Some(&"c")));
        assert_eq!(slab.slots.len(), 2);
    }
}
