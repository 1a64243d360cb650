//! The queue of uploads: taken at once, written by a few tasks, findable while they wait.
//!
//! A picture that is given up is lost and counted: whoever uploaded it was told that it was taken, as in the published
//! application. The bound of the queue is what keeps that honest under load: a full queue refuses.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use barograph_auction_api::{ImageId, ImageSize};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::error::{Full, PictureError};
use crate::place::Limits;
use crate::store::{Picture, Store, within};

/// How often a picture is tried before it is given up. With the waits below that is some 11 s, longer than a store takes
/// to start again.
const ATTEMPTS: u32 = 8;

/// The wait after the first failure; each further one is twice as long, ...
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// ... up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A write that takes longer has failed: 16 MB over a slow network take less.
const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// Uploads on their way to the store.
pub(crate) struct Queue {
    shared: Arc<Shared>,
    writers: Vec<AbortHandle>,
}

/// What a queue has done and holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueCounts {
    pub(crate) queued: usize,
    pub(crate) queued_bytes: usize,
    pub(crate) written: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    pub(crate) last_error: Option<String>,
}

struct Shared {
    store: Arc<dyn Store>,
    pictures: usize,
    bytes: usize,
    state: Mutex<State>,
    /// Something waits.
    work: Notify,
    /// Nothing waits and nothing is being written.
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
    /// Starts the writers on the runtime of the caller.
    pub(crate) fn start(store: Arc<dyn Store>, limits: &Limits) -> Self {
        let shared = Arc::new(Shared {
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

    /// Takes a picture in full size; never waits.
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

    /// A picture in full size that is not in the store yet.
    pub(crate) fn find(&self, id: ImageId) -> Option<Bytes> {
        self.shared.state.lock().findable.get(&id).map(|picture| picture.bytes.clone())
    }

    pub(crate) fn counts(&self) -> QueueCounts {
        self.shared.state.lock().counts.clone()
    }

    /// Waits until everything taken is written or given up.
    pub(crate) async fn flush(&self) {
        loop {
            let idle = self.shared.idle.notified();
            tokio::pin!(idle);
            // Registered before the look, so that the last picture cannot end in between.
            idle.as_mut().enable();
            if self.shared.state.lock().counts.queued == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Takes nothing any more, writes what is there as long as `limit` allows, and ends the writers. Answers how many
    /// pictures were not written.
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

/// A writer: takes pictures one after another.
async fn write_all(shared: Arc<Shared>) {
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
            // Calls that came at once woke one writer only: it passes the call on.
            shared.work.notify_one();
        }
        let written = write(&*shared.store, std::slice::from_ref(&*picture)).await;
        shared.end(&picture, written);
    }
}

impl Shared {
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

/// Writes pictures, and again when that failed, until it worked or the attempts are used up.
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
