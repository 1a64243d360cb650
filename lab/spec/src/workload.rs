//! Interface to the keys that a workload reads itself: those of its application, its data and its target.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use barograph_model::{MeasureSpec, StatisticMetric};

use crate::plan::Plan;
use crate::settings_reader::SettingsReader;

/// The keys of one workload.
pub trait WorkloadKeys: Sync {
    /// Name of the workload in plans.
    fn name(&self) -> &'static str;

    /// Tiers of the application that it can deploy, in the order of a request's way: each can have limits, as
    /// in `deploy.TIER_cpus`. Empty if it only loads targets at a URL.
    fn tiers(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether it asks a target that is there already for its statistics.
    fn asks_target(&self) -> bool {
        false
    }

    /// Possible measures of its loads, for studies, which name them before there is a load.
    fn measures(&self) -> &'static [MeasureSpec] {
        &[]
    }

    /// Statistics of services and loads that studies may compare.
    fn statistics(&self) -> &'static [StatisticMetric] {
        &[]
    }

    /// Reads its keys, each with the allowed values and its default; `None` if one is refused. It must read
    /// all of its keys: others are unknown.
    fn read(&self, given: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let _ = given;
        Some(Arc::new(NoSettings))
    }
}

/// The settings of a workload in one plan.
pub trait WorkloadSettings: Any + fmt::Debug + Send + Sync {
    /// Refuses conflicting keys, and keys without effect in this plan.
    fn check(&self, plan: &Plan, given: &mut SettingsReader) {
        let _ = (plan, given);
    }

    /// Description of the load, as lines of `barograph check`: a word, spaces up to the tenth column, the
    /// description.
    fn explain(&self, plan: &Plan) -> Vec<String> {
        let _ = plan;
        Vec::new()
    }
}

/// Settings of a workload without keys, and of plans that are read without workloads.
#[derive(Debug)]
pub(crate) struct NoSettings;

impl WorkloadSettings for NoSettings {}
