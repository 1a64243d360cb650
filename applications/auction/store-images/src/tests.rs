//! Tests of cache, queue and fallback over a store that can be delayed and can fail.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use barograph_auction_api::ImageSize::{Full as FullSize, Preview, Thumbnail};
use barograph_auction_api::{ImageId, ImageSize};
use barograph_auction_store::StoreDescription;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::error::{Full, PictureError};
use crate::location::Limits;
use crate::pictures::Pictures;
use crate::store::{Key, Picture, PictureFuture, Store};

/// Keeps pictures in memory.
struct Fake {
    kept: Mutex<HashMap<Key, Bytes>>,
    /// Each write takes one of these.
    turns: Semaphore,
    /// Number of the next writes that fail.
    failures: AtomicU32,
    attempts: AtomicU32,
}

impl Fake {
    fn with_turns(turns: usize) -> Arc<Fake> {
        let (failures, attempts) = (AtomicU32::new(0), AtomicU32::new(0));
        Arc::new(Fake { kept: Mutex::default(), turns: Semaphore::new(turns), failures, attempts })
    }

    fn keep(&self, id: i64, size: ImageSize, text: &'static str) {
        self.kept.lock().insert((ImageId(id), size), Bytes::from_static(text.as_bytes()));
    }

    async fn write(&self, pictures: &[Picture]) -> Result<(), PictureError> {
        self.attempts.fetch_add(1, Ordering::SeqCst);
        self.turns.acquire().await.unwrap().forget();
        let less = |left: u32| left.checked_sub(1);
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
            let source = "the disk is on fire".into();
            return Err(PictureError::Refused { store: "fake", what: "write pictures", source });
        }
        let mut kept = self.kept.lock();
        kept.extend(pictures.iter().map(|picture| (picture.key, picture.bytes.clone())));
        Ok(())
    }
}

impl Store for Fake {
    fn get(&self, key: Key) -> PictureFuture<'_, Option<Bytes>> {
        Box::pin(async move { Ok(self.kept.lock().get(&key).cloned()) })
    }

    fn put<'a>(&'a self, pictures: &'a [Picture]) -> PictureFuture<'a, ()> {
        Box::pin(self.write(pictures))
    }

    fn clear(&self) -> PictureFuture<'_, ()> {
        Box::pin(async {
            self.kept.lock().clear();
            Ok(())
        })
    }

    fn name(&self) -> &'static str {
        "fake"
    }

    fn describe(&self) -> StoreDescription {
        StoreDescription { product: "fake".to_owned(), durability: "none".to_owned() }
    }
}

fn over(store: &Arc<Fake>, limits: &Limits) -> Pictures {
    Pictures::over(Arc::<Fake>::clone(store), limits)
}

fn limits() -> Limits {
    Limits { cache_bytes: 50_000, queue: 3, queue_bytes: 1000, writers: 2 }
}

fn picture(bytes: usize) -> Bytes {
    Bytes::from(vec![7; bytes])
}

#[tokio::test]
async fn the_queue_is_full_by_number_and_by_bytes_and_empties() {
    let store = Fake::with_turns(0);
    let pictures = over(&store, &limits());
    pictures.put(ImageId(1), picture(600)).unwrap();
    assert_eq!(pictures.put(ImageId(2), picture(401)), Err(Full::Bytes));
    pictures.put(ImageId(3), picture(100)).unwrap();
    pictures.put(ImageId(4), picture(100)).unwrap();
    assert_eq!(pictures.put(ImageId(5), picture(1)), Err(Full::Pictures));
    let counts = pictures.counts();
    assert_eq!((counts.queued, counts.queued_bytes, counts.refused, counts.written), (3, 800, 2, 0));

    // The queue is read before the store, so the uploader sees the picture at once.
    assert_eq!(pictures.get(ImageId(1), FullSize).await.unwrap().unwrap().len(), 600);
    assert_eq!(pictures.get(ImageId(2), FullSize).await.unwrap(), None);

    store.turns.add_permits(3);
    pictures.flush().await;
    let counts = pictures.counts();
    assert_eq!((counts.queued, counts.queued_bytes, counts.written, counts.failed), (0, 0, 3, 0));
    assert_eq!(pictures.get(ImageId(1), FullSize).await.unwrap().unwrap().len(), 600);
    pictures.put(ImageId(5), picture(1000)).unwrap();
}

