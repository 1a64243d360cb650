//! What a plan can name.

use barograph_model::{Ability, PlatformKind};

use crate::deploy::DeployPlan;
use crate::workload::WorkloadKeys;

/// What a plan can name: it comes from above, because no workload and no platform is known here.
#[derive(Clone, Copy, Default)]
pub struct Catalogue<'a> {
    /// The workloads, the default first; without any, a plan has only the keys that all have.
    pub workloads: &'a [&'a dyn WorkloadKeys],
    /// The platforms, the default first; without any, a plan may name any, and nothing is asked of it.
    pub platforms: &'a [PlatformKind],
}

impl<'a> Catalogue<'a> {
    /// These workloads, and any platform.
    #[must_use]
    pub const fn of(workloads: &'a [&'a dyn WorkloadKeys]) -> Self {
        Catalogue { workloads, platforms: &[] }
    }

    /// The keys of a workload.
    pub(crate) fn workload(self, name: &str) -> Option<&'a dyn WorkloadKeys> {
        self.workloads.iter().find(|keys| keys.name() == name).copied()
    }

    /// Whether a plan's platform can do that, as far as anything is known of it.
    pub(crate) fn is_able(self, deploy: &DeployPlan, ability: Ability) -> bool {
        self.platforms.is_empty() || deploy.has(ability)
    }

    /// What is allowed where a plan needs a platform with an ability: `platform = "a" or "b", whose hosts ...`.
    pub(crate) fn with(self, ability: Ability) -> String {
        let able = self.platforms.iter().filter(|kind| kind.has(ability));
        let names: Vec<String> = able.map(|kind| format!("{:?}", kind.name)).collect();
        format!("platform = {}, {}", names.join(" or "), ability.words())
    }
}
