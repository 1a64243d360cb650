//! `barograph run`: the plan, the run, the verdict, the report.

use std::path::Path;

use anyhow::Context;
use barograph_harness::{Stop, StopHandle, World};
use barograph_record::{ExitCode, Run, RunId};

use super::{Done, Failed, check};
use crate::args::RunArgs;
use crate::terminal::{self, Terminal};
use crate::{catalog, disclosure, machine};

/// Runs a plan.
pub(crate) fn run(args: &RunArgs) -> Done {
    let (checked, kind) = check::load(args)?;
    terminal::say(check::describe(&checked, kind).trim_end());
    if cfg!(debug_assertions) {
        terminal::say("note      this is a debug build: its figures mean nothing");
    }
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let now = jiff::Timestamp::now();
    let (stop_handle, stop) = Stop::new();
    let world = World {
        kind,
        platform: catalog::PLATFORMS[0],
        stop,
        // Two runs of the same second differ by the process that made them.
        id: RunId::new(now, (std::process::id() & 0xffff) as u16),
        started_at: format!("{now:.0}"),
        tool: format!("barograph {} ({})", env!("CARGO_PKG_VERSION"), env!("BAROGRAPH_COMMIT")),
        disclosure: disclosure::disclosure(&checked, kind, &command),
        command,
        cores: machine::cores(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start the runtime of the harness")
        .map_err(|why| Failed::new(ExitCode::PlatformFault, why))?;
    let mut screen = Terminal::new();
    let finished = runtime.block_on(async {
        tokio::spawn(listen_for_signals(stop_handle));
        barograph_harness::run(checked, &world, &mut screen).await
    });
    screen.finish();
    let finished = finished?;
    conclude(&finished.dir, finished.error.is_some())?;
    if let Some(why) = finished.error {
        return Err(Failed::new(finished.exit, why));
    }
    Ok(finished.exit)
}

/// Ctrl-C and a polite kill both stop the run in order.
async fn listen_for_signals(stop: StopHandle) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        terminal::say("stopping: results so far are kept, what was created is being removed");
        stop.stop();
    }
}

/// Shows what the record says and makes the report.
fn conclude(dir: &Path, failed: bool) -> Result<(), Failed> {
    let read = Run::open(dir);
    let run = match read {
        Ok(run) => run,
        // The run's own error says more than that its record cannot be read back.
        Err(_) if failed => return Ok(()),
        Err(why) => return Err(Failed::new(ExitCode::CannotWrite, why)),
    };
    terminal::result(&barograph_report::terminal_summary(&run));
    match super::show::write_report(&run) {
        Ok(path) => {
            terminal::result(&format!("report  {}", path.display()));
            terminal::result(&format!("record  {}", dir.display()));
            Ok(())
        }
        Err(_) if failed => Ok(()),
        Err(why) => Err(why),
    }
}
