//! Waits until a started unit is ready, for each kind of readiness.

use std::net::SocketAddr;
use std::time::Duration;

use barograph_platform::{Fault, LogTail, ReadinessCheck, Unit, UnitExit};
use tokio::time::{sleep, timeout};

use crate::answer::until_answered;
use crate::command::is_on_its_way;
use crate::proc_fs::command_line;
use crate::running::Process;
use crate::start::{Lines, StartedProcess};

/// Longest wait for the last lines of an ended process, which are in the pipe already. The reader may have to
/// wait for a CPU; only an escaped child could hold the pipe open for longer.
const LAST_LINES_WAIT: Duration = Duration::from_secs(10);

/// Longest wait for a process to enter control groups and namespaces, which takes milliseconds on an idle
/// machine.
const START_WAIT: Duration = Duration::from_secs(20);

/// Interval between polls of a starting process.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The first event.
enum FirstEvent<T> {
    Ready(T),
    Ended(UnitExit),
}

/// Waits for a service that prints its ready line.
pub(crate) async fn until_announced(
    unit: &Unit,
    started: StartedProcess,
    limit: Duration,
) -> Result<Process, Fault> {
    let StartedProcess { mut process, lines, .. } = started;
    let first = timeout(limit, async {
        let announced = async {
            match lines {
                Some(Lines { announced, .. }) => announced.await,
                // Never the case: its stdout is read.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // A closed stdout without a ready line disables this branch: the end or the time-out decides.
            Ok(announced) = announced => FirstEvent::Ready(announced),
            ended = process.until_ended() => FirstEvent::Ended(ended),
        }
    });
    match first.await {
        Ok(FirstEvent::Ready(Ok(address))) => {
            process.address = Some(address);
            settle(&process).await;
            Ok(process)
        }
        Ok(FirstEvent::Ready(Err(source))) => {
            process.end_now().await?;
            Err(Fault::BadReadyLine { unit: unit.name.clone(), source })
        }
        Ok(FirstEvent::Ended(ended)) => Err(ended_early(unit, ended)),
        Err(_) => Err(not_ready(unit, &process, limit).await?),
    }
}

/// Waits for a job to end.
pub(crate) async fn until_done(
    unit: &Unit,
    started: StartedProcess,
    limit: Duration,
) -> Result<Process, Fault> {
    let StartedProcess { process, lines, .. } = started;
    let ended = timeout(limit, process.until_ended()).await;
    match ended {
        Ok(ended) => {
            if let Some(Lines { mut reader, .. }) = lines
                && timeout(LAST_LINES_WAIT, &mut reader).await.is_err()
            {
                reader.abort();
            }
            if ended.is_success() { Ok(process) } else { Err(ended_early(unit, ended)) }
        }
        Err(_) => Err(not_ready(unit, &process, limit).await?),
    }
}

/// Waits for a service that answers in its protocol. An answer does not count if the process has ended: it
/// came from another.
pub(crate) async fn until_answers(
    unit: &Unit,
    started: StartedProcess,
    (ask, address): (&ReadinessCheck, SocketAddr),
    limit: Duration,
) -> Result<Process, Fault> {
    let mut process = started.process;
    let first = timeout(limit, async {
        tokio::select! {
            biased;
            ended = process.until_ended() => FirstEvent::Ended(ended),
            ready = until_answered(ask, address) => FirstEvent::Ready(ready),
        }
    });
    match first.await {
        Ok(FirstEvent::Ended(ended)) => Err(ended_early(unit, ended)),
        Ok(FirstEvent::Ready(())) => {
            process.address = Some(address);
            settle(&process).await;
            Ok(process)
        }
        Err(_) => Err(not_ready(unit, &process, limit).await?),
    }
}

/// Waits for a service that cannot be asked: it is ready when the words before its program have executed it.
pub(crate) async fn until_runs(unit: &Unit, started: StartedProcess) -> Result<Process, Fault> {
    let StartedProcess { process, words, .. } = started;
    let own = unit.args.len() + 1;
    let runs = async {
        loop {
            if let Some(pid) = process.held().program() {
                let line = command_line(pid);
                if !line.is_empty() && !is_on_its_way(&line, &words, own) {
                    break;
                }
            }
            sleep(LOOK_EVERY).await;
        }
    };
    let first = timeout(START_WAIT, async {
        tokio::select! {
            biased;
            ended = process.until_ended() => FirstEvent::Ended(ended),
            ready = runs => FirstEvent::Ready(ready),
        }
    });
    match first.await {
        Ok(FirstEvent::Ended(ended)) => Err(ended_early(unit, ended)),
        Ok(FirstEvent::Ready(())) => Ok(process),
        Err(_) => Err(not_ready(unit, &process, START_WAIT).await?),
    }
}

/// In a namespace the program's number is found while the processes before it live.
async fn settle(process: &Process) {
    let known = async {
        while process.held().program().is_none() && !process.ended_already() {
            sleep(LOOK_EVERY).await;
        }
    };
    // Without it, only a probe is affected, which reads the process before it.
    let _ = timeout(START_WAIT, known).await;
}

fn ended_early(unit: &Unit, ended: UnitExit) -> Fault {
    Fault::EndedEarly { unit: unit.name.clone(), ended, log: LogTail::of(&unit.log, LogTail::SHOWN) }
}

/// Kills the unit first, so that its log is complete.
async fn not_ready(unit: &Unit, process: &Process, limit: Duration) -> Result<Fault, Fault> {
    process.end_now().await?;
    Ok(Fault::NotReady {
        unit: unit.name.clone(),
        timeout: limit,
        log: LogTail::of(&unit.log, LogTail::SHOWN),
    })
}
