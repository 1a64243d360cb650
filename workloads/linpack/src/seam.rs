//! The workload behind the seam.

use std::sync::{Arc, Mutex, PoisonError};

use barograph_engine::{Runnable, runnable_threads};
use barograph_matrix::Instructions;
use barograph_model::{Behaviour, Behaviours, MeasureSpec, NextOp, OpSpec, Pace, Profile, QosRule, Share};
use barograph_spec::{Connections, Plan, Refusals};
use barograph_workload::{
    FailureReason, LoadCommand, LoadError, LoadJob, Reasons, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::measures::{COUNTERS, MEASURES};
use crate::plan::LinpackPlan;
use crate::user::{Solvers, Step};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "linpack";

/// The target of plans that name none: the cores of the driver.
pub(crate) const TARGET: &str = "cpu://localhost";

/// Makes the workload of plans.
pub struct Linpack;

impl WorkloadFactory for Linpack {
    fn about(&self) -> &'static str {
        "systems of linear equations, solved on all cores: floating-point operations per second"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(LinpackWorkload {
            solvers: Solvers { plan: LinpackPlan::of(plan), seed: plan.seed, reasons: Reasons::shared() },
        }))
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }
}

/// The workload of a plan.
struct LinpackWorkload {
    solvers: Solvers,
}

impl Workload for LinpackWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        crate::VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &Step::SPECS
    }

    fn counters(&self) -> &[&'static str] {
        &COUNTERS
    }

    fn measures(&self) -> &[MeasureSpec] {
        &MEASURES
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    /// No step may fail, and none has a limit.
    fn profile(&self, name: &str) -> Option<Profile> {
        let rule = |step: Step| QosRule {
            op: step.op(),
            quantile: Share::percent(50.0),
            limit: None,
            judged: true,
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: Share::ZERO,
        };
        (name == NAME).then(|| Profile::usual(NAME, &Step::ALL.map(rule), None))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let following = [Step::Generate, Step::Solve, Step::Check, Step::Peak];
        let next = following.map(|step| Some(NextOp::Op(step.op()))).to_vec();
        let main = Behaviour { name: "main", first: Step::Peak.op(), next, pace: Pace::AtOnce };
        Behaviours::new(vec![main]).ok().filter(|_| profile == NAME)
    }

    fn target(&self) -> Option<&str> {
        Some(TARGET)
    }

    fn target_is_of_driver(&self) -> bool {
        true
    }

    fn connections(&self, _: u32, _: Connections) -> u64 {
        0
    }

    fn operations_block(&self) -> bool {
        true
    }

    fn disclose(&self) -> Map<String, Value> {
        let plan = self.solvers.plan;
        let section = json!({
            "order": plan.order,
            "matrix_bytes": plan.bytes(),
            "threads": plan.threads(),
            "pages": plan.pages(),
            "instructions": Instructions::widest().to_string(),
            "counted": "2/3 n^3 + 3/2 n^2 operations for a system; generation and check are not in the time",
        });
        Map::from_iter([(NAME.to_owned(), section)])
    }

    fn load(&self, _: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let solvers = self.solvers.clone();
        Ok(runnable_threads(move || solvers.clone()))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons: &Mutex<Reasons> = &self.solvers.reasons;
        reasons.lock().unwrap_or_else(PoisonError::into_inner).by_name(&Step::SPECS)
    }
}
