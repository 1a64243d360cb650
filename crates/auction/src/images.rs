//! The image store: files behind the `object_store` seam, with a cache of small pictures bounded by its bytes.
//!
//! Thumbnails and previews are asked for again and again and are small, so they are kept. A full-size picture is asked
//! for once in a while and would push a hundred thumbnails out; the operating system's file cache is its cache.
//! A read that misses hops to a blocking thread and back, some 20 to 50 µs, which is the price of the seam: another
//! implementation of it may wait on a network.

use std::path::Path as FilePath;

use barograph_auction_api::{ImageId, ImageSize};
use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Bytes an entry costs beside the picture itself: key, handle, links of the cache.
const ENTRY_BYTES: u64 = 128;

/// Size of a thumbnail for planning the cache; a wrong guess costs a little memory, never the bound.
const TYPICAL_BYTES: u64 = 4096;

/// Pictures per folder, so that no folder grows without bound.
const PER_FOLDER: i64 = 1000;

type Key = (ImageId, ImageSize);

#[derive(Clone)]
struct ByBytes;

impl Weighter<Key, Bytes> for ByBytes {
    fn weight(&self, _key: &Key, picture: &Bytes) -> u64 {
        picture.len() as u64 + ENTRY_BYTES
    }
}

/// Where the pictures are.
pub(crate) struct Images {
    store: Box<dyn ObjectStore>,
    cache: Cache<Key, Bytes, ByBytes>,
}

impl Images {
    /// Pictures in files under `dir`, of which `cache_bytes` are kept in memory.
    pub(crate) fn open(dir: &FilePath, cache_bytes: u64) -> object_store::Result<Self> {
        let entries = usize::try_from(cache_bytes / TYPICAL_BYTES).unwrap_or(usize::MAX).max(16);
        let store = Box::new(LocalFileSystem::new_with_prefix(dir)?);
        Ok(Images { store, cache: Cache::with_weighter(entries, cache_bytes, ByBytes) })
    }

    /// A picture as JPEG; `None` when there is no such file.
    pub(crate) async fn get(&self, id: ImageId, size: ImageSize) -> object_store::Result<Option<Bytes>> {
        let keep = size != ImageSize::Full;
        if keep && let Some(picture) = self.cache.get(&(id, size)) {
            return Ok(Some(picture));
        }
        let path = Path::from(format!("{}/{}/{id}.jpg", size.name(), id.0 / PER_FOLDER));
        let found = match self.store.get(&path).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let picture = found.bytes().await?;
        if keep {
            self.cache.insert((id, size), picture.clone());
        }
        Ok(Some(picture))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_cache_keeps_small_pictures_within_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        for size in ["thumbnail", "full"] {
            std::fs::create_dir_all(dir.path().join(size).join("0")).unwrap();
        }
        for id in 1..200 {
            std::fs::write(dir.path().join(format!("thumbnail/0/{id}.jpg")), vec![id as u8; 1000]).unwrap();
        }
        std::fs::write(dir.path().join("full/0/1.jpg"), b"large").unwrap();
        let images = Images::open(dir.path(), 50_000).unwrap();
        for id in 1..200 {
            let picture = images.get(ImageId(id), ImageSize::Thumbnail).await.unwrap().unwrap();
            assert_eq!((picture.len(), picture[0]), (1000, id as u8));
            assert!(images.cache.weight() <= 50_000);
        }
        let kept = images.cache.len();
        assert!(kept > 10);
        assert_eq!(images.get(ImageId(1), ImageSize::Full).await.unwrap().unwrap(), "large");
        assert_eq!(images.cache.len(), kept);
        assert_eq!(images.get(ImageId(999), ImageSize::Thumbnail).await.unwrap(), None);
    }
}
