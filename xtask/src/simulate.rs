//! `cargo xtask simulate`: what a method is worth where the truth is known.

mod compare;
mod gates;
mod noise;
mod search;

use std::path::Path;

use crate::say::say;

const USAGE: &str = "usage: cargo xtask simulate WHAT

  compare   false verdicts, coverage and power of comparisons; writes docs/reference/comparison.md
  noise     the same of a measured study of nothing against itself, in FOLDER; writes docs/reference/noise.md
  gates     validity checks on clean windows and on planted faults; writes docs/reference/gates.md
  search    what the search for the capacity makes of luck; writes docs/reference/search.md (see search --help)";

/// Runs one simulation.
pub(crate) fn simulate(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
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
