//! The queue of uploads: accepted at once, written by a few tasks, readable while they wait.
//!
//! A picture that cannot be written is lost and counted: the upload was confirmed, as in the published
//! application. The bound of the queue limits such losses under load: a full queue refuses.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use barograph_auction_api::{ImageId, ImageSize};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::error::{Full, PictureError};
use crate::location::Limits;
use crate::store::{Picture, Store, within};

/// Attempts to write a picture before it is lost. With the pauses below they take some 11 s, longer than a
/// restart of a store.
const ATTEMPTS: u32 = 8;

/// The pause after the first failure; each further one is twice as long, ...
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// ... up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Time limit of a write: 16 MB over a slow network take less.
const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// The queue of uploads.
pub(crate) struct Queue {
    shared: Arc<SharedQueue>,
    writers: Vec<AbortHandle>,
}

/// Counts of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueCounts {
    pub(crate) queued: usize,
    pub(crate) queued_bytes: usize,
    pub(crate) written: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    pub(crate) last_error: Option<String>,
}

struct SharedQueue {
    store: Arc<dyn Store>,
    pictures: usize,
    bytes: usize,
    state: Mutex<State>,
    /// Notified when an upload waits.
    work: Notify,
    /// Notified when none waits or is being written.
    idle: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Picture>>,
    /// By id, the latest picture that is not in the store yet.
    findable: HashMap<ImageId, Arc<Picture>>,
    closed: bool,
    counts: QueueCounts,
}

impl Queue {
    /// Starts the writers on the current runtime.
    pub(crate) fn start(store: Arc<dyn Store>, limits: &Limits) -> Self {
        let shared = Arc::new(SharedQueue {
            store,
            pictures: limits.queue,
            bytes: limits.queue_bytes,
            state: Mutex::default(),
            work: Notify::new(),
            idle: Notify::new(),
        });
        let writer = |_| tokio::spawn(write_all(Arc::clone(&shared))).abort_handle();
        let writers = (0..limits.writers.max(1)).map(writer).collect();
        Queue { shared, writers }
    }

    /// Queues a picture in full size; never waits.
    pub(crate) fn put(&self, id: ImageId, bytes: Bytes) -> Result<(), Full> {
        let mut guard = self.shared.state.lock();
        let state = &mut *guard;
        let counts = &mut state.counts;
        let full = if state.closed {
            Some(Full::Closed)
        } else if counts.queued >= self.shared.pictures {
            Some(Full::Pictures)
        } else if counts.queued_bytes + bytes.len() > self.shared.bytes {
            Some(Full::Bytes)
        } else {
            None
        };
        if let Some(full) = full {
            counts.refused += 1;
            return Err(full);
        }
        counts.queued += 1;
        counts.queued_bytes += bytes.len();
        let picture = Arc::new(Picture { key: (id, ImageSize::Full), bytes });
        state.findable.insert(id, Arc::clone(&picture));
        state.waiting.push_back(picture);
        drop(guard);
        self.shared.work.notify_one();
        Ok(())
    }

    /// A queued picture in full size.
    pub(crate) fn find(&self, id: ImageId) -> Option<Bytes> {
        self.shared.state.lock().findable.get(&id).map(|picture| picture.bytes.clone())
    }

    pub(crate) fn counts(&self) -> QueueCounts {
        self.shared.state.lock().counts.clone()
    }

    /// Waits until all queued pictures are written or lost.
    pub(crate) async fn flush(&self) {
        loop {
            let idle = self.shared.idle.notified();
            tokio::pin!(idle);
            // Registered before the check, so that the last picture cannot end in between.
            idle.as_mut().enable();
            if self.shared.state.lock().counts.queued == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Refuses further pictures, writes the queued ones within `limit`, and ends the writers. Returns the
    /// number of pictures that were not written.
    pub(crate) async fn close(&self, limit: Duration) -> usize {
        self.shared.state.lock().closed = true;
        let flushed = tokio::time::timeout(limit, self.flush()).await;
        self.stop();
        if flushed.is_ok() { 0 } else { self.counts().queued }
    }

    fn stop(&self) {
        self.writers.iter().for_each(AbortHandle::abort);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A writer: writes one picture after another.
async fn write_all(shared: Arc<SharedQueue>) {
    loop {
        let (next, more) = {
            let mut state = shared.state.lock();
            (state.waiting.pop_front(), !state.waiting.is_empty())
        };
        let Some(picture) = next else {
            shared.work.notified().await;
            continue;
        };
        if more {
            // Concurrent calls woke one writer only: it wakes the next.
            shared.work.notify_one();
        }
        let written = write(&*shared.store, std::slice::from_ref(&*picture)).await;
        shared.end(&picture, written);
    }
}

impl SharedQueue {
    fn end(&self, picture: &Arc<Picture>, written: Result<(), PictureError>) {
        let mut state = self.state.lock();
        let id = picture.key.0;
        if state.findable.get(&id).is_some_and(|latest| Arc::ptr_eq(latest, picture)) {
            state.findable.remove(&id);
        }
        let counts = &mut state.counts;
        counts.queued -= 1;
        counts.queued_bytes -= picture.bytes.len();
        match written {
            Ok(()) => {
                counts.written += 1;
                counts.last_error = None;
            }
            Err(error) => {
                counts.failed += 1;
                counts.last_error = Some(error.chain());
            }
        }
        if counts.queued == 0 {
            self.idle.notify_waiters();
        }
    }
}

/// Writes pictures, with retries until it succeeds or the attempts are used up.
pub(crate) async fn write(store: &dyn Store, pictures: &[Picture]) -> Result<(), PictureError> {
    let mut wait = FIRST_WAIT;
    for _ in 1..ATTEMPTS {
        match within(store, "write pictures", WRITE_WITHIN, store.put(pictures)).await {
            Ok(()) => return Ok(()),
            Err(_) => tokio::time::sleep(wait).await,
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
    within(store, "write pictures", WRITE_WITHIN, store.put(pictures)).await
}
