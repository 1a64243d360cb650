//! The entries of `run.jsonl`: one JSON object per line, told apart by `kind`.

use serde::{Deserialize, Deserializer, Serialize};

use crate::Trial;

/// Version of the record written by this program. It rises when an old reader would misunderstand a new record.
pub const VERSION: u32 = 1;

/// Reads a number where JSON, which has no not-a-number, may hold `null`.
pub(crate) fn nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// One line of `run.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// The first line.
    Header(Header),
    /// A phase began.
    PhaseStarted(PhaseStarted),
    /// A phase ended.
    PhaseEnded(PhaseEnded),
    /// The zero of the times in intervals and windows.
    LoadStarted(LoadStarted),
    /// Something worth telling.
    Note(Note),
    /// The data under the application.
    Fill(Fill),
    /// What the users did in one slice of time.
    Interval(IntervalRow),
    /// A load level, tried.
    Trial(Box<Trial>),
    /// What the profile asks for.
    Expected(Expected),
    /// The answer.
    Verdict(Box<Verdict>),
    /// The run did not come to its end.
    Interrupted(Interrupted),
    /// The last line of a record that was closed.
    Finished(Finished),
    /// A kind this program does not know, kept as it is.
    #[serde(skip)]
    Unknown(Unknown),
}

/// The first line: what wrote this record, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the record; [`VERSION`] when written here.
    pub v: u32,
    /// Name of the run.
    pub id: String,
    /// Version of the program.
    pub tool: String,
    /// When the run began, as RFC 3339 in UTC.
    pub started_at: String,
    /// The command as typed.
    pub command: String,
}

/// A phase began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseStarted {
    /// Name of the phase.
    pub phase: String,
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
}

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseOutcome {
    /// As meant.
    Done,
    /// With an error.
    Failed,
    /// The run was interrupted in it.
    Interrupted,
}

/// A phase ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseEnded {
    /// Name of the phase.
    pub phase: String,
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// How it ended.
    pub outcome: PhaseOutcome,
    /// The error in words, when it failed.
    pub error: Option<String>,
}

/// The zero of the times in intervals and windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadStarted {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// The words.
    pub text: String,
}

/// A number of things with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Of what.
    pub name: String,
    /// How many.
    pub count: u64,
}

impl Count {
    /// `count` of `name`.
    #[must_use]
    pub fn new(name: impl Into<String>, count: u64) -> Self {
        Count { name: name.into(), count }
    }
}

/// A number with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it says.
    pub name: String,
    /// How much.
    #[serde(deserialize_with = "nan")]
    pub value: f64,
}

impl Figure {
    /// `name` is `value`.
    #[must_use]
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Figure { name: name.into(), value }
    }
}

/// The data under the application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Name of the size.
    pub size: String,
    /// Users the size admits.
    pub max_users: u32,
    /// Rows by table.
    pub rows: Vec<Count>,
    /// Bytes by store.
    pub bytes: Vec<Count>,
    /// Factors against the published size, 1 = as published.
    pub factors: Vec<Figure>,
    /// How long filling took, in seconds (when it was done, if reused).
    #[serde(deserialize_with = "nan")]
    pub seconds: f64,
    /// Data of an earlier run were used again.
    pub reused: bool,
    /// Runs may be compared only if this is equal.
    pub stamp: String,
}

/// What the users did in one slice of time. Times count seconds from the start of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalRow {
    /// Start, seconds.
    #[serde(deserialize_with = "nan")]
    pub from_s: f64,
    /// End, seconds.
    #[serde(deserialize_with = "nan")]
    pub to_s: f64,
    /// Users active at its end.
    pub users: u32,
    /// Operations started.
    pub starts: u64,
    /// Start lag, median, milliseconds.
    #[serde(deserialize_with = "nan")]
    pub lag_p50_ms: f64,
    /// Start lag, 99 % quantile, milliseconds.
    #[serde(deserialize_with = "nan")]
    pub lag_p99_ms: f64,
    /// Operations in progress, mean.
    #[serde(deserialize_with = "nan")]
    pub in_flight: f64,
    /// Cores the driver's workers used, all together.
    #[serde(deserialize_with = "nan")]
    pub worker_cpu: f64,
    /// Share of its core the busiest worker used, 0 to 1.
    #[serde(deserialize_with = "nan")]
    pub busiest_worker: f64,
    /// The operations that ended in it.
    pub ops: Vec<OpRow>,
}

