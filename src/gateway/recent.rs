//! A set that remembers the last so many. Lost with the process: what must outlast it is stored.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last `max` different things, shared.
#[derive(Debug)]
pub(super) struct Recent<T> {
    max: usize,
    known: Mutex<Known<T>>,
}

#[derive(Debug)]
struct Known<T> {
    set: HashSet<T>,
    /// In the order in which they came.
    order: VecDeque<T>,
}

impl<T: Clone + Eq + Hash> Recent<T> {
    pub(super) fn new(max: usize) -> Self {
        let known = Known { set: HashSet::new(), order: VecDeque::new() };
        Self { max, known: Mutex::new(known) }
    }

    fn lock(&self) -> MutexGuard<'_, Known<T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers it; `false` if it was known.
    pub(super) fn insert(&self, item: T) -> bool {
        let mut known = self.lock();
        if !known.set.insert(item.clone()) {
            return false;
        }
        known.order.push_back(item);
        while known.order.len() > self.max {
            if let Some(oldest) = known.order.pop_front() {
                known.set.remove(&oldest);
            }
        }
        true
    }

    /// Remembers them all; `false` if any was known.
    pub(super) fn insert_all(&self, items: impl IntoIterator<Item = T>) -> bool {
        let mut all_new = true;
        for item in items {
            all_new &= self.insert(item);
        }
        all_new
    }

    pub(super) fn contains(&self, item: &T) -> bool {
        self.lock().set.contains(item)
    }

    pub(super) fn remove(&self, item: &T) {
        let mut known = self.lock();
        if known.set.remove(item) {
            known.order.retain(|other| other != item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first_and_a_known_one_is_told() {
        let recent = Recent::new(2);
        assert!(recent.insert(1) && recent.insert(2));
        assert!(!recent.insert(1));
        assert!(recent.insert(3));
        assert!(!recent.contains(&1) && recent.contains(&2) && recent.contains(&3));
        recent.remove(&3);
        assert!(!recent.contains(&3));
        assert!(!recent.insert_all([4, 2]), "one of them was known");
        assert!(recent.contains(&4));
    }
}
