//! The users of a SQLite file.

use std::sync::Arc;

use barograph_database::sqlite::{self, Connection};
use barograph_engine::Turn;
use barograph_model::{ChooserId, CounterId, OpId, Outcome, UserId};
use futures::FutureExt as _;

use crate::measures;
use crate::session::Access;
use crate::user::{Shared, Terminal, Transaction};

impl sqlite::Terminal for Terminal {
    type Shared = Shared;

    const LOCK_WAIT: CounterId = measures::LOCK_WAIT;

    fn new(shared: &Arc<Shared>, id: UserId) -> Self {
        Terminal::new(shared, id.0)
    }

    fn access(&self, op: OpId) -> Access {
        Transaction::ALL[op.index()].access()
    }

    fn act(&mut self, session: &mut Connection, op: OpId, turn: &mut Turn) -> Outcome {
        let ended = self.transact(session, Transaction::ALL[op.index()], turn).now_or_never();
        ended.expect("calls of an engine that blocks are ready when they return")
    }

    fn broken(&self, op: OpId, why: String) -> Outcome {
        Terminal::broken(self, Transaction::ALL[op.index()], why)
    }

    fn choose(&mut self, _: ChooserId, turn: &mut Turn) -> usize {
        self.next(turn)
    }
}
