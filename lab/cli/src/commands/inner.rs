//! Hidden commands, which platforms start.

use anyhow::Context;
use barograph_record::ExitCode;

use super::{CommandFailure, CommandResult};
use crate::args::Words;

/// Delays the packets of a link until its standard input ends.
pub(crate) fn relay(args: Words) -> CommandResult {
    let held = barograph_platform_namespace::relay_main(args.words).context("hold packets back");
    held.map_err(|why| CommandFailure::new(ExitCode::PlatformFault, why))?;
    Ok(ExitCode::Fine)
}

/// Runs a command to its end, or to that of its driver.
pub(crate) fn supervise(args: &Words) -> CommandResult {
    let ended = barograph_supervisor::supervise(&args.words).context("run a command");
    ended.map_err(|why| CommandFailure::new(ExitCode::PlatformFault, why))?;
    Ok(ExitCode::Fine)
}

/// Runs units inside a virtual machine until a request to end.
pub(crate) fn agent(args: &Words) -> CommandResult {
    let served = barograph_platform_vm::agent_main(&args.words).context("serve as an agent");
    served.map_err(|why| CommandFailure::new(ExitCode::PlatformFault, why))?;
    Ok(ExitCode::Fine)
}
