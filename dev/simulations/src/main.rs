//! Reliability of the methods where the truth is known: the simulations behind pages in `docs/reference`.
//!
//! `cargo xtask simulate` builds this program with optimisation and runs it.

mod compare;
mod gates;
mod noise;
mod say;
mod search;

use std::path::Path;
use std::process::ExitCode;

use say::say;

const USAGE: &str = "usage: cargo xtask simulate WHAT

  compare   false verdicts, coverage and power of comparisons; writes docs/reference/comparison.md
  noise     the same of a measured study of nothing against itself, in FOLDER; writes docs/reference/noise.md
  gates     validity checks on clean windows and on planted faults; writes docs/reference/gates.md
  search    what the search for the capacity makes of luck; writes docs/reference/search.md (see search --help)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match simulate(root(), &arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("failed to simulate: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs one simulation; true if all of its aims are met.
fn simulate(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    match words {
        ["compare"] => compare::compare(root),
        ["noise", folder] => noise::noise(root, folder),
        ["gates"] => gates::gates(root),
        ["search", "--help"] => {
            say(search::USAGE);
            Ok(true)
        }
        ["search", words @ ..] => search::run(root, words),
        ["help" | "--help" | "-h"] => {
            say(USAGE);
            Ok(true)
        }
        _ => {
            say(USAGE);
            Ok(false)
        }
    }
}

/// The folder of the workspace.
fn root() -> &'static Path {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent);
    above.expect("this crate is a folder of `dev`")
}
