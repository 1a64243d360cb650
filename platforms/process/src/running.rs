//! One unit that runs: its end, its stop, its pause, its log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{Ended, Entry, Fault, Later, Ledger, LogTail, Logs, Pause, Running};
use rustix::process::Signal;
use tokio::process::{Child, ChildStdin};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::proc_fs::signal_group;

/// A killed process ends as soon as the kernel lets go of it; only a stuck disk takes longer than this.
const KILL_WAIT: Duration = Duration::from_secs(10);

/// Lines shown of the log of a unit that failed.
pub(crate) const SHOWN_LINES: usize = 20;

/// The part of a log that is looked at for its last lines.
const TAIL_BYTES: u64 = 32 * 1024;

/// A unit as a process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) pid: u32,
    pub(crate) log: PathBuf,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) ended: watch::Receiver<Option<Ended>>,
}

/// What the watcher of a process needs to own.
pub(crate) struct Watched {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) pid: u32,
    pub(crate) ledger: Ledger,
    pub(crate) entry: Entry,
}

/// Waits for the end of a process, ends what is left of its group, notes that and tells everybody.
pub(crate) async fn watch_process(mut watched: Watched, tell: watch::Sender<Option<Ended>>) {
    let ended = match watched.child.wait().await {
        Ok(status) => Ended::from(status),
        Err(error) => Ended::Unknown(error.to_string()),
    };
    // The leader's number is free now, but a group keeps it busy while it has members, and numbers go round slowly.
    let group = signal_group(watched.pid, Signal::KILL);
    // What cannot be noted stays in the ledger, and the next sweep finds it gone.
    if group.is_ok() {
        let _ = watched.ledger.removed(watched.entry);
    }
    drop(watched.stdin);
    let _ = tell.send(Some(ended));
}

impl Process {
    fn ended_already(&self) -> bool {
        self.ended.borrow().is_some()
    }

    fn signal(&self, signal: Signal, act: &'static str) -> Result<(), Fault> {
        if self.ended_already() {
            return Ok(());
        }
        let failed = |source: io::Error| Fault::Signal { unit: self.name.clone(), act, source };
        signal_group(self.pid, signal).map_err(failed)
    }

    pub(crate) async fn until_ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.map(|ended| ended.clone()) {
            Ok(Some(ended)) => ended,
            _ => Ended::Unknown("its watcher was stopped".to_owned()),
        }
    }

    pub(crate) async fn end_now(&self) -> Result<Ended, Fault> {
        self.signal(Signal::KILL, "kill")?;
        let late = |_| Fault::WillNotEnd { unit: self.name.clone(), after: KILL_WAIT };
        timeout(KILL_WAIT, self.until_ended()).await.map_err(late)
    }

    async fn end_with_grace(&self, grace: Duration) -> Result<Ended, Fault> {
        self.signal(Signal::TERM, "stop")?;
        // A paused process takes no notice of a request until it goes on.
        self.signal(Signal::CONT, "resume")?;
        match timeout(grace, self.until_ended()).await {
            Ok(ended) => Ok(ended),
            Err(_) => self.end_now().await,
        }
    }
}

impl Running for Process {
    fn name(&self) -> &str {
        &self.name
    }

    fn pid(&self) -> Option<u32> {
        Some(self.pid)
    }

    fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    fn wait_exit(&self) -> Later<'_, Ended> {
        Box::pin(self.until_ended())
    }

    fn stop(&self, grace: Duration) -> Later<'_, Result<Ended, Fault>> {
        Box::pin(self.end_with_grace(grace))
    }

    fn kill(&self) -> Later<'_, Result<Ended, Fault>> {
        Box::pin(self.end_now())
    }

    fn pausing(&self) -> Option<&dyn Pause> {
        Some(self)
    }

    fn logs(&self) -> Option<&dyn Logs> {
        Some(self)
    }
}

impl Pause for Process {
    fn pause(&self) -> Result<(), Fault> {
        self.signal(Signal::STOP, "pause")
    }

    fn resume(&self) -> Result<(), Fault> {
        self.signal(Signal::CONT, "resume")
    }
}

impl Logs for Process {
    fn tail(&self, lines: usize) -> LogTail {
        log_tail(&self.log, lines)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; the ledger still names the process then.
        let _ = self.signal(Signal::KILL, "kill");
    }
}

/// The last `lines` lines of the file; a log that cannot be read has none.
pub(crate) fn log_tail(log: &Path, lines: usize) -> LogTail {
    let read = || -> io::Result<(bool, Vec<u8>)> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        let skipped = length.saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(skipped))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok((skipped > 0, bytes))
    };
    let Ok((cut, bytes)) = read() else { return LogTail::default() };
    let text = String::from_utf8_lossy(&bytes);
    // When the beginning was skipped, the first line is a piece of one.
    let whole: Vec<&str> = text.lines().skip(usize::from(cut)).collect();
    LogTail(whole[whole.len().saturating_sub(lines)..].iter().map(|&l| l.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        assert_eq!(log_tail(&log, 3), LogTail::default(), "no file, no lines");
        std::fs::write(&log, "a\nb\nc\nd").unwrap();
        assert_eq!(log_tail(&log, 2).0, ["c", "d"]);
        assert_eq!(log_tail(&log, 9).0.len(), 4);
        std::fs::write(&log, format!("{}\nend\n", "x".repeat(40_000))).unwrap();
        assert_eq!(log_tail(&log, 9).0, ["end"], "a piece of a line is not shown");
    }
}
