//! The seam to workloads: everything a run needs from one.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_engine::Runnable;
use barograph_model::words::count;
use barograph_model::{Behaviours, MeasureSpec, Nanos, OpSpec, Profile, StatisticMetric};
use barograph_platform::BoxFuture;
use barograph_record::Fill;
use barograph_spec::{Connections, Plan, Refusal, Refusals, WorkloadKeys};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::application::{Application, DataSet, OnProgress};
use crate::{LoadCommand, Program, Rounds, Verb};

/// A figure of a load in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// Name in records: lower-case words joined by `_`.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its value.
    pub value: f64,
}

/// A workload: the operations of its users, and how they are done.
pub trait Workload: Send + Sync {
    /// Name in plans.
    fn name(&self) -> &'static str;

    /// Version, raised with every change that can move results.
    fn version(&self) -> u32;

    /// Operations, by index.
    fn ops(&self) -> &[OpSpec];

    /// Names of its counters, by index: at most [`barograph_model::MOST_COUNTERS`]. Users add to them with
    /// [`barograph_engine::OpContext::add`].
    fn counters(&self) -> &[&'static str] {
        &[]
    }

    /// Further figures of every measured window. Those for studies are in [`WorkloadKeys::measures`], too.
    fn measures(&self) -> &[MeasureSpec] {
        &[]
    }

    /// Statistics of its services and loads that studies may compare.
    fn statistics(&self) -> &'static [StatisticMetric] {
        &[]
    }

    /// Operation that occurs exactly once in a session.
    fn session_op(&self) -> Option<&str> {
        None
    }

    /// Names of its profiles, at least one; the first is the default.
    fn profiles(&self) -> Vec<&str>;

    /// Rules and derived figures of a profile.
    fn profile(&self, name: &str) -> Option<Profile>;

    /// Behaviours of the users of a profile.
    fn behaviours(&self, profile: &str) -> Option<Behaviours>;

    /// Application that it can deploy as its target; `None` if it loads any target at a URL.
    fn application(&self) -> Option<&dyn Application> {
        None
    }

    /// Default URL of the target, if the plan names none and nothing is deployed.
    fn target(&self) -> Option<&str> {
        None
    }

    /// Whether the target is a part of the driver's machine, such as its processors or a disk. Then more users do not use
    /// more of every resource in proportion, and reports name no headroom.
    fn target_is_of_driver(&self) -> bool {
        false
    }

    /// Largest number of connections held open by `users`. `kept` is never [`Connections::Auto`]. Grows with
    /// `users`.
    fn connections(&self, users: u32, kept: Connections) -> u64;

    /// Whether operations block their thread, as those of an embedded database do. Then each user is a thread
    /// ([`barograph_engine::runnable_threads`]), the load is a closed loop, and CPU use of a worker is not
    /// limited.
    fn operations_block(&self) -> bool {
        false
    }

    /// Whether the driver's processor is part of what is measured. Then a busy worker does not make a window
    /// invalid.
    fn measures_driver(&self) -> bool {
        self.operations_block()
    }

    /// Final sentence of every verdict on its loads.
    fn notice(&self) -> Option<&'static str> {
        None
    }

    /// Limit on the time of an operation; the smaller of it and `driver.timeout_s` applies.
    fn timeout(&self) -> Option<Nanos> {
        None
    }

    /// Longest time that the target may hold an answer on purpose; `None` if it never does.
    fn longest_wait(&self) -> Option<Nanos> {
        None
    }

    /// Refusals of settings that this workload does not allow.
    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        let _ = plan;
        Vec::new()
    }

    /// Operations, users and mix in lines for the user; `None` if they are the same in all plans.
    fn explain(&self) -> Option<String> {
        None
    }

    /// Facts for the disclosure of a run, by section.
    fn disclose(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Files of the workload, for drivers on other hosts. [`WorkloadFactory::of_files`] takes them there in
    /// this order.
    ///
    /// # Errors
    /// [`LoadError::ReadFile`].
    fn files(&self) -> Result<Vec<SentFile>, LoadError> {
        Ok(Vec::new())
    }

    /// Fills the target through its address; `None` if there is nothing to fill. Called once for each load,
    /// by the harness alone, when the target answers and before any load begins. If the run is stopped
    /// meanwhile, the future is dropped, and its work on other threads must end.
    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        let _ = (job, progress);
        None
    }

    /// Names the folder of the load in the record, for files of its own. Called before [`Self::load`], in the process of the
    /// harness alone.
    fn keep_in(&self, folder: &Path) {
        let _ = folder;
    }

    /// Names a folder that all hosts of its deployment see, and that is removed with the deployment. Called before [`Self::load`]
    /// where the run deploys anything, in the process of the harness alone.
    fn share_in(&self, folder: &Path) {
        let _ = folder;
    }

    /// Prepares the load of a checked plan. Names are resolved and certificates read here, before the clock
    /// starts.
    ///
    /// # Errors
    /// [`LoadError::Refused`] for mistakes of the user, [`LoadError::Unreachable`] for a target that does not
    /// answer.
    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError>;

    /// Figures of the load since the last call, asked for at the end of each interval and kept beside the statistics of services.
    /// Those of a single driver that is another process are asked for there; those of several drivers are not.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }

    /// Counts for its data checks, in an order of its own. Asked of a driver when its load is over.
    fn counts(&self) -> Vec<i64> {
        Vec::new()
    }

    /// Adds [`Self::counts`] of a driver in another process.
    fn add_counts(&self, counts: &[i64]) {
        let _ = counts;
    }

    /// Figures of single operations that were done in rounds, for a comparison of the operations with each other.
    fn rounds(&self) -> Option<Rounds> {
        None
    }

    /// The first few reasons for which operations of its loads failed, by operation.
    fn failure_reasons(&self) -> Vec<FailureReason> {
        Vec::new()
    }
}

