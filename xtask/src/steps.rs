//! The steps of `cargo xtask test` and `cargo xtask t`, in order; all of them run even if an earlier one
//! failed.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;

use crate::building;
use crate::dist;
use crate::ferretdb;
use crate::go;
use crate::kubernetes;
use crate::maddy;
use crate::maven;
use crate::options::Options;
use crate::packages;
use crate::say::say;
use crate::stolen::Thief;
use crate::testing::{self, Selection, Suite, Tally, Times};
use crate::victoria::VICTORIA_METRICS;

/// A cargo command that must succeed.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// Checks the format.
const FORMAT: Step = Step { name: "format", arguments: &["fmt", "--all", "--check"], environment: &[] };
/// Runs clippy, without warnings.
const CLIPPY: Step = Step {
    name: "clippy",
    arguments: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
    environment: &[],
};
/// Builds the documentation, without warnings.
const DOCUMENTATION: Step = Step {
    name: "documentation",
    arguments: &["doc", "--no-deps", "--workspace"],
    environment: &[("RUSTDOCFLAGS", "-Dwarnings")],
};

/// Results of the steps so far.
struct Report {
    tally: Tally,
    lines: Vec<String>,
    good: bool,
    times: Times,
}

impl Report {
    fn new(root: &Path) -> Self {
        Report { tally: Tally::default(), lines: Vec::new(), good: true, times: Times::open(root) }
    }

    fn step(
        &mut self,
        name: &str,
        step: impl FnOnce(&mut Self) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        say(&format!("==> {name}"));
        let began = Instant::now();
        let failed_before = self.tally.failed;
        let good = step(self)?;
        if !good && self.tally.failed == failed_before {
            // A step that fails without a failed test (format, a crash, a build error) is one failure.
            self.tally.failed += 1;
        }
        self.good &= good;
        self.times.step(name, began.elapsed());
        let word = if good { "ok    " } else { "FAILED" };
        self.lines.push(format!("{word} {:6.1} s  {name}", began.elapsed().as_secs_f64()));
        Ok(())
    }

    fn cargo(&mut self, root: &Path, step: &Step) -> anyhow::Result<()> {
        self.step(step.name, |_| cargo(root, step))
    }

    /// Builds the wanted tests; `None` if that failed.
    fn build(&mut self, root: &Path, selection: &Selection) -> anyhow::Result<Option<Suite>> {
        let mut suite = None;
        self.step("build of the tests", |_| {
            suite = Suite::build(root, selection)?;
            Ok(suite.is_some())
        })?;
        Ok(suite)
    }

    /// Runs the main job from the image, as one test.
    fn image(&mut self, root: &Path) -> anyhow::Result<bool> {
        match dist::main_job(root) {
            Ok(dist::Image::Works) => self.tally.passed += 1,
            Ok(dist::Image::Skipped) => self.tally.skipped += 1,
            Err(why) => {
                say(&format!("{why:#}"));
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run(&mut self, name: &str, suite: &Suite) -> anyhow::Result<()> {
        self.step(name, |report| {
            let failed_before = report.tally.failed;
            suite.run(&mut report.times, &mut report.tally)?;
            Ok(report.tally.failed == failed_before)
        })
    }

    /// Shows times and results of the steps; true if all succeeded.
    fn shown(&self) -> anyhow::Result<bool> {
        say("==> times of groups, added up, and of the slowest tests");
        self.times.lines().iter().for_each(|line| say(line));
        say(&format!("all times: {}", self.times.write()?.display()));
        say("==> summary");
        self.lines.iter().for_each(|line| say(line));
        say(&self.tally.line());
        Ok(self.good)
    }
}

/// Installs and builds missing tools for tests. Returns the number still missing, each reported.
pub(crate) fn install_tools(root: &Path) -> u32 {
    packages::install_missing()
        + ferretdb::build_missing(root)
        + go::build_missing(root, &VICTORIA_METRICS)
        + maven::build_missing(root)
}

/// Whether Kubernetes is built before the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// It is built if it is missing.
    Built,
    /// Without it, the tests that need it are skipped.
    AsItIs,
}

/// Runs everything; true if all of it succeeded.
pub(crate) fn everything(root: &Path, cluster: Cluster) -> anyhow::Result<bool> {
    let mut report = Report::new(root);
    building::look_at_disk(root)?;
    report.step("tools", |_| {
        // Tools still missing were reported; the tests that need them count themselves as skipped.
        install_tools(root);
        match cluster {
            Cluster::Built => drop(kubernetes::build_missing()),
            Cluster::AsItIs => kubernetes::say_if_missing(),
        }
        maddy::say_if_missing(root);
        Ok(true)
    })?;
    report.cargo(root, &FORMAT)?;
    report.step("tidy", |_| crate::tidy_alone(root))?;
    report.cargo(root, &CLIPPY)?;
    if let Some(suite) = report.build(root, &Selection::default())? {
        report.run("tests", &suite)?;
    }
    report.cargo(root, &DOCUMENTATION)?;
    report.step("image", |report| report.image(root))?;
    report.shown()
}

/// Runs the tests selected by the options, and nothing else.
pub(crate) fn tests(root: &Path, options: &Options) -> anyhow::Result<bool> {
    let mut report = Report::new(root);
    building::look_at_disk(root)?;
    if !options.list {
        install_tools(root);
    }
    run_wanted(root, options, &mut report)
}

/// Runs the tests of the packages that a change concerns.
pub(crate) fn changed(root: &Path, options: &Options) -> anyhow::Result<bool> {
    let packages = testing::changed_packages(root, options.base.as_deref())?;
    if packages.is_empty() {
        say("nothing is changed");
        return Ok(true);
    }
    say(&format!("{} tests of {}", options.selection.groups_text(), packages.join(", ")));
    let mut options = options.clone();
    options.selection.packages = Some(packages);
    run_wanted(root, &options, &mut Report::new(root))
}

fn run_wanted(root: &Path, options: &Options, report: &mut Report) -> anyhow::Result<bool> {
    let Some(suite) = report.build(root, &options.selection)? else { return report.shown() };
    if options.list {
        suite.names().for_each(|name| say(&name));
        return Ok(true);
    }
    let thief = options.stolen.then(Thief::start).transpose()?;
    for turn in 1..=options.times {
        let name = if options.times == 1 { "tests".to_owned() } else { format!("tests, time {turn}") };
        report.run(&name, &suite)?;
    }
    thief.map_or(Ok(()), Thief::stop)?;
    report.shown()
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
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::new(folder.path());
        report.step("fine", |_| Ok(true)).unwrap();
        report.step("broken", |_| Ok(false)).unwrap();
        report
            .step("tests", |report| {
                report.tally.passed += 5;
                report.tally.failed += 2;
                Ok(false)
            })
            .unwrap();
        assert_eq!(report.tally.line(), "5 passed, 3 failed, 0 skipped");
        assert!(!report.good && !report.shown().unwrap());
        assert!(report.lines[0].starts_with("ok     ") && report.lines[0].ends_with(" s  fine"));
        assert!(report.lines[1].starts_with("FAILED ") && report.lines[1].ends_with(" s  broken"));
    }
}
