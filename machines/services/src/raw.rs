//! A `service.toml` as it is written.

use std::collections::BTreeMap;

use barograph_platform::{Ask, StopSignal, User};
use barograph_service_metrics::Statistics;
use serde::Deserialize;

use crate::Measured;
use crate::word::RawWord;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawService {
    /// What people call it.
    pub(crate) title: String,
    /// What it is for, in one sentence.
    pub(crate) purpose: String,
    /// What a reader of its figures should know, one sentence each.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    pub(crate) install: RawInstall,
    /// Its name among container images, where it has one.
    pub(crate) image: Option<String>,
    #[serde(default)]
    pub(crate) user: User,
    /// It changes the network of the host it runs on.
    #[serde(default)]
    pub(crate) own_host: bool,
    /// The folder below its own with everything it stores, for services that store something.
    pub(crate) keep: Option<String>,
    /// What clients are told.
    pub(crate) url: String,
    pub(crate) versions_tried: Vec<String>,
    pub(crate) version: RawVersion,
    /// The first is the one for clients.
    #[serde(default)]
    pub(crate) ports: Vec<RawPort>,
    /// Programs and folders of this machine, and where each is searched.
    #[serde(default)]
    pub(crate) paths: BTreeMap<String, Vec<String>>,
    /// What the topology may say.
    #[serde(default)]
    pub(crate) words: BTreeMap<String, RawWord>,
    #[serde(default)]
    pub(crate) files: Vec<RawFile>,
    #[serde(default)]
    pub(crate) prepare: Vec<RawStep>,
    pub(crate) start: RawStart,
    #[serde(default)]
    pub(crate) env: Vec<RawVariable>,
    /// The first whose condition holds.
    pub(crate) ready: Vec<RawReady>,
    pub(crate) statistics: Option<Statistics>,
    pub(crate) stop: RawStop,
    pub(crate) measured: Option<Measured>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawInstall {
    /// Packages of Debian and Ubuntu; none for what is no package.
    pub(crate) packages: Vec<String>,
    /// What a person types.
    pub(crate) command: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVersion {
    /// A name in `paths`; none for a service that is this program.
    pub(crate) program: Option<String>,
    #[serde(default)]
    pub(crate) args: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPort {
    pub(crate) name: String,
    /// The number it has where nothing else is said.
    pub(crate) usual: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFile {
    /// Below the folder of the unit.
    pub(crate) path: String,
    /// A file beside the `service.toml`; `text` instead of it for what is short.
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
    /// A name in `paths`; none for this program.
    pub(crate) program: Option<String>,
    pub(crate) args: Vec<String>,
    /// Arguments that are added when something holds.
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
    /// With `answer`.
    pub(crate) ask: Option<Ask>,
    /// The port it is asked at, when it is not the one for clients.
    pub(crate) port: Option<String>,
    /// Longest wait; needed unless it is ready because it runs.
    pub(crate) timeout_s: Option<u64>,
    pub(crate) when: Option<String>,
    pub(crate) unless: Option<String>,
}

/// How it shows that it is ready.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReadyBy {
    /// It answers.
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
