//! The users of a SQLite file, each with a thread and a connection of its own.

use std::sync::Arc;

use barograph_engine::{BlockingFactory, BlockingUser, Turn};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use futures::FutureExt as _;
use parking_lot::FairMutex;

use super::session::{ConnectionOptions, SqliteSession};
use crate::measures::LOCK_WAIT;
use crate::session::Access;
use crate::user::{Shared, Terminal, Transaction};

/// Makes the users of a file.
#[derive(Clone, Debug)]
pub(crate) struct SqliteUsers {
    pub(crate) shared: Arc<Shared>,
    pub(crate) connecting: ConnectionOptions,
    /// A fair lock in front of SQLite's own, which is polled and starves waiters.
    pub(crate) queue: Option<Arc<FairMutex<()>>>,
}

impl BlockingFactory for SqliteUsers {
    type User = SqliteUser;

    fn user(&self, id: UserId) -> SqliteUser {
        SqliteUser { users: self.clone(), terminal: Terminal::new(&self.shared, id.0), session: None }
    }
}

/// A user with its connection, opened by its first operation.
#[derive(Debug)]
pub(crate) struct SqliteUser {
    users: SqliteUsers,
    terminal: Terminal,
    session: Option<SqliteSession>,
}

impl BlockingUser for SqliteUser {
    fn act(&mut self, op: OpId, turn: &mut Turn) -> Outcome {
        let transaction = Transaction::ALL[op.index()];
        let session = match &mut self.session {
            Some(session) => session,
            empty => match SqliteSession::open(&self.users.connecting) {
                Ok(session) => empty.insert(session),
                Err(why) => return self.terminal.broken(transaction, in_one_line(&why)),
            },
        };
        let queue = self.users.queue.as_ref().filter(|_| transaction.access() == Access::Write);
        let _lock = queue.map(|queue| turn.timed(LOCK_WAIT, || queue.lock()));
        let ended = self.terminal.transact(session, transaction, turn).now_or_never();
        ended.expect("calls of an engine that blocks are ready when they return")
    }

    fn choose(&mut self, _: ChooserId, turn: &mut Turn) -> usize {
        self.terminal.next(turn)
    }
}
