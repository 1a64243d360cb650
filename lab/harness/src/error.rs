//! Errors that end a run early, and their exit codes, which name the side at fault.

use std::path::PathBuf;

use barograph_engine::EngineError;
use barograph_platform::{Fault, LedgerError, LogTail, MissingRequirement, Side, UnitExit};
use barograph_record::{ExitCode, RecordError};
use barograph_spec::Refusals;
use barograph_workload::LoadError;

/// An error that ended a run early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HarnessError {
    /// The plan asks for something impossible.
    #[error("the plan cannot be run\n{0}")]
    Refused(Refusals),
    /// Something must be installed or allowed first.
    #[error("this machine is not ready for the plan")]
    Missing(#[source] MissingRequirement),
    /// A unit could not be created or controlled.
    #[error("run a unit of the deployment")]
    Platform(#[source] Fault),
    /// The plan names a platform that this program does not have.
    #[error("find the platform `{name}`; `barograph list platforms` shows those there are")]
    NoPlatform {
        /// Platform named by the plan.
        name: String,
    },
    /// The configuration of a service could not be generated.
    #[error("configure `{part}`")]
    Service {
        /// Name of the part.
        part: String,
        /// The cause.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Parts wait for each other in a circle, so none can start.
    #[error("start parts that need each other, or parts that are not there: {parts}")]
    NeedsCircle {
        /// Names of the parts.
        parts: String,
    },
    /// A folder or file of the deployment could not be made.
    #[error("write `{}`", folder.display())]
    MakeFolder {
        /// Its path.
        folder: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The path of this program is unknown.
    #[error("find this program's own file")]
    OwnProgram(#[source] std::io::Error),
    /// The fill job ended without reporting its result.
    #[error("the fill of {size} ended without its closing line; see its log in the record")]
    FillSilent {
        /// Size of the data set.
        size: String,
    },
    /// The target cannot be reached.
    #[error("reach the target `{url}`")]
    Unreachable {
        /// URL of the target.
        url: String,
        /// The cause.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
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
    /// The target could not be filled.
    #[error("fill the target `{url}`")]
    FillTarget {
        /// URL of the target.
        url: String,
        /// The cause.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The application does not know a job of the topology.
    #[error("find the job `{part}` of the application")]
    NoJob {
        /// Name of the part.
        part: String,
    },
    /// Data are required from a workload that makes none.
    #[error("find the data of a workload that has none")]
    NoData,
    /// The control socket cannot be opened.
    #[error("listen for control commands in `{}`", folder.display())]
    Listen {
        /// Folder of the socket.
        folder: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The application is ready, but its address is unknown.
    #[error("unit `{unit}` is ready, but announced no address")]
    NoAddress {
        /// Name of the unit.
        unit: String,
    },
    /// Things created by the run are still there.
    #[error("remove everything the run created; `barograph clean` tries again: {}", things.join("; "))]
    LeftBehind {
        /// Each thing with the reason.
        things: Vec<String>,
    },
    /// A filled data set could not be renamed.
    #[error("keep the filled data as `{}`", dir.display())]
    KeepData {
        /// The intended folder.
        dir: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The application ended during the run.
    #[error("{what} ended in mid-run: {ended}{log}")]
    TargetGone {
        /// `the application`, or the name of its part.
        what: String,
        /// Its exit status.
        ended: UnitExit,
        /// Last lines of its log.
        log: LogTail,
    },
    /// The target stopped answering.
    #[error("the {what} has not answered a single operation for {seconds} s")]
    TargetSilent {
        /// `application` if the run deployed it, `target` if it existed already; with the load's name if
        /// there are several.
        what: String,
        /// Duration of the silence in seconds.
        seconds: u64,
    },
    /// The ledger could not be written.
    #[error("keep the ledger of what was created")]
    Ledger(#[source] LedgerError),
    /// Results could not be written.
    #[error("write the record")]
    Record(#[source] RecordError),
    /// A policy of the processors could not be set.
    #[error("set `{}`", path.display())]
    SetPolicy {
        /// Its file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// A system facility that the tool needs was refused.
    #[error("read the machine's own figures")]
    Probe(#[source] barograph_probe::ProbeError),
    /// The driver failed.
    #[error("drive the load")]
    Engine(#[source] EngineError),
    /// A remote driver failed.
    #[error("drive the load with several drivers")]
    Fleet(#[source] crate::fleet::FleetError),
    /// The user stopped the run.
    #[error("stopped before its end")]
    Interrupted,
}

impl HarnessError {
    /// Returns the exit code for this error.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            HarnessError::Refused(_)
            | HarnessError::Missing(_)
            | HarnessError::NoPlatform { .. }
            | HarnessError::ReadFile { .. } => ExitCode::Refused,
            HarnessError::Platform(fault) if fault.side() == Side::Target => ExitCode::TargetNotReady,
            HarnessError::Platform(fault) if fault.side() == Side::Tool => ExitCode::CannotWrite,
            HarnessError::Platform(_) | HarnessError::LeftBehind { .. } => ExitCode::PlatformFault,
            HarnessError::FillSilent { .. }
            | HarnessError::NoAddress { .. }
            | HarnessError::Unreachable { .. }
            | HarnessError::FillTarget { .. }
            | HarnessError::TargetGone { .. }
            | HarnessError::TargetSilent { .. } => ExitCode::TargetNotReady,
            HarnessError::MakeFolder { .. }
            | HarnessError::KeepData { .. }
            | HarnessError::Ledger(_)
            | HarnessError::Record(_) => ExitCode::CannotWrite,
            HarnessError::Probe(_) | HarnessError::Listen { .. } | HarnessError::SetPolicy { .. } => {
                ExitCode::PlatformFault
            }
            HarnessError::Engine(_)
            | HarnessError::NoData
            | HarnessError::NoJob { .. }
            | HarnessError::OwnProgram(_)
            | HarnessError::Service { .. }
            | HarnessError::NeedsCircle { .. } => ExitCode::Bug,
            HarnessError::Fleet(why) => why.exit_code(),
            HarnessError::Interrupted => ExitCode::Interrupted,
        }
    }
}

impl From<LoadError> for HarnessError {
    fn from(why: LoadError) -> Self {
        match why {
            LoadError::Refused(why) => HarnessError::Refused(why),
            LoadError::Unreachable { url, why } => HarnessError::Unreachable { url, why },
            LoadError::Fill { url, why } => HarnessError::FillTarget { url, why },
            LoadError::ReadFile { path, why } => HarnessError::ReadFile { path, why },
            LoadError::NoData => HarnessError::NoData,
        }
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {
        $(impl From<$source> for HarnessError {
            fn from(why: $source) -> Self {
                HarnessError::$variant(why)
            }
        })*
    };
}

from! {
    Refusals => Refused,
    Fault => Platform,
    LedgerError => Ledger,
    RecordError => Record,
    EngineError => Engine,
    crate::fleet::FleetError => Fleet,
    barograph_probe::ProbeError => Probe,
}
