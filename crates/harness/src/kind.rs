//! The seam to a kind of workload: everything the harness asks about it, without knowing its name.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use barograph_engine::Runnable;
use barograph_model::{Behaviours, Nanos, OpSpec, Profile};
use barograph_platform::{Later, Unit};
use barograph_record::Fill;
use barograph_spec::{Connections, DataPlan, Plan};

/// One kind of workload with the application it loads.
pub trait WorkloadKind: Send + Sync {
    /// Its name in plans.
    fn name(&self) -> &'static str;

    /// Raised with every change that can move results.
    fn version(&self) -> u32;

    /// Its operations, by index.
    fn ops(&self) -> &'static [OpSpec];

    /// The operation that happens exactly once in a session.
    fn session_op(&self) -> Option<&'static str>;

    /// Names of its profiles.
    fn profiles(&self) -> &'static [&'static str];

    /// The rules and derived figures of a profile.
    fn profile(&self, name: &str) -> Option<Profile>;

    /// What users of a profile do.
    fn behaviours(&self, profile: &str) -> Option<Behaviours>;

    /// The sizes its data come in.
    fn sizes(&self) -> Vec<SizeInfo>;

    /// The data a plan asks for; an error names the key, the value and what is allowed.
    fn data(&self, plan: &DataPlan, seed: u64) -> Result<DataSet, barograph_spec::Refusal>;

    /// Is this data set in place and whole?
    fn is_filled(&self, dir: &Path) -> bool;

    /// The job that fills a data set, or finds it filled.
    fn fill_unit(&self, job: &Job<'_>) -> Unit;

    /// Reads a line the fill job printed; `None` when it means nothing.
    fn fill_line(&self, line: &str) -> Option<FillLine>;

    /// The application over a filled data set.
    fn serve_unit(&self, job: &Job<'_>) -> Unit;

    /// Connections open per user on the average. `connections` is never [`Connections::Auto`].
    fn connections_per_user(&self, connections: Connections) -> f64;

    /// How long the application may hold an answer on purpose; `None` when it never does.
    fn longest_wait(&self) -> Option<Nanos> {
        None
    }

    /// The load of a checked plan on an application that answers at `target`.
    fn load(&self, target: SocketAddr, plan: &Plan, data: &DataSet) -> Box<dyn Runnable>;

    /// The small files that say what a data set is; copied into the record.
    fn describing_files(&self, data_dir: &Path) -> Vec<PathBuf>;

    /// Is the data still right? Asked when no load is on.
    fn verify(&self, target: SocketAddr) -> Later<'_, Result<Verified, String>>;
}

/// A size of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeInfo {
    /// Its name in plans.
    pub name: &'static str,
    /// Most users it admits.
    pub max_users: u32,
}

/// The data a plan asks for, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// Name of the size.
    pub size: String,
    /// Most users it admits.
    pub max_users: u32,
    /// Factors against the published size.
    pub factors: Vec<(&'static str, f64)>,
    /// Equal only when the data are equal; names the folder.
    pub stamp: String,
    /// What filling it will take from the disk, roughly, in bytes.
    pub bytes: u64,
}

impl DataSet {
    /// The folder of this data set among others.
    #[must_use]
    pub fn dir_in(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}-{}", self.size, self.stamp))
    }
}

/// What a unit is made for.
pub struct Job<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The data set.
    pub data: &'a DataSet,
    /// Where the data set is or goes.
    pub data_dir: PathBuf,
    /// Where the application keeps what changes.
    pub state_dir: PathBuf,
    /// Where the unit's log goes.
    pub log: PathBuf,
}

/// A line of the fill job.
#[derive(Clone, Debug, PartialEq)]
pub enum FillLine {
    /// How far it is.
    Progress(FillProgress),
    /// It is done.
    Filled(Box<Fill>),
}

/// How far a fill is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillProgress {
    /// What it is doing, in a word or two.
    pub stage: String,
    /// How much of the stage is done.
    pub done: u64,
    /// How much of the stage there is.
    pub total: u64,
}

/// What the data checks found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Nothing wrong.
    pub ok: bool,
    /// What is wrong, or what was looked at, in sentences.
    pub findings: Vec<String>,
}
