//! The deploy phase: the application as a unit of its own, ready to be asked.

use std::net::SocketAddr;

use barograph_model::Phase;
use barograph_platform::{Running, ignore_lines};

use crate::HarnessError;
use crate::run::Run;

pub(crate) async fn deploy(run: &mut Run<'_>) -> Result<Box<dyn Running>, HarnessError> {
    run.phase(Phase::Deploy, "the application as a process of its own")?;
    let state = run.make_state_dir()?;
    let unit = run.world.kind.serve_unit(&run.job("application.log", &state));
    let platform = run.world.platform;
    platform.preflight(&unit).await.map_err(HarnessError::Missing)?;
    let ledger = run.ledger.clone();
    let stop = run.world.stop.clone();
    let running = stop.or(platform.create(&unit, &ledger, ignore_lines())).await??;
    let address = address(running.as_ref())?;
    let process = running.pid().map_or_else(String::new, |pid| format!(" (process {pid})"));
    run.say(&format!("the application answers at {address}{process}"));
    run.done()?;
    Ok(running)
}

/// Where the application answers.
pub(crate) fn address(running: &dyn Running) -> Result<SocketAddr, HarnessError> {
    running.address().ok_or_else(|| HarnessError::NoAddress { unit: running.name().to_owned() })
}
