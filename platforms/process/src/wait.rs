//! The wait until a started unit is ready, in each of the ways it can show that.

use std::net::SocketAddr;
use std::time::Duration;

use barograph_platform::{Ask, Ended, Fault, LogTail, Unit};
use tokio::time::{sleep, timeout};

use crate::answer::until_answered;
use crate::command::is_on_its_way;
use crate::proc_fs::command_line;
use crate::running::Process;
use crate::start::{Lines, Started};

/// The last lines of an ended process are in the pipe already, and whoever reads them may have to wait for a CPU; only a
/// child of it that fled could hold the pipe open.
const LAST_LINES_WAIT: Duration = Duration::from_secs(10);

/// Entering control groups and namespaces takes milliseconds, and longer on a machine under load.
const START_WAIT: Duration = Duration::from_secs(20);

/// How often a starting process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What happened first.
enum First<T> {
    Ready(T),
    Ended(Ended),
}

/// A service that prints its ready line.
pub(crate) async fn until_announced(
    unit: &Unit,
    started: Started,
    limit: Duration,
) -> Result<Process, Fault> {
    let Started { mut process, lines, .. } = started;
    let first = timeout(limit, async {
        let announced = async {
            match lines {
                Some(Lines { announced, .. }) => announced.await,
                // Never so: its stdout is read.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // A closed stdout without a ready line disables this branch: the end or the time-out decides.
            Ok(announced) = announced => First::Ready(announced),
            ended = process.until_ended() => First::Ended(ended),
        }
    });
    match first.await {
        Ok(First::Ready(Ok(address))) => {
            process.address = Some(address);
            settle(&process).await;
            Ok(process)
        }
        Ok(First::Ready(Err(source))) => {
            process.end_now().await?;
            Err(Fault::BadReadyLine { unit: unit.name.clone(), source })
        }
        Ok(First::Ended(ended)) => Err(ended_early(unit, ended)),
        Err(_) => Err(not_ready(unit, &process, limit).await?),
    }
}

/// A job that ends.
pub(crate) async fn until_done(unit: &Unit, started: Started, limit: Duration) -> Result<Process, Fault> {
    let Started { process, lines, .. } = started;
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

/// A service that answers in its protocol. An answer does not count when the process has ended: it was somebody else's.
pub(crate) async fn until_answers(
    unit: &Unit,
    started: Started,
    (ask, address): (&Ask, SocketAddr),
    limit: Duration,
) -> Result<Process, Fault> {
    let mut process = started.process;
    let first = timeout(limit, async {
        tokio::select! {
            biased;
            ended = process.until_ended() => First::Ended(ended),
            ready = until_answered(ask, address) => First::Ready(ready),
        }
    });
    match first.await {
        Ok(First::Ended(ended)) => Err(ended_early(unit, ended)),
        Ok(First::Ready(())) => {
            process.address = Some(address);
            settle(&process).await;
            Ok(process)
        }
        Err(_) => Err(not_ready(unit, &process, limit).await?),
    }
}

/// A service that nobody can ask: it is ready when what comes before its program has become the program.
pub(crate) async fn until_runs(unit: &Unit, started: Started) -> Result<Process, Fault> {
    let Started { process, words, .. } = started;
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
            ended = process.until_ended() => First::Ended(ended),
            ready = runs => First::Ready(ready),
        }
    });
    match first.await {
        Ok(First::Ended(ended)) => Err(ended_early(unit, ended)),
        Ok(First::Ready(())) => Ok(process),
        Err(_) => Err(not_ready(unit, &process, START_WAIT).await?),
    }
}

/// In a namespace the program's number is looked up while those before it live.
async fn settle(process: &Process) {
    let known = async {
        while process.held().program().is_none() && !process.ended_already() {
            sleep(LOOK_EVERY).await;
        }
    };
    // Without it a probe looks at the process before it, which is all there is to lose.
    let _ = timeout(START_WAIT, known).await;
}

fn ended_early(unit: &Unit, ended: Ended) -> Fault {
    Fault::EndedEarly { unit: unit.name.clone(), ended, log: LogTail::of(&unit.log, LogTail::SHOWN) }
}

/// Kills it first, so that its log is complete.
async fn not_ready(unit: &Unit, process: &Process, limit: Duration) -> Result<Fault, Fault> {
    process.end_now().await?;
    Ok(Fault::NotReady {
        unit: unit.name.clone(),
        timeout: limit,
        log: LogTail::of(&unit.log, LogTail::SHOWN),
    })
}
