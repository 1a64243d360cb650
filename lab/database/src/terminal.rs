//! The seam to users of workloads: a user without its session, the same on all engines.

use std::sync::Arc;

use barograph_engine::OpContext;
use barograph_model::{OpId, Outcome, UserId};

use crate::{Access, CommitGaps};

/// A user of a workload without its session.
pub trait Terminal: Sized + 'static {
    /// State that all users of a load share.
    type Shared: Send + Sync;

    /// Makes a user.
    fn new(shared: &Arc<Self::Shared>, id: UserId) -> Self;

    /// Whether an operation writes.
    fn access(&self, op: OpId) -> Access;

    /// Notes a failed operation with its outcome and the reason.
    fn failed(&self, op: OpId, outcome: Outcome, why: String) -> Outcome;

    /// The times without a commit, if the workload has them.
    fn gaps(&self) -> Option<&CommitGaps> {
        None
    }

    /// The index of the next branch.
    fn choose(&mut self, context: &mut OpContext) -> usize;
}

/// A user whose operations are done over sessions of a type.
pub trait Transacts<S>: Terminal {
    /// Does an operation. On a session that blocks it is ready when it returns.
    fn act(&mut self, session: &mut S, op: OpId, context: &mut OpContext) -> impl Future<Output = Outcome>;
}
