//! `cargo xtask simulate`: what a method is worth where the truth is known.

mod compare;

use std::path::Path;

use crate::say::say;

const USAGE: &str = "usage: cargo xtask simulate WHAT

  compare   false verdicts, coverage and power of comparisons; writes docs/reference/comparison.md";

/// Runs one simulation.
pub(crate) fn simulate(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    match words {
        ["compare"] => compare::compare(root),
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
