//! The cache of small pictures, bounded in bytes.
//!
//! Thumbnails and previews are small and requested again and again, so they are kept. A full-size picture is
//! requested rarely and would displace a hundred thumbnails; it is left to the store's own cache.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use quick_cache::Weighter;

use crate::error::PictureError;
use crate::store::Key;

/// Overhead of an entry in bytes: key, handle, links of the cache.
const ENTRY_BYTES: u64 = 128;

/// Typical size of a thumbnail, for planning the cache; a wrong guess costs a little memory, never the bound.
const TYPICAL_BYTES: u64 = 4096;

#[derive(Clone)]
struct ByBytes;

impl Weighter<Key, Bytes> for ByBytes {
    fn weight(&self, _key: &Key, picture: &Bytes) -> u64 {
        picture.len() as u64 + ENTRY_BYTES
    }
}

/// Small pictures in memory.
pub(crate) struct Cache {
    kept: quick_cache::sync::Cache<Key, Bytes, ByBytes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Counts of a cache.
pub(crate) struct CacheCounts {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

/// Reason for a missing value.
enum CacheMiss {
    NoPicture,
    Failed(PictureError),
}

impl Cache {
    /// A cache of at most `bytes` bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let entries = usize::try_from(bytes / TYPICAL_BYTES).unwrap_or(usize::MAX).max(16);
        Cache {
            kept: quick_cache::sync::Cache::with_weighter(entries, bytes, ByBytes),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Returns the cached picture, or the result of `read`, which is then cached. Concurrent misses of a
    /// picture share one read. A missing picture is not remembered: an upload may add it.
    pub(crate) async fn get_or(
        &self,
        key: Key,
        read: impl Future<Output = Result<Option<Bytes>, PictureError>>,
    ) -> Result<Option<Bytes>, PictureError> {
        if let Some(picture) = self.kept.get(&key) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(picture));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let reading = async {
            match read.await {
                Ok(Some(picture)) => Ok(picture),
                Ok(None) => Err(CacheMiss::NoPicture),
                Err(error) => Err(CacheMiss::Failed(error)),
            }
        };
        match self.kept.get_or_insert_async(&key, reading).await {
            Ok(picture) => Ok(Some(picture)),
            Err(CacheMiss::NoPicture) => Ok(None),
            Err(CacheMiss::Failed(error)) => Err(error),
        }
    }

    pub(crate) fn counts(&self) -> CacheCounts {
        CacheCounts {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            entries: self.kept.len() as u64,
            bytes: self.kept.weight(),
        }
    }
}

#[cfg(test)]
mod tests {
    use barograph_auction_api::{ImageId, ImageSize};

    use super::*;

    #[tokio::test]
    async fn the_cache_stays_within_its_bytes() {
        let cache = Cache::new(50_000);
        for id in 1..200 {
            let read = async { Ok(Some(Bytes::from(vec![id as u8; 1000]))) };
            let picture = cache.get_or((ImageId(id), ImageSize::Thumbnail), read).await.unwrap().unwrap();
            assert_eq!((picture.len(), picture[0]), (1000, id as u8));
            assert!(cache.counts().bytes <= 50_000);
        }
        let counts = cache.counts();
        assert!(counts.entries > 10 && counts.entries < 50, "{}", counts.entries);
        assert_eq!((counts.hits, counts.misses), (0, 199));
    }

    #[tokio::test]
    async fn many_that_miss_at_once_read_once_and_nothing_is_not_kept() {
        let (cache, key) = (Cache::new(50_000), (ImageId(1), ImageSize::Preview));
        let reads = AtomicU64::new(0);
        let get = || {
            cache.get_or(key, async {
                tokio::task::yield_now().await;
                reads.fetch_add(1, Ordering::Relaxed);
                Ok(Some(Bytes::from_static(b"picture")))
            })
        };
        let all = futures::future::join_all((0..20).map(|_| get())).await;
        assert!(all.into_iter().all(|got| got.unwrap().unwrap() == "picture"));
        assert_eq!(reads.load(Ordering::Relaxed), 1);

        let missing = (ImageId(2), ImageSize::Preview);
        assert_eq!(cache.get_or(missing, async { Ok(None) }).await.unwrap(), None);
        let found = cache.get_or(missing, async { Ok(Some(Bytes::from_static(b"later"))) }).await;
        assert_eq!(found.unwrap().unwrap(), "later");
    }
}
