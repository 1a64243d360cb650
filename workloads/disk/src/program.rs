//! A load made ready for its target; all workers share it.

use std::sync::{Arc, Mutex};

use barograph_data::mix;
use barograph_model::{OpId, Outcome};
use barograph_workload::{Failure, Reasons};

use crate::contents::Contents;
use crate::generations::Generations;
use crate::operation::OpKind;
use crate::places::{Extent, Places};
use crate::plan::DiskPlan;

/// A load made ready for its target.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) plan: DiskPlan,
    /// The operations, by index.
    pub(crate) kinds: Vec<OpKind>,
    pub(crate) places: Places,
    pub(crate) contents: Contents,
    /// The states of all blocks, in a load that verifies.
    pub(crate) generations: Option<Arc<Generations>>,
    /// Tells blocks of this load from those of others.
    pub(crate) salt: u64,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

impl Program {
    /// The number of a block, in a load that verifies.
    pub(crate) fn block_at(&self, place: Extent) -> u64 {
        place.offset / self.plan.largest()
    }

    /// Notes the reason of a failed operation.
    pub(crate) fn failed(&self, op: OpId, outcome: Outcome, why: String) -> Outcome {
        Reasons::note(&self.reasons, op, &Failure { outcome, why, seen: &[] });
        outcome
    }
}

/// What tells the blocks of loads with this seed from those of others.
pub(crate) fn salt(seed: u64) -> u64 {
    mix(seed ^ 0x6469_736b)
}
