//! Description of a unit, independent of the kind of platform.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::MissingRequirement;

/// Kind of a unit's readiness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Readiness {
    /// A service that prints a line of JSON, `{"ready":true,"address":"127.0.0.1:PORT"}`, and continues.
    StdoutLine {
        /// Longest wait for the line.
        timeout: Duration,
    },
    /// A job, which is ready when it has succeeded; its lines on stdout report progress.
    Exit {
        /// Longest run, after which it is killed.
        timeout: Duration,
    },
    /// A service that does not report readiness: it is ready when it answers in its protocol.
    Answers {
        /// The question and the expected answer.
        ask: ReadinessCheck,
        /// Address of the question, as seen from its own host.
        address: SocketAddr,
        /// Longest wait for the answer.
        timeout: Duration,
    },
    /// A service that cannot be asked: it is ready when it runs.
    Runs,
}

impl Readiness {
    /// Returns the longest wait for readiness.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        match self {
            Readiness::StdoutLine { timeout }
            | Readiness::Exit { timeout }
            | Readiness::Answers { timeout, .. } => *timeout,
            Readiness::Runs => Duration::ZERO,
        }
    }
}

/// A question in the protocol of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadinessCheck {
    /// A connection is accepted.
    Listens,
    /// `GET` of a path is answered with 200.
    Http {
        /// The path, beginning with a slash.
        path: String,
    },
    /// PostgreSQL accepts its user `postgres`.
    Postgres,
    /// MySQL sends its greeting.
    MySql,
    /// AMQP 0-9-1 is answered with its first method.
    Amqp,
    /// NATS greets with `INFO`.
    Nats,
    /// MongoDB's `hello` is answered.
    MongoDb,
    /// `PING` is answered as Redis does.
    Redis,
    /// `version` is answered as memcached does.
    Memcached,
}

/// User of a unit's processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum User {
    /// The user that runs Barograph.
    #[default]
    Own,
    /// Any user but root (PostgreSQL refuses to run as root). Its files still belong to the user that runs
    /// Barograph.
    NotRoot,
}

/// A privilege of Linux that a unit needs and that containers lack by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Capability {
    /// Opens files by their handles.
    #[serde(rename = "DAC_READ_SEARCH")]
    DacReadSearch,
}

impl Capability {
    /// Its name, without `CAP_`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Capability::DacReadSearch => "DAC_READ_SEARCH",
        }
    }
}

/// The signal that asks a unit to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopSignal {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT: the fast orderly shutdown of PostgreSQL.
    Int,
    /// SIGQUIT: the orderly shutdown of nginx.
    Quit,
}

/// Limits of a unit. `None` means unlimited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time, in cores.
    pub cpus: Option<f64>,
    /// Numbers of the cores it may run on; empty for all.
    pub cpu_set: Vec<usize>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Bytes a second that it may read from each disk, and write to it.
    pub disk_bytes_s: Option<u64>,
}

impl Limits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Limits::default()
    }
}

/// A file that is written before a unit starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitFile {
    /// Path; a relative one is relative to the unit's working folder. Its parent folders are created.
    pub path: PathBuf,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Permission bits, as 0o644.
    pub mode: u32,
}

/// A command that must succeed before the unit starts; it runs as the unit's user in its working folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// One deployed piece: a program with its arguments and its way to become ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// Name in messages and records; unique within a site.
    pub name: String,
    /// Host within the site.
    pub host: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<String>,
    /// Variables added to the environment.
    pub env: Vec<(String, String)>,
    /// Files that it needs.
    pub files: Vec<UnitFile>,
    /// Steps before its start, in order.
    pub prepare: Vec<Step>,
    /// Working folder. It must exist if the unit has no `files`; otherwise it is created.
    pub workdir: PathBuf,
    /// File on this machine to which its stderr is appended, at the latest when it has been stopped; with
    /// [`Readiness::Answers`] and [`Readiness::Runs`] its stdout as well. The folder must exist.
    pub log: PathBuf,
    /// User of its processes.
    pub user: User,
    /// Capabilities that they need.
    pub capabilities: Vec<Capability>,
    /// Signal that asks it to end.
    pub stop: StopSignal,
    /// Its limits.
    pub limits: Limits,
    /// Kind of its readiness.
    pub ready: Readiness,
}

impl Unit {
    /// Makes a unit without arguments, files, steps and limits, on the host [`crate::HERE`].
    #[must_use]
    pub fn new(name: &str, program: PathBuf, ready: Readiness) -> Self {
        Unit {
            name: name.to_owned(),
            host: crate::HERE.to_owned(),
            program,
            args: Vec::new(),
            env: Vec::new(),
            files: Vec::new(),
            prepare: Vec::new(),
            workdir: PathBuf::from("/"),
            log: PathBuf::from("/dev/null"),
            user: User::default(),
            capabilities: Vec::new(),
            stop: StopSignal::default(),
            limits: Limits::default(),
            ready,
        }
    }

    /// Checks that its working folder is there, unless it is created with its files.
    ///
    /// # Errors
    /// If it is missing.
    pub fn check_workdir(&self) -> Result<(), MissingRequirement> {
        if self.files.is_empty() { folder_is_there(&self.workdir) } else { Ok(()) }
    }

    /// Checks that the folder of its log is there. A log without a folder is in the current one, which exists.
    ///
    /// # Errors
    /// If it is missing.
    pub fn check_log_folder(&self) -> Result<(), MissingRequirement> {
        self.log.parent().filter(|folder| *folder != Path::new("")).map_or(Ok(()), folder_is_there)
    }
}

fn folder_is_there(folder: &Path) -> Result<(), MissingRequirement> {
    if folder.is_dir() {
        return Ok(());
    }
    let what = format!("folder `{}` is not there", folder.display());
    Err(MissingRequirement { what, hint: "make it first".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_must_be_there_unless_they_are_made_or_current() {
        let dir = tempfile::tempdir().unwrap();
        let mut unit = Unit::new("one", PathBuf::from("/bin/true"), Readiness::Runs);
        let gone = dir.path().join("gone");
        let missing = MissingRequirement {
            what: format!("folder `{}` is not there", gone.display()),
            hint: "make it first".to_owned(),
        };
        (unit.workdir, unit.log) = (gone.clone(), gone.join("log"));
        assert_eq!(unit.check_workdir(), Err(missing.clone()));
        assert_eq!(unit.check_log_folder(), Err(missing));
        unit.files.push(UnitFile { path: PathBuf::from("a"), bytes: Vec::new(), mode: 0o644 });
        assert_eq!(unit.check_workdir(), Ok(()));
        for log in [dir.path().join("log"), PathBuf::from("log")] {
            unit.log = log;
            assert_eq!(unit.check_log_folder(), Ok(()));
        }
    }
}
