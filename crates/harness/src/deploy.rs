//! The deploy phase: the application as a unit of its own, ready to be asked.

use barograph_model::Phase;
use barograph_platform::{Running, ignore_lines};

use crate::run::Run;
use crate::{Deployment, HarnessError};

pub(crate) async fn deploy(
    run: &mut Run<'_>,
    deployment: &dyn Deployment,
) -> Result<Box<dyn Running>, HarnessError> {
    run.phase(Phase::Deploy, "the application as a process of its own")?;
    let state = run.make_state_dir()?;
    let unit = deployment.serve_unit(&run.job("application.log", &state)?);
    let platform = run.world.platform;
    platform.preflight(&unit).await.map_err(HarnessError::Missing)?;
    let ledger = run.ledger.clone();
    let stop = run.world.stop.clone();
    let running = stop.or(platform.create(&unit, &ledger, ignore_lines())).await??;
    let url = url(running.as_ref())?;
    let process = running.pid().map_or_else(String::new, |pid| format!(" (process {pid})"));
    run.say(&format!("the application answers at {url}{process}"));
    run.done()?;
    Ok(running)
}

/// Where the application answers.
pub(crate) fn url(running: &dyn Running) -> Result<String, HarnessError> {
    let address = running.address();
    let address = address.ok_or_else(|| HarnessError::NoAddress { unit: running.name().to_owned() })?;
    Ok(format!("http://{address}"))
}
