//! The seam to the application of a workload: its parts, its data sets, and its data checks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_platform::{BoxFuture, Unit};
use barograph_record::{Fill, Tier};
use barograph_service_metrics::{OpenStatements, Statistics};
use barograph_spec::{DataPlan, Plan, Refusal};
use serde_json::{Map, Value};

use crate::topology::Topology;

/// An application that a workload can deploy.
pub trait Application: Send + Sync {
    /// Data sets that are filled on this machine before the application is deployed on one of them; `None` if
    /// it starts without data.
    fn data_sets(&self) -> Option<&dyn DataSets> {
        None
    }

    /// Parts of the application for a plan. `data` is set if it has data sets.
    fn topology(&self, plan: &Plan, data: Option<&DataSet>) -> Topology;

    /// Largest number of tables of open files that hold the application's connections. The limit of open
    /// files holds for each.
    fn tables(&self, _plan: &Plan) -> usize {
        1
    }

    /// Unit of a job of the topology; `None` if the part is not one of its jobs. `words` are the values of
    /// the part, with addresses of other parts filled in.
    fn job_unit(&self, part: &str, words: &BTreeMap<String, String>, job: &Job<'_>) -> Option<Unit> {
        let _ = (part, words, job);
        None
    }

    /// Checks that the application answers at all addresses of `url`, in the form of [`crate::LoadJob`],
    /// through everything in front of it. An error describes the wrong answer.
    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>>;

    /// Asks the application at `url` for its tiers; empty if it does not report them.
    fn tiers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<Tier>, String>> {
        let _ = url;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// How the application at `url` is asked for its statistics where the run did not deploy it; `None` if it
    /// does not tell of itself.
    fn statistics(&self, url: &str) -> Option<TargetStatistics> {
        let _ = url;
        None
    }

    /// Facts for the disclosure of a run that deploys the application, by section.
    fn disclose(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Checks that the data are still right; `None` if there is nothing to check. `url` is that of the load.
    /// The future is awaited after the load, but the function may be called earlier to see whether there is a
    /// check: it must not act before the first poll.
    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        let _ = url;
        None
    }
}

/// A way to the statistics of a target that is there already.
#[derive(Clone)]
pub struct TargetStatistics {
    /// Name of the target in records.
    pub part: &'static str,
    /// Its statistics.
    pub asked: &'static Statistics,
    /// Opens a connection for questions.
    pub open: OpenStatements,
}

/// Data sets of an application: folders on this machine, each filled once and used by many runs.
pub trait DataSets: Send + Sync {
    /// Available sizes.
    fn sizes(&self) -> Vec<SizeInfo>;

    /// Size for a plan that names none and deploys the application; `None` if it does not depend on the
    /// machine.
    fn usual_size(&self, _plan: &Plan, _machine: &Machine) -> Option<UsualSize> {
        None
    }

    /// Data set of a plan; an error names the key, the value and what is allowed.
    fn data(&self, plan: &DataPlan, seed: u64) -> Result<DataSet, Refusal>;

    /// Whether the data set in this folder is complete.
    fn is_filled(&self, dir: &Path) -> bool;

    /// Job that fills a data set in a folder, or finds it filled.
    fn fill_unit(&self, data: &DataSet, dir: &Path, job: &Job<'_>) -> Unit;

    /// Parses a line printed by the fill job; `None` if it has no meaning.
    fn fill_line(&self, line: &str) -> Option<FillLine>;

    /// Small files that describe a data set, for the record.
    fn describing_files(&self, dir: &Path) -> Vec<PathBuf>;
}

/// Facts about this machine for a check.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Limit of open files of a process; a thread with a table of its own has the same limit.
    pub open_files: u64,
    /// Free bytes at the folder of the data; `None` if unknown.
    pub free_bytes: Option<u64>,
    /// Bytes of memory; `None` if unknown.
    pub memory_bytes: Option<u64>,
    /// Number of cores that this process may use.
    pub cores: usize,
}

/// A size derived from the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsualSize {
    /// Name in plans.
    pub name: &'static str,
    /// The reason, in a sentence without its full stop.
    pub why: String,
}

/// A size of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeInfo {
    /// Name in plans.
    pub name: &'static str,
    /// Largest number of users it admits.
    pub max_users: u32,
}

/// Data set of a plan, with everything resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// Name of the size.
    pub size: String,
    /// Largest number of users it admits.
    pub max_users: u32,
    /// Factors relative to the published size.
    pub factors: Vec<(&'static str, f64)>,
    /// Identity of the data and name of the folder: equal stamps mean equal data.
    pub stamp: String,
    /// Approximate bytes on disk after filling.
    pub bytes: u64,
}

impl DataSet {
    /// Returns the folder of this data set, below the folder of all.
    #[must_use]
    pub fn dir_in(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}-{}", self.size, self.stamp))
    }
}

/// Purpose of a unit.
pub struct Job<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The data set, if the application has them.
    pub data: Option<&'a DataSet>,
    /// Path of the unit's log.
    pub log: PathBuf,
}

/// A line of the fill job.
#[derive(Clone, Debug, PartialEq)]
pub enum FillLine {
    /// Progress of the fill.
    Progress(FillProgress),
    /// Result of the fill.
    Filled(Box<Fill>),
}

/// Takes the progress of a fill, on any thread. Must return at once.
pub type OnProgress = Arc<dyn Fn(FillProgress) + Send + Sync>;

/// Progress of a fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillProgress {
    /// Current stage, in a word or two.
    pub stage: String,
    /// Completed amount of the stage.
    pub done: u64,
    /// Total amount of the stage.
    pub total: u64,
}

/// Result of the data checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyResult {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// Defects, or the subjects of the checks, in sentences.
    pub findings: Vec<String>,
}
