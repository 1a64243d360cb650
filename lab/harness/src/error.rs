//! Why a run did not come to its end, and the exit code that says whose side it was on.

use std::path::PathBuf;

use barograph_engine::EngineError;
use barograph_platform::{Ended, Fault, LedgerError, LogTail, Missing, Side};
use barograph_record::{ExitCode, RecordError};
use barograph_spec::Refused;
use barograph_workload::LoadError;

/// A run did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HarnessError {
    /// The plan asks for something impossible.
    #[error("the plan cannot be run\n{0}")]
    Refused(Refused),
    /// Something must be installed or allowed first.
    #[error("this machine is not ready for the plan")]
    Missing(#[source] Missing),
    /// A unit could not be made or handled.
    #[error("run a unit of the deployment")]
    Platform(#[source] Fault),
    /// The plan names a platform that this program does not have.
    #[error("find the platform `{name}`; `barograph list platforms` shows those there are")]
    NoPlatform {
        /// What the plan says.
        name: String,
    },
    /// The configuration of a service could not be made.
    #[error("configure `{part}`")]
    Service {
        /// The part.
        part: String,
        /// Why.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Parts wait for each other, so none of them can start.
    #[error("start parts that need each other, or parts that are not there: {parts}")]
    NeedsCircle {
        /// Their names.
        parts: String,
    },
    /// A folder or file of the deployment could not be made.
    #[error("write `{}`", folder.display())]
    MakeFolder {
        /// Which.
        folder: PathBuf,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
    /// Where this program is itself is not known.
    #[error("find this program's own file")]
    OwnProgram(#[source] std::io::Error),
    /// The fill job ended without saying what it filled.
    #[error("the fill of {size} ended without its closing line; see its log in the record")]
    FillSilent {
        /// The size.
        size: String,
    },
    /// Nobody finds the target.
    #[error("reach the target `{url}`")]
    Unreachable {
        /// Where it should answer.
        url: String,
        /// Why not.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
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
    /// The target could not be filled.
    #[error("fill the target `{url}`")]
    FillTarget {
        /// Where it answers.
        url: String,
        /// Why not.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A job of the topology that the application does not know.
    #[error("find the job `{part}` of the application")]
    NoJob {
        /// The part.
        part: String,
    },
    /// The workload makes no data, but something asked for them.
    #[error("find the data of a workload that has none")]
    NoData,
    /// Nobody can be listened to.
    #[error("listen for control commands in `{}`", folder.display())]
    Listen {
        /// The folder of the socket.
        folder: PathBuf,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
    /// The application is ready, but nobody knows where it answers.
    #[error("unit `{unit}` is ready, but announced no address")]
    NoAddress {
        /// The unit.
        unit: String,
    },
    /// Things the run created are still there.
    #[error("remove everything the run created; `barograph clean` tries again: {}", things.join("; "))]
    LeftBehind {
        /// Each of them with the reason.
        things: Vec<String>,
    },
    /// Filled data could not be given their name.
    #[error("keep the filled data as `{}`", dir.display())]
    KeepData {
        /// The folder they were to have.
        dir: PathBuf,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
    /// The application ended in mid-run.
    #[error("{what} ended in mid-run: {ended}{log}")]
    TargetGone {
        /// `the application`, or the name of the part of it.
        what: String,
        /// How it ended.
        ended: Ended,
        /// What it had to say.
        log: LogTail,
    },
    /// Users get no answers at all.
    #[error("the {what} has not answered a single operation for {seconds} s")]
    TargetSilent {
        /// `application` when it is ours, `target` when it was there already; the load's, where there are several.
        what: String,
        /// For how long.
        seconds: u64,
    },
    /// The list of created things could not be kept.
    #[error("keep the ledger of what was created")]
    Ledger(#[source] LedgerError),
    /// Results could not be written.
    #[error("write the record")]
    Record(#[source] RecordError),
    /// A system facility the tool needs was refused.
    #[error("read the machine's own figures")]
    Probe(#[source] barograph_probe::ProbeError),
    /// The driver failed.
    #[error("drive the load")]
    Engine(#[source] EngineError),
    /// A driver that is a process of its own did not do its part.
    #[error("drive the load with several drivers")]
    Fleet(#[source] crate::fleet::FleetError),
    /// Somebody stopped the run.
    #[error("stopped before its end")]
    Interrupted,
}

impl HarnessError {
    /// The exit code this error ends the program with.
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
            HarnessError::Probe(_) | HarnessError::Listen { .. } => ExitCode::PlatformFault,
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
    Refused => Refused,
    Fault => Platform,
    LedgerError => Ledger,
    RecordError => Record,
    EngineError => Engine,
    crate::fleet::FleetError => Fleet,
    barograph_probe::ProbeError => Probe,
}
