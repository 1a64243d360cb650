//! The steps of `cargo xtask test`, in order, all of them run even when an earlier one failed.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;

use crate::building;
use crate::ferretdb;
use crate::go;
use crate::packages;
use crate::say::say;
use crate::stolen::Thief;
use crate::tests_run::{self, Tally};
use crate::victoria::VICTORIA_METRICS;

/// A cargo command that must succeed.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const FORMAT: Step = Step { name: "format", arguments: &["fmt", "--all", "--check"], environment: &[] };
const CLIPPY: Step = Step {
    name: "clippy",
    arguments: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
    environment: &[],
};
const BUILD: Step =
    Step { name: "build of the tests", arguments: &["test", "--workspace", "--no-run"], environment: &[] };
const DOCUMENTATION: Step = Step {
    name: "documentation",
    arguments: &["doc", "--no-deps", "--workspace"],
    environment: &[("RUSTDOCFLAGS", "-Dwarnings")],
};

/// What came of the steps so far.
#[derive(Default)]
struct Report {
    tally: Tally,
    lines: Vec<String>,
    good: bool,
}

impl Report {
    fn step(
        &mut self,
        name: &str,
        step: impl FnOnce(&mut Tally) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        say(&format!("==> {name}"));
        let began = Instant::now();
        let failed_before = self.tally.failed;
        let good = step(&mut self.tally)?;
        if !good && self.tally.failed == failed_before {
            // A step that fails without a failed test (format, a crash, a build error) is one failure.
            self.tally.failed += 1;
        }
        self.good &= good;
        let word = if good { "ok    " } else { "FAILED" };
        self.lines.push(format!("{word} {name} ({:.0} s)", began.elapsed().as_secs_f64()));
        Ok(())
    }

    /// Says what came of the steps; true when all of it succeeded.
    fn told(&self) -> bool {
        say("==> summary");
        self.lines.iter().for_each(|line| say(line));
        say(&self.closing_line());
        self.good
    }

    fn closing_line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.tally.passed, self.tally.failed, self.tally.skipped)
    }
}

/// Installs and builds what tests need and is missing. Returns how much is missing still, each of which was said.
pub(crate) fn install_tools(root: &Path) -> u32 {
    packages::install_missing() + ferretdb::build_missing(root) + go::build_missing(root, &VICTORIA_METRICS)
}

/// Runs everything; true when all of it succeeded.
pub(crate) fn test(root: &Path) -> anyhow::Result<bool> {
    let mut report = Report { good: true, ..Report::default() };
    building::look_at_disk(root)?;
    // What is missing still was said; the tests that need it count themselves as skipped.
    install_tools(root);
    report.step(FORMAT.name, |_| cargo(root, &FORMAT))?;
    report.step(CLIPPY.name, |_| cargo(root, &CLIPPY))?;
    report.step("tidy", |_| crate::tidy_alone(root))?;
    report.step("tests", |tally| tests(root, tally))?;
    report.step(DOCUMENTATION.name, |_| cargo(root, &DOCUMENTATION))?;
    Ok(report.told())
}

/// Runs all tests while the processors are taken away now and then; true when all of them succeeded.
pub(crate) fn test_stolen(root: &Path) -> anyhow::Result<bool> {
    let mut report = Report { good: true, ..Report::default() };
    building::look_at_disk(root)?;
    install_tools(root);
    report.step(BUILD.name, |_| cargo(root, &BUILD))?;
    let thief = Thief::start()?;
    report.step("tests", |tally| tests(root, tally))?;
    thief.stop()?;
    Ok(report.told())
}

fn tests(root: &Path, tally: &mut Tally) -> anyhow::Result<bool> {
    let (found, good) = tests_run::run(root)?;
    tally.passed += found.passed;
    tally.failed += found.failed;
    tally.skipped += found.skipped;
    Ok(good)
}

fn cargo(root: &Path, step: &Step) -> anyhow::Result<bool> {
    let status = building::cargo(root)
        .args(step.arguments)
        .envs(step.environment.iter().copied())
        .status()
        .with_context(|| format!("start cargo for {}", step.name))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_counts_once_and_shows() {
        let mut report = Report { good: true, ..Report::default() };
        report.step("fine", |_| Ok(true)).unwrap();
        report.step("broken", |_| Ok(false)).unwrap();
        report
            .step("tests", |tally| {
                tally.passed += 5;
                tally.failed += 2;
                Ok(false)
            })
            .unwrap();
        assert_eq!(report.closing_line(), "5 passed, 3 failed, 0 skipped");
        assert!(!report.good);
        assert!(report.lines[0].starts_with("ok     fine") && report.lines[1].starts_with("FAILED broken"));
    }
}
