//! The workloads and platforms that plans can name.

use barograph_model::{Ability, PlatformKind};

use crate::deploy::DeployPlan;
use crate::workload::WorkloadKeys;

/// Names for plans. They come from the caller, because this crate knows no concrete workload or platform.
#[derive(Clone, Copy, Default)]
pub struct Catalogue<'a> {
    /// The workloads, the default first; if empty, a plan has only the common keys.
    pub workloads: &'a [&'a dyn WorkloadKeys],
    /// The platforms, the default first; if empty, a plan may name any, without checks of its abilities.
    pub platforms: &'a [PlatformKind],
}

impl<'a> Catalogue<'a> {
    /// A catalogue of these workloads and any platform.
    #[must_use]
    pub const fn of(workloads: &'a [&'a dyn WorkloadKeys]) -> Self {
        Catalogue { workloads, platforms: &[] }
    }

    /// The keys of a workload.
    pub(crate) fn workload(self, name: &str) -> Option<&'a dyn WorkloadKeys> {
        self.workloads.iter().find(|keys| keys.name() == name).copied()
    }

    /// Whether a plan's platform has an ability, as far as known.
    pub(crate) fn is_able(self, deploy: &DeployPlan, ability: Ability) -> bool {
        self.platforms.is_empty() || deploy.has(ability)
    }

    /// Allowed values in a plan that needs a platform with an ability: `platform = "a" or "b", whose hosts
    /// ...`.
    pub(crate) fn with(self, ability: Ability) -> String {
        let able = self.platforms.iter().filter(|kind| kind.has(ability));
        let names: Vec<String> = able.map(|kind| format!("{:?}", kind.name)).collect();
        format!("platform = {}, {}", names.join(" or "), ability.words())
    }
}
