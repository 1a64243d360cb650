//! The users of a SQLite file.

use std::sync::Arc;

use barograph_database::Access;
use barograph_database::sqlite::{Connection, Terminal};
use barograph_engine::OpContext;
use barograph_model::{ChooserId, CounterId, OpId, Outcome, UserId};
use futures::FutureExt as _;

use crate::measures;
use crate::user::{LoadState, Operation, Visitor};

impl Terminal for Visitor {
    type Shared = LoadState;

    const LOCK_WAIT: CounterId = measures::LOCK_WAIT;

    fn new(shared: &Arc<LoadState>, _: UserId) -> Self {
        Visitor::new(shared)
    }

    fn access(&self, op: OpId) -> Access {
        Operation::ALL[op.index()].access()
    }

    fn act(&mut self, session: &mut Connection, op: OpId, context: &mut OpContext) -> Outcome {
        let ended = Visitor::act(self, session, Operation::ALL[op.index()], context).now_or_never();
        ended.expect("calls of an engine that blocks are ready when they return")
    }

    fn broken(&self, op: OpId, why: String) -> Outcome {
        Visitor::broken(self, Operation::ALL[op.index()], why)
    }

    fn choose(&mut self, _: ChooserId, context: &mut OpContext) -> usize {
        self.next(context) as usize
    }
}
