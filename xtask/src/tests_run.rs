//! Runs `cargo test` and adds up what its result lines say.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::Context;

use crate::building;
use crate::say::say;

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

impl Tally {
    /// Adds the numbers of a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; other lines count
    /// nothing.
    fn add_line(&mut self, line: &str) {
        let Some((_, numbers)) =
            line.trim().strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for part in numbers.split(';') {
            let Some((number, what)) = part.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

/// How many tests of a program run at once, for a user who does not say it in the environment: half as many again as there
/// are cores, because the longest of them wait for other programs most of their time.
const THREADS: &str = "RUST_TEST_THREADS";

#[expect(clippy::disallowed_methods, reason = "the setting is that of the test programs")]
fn threads() -> Option<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::env::var_os(THREADS).is_none().then(|| (cores + cores.div_ceil(2)).to_string())
}

/// Runs all tests of the workspace, shows their output, and returns the numbers and whether cargo was content.
pub(crate) fn run(root: &Path) -> anyhow::Result<(Tally, bool)> {
    let mut child = building::cargo(root)
        .args(["test", "--workspace", "--no-fail-fast"])
        .envs(threads().map(|threads| (THREADS, threads)))
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo test")?;
    let output = child.stdout.take().context("take the output of cargo test")?;
    let mut tally = Tally::default();
    for line in BufReader::new(output).lines() {
        let line = line.context("read the output of cargo test")?;
        tally.add_line(&line);
        say(&line);
    }
    let status = child.wait().context("wait for cargo test")?;
    Ok((tally, status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_added_up() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 14 passed; 0 failed; 2 ignored; 0 measured; 7 filtered out; finished in 0.46s",
            "test a_test ... FAILED",
            "test result: FAILED. 6 passed; 1 failed; 0 ignored; 0 measured; 14 filtered out; finished in 0.10s",
            "test result: something else",
        ] {
            tally.add_line(line);
        }
        assert_eq!(tally, Tally { passed: 20, failed: 1, skipped: 2 });
    }
}
