//! Measures the auction application on its stores, buses and proxies: `cargo xtask bench auction PART`.
//!
//! Each part starts real services and nodes of its own, loads or fails them, and prints a table. Nothing
//! outlives it: services are killed with this process, and nodes end when their standard input does.

mod abuse;
mod ask;
mod contention;
mod cores;
mod ground;
mod load;
mod node;
mod nodes;
mod one;
mod options;
mod outages;
mod pace;
mod page;
mod quantile;
mod stand;
mod usage;
mod watch;

use ground::BenchSetup;
use options::{BenchPart, Options, USAGE};
use page::Report;

use crate::say::say;

/// Measures the part named in the arguments; true without any trouble.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    match words {
        [] => {
            say(USAGE);
            Ok(false)
        }
        ["help" | "--help" | "-h", ..] => {
            say(USAGE);
            Ok(true)
        }
        _ => measure(&Options::read(words)?),
    }
}

fn measure(options: &Options) -> anyhow::Result<bool> {
    let ground = BenchSetup::prepare(options)?;
    let report: Report = match options.part {
        BenchPart::One => one::measure(&ground, options)?,
        BenchPart::Cores => cores::measure(&ground, options)?,
        BenchPart::Nodes => nodes::measure(&ground, options)?,
        BenchPart::Contention => contention::measure(&ground, options)?,
        BenchPart::Abuse => abuse::measure(&ground, options)?,
    };
    say(&format!("\n{}", report.text()));
    report.keep(&ground)?;
    if options.append {
        report.append(&ground)?;
    }
    Ok(report.trouble.is_empty())
}
