//! What is to run: one unit, described without saying where.

use std::path::PathBuf;
use std::time::Duration;

/// How a unit shows that it may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl Readiness {
    /// The longest wait until ready.
    #[must_use]
    pub fn timeout(self) -> Duration {
        match self {
            Readiness::StdoutLine { timeout } | Readiness::Exit { timeout } => timeout,
        }
    }
}

/// One piece to be deployed: a program with its arguments and how it becomes ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// What people call it in messages and records.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<String>,
    /// Variables added to the environment.
    pub env: Vec<(String, String)>,
    /// Where it runs; must exist.
    pub workdir: PathBuf,
    /// Where its stderr goes, appended; the folder must exist.
    pub log: PathBuf,
    /// How it shows that it is ready.
    pub ready: Readiness,
}
