//! Starts one command of a unit with a watcher.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use barograph_platform::{
    Entry, Fault, Ledger, LedgerError, MARK, OnLine, ProcessId, ReadyAddress, Resource, Unit,
};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::command::CommandPrefix;
use crate::containment::{ProcessTree, UnitContainment};
use crate::ignored;
use crate::local::Local;
use crate::running::Process;
use crate::watch::{IsLast, WatchContext, watch_process};

/// Bytes of a unit's stdout per read.
const PIECE: usize = 8 * 1024;

/// Parameters of a command.
pub(crate) struct Launch<'a> {
    pub(crate) unit: &'a Unit,
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [String],
    pub(crate) before: &'a CommandPrefix,
    pub(crate) holding: &'a Arc<UnitContainment>,
    pub(crate) output: Output,
    pub(crate) last: IsLast,
}

/// Destination of its stdout.
pub(crate) enum Output {
    /// Each line is passed to a receiver.
    Lines(OnLine),
    /// It is logged with its stderr.
    Log,
}

/// A started process with its pending output.
pub(crate) struct StartedProcess {
    pub(crate) process: Process,
    pub(crate) lines: Option<Lines>,
    /// The complete command.
    pub(crate) words: Vec<OsString>,
}

/// State of its stdout while it is read.
pub(crate) struct Lines {
    pub(crate) announced: oneshot::Receiver<ReadyAddress>,
    pub(crate) reader: JoinHandle<()>,
}

/// Not async: from the start of the process on it has a watcher.
pub(crate) fn start(launch: Launch<'_>, local: &Local) -> Result<StartedProcess, Fault> {
    let ledger = &local.ledger;
    let Launch { unit, program, args, before, holding, output, last } = launch;
    let name = || unit.name.clone();
    let log = open_log(unit)?;
    let note = |source| Fault::Note { unit: name(), source };
    let failed = |source| Fault::Start { unit: name(), program: program.to_owned(), source };
    let stdout = match &output {
        Output::Lines(_) => Stdio::piped(),
        Output::Log => log.try_clone().map_err(failed)?.into(),
    };
    let words = before.words(program, args);
    let entry = ledger.will(Resource::Process { program: program.to_owned(), id: None }).map_err(note)?;
    let mark = ledger.mark(entry);
    let mut child = match spawn(unit, &words, stdout, log, &mark) {
        Ok(child) => child,
        Err(source) => {
            ledger.removed(entry).map_err(note)?;
            return Err(failed(source));
        }
    };
    let pid = child.id().expect("a process nobody has waited for has a number");
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let held = Arc::new(ProcessTree::new(pid, mark, holding.clone()));
    let (tell, ended) = watch::channel(None);
    let process = Process::new(unit, held.clone(), ended);
    let noted = note_created(program, ledger, entry, pid);
    let watched = WatchContext {
        child,
        stdin,
        held,
        last,
        ledger: ledger.clone(),
        entry,
        site: local.units.subscribe(),
    };
    tokio::spawn(watch_process(watched, tell));
    // Only now: dropping `process` kills it, and the watcher collects it.
    noted.map_err(note)?;
    let lines = match (output, stdout) {
        (Output::Lines(on_line), Some(stdout)) => {
            let (announce, announced) = oneshot::channel();
            // The receiver is gone if the unit was given up; then the line does not matter.
            let found = barograph_platform::Lines::new(on_line, move |line| drop(announce.send(line)));
            Some(Lines { announced, reader: tokio::spawn(read_lines(stdout, found)) })
        }
        _ => None,
    };
    Ok(StartedProcess { process, lines, words })
}

async fn read_lines(mut stdout: impl AsyncRead + Unpin, mut lines: barograph_platform::Lines) {
    let mut piece = vec![0; PIECE];
    // An unreadable pipe counts as closed: the end of the process reports the rest.
    while let Ok(count @ 1..) = stdout.read(&mut piece).await {
        lines.take(&piece[..count]);
    }
    lines.finish();
}

fn open_log(unit: &Unit) -> Result<File, Fault> {
    OpenOptions::new().append(true).create(true).open(&unit.log).map_err(|source| Fault::OpenLog {
        unit: unit.name.clone(),
        path: unit.log.clone(),
        source,
    })
}

fn spawn(unit: &Unit, words: &[OsString], stdout: Stdio, log: File, mark: &str) -> std::io::Result<Child> {
    ignored::hand_none_on()?;
    Command::new(&words[0])
        .args(&words[1..])
        .envs(unit.env.iter().map(|(key, value)| (key, value)))
        .env(MARK, mark)
        .current_dir(&unit.workdir)
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(log)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// A process that has ended already has no start time; its entry stays as announced until the watcher records
/// its end.
fn note_created(program: &Path, ledger: &Ledger, entry: Entry, pid: u32) -> Result<(), LedgerError> {
    let Some(id) = ProcessId::of(pid) else { return Ok(()) };
    ledger.done(entry, Resource::Process { program: program.to_owned(), id: Some(id) })
}
