//! Creation of a unit: its files, its steps, its container, and the wait until it is ready.

use std::path::Path;
use std::time::Duration;

use barograph_platform::{
    Fault, Limits, LogTail, OnLine, Readiness, ReadyAddress, Step, Unit, UnitExit, UnitOutput,
};
use barograph_platform_process::{open_output, until_answered};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::container_process::{ContainerProcess, ContainerRequest};
use crate::files;
use crate::names;
use crate::remover::Remover;
use crate::running::InContainer;
use crate::site::ContainerSite;

/// Longest duration of a step, which creates folders or a database.
const STEP: Duration = Duration::from_secs(600);

/// The first event.
enum FirstEvent {
    Announced(ReadyAddress),
    Answered,
    Ended(UnitExit),
}

/// Creates `unit` and waits until it is ready. On failure its containers are removed.
pub(crate) async fn create(site: &ContainerSite, unit: &Unit, on_line: OnLine) -> Result<InContainer, Fault> {
    let holder = site.holder(unit)?;
    if !site.common.remote {
        site.local.make_disk(unit).await?;
    }
    lay_out(site, unit)?;
    // Steps bring more to the disk than the unit does in minutes.
    let free = Unit { limits: Limits { disk_bytes_s: None, ..unit.limits.clone() }, ..unit.clone() };
    for (number, step) in unit.prepare.iter().enumerate() {
        take_step(site, &free, &holder, (number + 1, step)).await?;
    }
    let (output, announced) = open_output(unit, on_line)?;
    let name = names::unit(&site.common.site, &unit.name);
    let contained = start(site, unit, &name, (&holder, &unit.program, &unit.args), output).await?;
    let running = InContainer::new(contained, unit.stop, unit.log.clone(), site.common.machine);
    until_ready(site, unit, running, announced).await
}

/// Writes the files if the engine sees this machine's, and checks that the unit will see them.
fn lay_out(site: &ContainerSite, unit: &Unit) -> Result<(), Fault> {
    let view = site.common.view.with_folder(&unit.workdir);
    for file in &unit.files {
        let path = unit.workdir.join(&file.path);
        if !view.is_writable(&path) {
            return Err(Fault::Unit {
                unit: unit.name.clone(),
                act: format!("write file `{}` of", path.display()),
                source: "it lies outside of the folders that the unit may change".into(),
            });
        }
    }
    if site.common.remote {
        return Ok(());
    }
    site.local.lay_out(unit)?;
    match site.common.other_user(unit.user) {
        Some(user) if unit.workdir != Path::new("/") => {
            files::give(&unit.workdir, user).map_err(|source| Fault::Unit {
                unit: unit.name.clone(),
                act: format!("give folder `{}` to the user of", unit.workdir.display()),
                source: Box::new(source),
            })
        }
        _ => Ok(()),
    }
}

/// Records, creates and starts one container of a unit.
async fn start(
    site: &ContainerSite,
    unit: &Unit,
    name: &str,
    (holder, program, args): (&str, &Path, &[String]),
    output: UnitOutput,
) -> Result<ContainerProcess, Fault> {
    let archive = site.common.remote && !unit.files.is_empty();
    let files = archive.then(|| files::archive(unit)).transpose().map_err(|source| Fault::Unit {
        unit: unit.name.clone(),
        act: "pack the files of".to_owned(),
        source: Box::new(source),
    })?;
    let wish = ContainerRequest {
        unit: unit.name.clone(),
        program: program.to_owned(),
        body: site.common.unit(unit, holder, program, args),
        files,
        output,
        log: unit.log.clone(),
        near: !site.common.remote,
    };
    let note = |source| Fault::Note { unit: unit.name.clone(), source };
    let remover = Remover::of_container(&site.engine, name, &site.made.ledger).map_err(note)?;
    ContainerProcess::start(&site.engine, remover, wish).await
}

