//! A bounded cache in front of the stores that never keeps a value that was outdated on arrival.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;

/// A cache. Values are cheap to clone (`Bytes`, ids).
pub(crate) struct EpochCache<K, V> {
    cache: Cache<K, V>,
    /// Rises with every invalidation: a value read before one and inserted after it is removed again.
    epoch: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Figures of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    /// Present entries.
    pub(crate) entries: u64,
    /// Lookups answered by the cache.
    pub(crate) hits: u64,
    /// Lookups passed on to the store.
    pub(crate) misses: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> EpochCache<K, V> {
    /// Creates a cache with room for about `entries` values.
    pub(crate) fn new(entries: usize) -> Self {
        EpochCache {
            cache: Cache::new(entries),
            epoch: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Returns the value of a key, read with `load` if it is not cached; `None` if it does not exist.
    pub(crate) async fn get_or_load<E, F>(&self, key: &K, load: impl FnOnce() -> F) -> Result<Option<V>, E>
    where
        F: Future<Output = Result<Option<V>, E>>,
    {
        if let Some(value) = self.cache.get(key) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(value));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let before = self.epoch.load(Ordering::SeqCst);
        let Some(value) = load().await? else { return Ok(None) };
        self.cache.insert(key.clone(), value.clone());
        // An invalidation raises the epoch first and removes afterwards. In either order, it removes this
        // value or the raised epoch is seen here.
        if self.epoch.load(Ordering::SeqCst) != before {
            self.cache.remove(key);
        }
        Ok(Some(value))
    }

    /// Inserts a value that is known to be current.
    pub(crate) fn insert(&self, key: K, value: V) {
        self.cache.insert(key, value);
    }

    /// Removes a key whose value has changed in the store.
    pub(crate) fn invalidate(&self, key: &K) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.cache.remove(key);
    }

    /// Removes everything.
    pub(crate) fn clear(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.cache.clear();
    }

    /// Returns the figures of the cache.
    pub(crate) fn used(&self) -> Use {
        Use {
            entries: self.cache.len() as u64,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_value_outdated_while_it_was_read_is_not_kept() {
        let shelf: EpochCache<u32, u32> = EpochCache::new(10);
        let stale = shelf
            .get_or_load(&1, || async {
                shelf.invalidate(&1);
                Ok::<_, ()>(Some(10))
            })
            .await;
        assert_eq!(stale, Ok(Some(10)));
        assert_eq!(shelf.get_or_load(&1, || async { Ok::<_, ()>(Some(11)) }).await, Ok(Some(11)));
        assert_eq!(shelf.get_or_load(&1, || async { Ok::<_, ()>(Some(12)) }).await, Ok(Some(11)));
        shelf.clear();
        assert_eq!(shelf.get_or_load(&1, || async { Ok::<_, ()>(Some(13)) }).await, Ok(Some(13)));
        assert_eq!(shelf.used(), Use { entries: 1, hits: 1, misses: 3 });
    }

    #[test]
    fn it_holds_no_more_than_its_room() {
        let shelf: EpochCache<u32, u32> = EpochCache::new(100);
        for key in 0..10_000 {
            shelf.insert(key, key);
        }
        assert!(shelf.used().entries <= 100);
    }
}
