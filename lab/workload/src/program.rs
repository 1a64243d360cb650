//! The seam to programs of a workload for its application: those that serve it, fill it and load its stores.

use barograph_platform::BoxFuture;
use clap::{ArgMatches, Command};

use crate::CommandError;

/// Kind of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Serves until told to end.
    Serve,
    /// Fills a data set.
    Fill,
    /// Loads a data set into servers.
    Load,
}

/// A program of a workload, as in `barograph serve NAME`. It has the name of the workload.
pub trait Program: Sync {
    /// Adds description and arguments to the command.
    fn arguments(&self, command: Command) -> Command;

    /// Runs the program to its end. `typed` has the values of [`Self::arguments`].
    ///
    /// # Errors
    /// If arguments are impossible, or the work fails.
    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError>;
}

/// Access of a program to terminal, signals and machine.
pub struct Outside {
    /// Writes a line of the result to standard output.
    pub result: fn(&str),
    /// Writes a message to standard error.
    pub say: fn(&str),
    /// Calls its argument when standard input has ended, on a thread of its own.
    pub when_input_ends: fn(Box<dyn FnOnce() + Send>),
    /// Completes at a request to end, within a runtime of tokio.
    pub told_to_end: fn(Supervision) -> BoxFuture<'static, ()>,
    /// Raises the limit of open files as far as allowed, and returns it.
    pub raise_open_files: fn() -> u64,
    /// Number of cores that the program may use.
    pub cores: usize,
}

/// Signals that end a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervision {
    /// A signal: INT or TERM.
    Signals,
    /// A signal, or the end of standard input, which comes with the end of the parent process.
    SignalsAndInput,
}
