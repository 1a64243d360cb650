//! A bounded pool of connections. A connection that failed, or whose caller was cancelled, is closed and not
//! used again; the next caller gets a new one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::fault::{AnswerTimeout, Fault};
use crate::link::{Link, Target};

/// Time limit of a caller for a connection. The client of a later page has given up.
const PLACE_WAIT: Duration = Duration::from_secs(5);

/// Time limit of a connection attempt; a starting server refuses within milliseconds.
const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// A pool of connections.
pub(crate) struct Pool {
    target: Target,
    idle: Mutex<IdleLinks>,
    places: Arc<Semaphore>,
}

struct IdleLinks {
    links: Vec<Link>,
    /// Rises when a connection is lost: older ones are not trusted any more, since the server is likely to
    /// have been restarted.
    era: u64,
}

/// A connection lent to one caller. Unless it is given back, it is closed.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    link: Option<Link>,
    era: u64,
    _place: OwnedSemaphorePermit,
}

impl Pool {
    pub(crate) fn new(target: Target, connections: usize) -> Arc<Self> {
        let idle = Mutex::new(IdleLinks { links: Vec::with_capacity(connections), era: 0 });
        Arc::new(Pool { target, idle, places: Arc::new(Semaphore::new(connections.max(1))) })
    }

    /// The store's name in errors.
    pub(crate) fn store(&self) -> &'static str {
        self.target.store()
    }

    /// Returns a connection, waiting for one within the time limit.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<Lease, Fault> {
        let place = timeout(PLACE_WAIT, Arc::clone(&self.places).acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(Fault::Full) };
        let (found, era) = self.trusted();
        let link = match found {
            Some(link) => link,
            None => timeout(CONNECT_WAIT, self.target.connect()).await.unwrap_or_else(|_| {
                Err(Fault::Lost(Box::new(AnswerTimeout { seconds: CONNECT_WAIT.as_secs() })))
            })?,
        };
        Ok(Lease { pool: Arc::clone(self), link: Some(link), era, _place: place })
    }

    /// The connection given back last, which is the warmest, and the era.
    fn trusted(&self) -> (Option<Link>, u64) {
        let mut idle = self.idle.lock();
        loop {
            match idle.links.pop() {
                Some(link) if link.is_closed() => {}
                found => return (found, idle.era),
            }
        }
    }
}

impl Lease {
    pub(crate) fn link(&mut self) -> Result<&mut Link, Fault> {
        // Only `give_back` and `lose` take it, and they consume the lease.
        self.link.as_mut().ok_or(Fault::Full)
    }

    /// Returns the connection to the pool.
    pub(crate) fn give_back(mut self) {
        let mut idle = self.pool.idle.lock();
        if idle.era == self.era {
            idle.links.extend(self.link.take());
        }
    }

    /// Reports a lost connection; the idle ones lose trust too.
    pub(crate) fn lose(self) {
        let mut idle = self.pool.idle.lock();
        if idle.era == self.era {
            idle.era += 1;
            idle.links.clear();
        }
    }
}
