//! Control of a running load: commands and replies, each a line of JSON, over a socket in the run's folder.
//!
//! `{"level": 500, "over_s": 10}` changes the load, `{"status": true}` asks for the current figures,
//! `{"stop": true}` ends the load in order. [`ask`] is the client; the run's side is `listen`.

mod listen;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_model::Level;
use barograph_record::UnitRecord;
use serde::{Deserialize, Serialize};

pub(crate) use listen::{ControlListener, ReceivedCommand};

/// Folder of the socket, in the folder of a run.
pub(crate) const FOLDER: &str = "control";

/// Name of the socket.
pub(crate) const SOCKET: &str = "control.sock";

/// Longest line in bytes; commands and replies are far shorter.
pub(crate) const LONGEST_LINE: usize = 4_096;

/// Longest wait for a reply. A run replies at its next interval, which is at most a minute long.
const PATIENCE: Duration = Duration::from_secs(90);

/// A command for a running load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Changes the load.
    Level {
        /// The new level.
        level: Level,
        /// Expected unit of the level; a load of another unit refuses.
        unit: Option<UnitRecord>,
        /// Seconds over which the level changes.
        over_s: f64,
    },
    /// Asks for the current figures.
    Status,
    /// Ends the load in order; the measured windows are judged.
    Stop,
}

/// A command as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level: Option<LevelText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<UnitRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over_s: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    status: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stop: bool,
}

/// A level as written.
#[derive(Serialize, Deserialize)]
struct LevelText(#[serde(with = "barograph_record::level")] Level);

/// Longest change of the load in seconds: a day.
const LONGEST_S: f64 = 86_400.0;

impl Command {
    /// Returns the command as a line of JSON without line end.
    #[must_use]
    pub fn line(&self) -> String {
        let empty = CommandLine { level: None, unit: None, over_s: None, status: false, stop: false };
        let line = match *self {
            Command::Level { level, unit, over_s } => {
                CommandLine { level: Some(LevelText(level)), unit, over_s: Some(over_s), ..empty }
            }
            Command::Status => CommandLine { status: true, ..empty },
            Command::Stop => CommandLine { stop: true, ..empty },
        };
        serde_json::to_string(&line).expect("numbers and words are JSON")
    }

    /// Reads a command from a line of JSON. An error lists what is allowed.
    pub fn read(line: &str) -> Result<Self, String> {
        const ALLOWED: &str =
            "allowed: {\"level\": 500, \"over_s\": 10}, {\"status\": true} or {\"stop\": true}";
        let line: CommandLine =
            serde_json::from_str(line).map_err(|why| format!("not a command ({why}); {ALLOWED}"))?;
        match line {
            CommandLine { level: Some(LevelText(level)), unit, over_s, status: false, stop: false } => {
                let over_s = over_s.unwrap_or(0.0);
                if !(0.0..=LONGEST_S).contains(&over_s) {
                    return Err(format!("over_s = {over_s}; allowed: 0 to {LONGEST_S}"));
                }
                Ok(Command::Level { level, unit, over_s })
            }
            CommandLine { level: None, unit: None, over_s: None, status: true, stop: false } => {
                Ok(Command::Status)
            }
            CommandLine { level: None, unit: None, over_s: None, status: false, stop: true } => {
                Ok(Command::Stop)
            }
            _ => Err(format!("not one command; {ALLOWED}")),
        }
    }
}

/// Reply of a load to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Whether the command was carried out.
    pub ok: bool,
    /// Why the command was not carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Status after the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

impl Reply {
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Reply { ok: false, error: Some(why.into()), status: None }
    }
}

/// Status of a load. Figures are those of the latest interval; zero before its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the phase.
    pub phase: String,
    /// Unit of the level.
    pub unit: UnitRecord,
    /// The level asked for.
    #[serde(with = "barograph_record::level")]
    pub level: Level,
    /// Seconds since the load began.
    pub at_s: f64,
    /// Longest time the load may still take, seconds.
    pub remaining_s: f64,
    /// Users active.
    pub users: u32,
    /// Operations started per second.
    pub starts_s: f64,
    /// Operations ended per second.
    pub ops_s: f64,
    /// Operations failed per second.
    pub failed_s: f64,
    /// Median response time of all operations, milliseconds.
    pub p50_ms: f64,
    /// 99 % quantile of response time, milliseconds.
    pub p99_ms: f64,
    /// 99 % quantile of service time, milliseconds.
    pub service_p99_ms: f64,
    /// 99 % quantile of start lag, milliseconds.
    pub lag_p99_ms: f64,
    /// Arrivals in the interval that waited for a free user.
    pub late: u64,
    /// Arrivals in the interval that never started.
    pub dropped: u64,
    /// Beats in the interval that were left out.
    pub skipped: u64,
}

/// Failure to get a reply to a command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// No load listens in this run.
    #[error("reach the load of run `{}`: none is on", run.display())]
    NoLoad {
        /// Folder of the run.
        run: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The connection broke.
    #[error("ask the load of run `{}`", run.display())]
    Broken {
        /// Folder of the run.
        run: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The reply is malformed.
    #[error("understand the answer of run `{}`: {line}", run.display())]
    NoReply {
        /// Folder of the run.
        run: PathBuf,
        /// The line received.
        line: String,
    },
}

/// Sends a command to the load of the run whose record is in `run_dir`, and waits for the reply.
pub fn ask(run_dir: &Path, command: &Command) -> Result<Reply, ControlError> {
    let run = || run_dir.to_owned();
    let broken = |why| ControlError::Broken { run: run(), why };
    let folder =
        SocketFolder::open(&run_dir.join(FOLDER)).map_err(|why| ControlError::NoLoad { run: run(), why })?;
    let mut stream =
        UnixStream::connect(folder.socket()).map_err(|why| ControlError::NoLoad { run: run(), why })?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(broken)?;
    stream.write_all(format!("{}\n", command.line()).as_bytes()).map_err(broken)?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_LINE as u64)).read_line(&mut line).map_err(broken)?;
    serde_json::from_str(&line)
        .map_err(|_| ControlError::NoReply { run: run(), line: line.trim().to_owned() })
}

/// Open folder of a socket. The path of a socket is limited to about a hundred bytes; through an open folder
/// it is short wherever the folder is.
pub(crate) struct SocketFolder(File);

impl SocketFolder {
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        File::open(path).map(SocketFolder)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", self.0.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests;
