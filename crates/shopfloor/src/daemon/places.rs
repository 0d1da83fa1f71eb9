//! Room for those who come at once: so many in all, and so many of each, so that nobody takes all of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts who is there. Its clones share the count.
#[derive(Clone)]
pub struct Places<K> {
    taken: Arc<Mutex<BTreeMap<K, usize>>>,
    most: usize,
    most_each: usize,
}

/// Taken for as long as it lives.
pub struct Place<K: Ord> {
    places: Places<K>,
    who: Option<K>,
}

impl<K: Ord + Clone> Places<K> {
    pub fn new(most: usize, most_each: usize) -> Places<K> {
        Places { taken: Arc::default(), most, most_each }
    }

    /// `None`: there is no room for it.
    pub fn take(&self, who: K) -> Option<Place<K>> {
        let mut taken = self.taken();
        if taken.values().sum::<usize>() >= self.most || taken.get(&who).is_some_and(|n| *n >= self.most_each)
        {
            return None;
        }
        *taken.entry(who.clone()).or_default() += 1;
        Some(Place { places: self.clone(), who: Some(who) })
    }
}

impl<K> Places<K> {
    fn taken(&self) -> MutexGuard<'_, BTreeMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord> Drop for Place<K> {
    fn drop(&mut self) {
        let Some(who) = self.who.take() else { return };
        let mut taken = self.places.taken();
        if let Some(own) = taken.get_mut(&who) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_room_of_others() {
        let places = Places::new(5, 3);
        let mine: Vec<_> = (0..3).filter_map(|_| places.take(1)).collect();
        assert_eq!(mine.len(), 3);
        assert!(places.take(1).is_none(), "that is its share");
        let theirs = [places.take(2), places.take(3)];
        assert!(theirs.iter().all(Option::is_some));
        assert!(places.take(4).is_none(), "there is no more");
        drop(mine);
        assert!(places.take(1).is_some() && places.take(4).is_some());
    }
}