/// A file with its path on the host of the harness. The path is a name: the file need not exist elsewhere.
pub type SentFile = (PathBuf, Arc<[u8]>);

/// Target and plan of a load.
pub struct LoadJob<'a> {
    /// URL of the target: `target.url`, else [`Workload::target`], else that of the deployed application:
    /// `SCHEME://ADDRESS:PORT`, or `SCHEME://ADDRESS:PORT,ADDRESS:PORT` if its topology has several fronts.
    pub url: &'a str,
    /// The plan, with nothing left open.
    pub plan: &'a Plan,
    /// Data set of the application, if the run deploys it.
    pub data: Option<&'a DataSet>,
}

/// Failure to prepare a load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan asks for something impossible.
    #[error("{0}")]
    Refused(Refusals),
    /// The target does not answer.
    #[error("reach the target `{url}`")]
    Unreachable {
        /// URL of the target.
        url: String,
        /// The cause.
        #[source]
        why: Box<dyn Error + Send + Sync>,
    },
    /// The target could not be filled.
    #[error("fill the target `{url}`")]
    Fill {
        /// URL of the target.
        url: String,
        /// The cause.
        #[source]
        why: Box<dyn Error + Send + Sync>,
    },
    /// A file of the workload cannot be read.
    #[error("read `{}`", path.display())]
    ReadFile {
        /// Its path.
        path: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The load needs the data set of an application, and there is none.
    #[error("find the data of an application that is not deployed")]
    NoData,
}

/// A reason for failed operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureReason {
    /// The operation.
    pub operation: &'static str,
    /// Name of the outcome.
    pub outcome: &'static str,
    /// The reason in words.
    pub why: String,
    /// Number of operations that failed for this reason.
    pub count: u64,
    /// Beginning of the first such answer.
    pub answer: String,
}

impl fmt::Display for FailureReason {
    /// Formats as in `Home refused: status 503 (12 times; it began: Service Unavailable)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = if self.count == 1 { "once".to_owned() } else { format!("{} times", count(self.count)) };
        write!(f, "{} {}: {} ({times}", self.operation, self.outcome, self.why)?;
        if !self.answer.is_empty() {
            write!(f, "; it began: {}", self.answer)?;
        }
        f.write_str(")")
    }
}

/// Makes the workload of a plan, and reads its keys.
pub trait WorkloadFactory: WorkloadKeys {
    /// Description in one line.
    fn about(&self) -> &'static str;

    /// Advice on finding or making the required files, in a line; `None` if it needs none.
    fn hint(&self) -> Option<&'static str> {
        None
    }

    /// Workload for plans that name it and nothing else; `None` if it needs a file.
    fn built_in(&self) -> Option<&dyn Workload> {
        None
    }

    /// Load command of the workload.
    fn load_command(&self) -> Option<&dyn LoadCommand> {
        None
    }

    /// Program of the workload for a verb.
    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        let _ = verb;
        None
    }

    /// Makes the workload of a plan.
    ///
    /// # Errors
    /// If settings of the plan are impossible.
    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals>;

    /// Makes the workload of a plan on the host of a driver, from the files that [`Workload::files`] returned
    /// on the host of the harness.
    ///
    /// # Errors
    /// If files are missing or invalid.
    fn of_files(&self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        let _ = files;
        self.of_plan(plan)
    }
}
