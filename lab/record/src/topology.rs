//! What was deployed for a run, and what was done to it while the load went on.

use barograph_model::Ability;
use serde::{Deserialize, Serialize};

use crate::entry::nan;

/// Everything that was deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptTopology {
    /// The kind of platform.
    pub platform: String,
    /// What the platform can do, by the names of abilities; absent in older records.
    #[serde(default)]
    pub abilities: Option<Vec<String>>,
    /// What the platform says of itself: isolation, acceleration, limits in force.
    pub facts: Vec<(String, String)>,
    /// Name of the part that the load went to.
    pub front: String,
    /// Names of further parts that the load went to; none in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// The parts, from the users to the stores.
    pub parts: Vec<KeptPart>,
    /// Seconds until the hosts were there.
    #[serde(deserialize_with = "nan")]
    pub open_s: f64,
    /// Seconds until the application answered, hosts included.
    #[serde(deserialize_with = "nan")]
    pub ready_s: f64,
    /// How loaded stores were kept, or found kept; absent where they are not, and in older records.
    #[serde(default)]
    pub snapshot: Option<KeptSnapshot>,
}

impl KeptTopology {
    /// Whether its platform could do that; `None` in older records.
    #[must_use]
    pub fn has(&self, ability: Ability) -> Option<bool> {
        Some(self.abilities.as_ref()?.iter().any(|name| name == ability.name()))
    }

    /// The load that deployed it, where this is the application of one of several loads.
    #[must_use]
    pub fn load(&self) -> Option<&str> {
        let mut loads = self.parts.iter().map(|part| part.load.as_str());
        let first = loads.find(|load| !load.is_empty())?;
        loads.all(|load| load == first || load.is_empty()).then_some(first)
    }

    /// Names of all parts that the load went to.
    pub fn fronts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.front).chain(&self.beside).map(String::as_str)
    }
}

/// Loaded stores on the disk, made by one run and used by later ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptSnapshot {
    /// Equal only when everything that shapes the stores is equal.
    pub key: String,
    /// The stores of this run began with it; else this run loaded them and made it.
    pub reused: bool,
    /// The run that made it.
    pub made_by: String,
    /// Names of the parts whose folders it has.
    pub parts: Vec<String>,
    /// Bytes of it.
    pub bytes: u64,
    /// Seconds the load took when it was made.
    #[serde(deserialize_with = "nan")]
    pub load_s: f64,
    /// Seconds this run spent on copying, and on making it on stopping and starting the stores again too.
    #[serde(deserialize_with = "nan")]
    pub copy_s: f64,
}

/// One part that was deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptPart {
    /// Its name.
    pub name: String,
    /// The load that deployed it; empty in a run of one load, for drivers, and in older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// The tier it belongs to.
    pub tier: String,
    /// The product; `job` for what was done once.
    pub service: String,
    /// What the product says of its version.
    pub version: String,
    /// Where it ran.
    pub host: String,
    /// Where it answered; empty for a job.
    pub url: String,
    /// It was one process of the application itself, not a service beside it; false in older records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub node: bool,
    /// Names of the parts it talked to.
    pub uses: Vec<String>,
    /// Seconds from the wish to its being ready.
    #[serde(deserialize_with = "nan")]
    pub start_s: f64,
    /// CPU time it might use, in cores; without a limit when absent.
    pub cpus: Option<f64>,
    /// The cores it might run on, as `0-3,6`; all where it is empty, and in older records. Of a part in a virtual machine
    /// those that the machine ran on.
    #[serde(default)]
    pub cores: String,
    /// Bytes of memory it might use; without a limit when absent.
    pub memory_bytes: Option<u64>,
}

/// An action of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptAction {
    /// Seconds since the start of the load.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// The part; empty where it concerned all.
    pub unit: String,
    /// What it was, as plans name it; empty in older records.
    #[serde(default)]
    pub name: String,
    /// What was done, in words.
    pub act: String,
    /// Its duration in seconds.
    #[serde(deserialize_with = "nan")]
    pub took_s: f64,
    /// Seconds for which the part, or the machine it is in, did nothing; absent where that is not known.
    #[serde(default)]
    pub pause_s: Option<f64>,
    /// Why it could not be done; absent when it was done.
    pub failed: Option<String>,
}
