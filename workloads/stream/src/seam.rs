//! The workload behind the seam.

use std::sync::{Arc, Mutex, PoisonError};

use barograph_bandwidth::{Instructions, Pass};
use barograph_engine::{Runnable, runnable_threads};
use barograph_model::{
    Behaviour, Behaviours, ChooserId, MeasureSpec, NextOp, OpId, OpSpec, Pace, Profile, QosRule, Share,
};
use barograph_spec::{Connections, Plan, Refusal, Refusals};
use barograph_workload::{
    FailureReason, LoadCommand, LoadError, LoadJob, Reasons, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::cache;
use crate::measures::{COUNTERS, MEASURES};
use crate::plan::StreamPlan;
use crate::user::{CHECK, Passers, SPECS, op};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "stream";

/// The target of plans that name none: the memory of the driver.
pub(crate) const TARGET: &str = "memory://localhost";

/// The first operation of a cycle.
const FIRST: OpId = op(Pass::Copy);

/// All operations, by index.
const ALL: [OpId; 5] = [FIRST, op(Pass::Scale), op(Pass::Add), op(Pass::Triad), CHECK];

/// Makes the workload of plans.
pub struct StreamMemory;

impl WorkloadFactory for StreamMemory {
    fn about(&self) -> &'static str {
        "passes over arrays larger than any cache: bandwidth of the memory"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        let passers = Passers { plan: StreamPlan::of(plan), reasons: Reasons::shared() };
        Ok(Arc::new(StreamWorkload { passers }))
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }
}

/// The workload of a plan.
struct StreamWorkload {
    passers: Passers,
}

impl Workload for StreamWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        crate::VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &SPECS
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

    /// No pass may fail, and none has a limit.
    fn profile(&self, name: &str) -> Option<Profile> {
        let rule = |op: OpId| QosRule {
            op,
            quantile: Share::percent(50.0),
            limit: None,
            judged: true,
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: Share::ZERO,
        };
        (name == NAME).then(|| Profile::usual(NAME, &ALL.map(rule), None))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let after_triad =
            NextOp::Choose { chooser: ChooserId(0), branches: vec![NextOp::Op(FIRST), NextOp::Op(CHECK)] };
        let [_, scale, add, triad, _] = ALL;
        let next = [NextOp::Op(scale), NextOp::Op(add), NextOp::Op(triad), after_triad, NextOp::Op(FIRST)];
        let next = next.map(Some).to_vec();
        let main = Behaviour { name: "main", first: FIRST, next, pace: Pace::AtOnce };
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

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        let too_small = self.passers.plan.too_small(cache::last_level_bytes());
        let refusal = |allowed| Refusal {
            place: plan.place("stream.elements").to_owned(),
            key: "stream.elements".to_owned(),
            value: self.passers.plan.elements.to_string(),
            allowed,
            remedy: "raise it, or lower stream.caches to measure the caches".to_owned(),
        };
        too_small.map(refusal).into_iter().collect()
    }

    fn disclose(&self) -> Map<String, Value> {
        let plan = self.passers.plan;
        let section = json!({
            "elements": plan.elements,
            "array_bytes": plan.bytes(),
            "last_caches_bytes": cache::last_level_bytes(),
            "threads": plan.threads(),
            "pages": plan.pages(),
            "stores": plan.stores(),
            "instructions": Instructions::fastest(plan.stores).to_string(),
            "counted": "16, 16, 24, 24 bytes for a number; the read of a line before a cached store is not counted",
        });
        Map::from_iter([(NAME.to_owned(), section)])
    }

    fn load(&self, _: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let passers = self.passers.clone();
        Ok(runnable_threads(move || passers.clone()))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons: &Mutex<Reasons> = &self.passers.reasons;
        reasons.lock().unwrap_or_else(PoisonError::into_inner).by_name(&SPECS)
    }
}
