//! The seam to workloads: everything a run must know about one.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use barograph_engine::Runnable;
use barograph_model::words::count;
use barograph_model::{Behaviours, MeasureSpec, Nanos, OpSpec, Profile};
use barograph_platform::Later;
use barograph_record::Fill;
use barograph_spec::{Connections, Plan, Refusal, Refused, WorkloadKeys};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::application::{Application, DataSet, OnProgress};
use crate::{LoadCommand, Program, Verb};

/// A workload: what its users do, and how.
pub trait Workload: Send + Sync {
    /// Its name in plans.
    fn name(&self) -> &'static str;

    /// Raised with every change that can move results.
    fn version(&self) -> u32;

    /// Its operations, by index.
    fn ops(&self) -> &[OpSpec];

    /// Names of its counters, by index: at most [`barograph_model::MOST_COUNTERS`]. Its users add to them by
    /// [`barograph_engine::Turn::add`].
    fn counters(&self) -> &[&'static str] {
        &[]
    }

    /// Figures of its own that every measured window gets. Those that studies may name are in
    /// [`WorkloadKeys::measures`], too.
    fn measures(&self) -> &[MeasureSpec] {
        &[]
    }

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

    /// The application that it can deploy as its target; `None` when it loads any target at a URL.
    fn application(&self) -> Option<&dyn Application> {
        None
    }

    /// Where its target answers, when the plan does not say and nothing is deployed.
    fn target(&self) -> Option<&str> {
        None
    }

    /// Most connections that `users` hold open. `kept` is never [`Connections::Auto`]. Grows with `users`.
    fn connections(&self, users: u32, kept: Connections) -> u64;

    /// Whether operations block their thread, as those of an embedded database do: then each user is a thread
    /// ([`barograph_engine::runnable_threads`]), the load is a closed loop, and what a worker uses of its core is no
    /// limit of the driver.
    fn operations_block(&self) -> bool {
        false
    }

    /// A sentence that every verdict on its loads ends with.
    fn notice(&self) -> Option<&'static str> {
        None
    }

    /// Its own limit on the time of an operation; the smaller of it and `driver.timeout_s` holds.
    fn timeout(&self) -> Option<Nanos> {
        None
    }

    /// How long the target may hold an answer on purpose; `None` when it never does.
    fn longest_wait(&self) -> Option<Nanos> {
        None
    }

    /// Settings of the plan that this workload does not allow.
    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        let _ = plan;
        Vec::new()
    }

    /// Its operations, users and mix in lines for people; `None` when they are the same in all plans.
    fn explain(&self) -> Option<String> {
        None
    }

    /// Facts of its own for the disclosure of a run, by section.
    fn disclose(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Files that it is made of, for drivers on other hosts. [`WorkloadFactory::of_files`] takes them there in this order.
    ///
    /// # Errors
    /// [`LoadError::ReadFile`].
    fn files(&self) -> Result<Vec<SentFile>, LoadError> {
        Ok(Vec::new())
    }

    /// Fills the target through its address; `None` when there is nothing to fill. Called once for each load, by the harness
    /// alone, when the target answers and before any load begins. The run may be stopped meanwhile: then the future is dropped,
    /// and what it began on other threads must end.
    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<Later<'a, Result<Fill, LoadError>>> {
        let _ = (job, progress);
        None
    }

    /// The load of a checked plan. Names are resolved and certificates read here, before the clock starts.
    ///
    /// # Errors
    /// [`LoadError::Refused`] for what the user can mend, [`LoadError::Unreachable`] for a target that does not answer.
    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError>;

    /// Counts for its data checks, in an order of its own. Asked of a driver when its load is over.
    fn counts(&self) -> Vec<i64> {
        Vec::new()
    }

    /// Adds [`Self::counts`] of a driver in another process.
    fn add_counts(&self, counts: &[i64]) {
        let _ = counts;
    }

    /// The first few reasons for which operations of its loads failed, by operation.
    fn failure_reasons(&self) -> Vec<FailureReason> {
        Vec::new()
    }
}

/// A file with its path on the host of the harness. The path is a name: the file may not exist elsewhere.
pub type SentFile = (PathBuf, Arc<[u8]>);

/// Target and plan of a load.
pub struct LoadJob<'a> {
    /// Where the target answers: what `target.url` says, else [`Workload::target`], else that of the application that was
    /// deployed: `SCHEME://ADDRESS:PORT`, and `SCHEME://ADDRESS:PORT,ADDRESS:PORT` where its topology has several fronts.
    pub url: &'a str,
    /// The plan, with nothing left open.
    pub plan: &'a Plan,
    /// The data of the application, where the run deploys it.
    pub data: Option<&'a DataSet>,
}

/// A load could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan asks for something impossible.
    #[error("{0}")]
    Refused(Refused),
    /// The target does not answer.
    #[error("reach the target `{url}`")]
    Unreachable {
        /// Where it should answer.
        url: String,
        /// Why not.
        #[source]
        why: Box<dyn Error + Send + Sync>,
    },
    /// The target could not be filled.
    #[error("fill the target `{url}`")]
    Fill {
        /// Where it answers.
        url: String,
        /// Why not.
        #[source]
        why: Box<dyn Error + Send + Sync>,
    },
    /// A file that the workload is made of cannot be read.
    #[error("read `{}`", path.display())]
    ReadFile {
        /// Its path.
        path: PathBuf,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
    /// The load needs the data of an application, and there are none.
    #[error("find the data of an application that is not deployed")]
    NoData,
}

/// A reason for which an operation failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureReason {
    /// The operation.
    pub operation: &'static str,
    /// Name of the outcome.
    pub outcome: &'static str,
    /// The reason in words.
    pub why: String,
    /// Operations that failed for it.
    pub count: u64,
    /// The beginning of the first such answer.
    pub answer: String,
}

impl fmt::Display for FailureReason {
    /// As in `Home refused: status 503 (12 times; it began: Service Unavailable)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {} ({} times", self.operation, self.outcome, self.why, count(self.count))?;
        if !self.answer.is_empty() {
            write!(f, "; it began: {}", self.answer)?;
        }
        f.write_str(")")
    }
}

/// Makes the workload that a plan names, and reads its keys.
pub trait WorkloadFactory: WorkloadKeys {
    /// Description in one line.
    fn about(&self) -> &'static str;

    /// How to find or make the files it needs, in a line; `None` when it needs none.
    fn hint(&self) -> Option<&'static str> {
        None
    }

    /// The workload for plans that name it and nothing else; `None` when it needs a file.
    fn built_in(&self) -> Option<&dyn Workload> {
        None
    }

    /// Its command of one line.
    fn load_command(&self) -> Option<&dyn LoadCommand> {
        None
    }

    /// Its program that does this.
    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        let _ = verb;
        None
    }

    /// The workload of a plan.
    ///
    /// # Errors
    /// Settings of the plan that are not possible.
    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refused>;

    /// The workload of a plan on the host of a driver, from the files that [`Workload::files`] gave on the host of the
    /// harness.
    ///
    /// # Errors
    /// Files that are missing or not possible.
    fn of_files(&self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refused> {
        let _ = files;
        self.of_plan(plan)
    }
}
