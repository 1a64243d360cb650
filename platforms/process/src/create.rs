//! Creation of a unit: its files, its steps, its process, and the wait until it is ready.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{Fault, LogTail, OnLine, Readiness, Step, Unit, UnitExit};
use rustix::fs::{Access, access};
use tokio::time::sleep;

use crate::command::CommandPrefix;
use crate::containment::UnitContainment;
use crate::local::Local;
use crate::running::{Process, to_group};
use crate::start::{Launch, Output, start};
use crate::wait::{until_announced, until_answers, until_done, until_runs};
use crate::watch::IsLast;

/// Longest duration of all steps of a unit without a readiness check.
const STEPS_TIMEOUT: Duration = Duration::from_secs(120);

/// Creates `unit` and waits until it is ready. On failure nothing of it runs.
pub(crate) async fn create(local: &Local, unit: &Unit, on_line: OnLine) -> Result<Process, Fault> {
    check_program(unit, &unit.program)?;
    local.make_disk(unit).await?;
    local.folders.lay_out(unit)?;
    let holding = Arc::new(local.holding(unit)?);
    let before = local.before(unit, &holding)?;
    prepare(local, unit, &before, &holding).await?;
    limit_disks(unit, &holding)?;
    let output = match unit.ready {
        Readiness::StdoutLine { .. } | Readiness::Exit { .. } => Output::Lines(on_line),
        Readiness::Answers { .. } | Readiness::Runs => Output::Log,
    };
    let launch = Launch {
        unit,
        program: &unit.program,
        args: &unit.args,
        before: &before,
        holding: &holding,
        output,
        last: IsLast::Yes,
    };
    let started = start(launch, local)?;
    // From now on the watcher and the process hold it, so that it is dropped with the last of them.
    drop(holding);
    let mut process = match &unit.ready {
        Readiness::StdoutLine { timeout } => until_announced(unit, started, *timeout).await?,
        Readiness::Exit { timeout } => until_done(unit, started, *timeout).await?,
        Readiness::Answers { ask, address, timeout } => {
            let address = local.seen_from_outside(unit, *address);
            until_answers(unit, started, (ask, address), *timeout).await?
        }
        Readiness::Runs => until_runs(unit, started).await?,
    };
    process.address = process.address.map(|address| local.seen_from_outside(unit, address));
    Ok(process)
}

/// Other programs precede the unit's own, so the system would not report at the start that it is missing.
fn check_program(unit: &Unit, program: &Path) -> Result<(), Fault> {
    let failed = |source| Err(Fault::Start { unit: unit.name.clone(), program: program.to_owned(), source });
    if program.components().count() < 2 {
        // A bare name is searched for in PATH.
        return Ok(());
    }
    let place = unit.workdir.join(program);
    match access(&place, Access::EXEC_OK) {
        Err(error) => failed(error.into()),
        Ok(()) if place.is_dir() => failed(io::ErrorKind::IsADirectory.into()),
        Ok(()) => Ok(()),
    }
}

/// Runs the steps one after another. Processes that a step leaves behind are ended with it.
async fn prepare(
    local: &Local,
    unit: &Unit,
    before: &CommandPrefix,
    holding: &Arc<UnitContainment>,
) -> Result<(), Fault> {
    let limit = match unit.ready {
        Readiness::Runs => STEPS_TIMEOUT,
        _ => unit.ready.timeout(),
    };
    let late = sleep(limit);
    tokio::pin!(late);
    for step in &unit.prepare {
        check_program(unit, &step.program)?;
        let launch = Launch {
            unit,
            program: &step.program,
            args: &step.args,
            before,
            holding,
            output: Output::Log,
            last: IsLast::No,
        };
        let process = start(launch, local)?.process;
        let ended = tokio::select! {
            ended = process.until_ended() => ended,
            () = &mut late => {
                process.end_now().await?;
                UnitExit::Unknown(format!("it was not done within {limit:?} and has been killed"))
            }
        };
        if !ended.is_success() {
            return Err(step_failed(unit, step, ended));
        }
    }
    Ok(())
}

/// Limits the rate of disks, which the steps did without.
fn limit_disks(unit: &Unit, holding: &UnitContainment) -> Result<(), Fault> {
    let is_open = !unit.prepare.is_empty() && unit.limits.disk_bytes_s.is_some();
    let Some(group) = holding.group().filter(|_| is_open) else { return Ok(()) };
    group.set_limits(&to_group(&unit.limits)).map_err(|source| Fault::Unit {
        unit: unit.name.clone(),
        act: "limit".to_owned(),
        source: source.into(),
    })
}

fn step_failed(unit: &Unit, step: &Step, ended: UnitExit) -> Fault {
    let words = [step.program.display().to_string()].into_iter().chain(step.args.iter().cloned());
    let log: LogTail = LogTail::of(&unit.log, LogTail::SHOWN);
    let step = words.collect::<Vec<_>>().join(" ");
    Fault::Prepare { unit: unit.name.clone(), step, ended, log }
}
