//! The workload behind the seam.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use barograph_engine::{Runnable, runnable};
use barograph_model::{Behaviour, Behaviours, MeasureSpec, NextOp, OpSpec, Pace, Profile, QosRule, Share};
use barograph_spec::{Ability, Connections, Plan, Refusal, Refusals};
use barograph_workload::{
    FailureReason, LoadCommand, LoadError, LoadJob, Reasons, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::measures::{COUNTERS, MEASURES};
use crate::plan::SortPlan;
use crate::user::{Sorters, Step};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "sort";

/// The target of plans that name none: disk and cores of the driver.
pub(crate) const TARGET: &str = "sort://localhost";

/// Makes the workload of plans.
pub struct SortRecords;

impl WorkloadFactory for SortRecords {
    fn about(&self) -> &'static str {
        "records generated, sorted in files with a bound on memory, and validated"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        let own = SortPlan::of(plan);
        let folder: PathBuf = own.folder(plan);
        let sorters = Sorters { folder, seed: plan.seed, reasons: Reasons::shared(), plan: own };
        Ok(Arc::new(SortWorkload { sorters }))
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }
}

/// The workload of a plan.
struct SortWorkload {
    sorters: Sorters,
}

impl Workload for SortWorkload {
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
        let following = [Step::Sort, Step::Validate, Step::Generate];
        let next = following.map(|step| Some(NextOp::Op(step.op()))).to_vec();
        let main = Behaviour { name: "main", first: Step::Generate.op(), next, pace: Pace::AtOnce };
        Behaviours::new(vec![main]).ok().filter(|_| profile == NAME)
    }

    fn target(&self) -> Option<&str> {
        Some(TARGET)
    }

    fn target_is_of_driver(&self) -> bool {
        true
    }

    /// Three files, and two sockets of the thread at work.
    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users) * 5
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        let own = &self.sorters.plan;
        let refusal = |key: &str, value: String, allowed: String, remedy: &str| Refusal {
            place: plan.place(key).to_owned(),
            key: key.to_owned(),
            value,
            allowed,
            remedy: remedy.to_owned(),
        };
        let room = own.lacks_room(plan).map(|why| {
            let allowed = format!("what fits on the disk: {} records take {why}", own.records);
            let remedy = "set it lower, or sort.folder to a folder of a larger disk";
            refusal("sort.records", own.records.to_string(), allowed, remedy)
        });
        let driver = &plan.driver;
        let is_elsewhere = driver.count > 1 || driver.place == "unit" || plan.deploy.has(Ability::Hosts);
        let elsewhere = is_elsewhere.then(|| {
            let allowed = "one driver, which is this process: it sorts".to_owned();
            let remedy = "leave driver.place, driver.count and platform out";
            refusal("driver.place", format!("{:?}", driver.place), allowed, remedy)
        });
        room.into_iter().chain(elsewhere).collect()
    }

    fn disclose(&self) -> Map<String, Value> {
        let plan = &self.sorters.plan;
        let section = json!({
            "records": plan.records,
            "bytes": plan.bytes(),
            "memory_mib": plan.memory_mib,
            "threads": plan.used_threads(),
            "passes": plan.sort().traffic().passes,
            "flushed": plan.flush,
            "engine": "external merge sort of this program",
        });
        Map::from_iter([(NAME.to_owned(), section)])
    }

    fn load(&self, _: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let sorters = self.sorters.clone();
        Ok(runnable(move || sorters.clone()))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        self.sorters.reasons.lock().unwrap_or_else(PoisonError::into_inner).by_name(&Step::SPECS)
    }
}
