//! A map by name: a sorted list. Names are few beside jobs, and a tree of its own would double what the engine weighs in
//! wasm; adding or removing a name moves the pointers behind it.

use crate::core::Name;

/// Values by name, in name order (by code points).
#[derive(Debug)]
pub(super) struct ByName<T>(Vec<(Name, T)>);

impl<T> ByName<T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn get(&self, name: &Name) -> Option<&T> {
        let at = self.find(name).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// The value of a name; a new one if there was none.
    pub(super) fn get_or_insert(&mut self, name: &Name) -> Option<&mut T>
    where
        T: Default,
    {
        let at = self.find(name).unwrap_or_else(|at| {
            self.0.insert(at, (name.clone(), T::default()));
            at
        });
        self.0.get_mut(at).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, name: &Name) -> Option<&mut T> {
        let at = self.find(name).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Puts a value in; an old one of that name goes.
    pub(super) fn insert(&mut self, name: Name, value: T) {
        match self.find(&name) {
            Ok(at) => {
                if let Some(entry) = self.0.get_mut(at) {
                    entry.1 = value;
                }
            }
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    pub(super) fn remove(&mut self, name: &Name) -> Option<T> {
        let at = self.find(name).ok()?;
        Some(self.0.remove(at).1)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.0.retain(|(_, value)| keep(value));
    }

    #[inline(never)]
    fn find(&self, name: &Name) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(name))
    }
}
