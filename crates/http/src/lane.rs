//! A set of connections with a bound: a user's own, or a worker's pool.

use std::cell::{Cell, OnceCell, RefCell};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::carriers::Carriers;
use crate::connect::Speaks;

use crate::stream::Stream;

/// Connections and who may use them.
pub(crate) struct Lane {
    permits: Semaphore,
    idle: RefCell<Vec<Stream>>,
    /// What is spoken here, once it is known.
    speaks: Cell<Option<Speaks>>,
    carriers: OnceCell<Carriers>,
    most: u32,
    streams: u32,
}

impl Lane {
    /// At most so many connections, with so many requests at once on each if it is HTTP/2.
    pub(crate) fn new(most: u32, streams: u32, speaks: Option<Speaks>) -> Self {
        let lane = Lane {
            permits: Semaphore::new(most as usize),
            idle: RefCell::default(),
            speaks: Cell::new(None),
            carriers: OnceCell::new(),
            most,
            streams,
        };
        lane.learn(speaks);
        lane
    }

    pub(crate) fn speaks(&self) -> Option<Speaks> {
        self.speaks.get()
    }

    /// From now on it is known what is spoken here.
    pub(crate) fn learn(&self, speaks: Option<Speaks>) {
        if self.speaks.get().is_none() && speaks == Some(Speaks::Http2) {
            self.permits.add_permits(self.most as usize * (self.streams as usize - 1));
        }
        self.speaks.set(self.speaks.get().or(speaks));
    }

    /// Waits for a place among the requests that may be going at once.
    pub(crate) async fn enter(&self) -> SemaphorePermit<'_> {
        // Nearly always there is one; nobody who waits is overtaken, since a place that is left goes to the first of them.
        match self.permits.try_acquire() {
            Ok(place) => place,
            Err(_) => self.permits.acquire().await.expect("the semaphore is never closed"),
        }
    }

    /// A kept connection on which nothing has come since its last answer.
    pub(crate) fn quiet_one(&self) -> Option<Stream> {
        let mut idle = self.idle.borrow_mut();
        loop {
            let mut stream = idle.pop()?;
            if stream.is_quiet() {
                return Some(stream);
            }
        }
    }

    pub(crate) fn keep(&self, stream: Stream) {
        self.idle.borrow_mut().push(stream);
    }

    /// The HTTP/2 connections.
    pub(crate) fn carriers(&self) -> Carriers {
        self.carriers.get_or_init(|| Carriers::new(self.most, self.streams)).clone()
    }

    pub(crate) fn close_idle(&self) {
        self.idle.borrow_mut().clear();
        if let Some(carriers) = self.carriers.get() {
            carriers.close_idle();
        }
    }
}