async fn take_step(
    site: &ContainerSite,
    unit: &Unit,
    holder: &str,
    (number, step): (usize, &Step),
) -> Result<(), Fault> {
    let output = UnitOutput::to_log(&unit.log).map_err(|source| Fault::OpenLog {
        unit: unit.name.clone(),
        path: unit.log.clone(),
        source,
    })?;
    let name = names::step(&site.common.site, &unit.name, number);
    let contained = start(site, unit, &name, (holder, &step.program, &step.args), output).await?;
    let ended = match timeout(STEP, contained.until_ended()).await {
        Ok(ended) => ended,
        Err(_) => {
            contained.end_now().await?;
            UnitExit::Unknown(format!("it did not end within {STEP:?}"))
        }
    };
    if ended.is_success() {
        return Ok(());
    }
    let words = [step.program.display().to_string()].into_iter().chain(step.args.iter().cloned());
    Err(Fault::Prepare {
        unit: unit.name.clone(),
        step: words.collect::<Vec<_>>().join(" "),
        ended,
        log: LogTail::of(&unit.log, LogTail::SHOWN),
    })
}

async fn until_ready(
    site: &ContainerSite,
    unit: &Unit,
    mut running: InContainer,
    announced: Option<oneshot::Receiver<ReadyAddress>>,
) -> Result<InContainer, Fault> {
    let limit = unit.ready.timeout();
    let first = match &unit.ready {
        Readiness::Runs => return Ok(running),
        Readiness::Exit { .. } => timeout(limit, until_ended(&running)).await,
        Readiness::StdoutLine { .. } => timeout(limit, until_announced(&running, announced)).await,
        Readiness::Answers { ask, address, .. } => {
            let address = site.local.seen_from_outside(unit, *address);
            running.address = Some(address);
            let asking = async {
                tokio::select! {
                    () = until_answered(ask, address) => FirstEvent::Answered,
                    ended = running.contained().until_ended() => FirstEvent::Ended(ended),
                }
            };
            timeout(limit, asking).await
        }
    };
    let job = matches!(unit.ready, Readiness::Exit { .. });
    match first {
        Ok(FirstEvent::Announced(announced)) => ready_at(site, unit, running, announced).await,
        Ok(FirstEvent::Answered) => Ok(running),
        Ok(FirstEvent::Ended(ended)) if job && ended.is_success() => Ok(running),
        Ok(FirstEvent::Ended(ended)) => Err(Fault::EndedEarly {
            unit: unit.name.clone(),
            ended,
            log: LogTail::of(&unit.log, LogTail::SHOWN),
        }),
        Err(_) => {
            // Killed first, so that its log is complete.
            running.contained().end_now().await?;
            let log = LogTail::of(&unit.log, LogTail::SHOWN);
            Err(Fault::NotReady { unit: unit.name.clone(), timeout: limit, log })
        }
    }
}

async fn until_ended(running: &InContainer) -> FirstEvent {
    FirstEvent::Ended(running.contained().until_ended().await)
}

async fn until_announced(
    running: &InContainer,
    announced: Option<oneshot::Receiver<ReadyAddress>>,
) -> FirstEvent {
    let announced = async {
        match announced {
            Some(receiver) => receiver.await.ok(),
            None => None,
        }
    };
    tokio::select! {
        biased;
        // A closed stdout without a ready line disables this branch: the end or the time-out decides.
        Some(announced) = announced => FirstEvent::Announced(announced),
        ended = running.contained().until_ended() => FirstEvent::Ended(ended),
    }
}

async fn ready_at(
    site: &ContainerSite,
    unit: &Unit,
    mut running: InContainer,
    announced: ReadyAddress,
) -> Result<InContainer, Fault> {
    match announced {
        Ok(address) => {
            running.address = Some(site.local.seen_from_outside(unit, address));
            Ok(running)
        }
        Err(source) => {
            running.contained().end_now().await?;
            Err(Fault::BadReadyLine { unit: unit.name.clone(), source })
        }
    }
}
