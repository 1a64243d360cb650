//! Plans: reading, checks, explanation and defaults.
//!
//! A plan is a TOML file; a study and `--set key=value` override single keys; there is no other input.
//! Settings common to all plans are named in [`plan`](mod@plan) and, for its larger tables, in modules of
//! their own; those of one workload in that workload, behind [`WorkloadKeys`]; those of a study in [`study`].
//! Every refusal names the file and line, the key, the value, the allowed values and a remedy.

mod actions;
mod catalogue;
mod cluster;
mod cores;
mod demand;
mod deploy;
mod drivers;
mod durations;
mod effect;
mod elasticity;
mod explain;
mod load;
mod loads;
pub mod plan;
mod power;
mod reference;
mod settings_reader;
pub mod study;
mod tiles;
mod tls;
mod trace;
mod workload;

pub use actions::{ActionKind, ActionPlan, Resize};
pub use barograph_model::{Ability, PlatformKind, Refusal, Refusals};
pub use catalogue::Catalogue;
pub use cluster::{ClusterPlan, is_certain_image};
pub use cores::Cores;
pub use demand::{DemandFile, demand};
pub use deploy::{DenseMode, DeployPlan, Link, MOST_INSTANCES, TierLimits};
pub use elasticity::{ElasticityPlan, ScaledBy, ScalerPlan};
pub use explain::{SpreadWait, emptying, estimate, explain, placed, spreading, there};
pub use load::MOST_OPERATIONS;
pub use loads::key_of_load;
pub use plan::{
    ArrivalsPlan, Connections, DEFAULT_MIN_RATE, DEFAULT_MIN_USERS, DataPlan, DriverPlan, FEWEST_INTERVALS,
    MOST_RATE, MOST_SCALE, MOST_USERS, OpenPlan, Plan, TargetPlan,
};
pub use power::{MeterPlan, MeterReadings, PowerPlan};
pub use reference::{Reference, ReferenceRate, reference};
pub use settings_reader::{KnownKey, SettingsReader};
pub use tiles::{TilePlan, WHOLE_TILE};
pub use tls::TlsPlan;
pub use trace::trace;
pub use workload::{WorkloadKeys, WorkloadSettings};

/// A value for a key of a plan, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key, such as `load.users`.
    pub key: String,
    /// The value as TOML.
    pub value: String,
    /// Its position: `file:line`, or another name for it.
    pub place: String,
}

/// Reads a plan from text with overrides of the form `key=value`, checks it and fills in defaults.
///
/// `name` is the name of the text in refusals: its path.
pub fn read(catalogue: Catalogue<'_>, name: &str, text: &str, sets: &[String]) -> Result<Plan, Refusals> {
    read_with(catalogue, name, text, &[], sets)
}

/// Like [`read`], with `settings` of a study over the text and under the overrides; a later one wins.
pub fn read_with(
    catalogue: Catalogue<'_>,
    name: &str,
    text: &str,
    settings: &[Setting],
    sets: &[String],
) -> Result<Plan, Refusals> {
    let mut given = SettingsReader::parse(name, text, &[])?;
    for setting in settings {
        given.set_at(&setting.key, &setting.value, &setting.place);
    }
    for set in sets {
        given.set(set)?;
    }
    if !tiles::instances(&mut given, loads::LIST, catalogue) {
        return Err(Refusals(given.finish_taken()));
    }
    if given.has_list(loads::LIST) {
        return loads::read(name, given, catalogue);
    }
    let plan = plan::check(name, &mut given, catalogue);
    let refusals = given.finish();
    match plan {
        Some(plan) if refusals.is_empty() => Ok(plan),
        _ => Err(Refusals(refusals)),
    }
}

/// Every key of a plan, with the allowed values and the default.
#[must_use]
pub fn keys(catalogue: Catalogue<'_>) -> Vec<(String, KnownKey)> {
    let mut given = SettingsReader::parse("defaults", "", &[]).expect("an empty text is TOML");
    // Only the keys that were read matter; an empty plan is the default one.
    let _ = plan::check("defaults", &mut given, catalogue);
    given.known().iter().map(|(key, known)| (key.clone(), known.clone())).collect()
}
