//! Formats of printed conclusions.

use clap::ValueEnum;

/// The form of conclusions.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables and sentences for a terminal
    Text,
    /// One object
    Json,
    /// Tables for a pull request
    Markdown,
    /// JUnit XML for a build server, a case per metric
    Junit,
}
