//! The seam to the application of a workload: its data, the parts it is made of, and whether it is right.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use barograph_platform::{Later, Unit};
use barograph_record::{Fill, Tier};
use barograph_spec::{DataPlan, Plan, Refusal};
use serde_json::{Map, Value};

use crate::topology::Topology;

/// An application that a workload can deploy, fill and check.
pub trait Application: Send + Sync {
    /// The sizes its data come in.
    fn sizes(&self) -> Vec<SizeInfo>;

    /// The data a plan asks for; an error names the key, the value and what is allowed.
    fn data(&self, plan: &DataPlan, seed: u64) -> Result<DataSet, Refusal>;

    /// Whether this data set is in place and complete.
    fn is_filled(&self, dir: &Path) -> bool;

    /// The job that fills a data set, or finds it filled.
    fn fill_unit(&self, job: &Job<'_>) -> Unit;

    /// Reads a line the fill job printed; `None` when it means nothing.
    fn fill_line(&self, line: &str) -> Option<FillLine>;

    /// The parts the application is made of, as the plan wants it.
    fn topology(&self, plan: &Plan, data: &DataSet) -> Topology;

    /// A job of the topology. `words` are the values of its part, with the addresses of other parts in them.
    fn job_unit(&self, part: &str, words: &BTreeMap<String, String>, job: &Job<'_>) -> Unit;

    /// Whether the application answers at `url`, through everything in front of it. An error says what came instead.
    fn answers<'a>(&'a self, url: &'a str) -> Later<'a, Result<(), String>>;

    /// The small files that say what a data set is; copied into the record.
    fn describing_files(&self, data_dir: &Path) -> Vec<PathBuf>;

    /// What the application at `url` stands on, as it says itself; nothing when it does not say.
    fn tiers<'a>(&'a self, url: &'a str) -> Later<'a, Result<Vec<Tier>, String>> {
        let _ = url;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Facts of its own for the disclosure of a run that deploys it, by section.
    fn disclose(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Whether the data are still right. `url` is the one the load went to. Called when there is no load.
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
