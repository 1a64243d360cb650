//! The users of a SQLite file.

use std::sync::Arc;

use barograph_database::sqlite::{self, Connection};
use barograph_engine::OpContext;
use barograph_model::{ChooserId, CounterId, OpId, Outcome, UserId};
use futures::FutureExt as _;

use crate::measures;
use crate::session::Access;
use crate::user::{LoadState, Terminal, Transaction};

impl sqlite::Terminal for Terminal {
    type Shared = LoadState;

    const LOCK_WAIT: CounterId = measures::LOCK_WAIT;

    fn new(shared: &Arc<LoadState>, id: UserId) -> Self {
        Terminal::new(shared, id.0)
    }

    fn access(&self, op: OpId) -> Access {
        Transaction::ALL[op.index()].access()
    }

    fn act(&mut self, session: &mut Connection, op: OpId, context: &mut OpContext) -> Outcome {
        let ended = self.transact(session, Transaction::ALL[op.index()], context).now_or_never();
        ended.expect("calls of an engine that blocks are ready when they return")
    }

    fn broken(&self, op: OpId, why: String) -> Outcome {
        Terminal::broken(self, Transaction::ALL[op.index()], why)
    }

    fn choose(&mut self, _: ChooserId, context: &mut OpContext) -> usize {
        self.next(context)
    }
}
