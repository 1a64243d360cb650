//! The seam to programs that a workload brings along for its application: those that serve it, fill it and load its stores.

use barograph_platform::Later;
use clap::{ArgMatches, Command};

use crate::CommandError;

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Serves until it is told to end.
    Serve,
    /// Fills a data set.
    Fill,
    /// Loads a data set into servers.
    Load,
}

/// A program of a workload, as in `barograph serve auction`. Its name is the workload's.
pub trait Program: Sync {
    /// The command with what it is about, and with its arguments.
    fn arguments(&self, command: Command) -> Command;

    /// Runs it to its end. `typed` has the values of [`Self::arguments`].
    ///
    /// # Errors
    /// Arguments that are not possible, and work that could not be done.
    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError>;
}

/// Terminal, signals and machine, as a program needs them.
pub struct Outside {
    /// Writes a line of the result to standard output.
    pub result: fn(&str),
    /// Writes a line for people to standard error.
    pub say: fn(&str),
    /// Calls this when standard input has ended, on a thread of its own.
    pub when_input_ends: fn(Box<dyn FnOnce() + Send>),
    /// Ends when the program is told to end, within a runtime of tokio.
    pub told_to_end: fn(Supervision) -> Later<'static, ()>,
    /// Raises the limit of open files as far as allowed, and gives it.
    pub raise_open_files: fn() -> u64,
    /// Cores that it may use.
    pub cores: usize,
}

/// What tells a program to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervision {
    /// A signal: INT or TERM.
    Signals,
    /// A signal or the end of standard input, which comes with the end of the program that started this one.
    SignalsAndInput,
}
