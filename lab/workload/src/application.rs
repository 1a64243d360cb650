//! The seam to the application of a workload: the parts it is made of, its data sets, and whether its data are right.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_platform::{Later, Unit};
use barograph_record::{Fill, Tier};
use barograph_spec::{DataPlan, Plan, Refusal};
use serde_json::{Map, Value};

use crate::topology::Topology;

/// An application that a workload can deploy.
pub trait Application: Send + Sync {
    /// The data sets that are filled on this machine before the application is deployed on one of them; `None` when it starts
    /// without data.
    fn data_sets(&self) -> Option<&dyn DataSets> {
        None
    }

    /// The parts the application is made of, as the plan wants it. `data` is there if it has data sets.
    fn topology(&self, plan: &Plan, data: Option<&DataSet>) -> Topology;

    /// The most tables of open files that hold the application's connections. The limit of open files holds for each.
    fn tables(&self, _plan: &Plan) -> usize {
        1
    }

    /// A job of the topology; `None` for a part that is not one of its jobs. `words` are the values of its part, with the
    /// addresses of other parts in them.
    fn job_unit(&self, part: &str, words: &BTreeMap<String, String>, job: &Job<'_>) -> Option<Unit> {
        let _ = (part, words, job);
        None
    }

    /// Whether the application answers at all addresses of `url`, which is that of [`crate::LoadJob`], through everything in
    /// front of it. An error says what came instead.
    fn answers<'a>(&'a self, url: &'a str) -> Later<'a, Result<(), String>>;

    /// What the application at `url` stands on, as it says itself; nothing when it does not say.
    fn tiers<'a>(&'a self, url: &'a str) -> Later<'a, Result<Vec<Tier>, String>> {
        let _ = url;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Facts of its own for the disclosure of a run that deploys it, by section.
    fn disclose(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Whether the data are still right; `None` when there is nothing to check. `url` is the one the load went to. Awaited when
    /// there is no load, and called before to see whether there is something to await: nothing may happen until then.
    fn verify<'a>(&'a self, url: &'a str) -> Option<Later<'a, Result<Verified, String>>> {
        let _ = url;
        None
    }
}

/// The data sets of an application: folders on this machine, each filled once and used by many runs.
pub trait DataSets: Send + Sync {
    /// The sizes they come in.
    fn sizes(&self) -> Vec<SizeInfo>;

    /// The size for a plan that names none and deploys the application; `None` where it does not depend on the machine.
    fn usual_size(&self, _plan: &Plan, _machine: &Machine) -> Option<UsualSize> {
        None
    }

    /// The data set a plan asks for; an error names the key, the value and what is allowed.
    fn data(&self, plan: &DataPlan, seed: u64) -> Result<DataSet, Refusal>;

    /// Whether the data set in this folder is complete.
    fn is_filled(&self, dir: &Path) -> bool;

    /// The job that fills a data set in a folder, or finds it filled.
    fn fill_unit(&self, data: &DataSet, dir: &Path, job: &Job<'_>) -> Unit;

    /// Reads a line the fill job printed; `None` when it means nothing.
    fn fill_line(&self, line: &str) -> Option<FillLine>;

    /// The small files that say what a data set is; copied into the record.
    fn describing_files(&self, dir: &Path) -> Vec<PathBuf>;
}

/// What a check knows of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Files a process of ours may have open; a thread with a table of its own as many again.
    pub open_files: u64,
    /// Bytes free where the data go; `None` where that is not known.
    pub free_bytes: Option<u64>,
    /// Bytes of memory; `None` where that is not known.
    pub memory_bytes: Option<u64>,
    /// Cores this process may use.
    pub cores: usize,
}

/// A size that follows from the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsualSize {
    /// Its name in plans.
    pub name: &'static str,
    /// The reason, in a sentence without its full stop.
    pub why: String,
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
    /// The data set of an application that has them.
    pub data: Option<&'a DataSet>,
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

/// Takes the progress of a fill, from any thread. Returns at once.
pub type OnProgress = Arc<dyn Fn(FillProgress) + Send + Sync>;

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
