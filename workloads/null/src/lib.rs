//! The null workload: operations that do nothing, to see what the driver can do at the most.

use std::sync::Arc;

use barograph_engine::{OpContext, Runnable, User, UserFactory};
use barograph_model::{
    Behaviour, Behaviours, NextOp, OpId, OpSpec, Outcome, Pace, Profile, QosRule, Share, UserId,
};
use barograph_spec::{Connections, Plan, Refusals, WorkloadKeys};
use barograph_workload::{LoadError, LoadJob, Workload, WorkloadFactory};

const NAME: &str = "null";

/// Makes the null workload, and is it, and each of its users.
pub struct Null;

impl WorkloadKeys for Null {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl WorkloadFactory for Null {
    fn about(&self) -> &'static str {
        "operations that do nothing: what the driver can do at the most"
    }

    fn of_plan(&self, _: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(Null))
    }
}

impl Workload for Null {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn ops(&self) -> &[OpSpec] {
        &[OpSpec { name: "Nothing", about: "does nothing" }]
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let (op, quantile, zero) = (OpId(0), Share::percent(99.0), Share::ZERO);
        let (limit, judged) = (None, true);
        let rule = QosRule { op, quantile, limit, judged, mix: zero, mix_tolerance: zero, failures: zero };
        (name == NAME).then(|| Profile::usual(NAME, &[rule], None))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let next = vec![Some(NextOp::Op(OpId(0)))];
        let main = Behaviour { name: "main", first: OpId(0), next, pace: Pace::AtOnce };
        Behaviours::new(vec![main]).ok().filter(|_| profile == NAME)
    }

    fn target(&self) -> Option<&str> {
        Some("null://localhost")
    }

    fn connections(&self, _: u32, _: Connections) -> u64 {
        0
    }

    fn load(&self, _: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        Ok(barograph_engine::runnable(|| Null))
    }
}

impl UserFactory for Null {
    type User = Null;

    fn user(&self, _: UserId) -> Null {
        Null
    }
}

impl User for Null {
    async fn act(&self, _: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        Outcome::Good
    }
}

#[cfg(test)]
mod tests;
