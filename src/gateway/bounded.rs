//! A map, or set, that forgets: what was not put in for long goes when it is full. Lost with the
//! process: what must outlast it is stored.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A bounded map. It keeps at least the last `max / 2` entries that were put in.
#[derive(Debug)]
pub(super) struct Bounded<K, V> {
    max: usize,
    generations: Mutex<Generations<K, V>>,
}

/// When the young are half of the whole, they become the old and the old are forgotten.
#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Eq + Hash, V: Clone> Bounded<K, V> {
    pub(super) fn new(max: usize) -> Self {
        let generations = Generations { young: HashMap::new(), old: HashMap::new() };
        Self { max, generations: Mutex::new(generations) }
    }

    fn lock(&self) -> MutexGuard<'_, Generations<K, V>> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        let generations = self.lock();
        generations.young.get(key).or_else(|| generations.old.get(key)).cloned()
    }

    /// Puts a value in and returns the one it replaces.
    pub(super) fn put(&self, key: K, value: V) -> Option<V> {
        let mut generations = self.lock();
        let old = generations.old.remove(&key);
        let before = generations.young.insert(key, value);
        if generations.young.len() >= (self.max / 2).max(1) {
            generations.old = std::mem::take(&mut generations.young);
        }
        before.or(old)
    }

    pub(super) fn remove(&self, key: &K) {
        let mut generations = self.lock();
        generations.young.remove(key);
        generations.old.remove(key);
    }
}

impl<K: Eq + Hash> Bounded<K, ()> {
    /// Remembers it; `false` if it was known.
    pub(super) fn insert(&self, key: K) -> bool {
        self.put(key, ()).is_none()
    }

    pub(super) fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_grows_beyond_its_size_and_keeps_the_latest() {
        let map = Bounded::new(100);
        for number in 0..1000 {
            map.put(number, number);
        }
        let known = (0..1000).filter(|number| map.get(number).is_some()).count();
        assert!((50..=100).contains(&known), "{known}");
        assert!((950..1000).all(|number| map.get(&number) == Some(number)));
    }

    #[test]
    fn a_value_is_replaced_wherever_it_is() {
        let map = Bounded::new(4);
        for key in ["a", "b", "c"] {
            map.put(key, 1);
        }
        assert_eq!(map.put("a", 2), Some(1));
        assert_eq!(map.get(&"a"), Some(2));
        map.remove(&"a");
        assert_eq!(map.get(&"a"), None);
    }

    #[test]
    fn of_a_set_is_told_what_is_new() {
        let set = Bounded::new(4);
        assert!(set.insert(1) && set.insert(2) && !set.insert(1));
        assert!(set.contains(&1) && !set.contains(&3));
        set.remove(&1);
        assert!(!set.contains(&1) && set.insert(1));
    }
}
