//! The image store of the server: reads through the cache, writes through the queue.

use std::sync::Arc;
use std::time::Duration;

use barograph_auction_api::{ImageId, ImageSize};
use barograph_auction_store::StoreDescription;
use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::cache::Cache;
use crate::error::{Full, PictureError};
use crate::location::{Limits, PictureLocation};
use crate::queue::Queue;
use crate::store::{Key, Purpose, STAMP, Store, open, within};

/// Time limit of closing for writing the queued uploads.
pub const CLOSE_WITHIN: Duration = Duration::from_secs(20);

/// Time limit of a read, including the wait for its turn.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// Concurrent reads of the store. Enough for a network of 10 ms to give 25,000 pictures a second; with the
/// bound of a picture's size this bounds the memory of reads.
const READS_AT_ONCE: usize = 256;

/// A store of pictures with its cache and its queue of uploads. Needs the tokio runtime on which it was
/// opened.
pub struct Pictures {
    store: Arc<dyn Store>,
    cache: Cache,
    queue: Queue,
    reads: Semaphore,
}

/// Counts of an image store since it was opened, and its present contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PictureCounts {
    /// Small pictures found in the cache.
    pub hits: u64,
    /// Small pictures not found in the cache.
    pub misses: u64,
    /// Pictures in the cache.
    pub cached: u64,
    /// Bytes in the cache.
    pub cached_bytes: u64,
    /// Uploads waiting or being written.
    pub queued: usize,
    /// Their bytes.
    pub queued_bytes: usize,
    /// Uploads written.
    pub written: u64,
    /// Uploads that could not be written: they are lost.
    pub failed: u64,
    /// Uploads refused, because the queue was full or closed.
    pub refused: u64,
    /// Error of the last upload, if it could not be written.
    pub last_error: Option<String>,
}

impl Pictures {
    /// Opens the store at a place and starts its writers. Whether it was loaded is in [`Pictures::stamp`].
    pub async fn open(place: &PictureLocation, limits: Limits) -> Result<Pictures, PictureError> {
        Ok(Pictures::over(open(place, Purpose::Serve).await?, &limits))
    }

    pub(crate) fn over(store: Arc<dyn Store>, limits: &Limits) -> Pictures {
        Pictures {
            cache: Cache::new(limits.cache_bytes),
            queue: Queue::start(Arc::clone(&store), limits),
            reads: Semaphore::new(READS_AT_ONCE),
            store,
        }
    }

    /// The stamp given to [`crate::load`], if a load was completed here. The folder of a fill has none.
    pub async fn stamp(&self) -> Result<Option<String>, PictureError> {
        let stamp = self.read(STAMP).await?;
        Ok(stamp.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// A picture; `None` if it does not exist in that size. Small ones are cached. An upload is found as soon
    /// as this node has accepted it.
    pub async fn get(&self, id: ImageId, size: ImageSize) -> Result<Option<Bytes>, PictureError> {
        match size {
            ImageSize::Full => match self.queue.find(id) {
                Some(picture) => Ok(Some(picture)),
                None => self.read((id, size)).await,
            },
            ImageSize::Preview | ImageSize::Thumbnail => {
                self.cache.get_or((id, size), self.read((id, size))).await
            }
        }
    }

    /// A picture, or the next smaller existing one, with its size.
    pub async fn get_or_smaller(
        &self,
        id: ImageId,
        size: ImageSize,
    ) -> Result<Option<(ImageSize, Bytes)>, PictureError> {
        let sizes: &[ImageSize] = match size {
            ImageSize::Full => &[ImageSize::Full, ImageSize::Preview, ImageSize::Thumbnail],
            ImageSize::Preview => &[ImageSize::Preview, ImageSize::Thumbnail],
            ImageSize::Thumbnail => &[ImageSize::Thumbnail],
        };
        for &size in sizes {
            if let Some(picture) = self.get(id, size).await? {
                return Ok(Some((size, picture)));
            }
        }
        Ok(None)
    }

    /// Queues an upload, in full size only, to be written soon; never waits. An id is put once: of two
    /// pictures under one id either may stay.
    pub fn put(&self, id: ImageId, picture: Bytes) -> Result<(), Full> {
        self.queue.put(id, picture)
    }

    /// Present counts.
    #[must_use]
    pub fn counts(&self) -> PictureCounts {
        let (cache, queue) = (self.cache.counts(), self.queue.counts());
        PictureCounts {
            hits: cache.hits,
            misses: cache.misses,
            cached: cache.entries,
            cached_bytes: cache.bytes,
            queued: queue.queued,
            queued_bytes: queue.queued_bytes,
            written: queue.written,
            failed: queue.failed,
            refused: queue.refused,
            last_error: queue.last_error,
        }
    }

    /// Description of the store and its durability. Queued uploads do not survive the process.
    #[must_use]
    pub fn describe(&self) -> StoreDescription {
        self.store.describe()
    }

    /// Fails if the store cannot be read now.
    pub async fn ping(&self) -> Result<(), PictureError> {
        self.read(STAMP).await.map(drop)
    }

    /// Waits until all accepted uploads are written or lost.
    pub async fn flush(&self) {
        self.queue.flush().await;
    }

    /// Refuses further uploads, and writes the queued ones, for [`CLOSE_WITHIN`] at most. Returns the number
    /// of lost ones.
    pub async fn close(&self) -> usize {
        self.queue.close(CLOSE_WITHIN).await
    }

    async fn read(&self, key: Key) -> Result<Option<Bytes>, PictureError> {
        let reading = async {
            // The semaphore is never closed, so the result is always a permit.
            let _turn = self.reads.acquire().await;
            self.store.get(key).await
        };
        within(&*self.store, "read a picture", READ_WITHIN, reading).await
    }
}
