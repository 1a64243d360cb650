//! A `service.toml` as written.

use std::collections::BTreeMap;

use barograph_platform::{Capability, ReadinessCheck, StopSignal, User};
use barograph_service_metrics::Statistics;
use serde::Deserialize;

use crate::MeasuredFigures;
use crate::word::RawWord;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawService {
    /// Name for users.
    pub(crate) title: String,
    /// Purpose, in one sentence.
    pub(crate) purpose: String,
    /// Notes for readers of its figures, one sentence each.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    pub(crate) install: RawInstall,
    /// Name of its container image, if it has one.
    pub(crate) image: Option<String>,
    #[serde(default)]
    pub(crate) user: User,
    /// Privileges that it needs and containers lack by default.
    #[serde(default)]
    pub(crate) capabilities: Vec<Capability>,
    /// Whether it changes the network of its host.
    #[serde(default)]
    pub(crate) own_host: bool,
    /// Folder below its own with everything it stores, if it stores anything.
    pub(crate) keep: Option<String>,
    /// URL for clients.
    pub(crate) url: String,
    pub(crate) versions_tried: Vec<String>,
    pub(crate) version: RawVersion,
    /// Ports; the first is the one for clients.
    #[serde(default)]
    pub(crate) ports: Vec<RawPort>,
    /// Programs and folders of this machine, and the places to search for each.
    #[serde(default)]
    pub(crate) paths: BTreeMap<String, Vec<String>>,
    /// Words that the topology may give.
    #[serde(default)]
    pub(crate) words: BTreeMap<String, RawWord>,
    #[serde(default)]
    pub(crate) files: Vec<RawFile>,
    #[serde(default)]
    pub(crate) prepare: Vec<RawStep>,
    pub(crate) start: RawStart,
    #[serde(default)]
    pub(crate) env: Vec<RawVariable>,
    /// Ways to become ready; the first whose condition holds applies.
    pub(crate) ready: Vec<RawReady>,
    pub(crate) statistics: Option<Statistics>,
    pub(crate) stop: RawStop,
    pub(crate) measured: Option<MeasuredFigures>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawInstall {
    /// Packages of Debian and Ubuntu; empty if there is none.
    pub(crate) packages: Vec<String>,
    /// Command for the user.
    pub(crate) command: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVersion {
    /// A name in `paths`; absent for a service that is part of this program.
    pub(crate) program: Option<String>,
    #[serde(default)]
    pub(crate) args: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPort {
    pub(crate) name: String,
    /// Default number.
    pub(crate) usual: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFile {
    /// Path below the folder of the unit.
    pub(crate) path: String,
    /// Name of a file beside the `service.toml`; short texts use `text` instead.
    pub(crate) template: Option<String>,
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) program: bool,
    pub(crate) when: Option<String>,
    pub(crate) unless: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawStep {
    /// A name in `paths`.
    pub(crate) program: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    pub(crate) when: Option<String>,
    pub(crate) unless: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawStart {
    /// A name in `paths`; absent for this program.
    pub(crate) program: Option<String>,
    pub(crate) args: Vec<String>,
    /// Arguments that are added under a condition.
    #[serde(default)]
    pub(crate) more: Vec<RawArgs>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawArgs {
    pub(crate) args: Vec<String>,
    pub(crate) when: Option<String>,
    pub(crate) unless: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVariable {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) when: Option<String>,
    pub(crate) unless: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawReady {
    pub(crate) by: ReadyBy,
    /// Question for `answer`.
    pub(crate) ask: Option<ReadinessCheck>,
    /// Port of the question, if it is not the one for clients.
    pub(crate) port: Option<String>,
    /// Longest wait; required unless readiness is `run`.
    pub(crate) timeout_s: Option<u64>,
    pub(crate) when: Option<String>,
    pub(crate) unless: Option<String>,
}

/// Kind of readiness.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReadyBy {
    /// It answers a question.
    Answer,
    /// It prints the ready line.
    Line,
    /// It runs.
    Run,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawStop {
    #[serde(default)]
    pub(crate) signal: StopSignal,
    pub(crate) grace_s: u64,
}
