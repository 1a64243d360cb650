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

/// Reads what `cargo test -- --show-output` writes. Of tests that passed it keeps what they left out, and shows nothing.
#[derive(Debug, Default)]
struct Output {
    tally: Tally,
    /// What was left out and why, each with the name of the test.
    skips: Vec<String>,
    /// Among what the tests of a program say that passed: the name of the one that says it.
    test: Option<String>,
    among_passed: bool,
    /// The last of a program's tests that was found to be skipped, and how many there are.
    last_skipped: Option<String>,
    skipped: u32,
}

impl Output {
    /// Takes a line; true when it is to be shown.
    fn line(&mut self, line: &str) -> bool {
        if line.starts_with("test result: ") {
            self.tally.add_line(line);
            // For the program of the tests they have passed.
            self.tally.passed = self.tally.passed.saturating_sub(self.skipped);
            self.tally.skipped += self.skipped;
            (self.skipped, self.last_skipped, self.test, self.among_passed) = (0, None, None, false);
            return true;
        }
        match line {
            "successes:" => self.among_passed = true,
            "failures:" => self.among_passed = false,
            _ => {}
        }
        if self.among_passed {
            self.said_by_passed(line);
        }
        !self.among_passed
    }

    fn said_by_passed(&mut self, line: &str) {
        if let Some(test) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.test = Some(test.to_owned());
        } else if let (true, Some(test)) = (line.starts_with(SKIPPED), &self.test) {
            self.skips.push(format!("{test}: {line}"));
            if self.last_skipped.as_ref() != Some(test) {
                self.skipped += 1;
                self.last_skipped = Some(test.clone());
            }
        }
    }
}

/// How a test begins the line that says what it leaves out here, and why.
const SKIPPED: &str = "skipped";

/// How many tests of a program run at once, for a user who does not say it in the environment: half as many again as there
/// are cores, because the longest of them wait for other programs most of their time.
const THREADS: &str = "RUST_TEST_THREADS";

#[expect(clippy::disallowed_methods, reason = "the setting is that of the test programs")]
fn threads() -> Option<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::env::var_os(THREADS).is_none().then(|| (cores + cores.div_ceil(2)).to_string())
}

/// Runs all tests of the workspace, shows their output and at last what was skipped, and returns the numbers and whether cargo
/// was content. A test that leaves out a part of itself counts as skipped.
pub(crate) fn run(root: &Path) -> anyhow::Result<(Tally, bool)> {
    let mut child = building::cargo(root)
        .args(["test", "--workspace", "--no-fail-fast", "--", "--show-output"])
        .envs(threads().map(|threads| (THREADS, threads)))
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo test")?;
    let lines = child.stdout.take().context("take the output of cargo test")?;
    let mut output = Output::default();
    for line in BufReader::new(lines).lines() {
        let line = line.context("read the output of cargo test")?;
        if output.line(&line) {
            say(&line);
        }
    }
    output.skips.iter().for_each(|skip| say(skip));
    let status = child.wait().context("wait for cargo test")?;
    Ok((output.tally, status.success()))
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

    #[test]
    fn what_is_skipped_is_counted_and_kept_with_its_reason() {
        let text = "running 4 tests\ntest a ... ok\ntest b ... ok\ntest c ... ok\ntest d ... FAILED\n\nsuccesses:\n\n\
                    ---- a stdout ----\nskipped: no KVM\n\n---- b stdout ----\n12 ms\nskipped unshare: needs root\n\
                    skipped cgroup: no tree\n\n\nsuccesses:\n    a\n    b\n    c\n\nfailures:\n\n---- d stdout ----\n\
                    skipped: before it failed\n\nfailures:\n    d\n\n\
                    test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                    successes:\n---- a stdout ----\nskipped: of another program\n\
                    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let mut output = Output::default();
        let shown: Vec<&str> = text.lines().filter(|line| output.line(line)).collect();
        assert_eq!(output.tally, Tally { passed: 1, failed: 1, skipped: 3 });
        let skips = [
            "a: skipped: no KVM",
            "b: skipped unshare: needs root",
            "b: skipped cgroup: no tree",
            "a: skipped: of another program",
        ];
        assert_eq!(output.skips, skips);
        assert!(shown.contains(&"skipped: before it failed") && !shown.contains(&"12 ms"), "{shown:?}");
    }
}
