//! The workload behind the seam.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError};

use barograph_engine::{Runnable, runnable};
use barograph_model::{
    Behaviour, Behaviours, MeasureSpec, Nanos, NextOp, OpSpec, Pace, Profile, QosRule, Share,
};
use barograph_spec::{Connections, Plan, Refusal, Refusals};
use barograph_supervisor::SupervisorProgram;
use barograph_workload::{
    Application, FailureReason, LoadCommand, LoadError, LoadJob, Reasons, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::job::Jobs;
use crate::measures::{COUNTERS, measures};
use crate::plan::SortPlan;
use crate::topology::Cluster;
use crate::user::{Sorters, Step};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "sort";

/// The target of plans that name none: disk and cores of the driver.
pub(crate) const TARGET: &str = "sort://localhost";

/// Part of the time of a step after which the harness takes the target for gone.
const AFTER_STEP: Nanos = Nanos::from_secs(10);

/// Makes the workload of plans.
pub struct SortRecords;

impl WorkloadFactory for SortRecords {
    fn about(&self) -> &'static str {
        "records generated, sorted by this program, Spark or Hadoop, and validated"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        let own = SortPlan::of(plan);
        let measures = measures(own.engine.is_cluster());
        let cluster = own.engine.is_cluster().then(|| Cluster { plan: own.clone() });
        let sorters = Sorters {
            folder: own.folder(plan),
            seed: plan.seed,
            reasons: Reasons::shared(),
            jobs: None,
            plan: own,
        };
        Ok(Arc::new(SortWorkload {
            sorters,
            cluster,
            measures,
            shared: OnceLock::new(),
            timeout: plan.driver.timeout,
        }))
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }
}

/// The workload of a plan.
struct SortWorkload {
    sorters: Sorters,
    cluster: Option<Cluster>,
    measures: Vec<MeasureSpec>,
    /// Folder that the cluster sees.
    shared: OnceLock<PathBuf>,
    /// Longest time of a step.
    timeout: Nanos,
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
        &self.measures
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

    fn application(&self) -> Option<&dyn Application> {
        self.cluster.as_ref().map(|cluster| cluster as &dyn Application)
    }

    fn target_is_of_driver(&self) -> bool {
        self.cluster.is_none()
    }

    fn target(&self) -> Option<&str> {
        self.cluster.is_none().then_some(TARGET)
    }

    /// A step may take as long as an operation may.
    fn longest_wait(&self) -> Option<Nanos> {
        Some(Nanos(self.timeout.0.saturating_sub(AFTER_STEP.0)))
    }

    fn share_in(&self, folder: &Path) {
        // A workload is in one deployment.
        let _ = self.shared.set(folder.to_owned());
    }

    /// Files, and two sockets of the thread or the job at work. Validation has all files of a result open.
    fn connections(&self, users: u32, _: Connections) -> u64 {
        let tasks = self.cluster.as_ref().map_or(0, |cluster| cluster.plan.bytes() >> 26);
        u64::from(users) * (5 + tasks)
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
            let remedy = "set it lower, or sort.folder or runs to a folder of a larger disk";
            refusal("sort.records", own.records.to_string(), allowed, remedy)
        });
        room.into_iter().chain(plan.drivers_elsewhere("files are on its disk", None)).collect()
    }

    fn disclose(&self) -> Map<String, Value> {
        let plan = &self.sorters.plan;
        let section = json!({
            "records": plan.records,
            "bytes": plan.bytes(),
            "memory_mib": plan.memory_mib,
            "threads": plan.used_threads(),
            "passes": self.cluster.is_none().then(|| plan.sort().traffic().passes),
            "flushed": plan.flush,
            "engine": plan.engine.to_string(),
            "workers": self.cluster.as_ref().map(|_| plan.workers),
        });
        Map::from_iter([(NAME.to_owned(), section)])
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let mut sorters = self.sorters.clone();
        if self.cluster.is_some() {
            let (plan, url) = (sorters.plan.clone(), job.url.to_owned());
            sorters.jobs = Some(Jobs { plan, url, supervisor: SupervisorProgram::own() });
            sorters.folder = self.shared.get().cloned().unwrap_or(sorters.folder);
        }
        Ok(runnable(move || sorters.clone()))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        self.sorters.reasons.lock().unwrap_or_else(PoisonError::into_inner).by_name(&Step::SPECS)
    }
}
