//! The seam to workloads: everything a run asks about one, without knowing its name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use barograph_engine::Runnable;
use barograph_model::{Behaviours, Nanos, OpSpec, Profile};
use barograph_platform::{Later, Unit};
use barograph_record::{Fill, Tier};
use barograph_spec::{Connections, DataPlan, Plan, Refusal};

use crate::HarnessError;
use crate::fleet::SentFile;
use crate::topology::Topology;

/// One kind of workload: what its users do, and how.
pub trait WorkloadKind: Send + Sync {
    /// Its name in plans.
    fn name(&self) -> &'static str;

    /// Raised with every change that can move results.
    fn version(&self) -> u32;

    /// Its operations, by index.
    fn ops(&self) -> &[OpSpec];

    /// The operation that happens exactly once in a session.
    fn session_op(&self) -> Option<&str> {
        None
    }

    /// Names of its profiles; the first is the default, and there is one.
    fn profiles(&self) -> Vec<&str>;

    /// The rules and derived figures of a profile.
    fn profile(&self, name: &str) -> Option<Profile>;

    /// What users of a profile do.
    fn behaviours(&self, profile: &str) -> Option<Behaviours>;

    /// The application it loads, when it knows how to make one; `None` when it loads whatever answers at a URL.
    fn deployment(&self) -> Option<&dyn Deployment> {
        None
    }

    /// Where its target answers, when the plan does not say and nothing is deployed.
    fn target(&self) -> Option<&str> {
        None
    }

    /// Connections that so many users hold open at the most. `kept` is never [`Connections::Auto`]. Grows with `users`.
    fn connections(&self, users: u32, kept: Connections) -> u64;

    /// How long the target may hold an answer on purpose; `None` when it never does.
    fn longest_wait(&self) -> Option<Nanos> {
        None
    }

    /// Files this workload is made of. Drivers elsewhere are sent them, in this order, since they may not see them.
    /// Each with the path it has here, which says what it is and no more.
    fn files(&self) -> Result<Vec<SentFile>, HarnessError> {
        Ok(Vec::new())
    }

    /// The load of a checked plan. Names are resolved and certificates read here, before the clock starts. Errors:
    /// [`HarnessError::Refused`] for what the user can mend, [`HarnessError::Unreachable`] for a target nobody finds.
    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, HarnessError>;
}

/// What a load is made for.
pub struct LoadJob<'a> {
    /// Where the target answers: what `target.url` says, else [`WorkloadKind::target`], else `http://ADDRESS:PORT` of the
    /// application that was deployed.
    pub url: &'a str,
    /// The plan, with nothing left open.
    pub plan: &'a Plan,
    /// The data under the application, where there is a deployment.
    pub data: Option<&'a DataSet>,
}

/// An application that a workload knows how to make, fill and check.
pub trait Deployment: Send + Sync {
    /// The sizes its data come in.
    fn sizes(&self) -> Vec<SizeInfo>;

    /// The data a plan asks for; an error names the key, the value and what is allowed.
    fn data(&self, plan: &DataPlan, seed: u64) -> Result<DataSet, Refusal>;

    /// Is this data set in place and whole?
    fn is_filled(&self, dir: &Path) -> bool;

    /// The job that fills a data set, or finds it filled.
    fn fill_unit(&self, job: &Job<'_>) -> Unit;

    /// Reads a line the fill job printed; `None` when it means nothing.
    fn fill_line(&self, line: &str) -> Option<FillLine>;

    /// The parts the application is made of, as the plan wants it.
    fn topology(&self, plan: &Plan, data: &DataSet) -> Topology;

    /// A job of the topology. `words` are those of the part, with everybody's place in them.
    fn job_unit(&self, part: &str, words: &BTreeMap<String, String>, job: &Job<'_>) -> Unit;

    /// Does the application answer at `url`, through everything in front of it? An error says what came instead.
    fn answers<'a>(&'a self, url: &'a str) -> Later<'a, Result<(), String>>;

    /// The small files that say what a data set is; copied into the record.
    fn describing_files(&self, data_dir: &Path) -> Vec<PathBuf>;

    /// What the application at `url` stands on, as it says itself; nothing when it does not say.
    fn tiers<'a>(&'a self, url: &'a str) -> Later<'a, Result<Vec<Tier>, String>> {
        let _ = url;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Is the data still right? `url` is the one the load went to. Asked when no load is on.
    fn verify<'a>(&'a self, url: &'a str) -> Later<'a, Result<Verified, String>>;
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
