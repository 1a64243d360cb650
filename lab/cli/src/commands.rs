//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod control;
pub(crate) mod demand;
pub(crate) mod drive;
pub(crate) mod export;
pub(crate) mod images;
pub(crate) mod inner;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod load_command;
pub(crate) mod new;
pub(crate) mod program;
pub(crate) mod record_folder;
pub(crate) mod rootless;
pub(crate) mod rounds;
pub(crate) mod run;
pub(crate) mod share;
pub(crate) mod show;
pub(crate) mod study;

use barograph_harness::HarnessError;
use barograph_record::{ExitCode, RecordError};
use barograph_workload::CommandError;

/// Failure of a command, with the exit code that names the side at fault.
pub(crate) struct CommandFailure {
    pub(crate) code: ExitCode,
    pub(crate) why: anyhow::Error,
}

/// Result of a command.
pub(crate) type CommandResult = Result<ExitCode, CommandFailure>;

impl CommandFailure {
    pub(crate) fn new(code: ExitCode, why: impl Into<anyhow::Error>) -> Self {
        CommandFailure { code, why: why.into() }
    }
}

impl From<HarnessError> for CommandFailure {
    fn from(why: HarnessError) -> Self {
        CommandFailure::new(why.exit_code(), why)
    }
}

impl From<CommandError> for CommandFailure {
    fn from(failed: CommandError) -> Self {
        CommandFailure { code: failed.exit, why: anyhow::Error::from_boxed(failed.why) }
    }
}

impl From<RecordError> for CommandFailure {
    fn from(why: RecordError) -> Self {
        CommandFailure::new(ExitCode::Refused, why)
    }
}
