//! `barograph drive`: runs this program as one of several drivers of a run.

use std::net::TcpListener;

use anyhow::Context;
use barograph_harness::fleet::driver::Driver;
use barograph_harness::fleet::{Clock, Token};
use barograph_record::ExitCode;

use super::program::when_input_ends;
use super::{CommandFailure, CommandResult};
use crate::args::DriveArgs;
use crate::{catalog, machine, terminal};

/// Name and version of this program, as harness and drivers compare them.
pub(crate) fn tool() -> String {
    format!("barograph {} ({})", env!("CARGO_PKG_VERSION"), env!("BAROGRAPH_COMMIT"))
}

/// Drives until the load has ended or the harness is gone.
pub(crate) fn drive(args: &DriveArgs) -> CommandResult {
    let refused = |why: anyhow::Error| CommandFailure::new(ExitCode::Refused, why);
    let clock = Clock::start();
    let token = Token::read(&args.token_file)
        .with_context(|| format!("read the secret in `{}`", args.token_file.display()))
        .map_err(refused)?;
    let listener = TcpListener::bind(args.listen)
        .with_context(|| format!("listen at {}: choose a free port with --listen, or port 0", args.listen))
        .map_err(refused)?;
    let address = listener.local_addr().context("find the address listened at").map_err(refused)?;
    let driver = Driver {
        listener,
        token,
        tool: tool(),
        cores: machine::cores(),
        open_files: machine::raise_open_files(),
        clock,
        workloads: catalog::WORKLOADS,
    };
    let runtime = super::run::runtime()?;
    let (told, tell) = tokio::sync::oneshot::channel::<()>();
    if args.supervised {
        when_input_ends(Box::new(move || drop(told)));
    }
    let supervised = args.supervised;
    let served = runtime.block_on(async {
        terminal::result(&format!(r#"{{"ready":true,"address":"{address}"}}"#));
        tokio::select! {
            served = driver.serve() => served,
            // Ends when the sender is dropped.
            _ = tell, if supervised => Ok(()),
        }
    });
    // A load in preparation may take seconds to give up.
    runtime.shutdown_background();
    match served {
        Ok(()) => Ok(ExitCode::Fine),
        Err(why) => Err(CommandFailure::new(why.exit_code(), why)),
    }
}
