//! The users of a SQLite file, each with a thread and a connection of its own.

use std::sync::Arc;

use barograph_engine::{BlockingFactory, BlockingUser, OpContext};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use futures::FutureExt as _;
use parking_lot::FairMutex;

use super::connection::{Connection, ConnectionOptions};
use crate::measures::LOCK_WAIT;
use crate::{Access, Terminal, Transacts};

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

impl<T: Transacts<Connection>> BlockingFactory for Users<T> {
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

impl<T: Transacts<Connection>> BlockingUser for User<T> {
    fn act(&mut self, op: OpId, turn: &mut OpContext) -> Outcome {
        let session = match &mut self.session {
            Some(session) => session,
            empty => match Connection::open(&self.users.connecting) {
                Ok(session) => empty.insert(session),
                Err(why) => return self.terminal.failed(op, Outcome::Broken, in_one_line(&why)),
            },
        };
        let _lasts = self.terminal.gaps().map(|gaps| gaps.until_dropped(turn.watch()));
        let queue = self.users.queue.as_ref().filter(|_| self.terminal.access(op) == Access::Write);
        let _lock = queue.map(|queue| turn.timed(LOCK_WAIT, || queue.lock()));
        let ended = self.terminal.act(session, op, turn).now_or_never();
        ended.expect("calls of an engine that blocks are ready when they return")
    }

    fn choose(&mut self, _: ChooserId, turn: &mut OpContext) -> usize {
        self.terminal.choose(turn)
    }
}
