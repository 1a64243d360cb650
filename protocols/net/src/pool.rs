//! Pools: kept connections, and a limit of concurrent operations.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::stream::Stream;

/// Concurrent operations of one user if each has a new connection: none is known to need more.
const MOST_NEW: u32 = 256;

/// Sharing of connections among the users of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Each user has its own, at most this number.
    PerUser(u32),
    /// All users share this number.
    Shared(u32),
    /// Every operation has a new one.
    New,
}

impl Policy {
    fn most(self) -> u32 {
        match self {
            Policy::PerUser(most) | Policy::Shared(most) => most.max(1),
            Policy::New => MOST_NEW,
        }
    }
}

/// Connections with a limit on their number: one user's own, or those shared by a worker's users.
///
/// An operation first acquires a permit and holds it to its end. Then it takes a kept connection or makes
/// one, and keeps it afterwards if it can be used again.
pub struct Pool {
    permits: Semaphore,
    idle: RefCell<Vec<Stream>>,
    policy: Policy,
}

impl Pool {
    /// A pool with this policy, of at least one connection.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Pool { permits: Semaphore::new(policy.most() as usize), idle: RefCell::default(), policy }
    }

    /// The most connections at once.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.policy.most()
    }

    /// Raises the permits to `operations` per connection, for a protocol with concurrent operations; before
    /// it was one.
    pub fn multiplex(&self, operations: u32) {
        self.permits.add_permits(self.most() as usize * operations.saturating_sub(1) as usize);
    }

    /// Waits for a permit for one more operation, which ends when the permit is dropped.
    pub async fn acquire(&self) -> SemaphorePermit<'_> {
        // Nearly always one is free. Waiting operations are served in order: a permit goes back to the first of them.
        match self.permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => self.permits.acquire().await.expect("the semaphore is never closed"),
        }
    }

    /// A kept connection without input since its last use.
    pub fn take(&self) -> Option<Stream> {
        let mut idle = self.idle.borrow_mut();
        loop {
            let mut stream = idle.pop()?;
            if stream.is_quiet() {
                return Some(stream);
            }
        }
    }

    /// Keeps a connection for the next operation, or closes it if each has a new one.
    pub fn keep(&self, stream: Stream) {
        if self.policy != Policy::New {
            self.idle.borrow_mut().push(stream);
        }
    }

    /// Closes the idle connections.
    pub fn close_idle(&self) {
        self.idle.borrow_mut().clear();
    }
}

/// The pools of a worker's users. `P` is a [`Pool`], or a protocol's type with one.
pub struct Pools<P> {
    policy: Policy,
    shared: OnceCell<Rc<P>>,
}

impl<P> Pools<P> {
    /// No pool yet.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Pools { policy, shared: OnceCell::new() }
    }

    /// The pool of one more user: one of its own, or the shared one.
    pub fn user(&self, make: impl FnOnce() -> P) -> Rc<P> {
        match self.policy {
            Policy::Shared(_) => Rc::clone(self.shared.get_or_init(|| Rc::new(make()))),
            Policy::PerUser(_) | Policy::New => Rc::new(make()),
        }
    }
}
