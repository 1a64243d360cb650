//! Measures the auction application on the stores, buses and proxies it can stand on: `cargo xtask bench auction PART`.
//!
//! Each part starts real services and nodes of its own, loads or fails them, and prints a table. Nothing outlives it:
//! services are killed with this process, and nodes end when their standard input does.

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
mod say;
mod stand;
mod usage;
mod watch;

use std::process::ExitCode;

use ground::Ground;
use options::{Options, Part, USAGE};
use page::Report;
use say::say;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if matches!(arguments.as_slice(), [] | ["help" | "--help" | "-h", ..]) {
        say(USAGE);
        return ExitCode::from(2);
    }
    match Options::read(&arguments).and_then(|options| measure(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("failed to measure: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Measures one part; true when nothing was in its way.
fn measure(options: &Options) -> anyhow::Result<bool> {
    let ground = Ground::prepare(options)?;
    let report: Report = match options.part {
        Part::One => one::measure(&ground, options)?,
        Part::Cores => cores::measure(&ground, options)?,
        Part::Nodes => nodes::measure(&ground, options)?,
        Part::Contention => contention::measure(&ground, options)?,
        Part::Abuse => abuse::measure(&ground, options)?,
    };
    say(&format!("\n{}", report.text()));
    report.keep(&ground)?;
    if options.append {
        report.append(&ground)?;
    }
    Ok(report.trouble.is_empty())
}
