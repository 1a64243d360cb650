//! What is to run: one unit, described without saying on which kind of platform.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a unit shows that it may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Readiness {
    /// A service: it prints one line of JSON, `{"ready":true,"address":"127.0.0.1:PORT"}`, and goes on.
    StdoutLine {
        /// Longest wait for the line.
        timeout: Duration,
    },
    /// A job: it is ready when it ended well; its lines on stdout tell its progress.
    Exit {
        /// Longest run; then it is killed.
        timeout: Duration,
    },
    /// A service that says nothing of itself: it is ready when it answers in its protocol.
    Answers {
        /// What it is asked, and what it must say.
        ask: Ask,
        /// Where it is asked, as seen from its own host.
        address: SocketAddr,
        /// Longest wait for the answer.
        timeout: Duration,
    },
    /// A service that nobody can ask: it is ready when it runs.
    Runs,
}

impl Readiness {
    /// The longest wait until ready.
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
pub enum Ask {
    /// Something accepts connections.
    Listens,
    /// `GET` of a path is answered with 200.
    Http {
        /// The path, beginning with a slash.
        path: String,
    },
    /// PostgreSQL lets its user `postgres` in.
    Postgres,
    /// MySQL's greeting comes.
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

/// Who a unit believes to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum User {
    /// The user who runs Barograph.
    #[default]
    Own,
    /// Anybody but root (PostgreSQL refuses to run as root). Its files still belong to the user who runs Barograph.
    NotRoot,
}

/// The signal that asks a unit to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopSignal {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT: PostgreSQL's quick and orderly end.
    Int,
    /// SIGQUIT: the orderly end of nginx.
    Quit,
}

/// What a unit may use. `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time, in cores.
    pub cpus: Option<f64>,
    /// The cores it may run on, by number; empty for all.
    pub cpu_set: Vec<usize>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
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
    /// Where; a relative path counts from the unit's working folder. Folders above it are made.
    pub path: PathBuf,
    /// What.
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

/// One piece to be deployed: a program with its arguments and how it becomes ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// What people call it in messages and records; unique within a site.
    pub name: String,
    /// The host of the site on which it runs.
    pub host: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<String>,
    /// Variables added to the environment.
    pub env: Vec<(String, String)>,
    /// Files it needs.
    pub files: Vec<UnitFile>,
    /// What is done before it starts, in order.
    pub prepare: Vec<Step>,
    /// Where it runs. Must exist where the unit has no `files` of its own; else it is made.
    pub workdir: PathBuf,
    /// A file on this machine that has its stderr, appended, at the latest when it has been stopped; with
    /// [`Readiness::Answers`] and [`Readiness::Runs`] its stdout as well. The folder must exist.
    pub log: PathBuf,
    /// Who it runs as.
    pub user: User,
    /// What asks it to end.
    pub stop: StopSignal,
    /// What it may use.
    pub limits: Limits,
    /// How it shows that it is ready.
    pub ready: Readiness,
}

impl Unit {
    /// A unit without arguments, files, steps and limits, on the host [`crate::HERE`].
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
            stop: StopSignal::default(),
            limits: Limits::default(),
            ready,
        }
    }
}
