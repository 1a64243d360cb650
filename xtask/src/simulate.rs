//! `cargo xtask simulate`: what a method is worth where the truth is known.

mod compare;
mod gates;

use std::path::Path;

use crate::say::say;

const USAGE: &str = "usage: cargo xtask simulate WHAT

  compare   false verdicts, coverage and power of comparisons; writes docs/reference/comparison.md
  gates     validity checks on clean windows and on planted faults; writes docs/reference/gates.md";

/// Runs one simulation.
pub(crate) fn simulate(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    match words {
        ["compare"] => compare::compare(root),
        ["gates"] => gates::gates(root),
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
