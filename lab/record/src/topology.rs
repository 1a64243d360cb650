//! Deployment of a run, and actions on it while the load went on.

use barograph_model::Ability;
use serde::{Deserialize, Serialize};

use crate::entry::nan;

/// The whole deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopologyRecord {
    /// The kind of platform.
    pub platform: String,
    /// Names of the platform's abilities; absent in older records.
    #[serde(default)]
    pub abilities: Option<Vec<String>>,
    /// Facts reported by the platform: isolation, acceleration, limits in force.
    pub facts: Vec<(String, String)>,
    /// Name of the part that received the load.
    pub front: String,
    /// Names of further parts that received the load; empty in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// The parts, from the users to the stores.
    pub parts: Vec<PartRecord>,
    /// Seconds until the hosts were ready.
    #[serde(deserialize_with = "nan")]
    pub open_s: f64,
    /// Seconds until the application answered, including the hosts.
    #[serde(deserialize_with = "nan")]
    pub ready_s: f64,
    /// Snapshot of loaded stores, made or reused; absent without one, and in older records.
    #[serde(default)]
    pub snapshot: Option<SnapshotRecord>,
}

impl TopologyRecord {
    /// Whether its platform had the ability; `None` in older records.
    #[must_use]
    pub fn has(&self, ability: Ability) -> Option<bool> {
        Some(self.abilities.as_ref()?.iter().any(|name| name == ability.name()))
    }

    /// Returns the load that deployed it, if it is the application of one of several loads.
    #[must_use]
    pub fn load(&self) -> Option<&str> {
        let mut loads = self.parts.iter().map(|part| part.load.as_str());
        let first = loads.find(|load| !load.is_empty())?;
        loads.all(|load| load == first || load.is_empty()).then_some(first)
    }

    /// Returns the names of all parts that received the load.
    pub fn fronts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.front).chain(&self.beside).map(String::as_str)
    }
}

/// Snapshot of loaded stores, made by one run and used by later ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SnapshotRecord {
    /// Key of everything that shapes the stores.
    pub key: String,
    /// Whether the stores of this run started from it; else this run loaded them and made it.
    pub reused: bool,
    /// The run that made it.
    pub made_by: String,
    /// Names of the parts in the snapshot.
    pub parts: Vec<String>,
    /// Size in bytes.
    pub bytes: u64,
    /// Duration of the original loading in seconds.
    #[serde(deserialize_with = "nan")]
    pub load_s: f64,
    /// Seconds this run spent on copying; when making it, also on stopping and starting the stores.
    #[serde(deserialize_with = "nan")]
    pub copy_s: f64,
}

/// One deployed part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Its name.
    pub name: String,
    /// The load that deployed it; empty in a run of one load, for drivers, and in older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// Tier of the part.
    pub tier: String,
    /// Product; `job` for a job.
    pub service: String,
    /// Version reported by the product.
    pub version: String,
    /// Host of the part.
    pub host: String,
    /// URL of the part; empty for a job.
    pub url: String,
    /// Whether it was a process of the application itself, not a service beside it; false in older records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub node: bool,
    /// Names of the parts it connected to.
    pub uses: Vec<String>,
    /// Seconds from the request until it was ready.
    #[serde(deserialize_with = "nan")]
    pub start_s: f64,
    /// Limit of CPU time, in cores; absent if unlimited.
    pub cpus: Option<f64>,
    /// Cores available to it, as `0-3,6`; empty for all, and in older records. For a part in a virtual
    /// machine, those of the machine.
    #[serde(default)]
    pub cores: String,
    /// Limit of memory in bytes; absent if unlimited.
    pub memory_bytes: Option<u64>,
    /// Limit of what it reads from each disk, and of what it writes to it, in bytes a second; absent if unlimited,
    /// and in older records.
    #[serde(default)]
    pub disk_bytes_s: Option<u64>,
}

/// An action of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActionRecord {
    /// Seconds since the start of the load.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// Name of the part; empty if the action concerned all.
    pub unit: String,
    /// Name of the action in plans; empty in older records.
    #[serde(default)]
    pub name: String,
    /// Description of the action.
    pub act: String,
    /// Duration in seconds.
    #[serde(deserialize_with = "nan")]
    pub took_s: f64,
    /// Seconds for which the part, or its machine, did nothing; absent if unknown.
    #[serde(default)]
    pub pause_s: Option<f64>,
    /// The pause of a machine by its guest's own clock, in seconds; absent if not measured.
    #[serde(default)]
    pub pause_inside_s: Option<f64>,
    /// Largest error of that pause, in seconds.
    #[serde(default)]
    pub pause_inside_error_s: Option<f64>,
    /// Reason why it failed; absent if it was done.
    pub failed: Option<String>,
    /// Longest duration in seconds within which the run passes; absent if it is not judged, and in older records.
    #[serde(default)]
    pub limit_s: Option<f64>,
    /// Whether the end of the load prevented it or cut it short; false in older records.
    #[serde(default)]
    pub is_missed: bool,
}

impl ActionRecord {
    /// Whether it has a limit and did not keep it. One that the end of the load prevented or cut short has kept
    /// it, unless it had lasted longer by then.
    #[must_use]
    pub fn is_over_limit(&self) -> bool {
        let has_failed = self.failed.is_some() && !self.is_missed;
        self.limit_s.is_some_and(|limit_s| has_failed || self.took_s > limit_s)
    }
}