impl IntervalRow {
    /// Length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// One operation in one interval. Response times in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpRow {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended.
    pub count: u64,
    /// Failed ones among them.
    pub failed: u64,
    /// Response time, median.
    #[serde(deserialize_with = "nan")]
    pub p50_ms: f64,
    /// Response time, 99 % quantile.
    #[serde(deserialize_with = "nan")]
    pub p99_ms: f64,
    /// Response time, largest.
    #[serde(deserialize_with = "nan")]
    pub max_ms: f64,
    /// Operations over their limit.
    pub over_limit: u64,
    /// Requests sent.
    pub requests: u64,
    /// How many ended how; outcomes that did not occur are left out.
    pub outcomes: Vec<Count>,
}

/// What the profile asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Name of the workload.
    pub workload: String,
    /// Name of the profile.
    pub profile: String,
    /// Figures derived from the profile.
    pub derived: KeptDerived,
    /// The operation that happens exactly once in a session, by which sessions are counted.
    pub session_op: Option<String>,
    /// One rule per operation.
    pub rules: Vec<Rule>,
}

/// Figures derived from a profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptDerived {
    /// Operations per user and second.
    #[serde(deserialize_with = "nan")]
    pub ops_per_user_s: f64,
    /// Requests per operation.
    #[serde(deserialize_with = "nan")]
    pub requests_per_op: f64,
    /// Mean length of a session, seconds.
    #[serde(deserialize_with = "nan")]
    pub session_s: f64,
}

/// The limits one operation is judged by. Shares 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Name of the operation.
    pub op: String,
    /// What the user does.
    pub about: String,
    /// The judged quantile.
    #[serde(deserialize_with = "nan")]
    pub quantile: f64,
    /// The response-time limit in milliseconds; absent where response time is not judged.
    pub limit_ms: Option<f64>,
    /// Required share of the mix; 0 means not judged.
    #[serde(deserialize_with = "nan")]
    pub mix: f64,
    /// Tolerance of the mix, relative.
    #[serde(deserialize_with = "nan")]
    pub mix_tolerance: f64,
    /// Largest allowed share of failures.
    #[serde(deserialize_with = "nan")]
    pub failures: f64,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSummary {
    /// Most users that passed.
    pub highest_pass: Option<u32>,
    /// Fewest users that failed.
    pub lowest_fail: Option<u32>,
    /// What ended the search, in words.
    pub bounded_by: String,
    /// Trials made.
    pub trials: u32,
    /// The answer passed twice: a second window confirmed the one that found it.
    pub confirmed: bool,
}

/// What the deciding window used. Absent where it was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Cores the host has.
    pub host_cores: Option<f64>,
    /// Cores the host had busy, everything on it.
    pub host_busy_cores: Option<f64>,
    /// Cores the application used.
    pub app_cores: Option<f64>,
    /// Cores the driver used.
    pub driver_cores: Option<f64>,
    /// Users per application core used.
    pub users_per_app_core: Option<f64>,
    /// Users per driver core used.
    pub users_per_driver_core: Option<f64>,
    /// Memory of the application at the end of the window, bytes.
    pub app_rss_bytes: Option<u64>,
    /// Memory of the driver at the end of the window, bytes.
    pub driver_rss_bytes: Option<u64>,
    /// Memory the driver added per user, bytes, connections included.
    pub driver_bytes_per_user: Option<f64>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Most users that passed; absent when none did or none was sought.
    pub capacity: Option<u32>,
    /// Number of the trial the answer rests on.
    pub trial: Option<u32>,
    /// Every rule held in it.
    pub passed: bool,
    /// The measurement can be believed.
    pub valid: bool,
    /// The answer in one sentence.
    pub sentence: String,
    /// The exit code of the run.
    pub exit_code: u8,
    /// Why it is not passed or not valid, and what gave way first.
    pub reasons: Vec<String>,
    /// What was used for it.
    pub resources: Resources,
    /// How the search ended; absent for a fixed load.
    pub search: Option<SearchSummary>,
}

/// The run did not come to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interrupted {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// Name of the phase it happened in.
    pub phase: String,
    /// Why, in words.
    pub cause: String,
}

/// The last line of a record that was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {}

/// An entry of a kind this program does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// Its kind.
    pub kind: String,
    /// All of it.
    pub value: serde_json::Value,
}

/// Every kind this program knows, as written.
pub(crate) const KINDS: [&str; 12] = [
    "header",
    "phase_started",
    "phase_ended",
    "load_started",
    "note",
    "fill",
    "interval",
    "trial",
    "expected",
    "verdict",
    "interrupted",
    "finished",
];
