//! The lists: every workload and every platform of this program.

mod platforms;

use std::sync::Arc;

use barograph_spec::{Plan, Refusal, Refused};
use barograph_workload::{SentFile, Workload, WorkloadFactory};
use barograph_workload_auction::Auctions;
use barograph_workload_scenario::ScenarioFiles;

use crate::commands::run::time_of_day;

pub(crate) use platforms::{platform, platforms};

/// Every workload.
pub(crate) const WORKLOADS: &[&dyn WorkloadFactory] = &[&Auctions, &ScenarioFiles { time_of_day }];

/// The workload of a plan.
pub(crate) fn workload(plan: &Plan) -> Result<Arc<dyn Workload>, Refused> {
    factory(plan)?.of_plan(plan)
}

/// The workload of a plan, from the files that the harness sent.
pub(crate) fn workload_of_files(plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refused> {
    factory(plan)?.of_files(plan, files)
}

/// Workloads that need no file.
pub(crate) fn built_in() -> impl Iterator<Item = &'static dyn Workload> {
    WORKLOADS.iter().filter_map(|factory| factory.built_in())
}

fn factory(plan: &Plan) -> Result<&'static dyn WorkloadFactory, Refused> {
    let found = WORKLOADS.iter().find(|factory| factory.name() == plan.workload);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|factory| factory.name()).collect();
        Refused(vec![Refusal {
            place: plan.place("workload").to_owned(),
            key: "workload".to_owned(),
            value: format!("{:?}", plan.workload),
            allowed: format!("one of {}", names.join(", ")),
            remedy: "`barograph list workloads` shows them".to_owned(),
        }])
    })
}
