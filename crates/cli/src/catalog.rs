//! The lists: every workload and every platform of this program.

mod auction;
mod platforms;
mod reach;
mod scenario;
mod topology;

use std::sync::Arc;

use barograph_harness::WorkloadKind;
use barograph_spec::{Plan, Refusal, Refused};

pub(crate) use platforms::{platform, platforms};
pub(crate) use reach::certificates;
pub(crate) use scenario::{Failures, ScenarioKind, allows, read as read_scenario};

/// Names of all workloads in plans.
pub(crate) const WORKLOADS: [&str; 2] = ["auction", "scenario"];

/// Workloads that are what they are without a file.
pub(crate) const BUILT_IN: &[&dyn WorkloadKind] = &[&auction::AuctionKind::DEFAULT];

/// A workload that was found, with its scenario if it is made of one.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) kind: Arc<dyn WorkloadKind>,
    pub(crate) scenario: Option<Arc<ScenarioKind>>,
}

impl From<ScenarioKind> for Found {
    fn from(kind: ScenarioKind) -> Self {
        let kind = Arc::new(kind);
        Found { scenario: Some(Arc::clone(&kind)), kind }
    }
}

/// The workload of a plan.
pub(crate) fn workload(plan: &Plan) -> Result<Found, Refused> {
    match plan.workload.as_str() {
        "auction" => Ok(Found { kind: Arc::new(auction::AuctionKind::of_plan(plan)?), scenario: None }),
        "scenario" => scenario::of_plan(plan).map(Found::from),
        name => Err(Refused(vec![Refusal {
            place: plan.place("workload").to_owned(),
            key: "workload".to_owned(),
            value: format!("{name:?}"),
            allowed: format!("one of {}", WORKLOADS.join(", ")),
            remedy: "`barograph list workloads` shows them".to_owned(),
        }])),
    }
}
