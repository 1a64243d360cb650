//! The users of a SQLite file, each with a thread and a connection of its own.

use std::sync::Arc;

use barograph_engine::{BlockingFactory, BlockingUser, OpContext};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, CounterId, OpId, Outcome, UserId};
use parking_lot::FairMutex;

use super::connection::{Connection, ConnectionOptions};
use crate::Access;

/// A user of a workload without its connection.
pub trait Terminal: 'static {
    /// State that all users of a load share.
    type Shared: Send + Sync;

    /// The counter of waits for the write lock, in nanoseconds.
    const LOCK_WAIT: CounterId;

    /// Makes a user.
    fn new(shared: &Arc<Self::Shared>, id: UserId) -> Self;

    /// Whether an operation writes.
    fn access(&self, op: OpId) -> Access;

    /// Does an operation.
    fn act(&mut self, session: &mut Connection, op: OpId, turn: &mut OpContext) -> Outcome;

    /// Notes an operation that failed because the connection could not be opened.
    fn broken(&self, op: OpId, why: String) -> Outcome;

    /// The index of the next branch.
    fn choose(&mut self, chooser: ChooserId, turn: &mut OpContext) -> usize;
}

/// Makes the users of a file.
pub struct Users<T: Terminal> {
    /// State that all users share.
    pub shared: Arc<T::Shared>,
    /// Settings of connections.
    pub connecting: ConnectionOptions,
    /// A fair lock in front of SQLite's own, which is polled and starves waiters.
    pub queue: Option<Arc<FairMutex<()>>>,
}

impl<T: Terminal> Clone for Users<T> {
    fn clone(&self) -> Self {
        let Users { shared, connecting, queue } = self;
        Users { shared: Arc::clone(shared), connecting: connecting.clone(), queue: queue.clone() }
    }
}

impl<T: Terminal> BlockingFactory for Users<T> {
    type User = User<T>;

    fn user(&self, id: UserId) -> User<T> {
        User { users: self.clone(), terminal: T::new(&self.shared, id), session: None }
    }
}

/// A user with its connection, opened by its first operation.
pub struct User<T: Terminal> {
    users: Users<T>,
    terminal: T,
    session: Option<Connection>,
}

impl<T: Terminal> BlockingUser for User<T> {
    fn act(&mut self, op: OpId, turn: &mut OpContext) -> Outcome {
        let session = match &mut self.session {
            Some(session) => session,
            empty => match Connection::open(&self.users.connecting) {
                Ok(session) => empty.insert(session),
                Err(why) => return self.terminal.broken(op, in_one_line(&why)),
            },
        };
        let queue = self.users.queue.as_ref().filter(|_| self.terminal.access(op) == Access::Write);
        let _lock = queue.map(|queue| turn.timed(T::LOCK_WAIT, || queue.lock()));
        self.terminal.act(session, op, turn)
    }

    fn choose(&mut self, chooser: ChooserId, turn: &mut OpContext) -> usize {
        self.terminal.choose(chooser, turn)
    }
}
