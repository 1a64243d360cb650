//! Control of a load while it is on: commands and answers, a line of JSON each, over a socket in the run's folder.
//!
//! `{"level": 500, "over_s": 10}` changes the load, `{"status": true}` asks for the figures of this moment,
//! `{"stop": true}` ends the load in order. [`ask`] is the side of whoever asks; the run listens in `listen`.

mod listen;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_model::Level;
use barograph_record::KeptUnit;
use serde::{Deserialize, Serialize};

pub(crate) use listen::{Asked, Listening};

/// The folder of the socket in the folder of a run.
pub(crate) const FOLDER: &str = "control";

/// The socket in its folder.
pub(crate) const SOCKET: &str = "control.sock";

/// A line is at most so long: commands and answers are far shorter.
pub(crate) const LONGEST_LINE: usize = 4_096;

/// A run answers at its next interval at the latest, which is at most a minute long.
const PATIENCE: Duration = Duration::from_secs(90);

/// What can be asked of a load that is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Changes the load.
    Level {
        /// The level it leads to.
        level: Level,
        /// What the level counts, when whoever asks wants to be sure; a load of another unit refuses.
        unit: Option<KeptUnit>,
        /// In so many seconds.
        over_s: f64,
    },
    /// Asks for the figures of this moment.
    Status,
    /// Ends the load in order: what was measured is judged.
    Stop,
}

/// A command as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level: Option<Written>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<KeptUnit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over_s: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    status: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stop: bool,
}

/// A level as it is written.
#[derive(Serialize, Deserialize)]
struct Written(#[serde(with = "barograph_record::level")] Level);

/// Longest change of the load: a day.
const LONGEST_S: f64 = 86_400.0;

impl Command {
    /// As a line of JSON without its end.
    #[must_use]
    pub fn line(&self) -> String {
        let empty = Line { level: None, unit: None, over_s: None, status: false, stop: false };
        let line = match *self {
            Command::Level { level, unit, over_s } => {
                Line { level: Some(Written(level)), unit, over_s: Some(over_s), ..empty }
            }
            Command::Status => Line { status: true, ..empty },
            Command::Stop => Line { stop: true, ..empty },
        };
        serde_json::to_string(&line).expect("numbers and words are JSON")
    }

    /// From a line of JSON; an error says what is allowed.
    pub fn read(line: &str) -> Result<Self, String> {
        const ALLOWED: &str =
            "allowed: {\"level\": 500, \"over_s\": 10}, {\"status\": true} or {\"stop\": true}";
        let line: Line =
            serde_json::from_str(line).map_err(|why| format!("not a command ({why}); {ALLOWED}"))?;
        match line {
            Line { level: Some(Written(level)), unit, over_s, status: false, stop: false } => {
                let over_s = over_s.unwrap_or(0.0);
                if !(0.0..=LONGEST_S).contains(&over_s) {
                    return Err(format!("over_s = {over_s}; allowed: 0 to {LONGEST_S}"));
                }
                Ok(Command::Level { level, unit, over_s })
            }
            Line { level: None, unit: None, over_s: None, status: true, stop: false } => Ok(Command::Status),
            Line { level: None, unit: None, over_s: None, status: false, stop: true } => Ok(Command::Stop),
            _ => Err(format!("not one command; {ALLOWED}")),
        }
    }
}

/// What a load answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The command was done.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How things stand, the command included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

impl Reply {
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Reply { ok: false, error: Some(why.into()), status: None }
    }
}

/// How a load stands. Figures are those of the latest interval; zero before its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the phase.
    pub phase: String,
    /// What the level counts.
    pub unit: KeptUnit,
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
    /// Failed ones among them per second.
    pub failed_s: f64,
    /// Response time of all operations, median, milliseconds.
    pub p50_ms: f64,
    /// Response time, 99 % quantile, milliseconds.
    pub p99_ms: f64,
    /// Service time, 99 % quantile, milliseconds.
    pub service_p99_ms: f64,
    /// Start lag, 99 % quantile, milliseconds.
    pub lag_p99_ms: f64,
    /// Arrivals of the interval that waited for a free user.
    pub late: u64,
    /// Arrivals of the interval that never started.
    pub dropped: u64,
    /// Beats of the interval that were left out.
    pub skipped: u64,
}

/// A command had no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// Nobody listens in this run.
    #[error("reach the load of run `{}`: none is on", run.display())]
    NoLoad {
        /// The folder of the run.
        run: PathBuf,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
    /// The connection broke.
    #[error("ask the load of run `{}`", run.display())]
    Broken {
        /// The folder of the run.
        run: PathBuf,
        /// Why.
        #[source]
        why: std::io::Error,
    },
    /// What came back is no answer.
    #[error("understand the answer of run `{}`: {line}", run.display())]
    NoReply {
        /// The folder of the run.
        run: PathBuf,
        /// What came.
        line: String,
    },
}

/// Asks the load of the run whose record is in `run_dir`, and waits for its answer.
pub fn ask(run_dir: &Path, command: &Command) -> Result<Reply, ControlError> {
    let run = || run_dir.to_owned();
    let broken = |why| ControlError::Broken { run: run(), why };
    let folder =
        Folder::open(&run_dir.join(FOLDER)).map_err(|why| ControlError::NoLoad { run: run(), why })?;
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

/// The open folder of a socket. A socket's path may have about a hundred bytes; through an open folder it is short
/// wherever the folder is.
pub(crate) struct Folder(File);

impl Folder {
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        File::open(path).map(Folder)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", self.0.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests;