#[tokio::test]
async fn all_writers_work_at_the_same_time() {
    let store = Fake::with_turns(0);
    let pictures = over(&store, &Limits { writers: 3, ..limits() });
    (1..=3).for_each(|id| pictures.put(ImageId(id), picture(1)).unwrap());
    while store.attempts.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    store.turns.add_permits(3);
    pictures.flush().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_repeated_and_then_given_up() {
    let store = Fake::with_turns(100);
    let pictures = over(&store, &Limits { writers: 1, ..limits() });
    store.failures.store(7, Ordering::SeqCst);
    pictures.put(ImageId(1), picture(1)).unwrap();
    pictures.flush().await;
    assert_eq!((pictures.counts().written, store.attempts.load(Ordering::SeqCst)), (1, 8));

    store.failures.store(8, Ordering::SeqCst);
    pictures.put(ImageId(2), picture(1)).unwrap();
    pictures.flush().await;
    let counts = pictures.counts();
    assert_eq!((counts.written, counts.failed, counts.queued, counts.queued_bytes), (1, 1, 0, 0));
    let says = counts.last_error.unwrap();
    assert_eq!(says, "write pictures: fake refused: the disk is on fire");
    assert_eq!(pictures.get(ImageId(2), FullSize).await.unwrap(), None);

    // It continues to serve, and health reports the loss.
    pictures.put(ImageId(3), picture(1)).unwrap();
    pictures.flush().await;
    assert_eq!((pictures.counts().written, pictures.counts().last_error), (2, None));
}

#[tokio::test(start_paused = true)]
async fn closing_writes_what_waits_and_says_what_is_lost() {
    let store = Fake::with_turns(2);
    let pictures = over(&store, &limits());
    (1..=3).for_each(|id| pictures.put(ImageId(id), picture(1)).unwrap());
    assert_eq!(pictures.close().await, 1);
    assert_eq!(pictures.put(ImageId(4), picture(1)), Err(Full::Closed));
    assert_eq!(store.kept.lock().len(), 2);
}

#[tokio::test]
async fn a_missing_size_is_replaced_by_a_smaller_one_never_by_a_larger() {
    let store = Fake::with_turns(100);
    for (id, size, text) in [
        (1, FullSize, "full 1"),
        (1, Thumbnail, "thumbnail 1"),
        (2, Preview, "preview 2"),
        (2, Thumbnail, "thumbnail 2"),
        (3, Thumbnail, "thumbnail 3"),
    ] {
        store.keep(id, size, text);
    }
    let pictures = over(&store, &limits());
    pictures.put(ImageId(4), Bytes::from_static(b"full 4")).unwrap();
    for (id, asked, expected) in [
        (1, FullSize, Some((FullSize, "full 1"))),
        (1, Preview, Some((Thumbnail, "thumbnail 1"))),
        (2, FullSize, Some((Preview, "preview 2"))),
        (3, FullSize, Some((Thumbnail, "thumbnail 3"))),
        (3, Thumbnail, Some((Thumbnail, "thumbnail 3"))),
        (4, FullSize, Some((FullSize, "full 4"))),
        (4, Thumbnail, None),
        (5, FullSize, None),
    ] {
        let found = pictures.get_or_smaller(ImageId(id), asked).await.unwrap();
        let expected = expected.map(|(size, text)| (size, Bytes::from_static(text.as_bytes())));
        assert_eq!(found, expected, "{id} {asked:?}");
    }
    // The small ones of 1, 2 and 3 are kept; the last thumbnail was requested twice.
    let counts = pictures.counts();
    assert_eq!((counts.cached, counts.hits), (3, 1));
}
