//! Starts a unit and waits until it is ready.

use std::fs::{File, OpenOptions};
use std::process::Stdio;
use std::time::Duration;

use barograph_platform::{Ended, Entry, Fault, Ledger, OnLine, Readiness, Thing, Unit};
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::lines::{Announced, read_lines};
use crate::proc_fs::{MARK, identify, mark};
use crate::running::{Process, SHOWN_LINES, Watched, log_tail, watch_process};

/// The last lines of an ended process are in the pipe already; only a child of it that fled its group could hold the
/// pipe open.
const LAST_LINES_WAIT: Duration = Duration::from_secs(2);

/// A started process and what is still to come from it.
struct Started {
    process: Process,
    announced: oneshot::Receiver<Announced>,
    lines: JoinHandle<()>,
}

/// What happened first.
enum First {
    Announced(Announced),
    Ended(Ended),
}

/// Creates `unit` and waits until it is ready. When it fails, the process has ended.
pub(crate) async fn create(unit: &Unit, ledger: &Ledger, on_line: OnLine) -> Result<Process, Fault> {
    let started = start(unit, ledger, on_line)?;
    match unit.ready {
        Readiness::StdoutLine { timeout } => until_announced(unit, started, timeout).await,
        Readiness::Exit { timeout } => until_done(unit, started, timeout).await,
    }
}

/// Nothing is awaited in here: from the start of the process on, somebody watches it.
fn start(unit: &Unit, ledger: &Ledger, on_line: OnLine) -> Result<Started, Fault> {
    let name = || unit.name.clone();
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&unit.log)
        .map_err(|source| Fault::OpenLog { unit: name(), path: unit.log.clone(), source })?;
    let note = |source| Fault::Note { unit: name(), source };
    let entry = ledger.will(Thing::Process { program: unit.program.clone(), id: None }).map_err(note)?;
    let mut child = match spawn(unit, log, &mark(ledger, entry)) {
        Ok(child) => child,
        Err(source) => {
            ledger.removed(entry).map_err(note)?;
            return Err(Fault::Start { unit: name(), program: unit.program.clone(), source });
        }
    };
    let pid = child.id().expect("a process nobody has waited for has a number");
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("stdout is a pipe"));
    let (tell, ended) = watch::channel(None);
    let process = Process { name: name(), pid, log: unit.log.clone(), address: None, ended };
    let noted = note_created(unit, ledger, entry, pid);
    let watched = Watched { child, stdin, pid, ledger: ledger.clone(), entry };
    tokio::spawn(watch_process(watched, tell));
    // Only now: dropping `process` kills it, and the watcher collects it.
    noted.map_err(note)?;
    let (announce, announced) = oneshot::channel();
    let lines = tokio::spawn(read_lines(stdout, on_line, announce));
    Ok(Started { process, announced, lines })
}

fn spawn(unit: &Unit, log: File, mark: &str) -> std::io::Result<Child> {
    Command::new(&unit.program)
        .args(&unit.args)
        .envs(unit.env.iter().map(|(key, value)| (key, value)))
        .env(MARK, mark)
        .current_dir(&unit.workdir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// A process that ended within this instant has no start any more; then its entry stays as announced until the
/// watcher notes its end.
fn note_created(
    unit: &Unit,
    ledger: &Ledger,
    entry: Entry,
    pid: u32,
) -> Result<(), barograph_platform::LedgerError> {
    let Some(id) = identify(pid) else { return Ok(()) };
    ledger.done(entry, Thing::Process { program: unit.program.clone(), id: Some(id) })
}

async fn until_announced(unit: &Unit, started: Started, limit: Duration) -> Result<Process, Fault> {
    let Started { mut process, announced, lines: _ } = started;
    let first = timeout(limit, async {
        tokio::select! {
            biased;
            // A closed stdout without a ready line disables this branch: the end or the time-out decides.
            Ok(announced) = announced => First::Announced(announced),
            ended = process.until_ended() => First::Ended(ended),
        }
    });
    let first = first.await;
    match first {
        Ok(First::Announced(Ok(address))) => {
            process.address = Some(address);
            Ok(process)
        }
        Ok(First::Announced(Err(source))) => {
            process.end_now().await?;
            Err(Fault::BadReadyLine { unit: unit.name.clone(), source })
        }
        Ok(First::Ended(ended)) => Err(ended_early(unit, ended)),
        Err(_) => Err(not_ready(unit, &process, limit).await?),
    }
}

async fn until_done(unit: &Unit, started: Started, limit: Duration) -> Result<Process, Fault> {
    let Started { process, announced: _, mut lines } = started;
    let ended = timeout(limit, process.until_ended()).await;
    match ended {
        Ok(ended) => {
            if timeout(LAST_LINES_WAIT, &mut lines).await.is_err() {
                lines.abort();
            }
            if ended.is_success() { Ok(process) } else { Err(ended_early(unit, ended)) }
        }
        Err(_) => Err(not_ready(unit, &process, limit).await?),
    }
}

fn ended_early(unit: &Unit, ended: Ended) -> Fault {
    Fault::EndedEarly { unit: unit.name.clone(), ended, log: log_tail(&unit.log, SHOWN_LINES) }
}

/// Kills it first, so that its log is complete.
async fn not_ready(unit: &Unit, process: &Process, limit: Duration) -> Result<Fault, Fault> {
    process.end_now().await?;
    Ok(Fault::NotReady { unit: unit.name.clone(), timeout: limit, log: log_tail(&unit.log, SHOWN_LINES) })
}
