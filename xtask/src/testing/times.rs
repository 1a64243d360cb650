//! Times of steps, groups and single tests, kept in a file for comparison with a later run.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::group::Group;
use super::job::Job;
use super::process::TestDuration;

/// Number of slowest tests shown.
const SLOWEST: usize = 20;

/// A step of `cargo xtask test`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Step {
    name: String,
    seconds: f64,
}

/// The tests of a group: their number, and the sums of their times, many of which ran side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct GroupTime {
    tests: u32,
    seconds: f64,
    cpu_s: f64,
}

/// The time of a test, and its processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TestTime {
    pub(super) seconds: f64,
    pub(super) cpu_s: f64,
}

/// The contents of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Content {
    steps: Vec<Step>,
    /// From the first start to the last end of a test.
    tests_s: f64,
    groups: BTreeMap<String, GroupTime>,
    /// By package, target and name.
    tests: BTreeMap<String, TestTime>,
}

/// The times of this run, and those of the last one.
pub(crate) struct Times {
    file: PathBuf,
    before: Content,
    found: Content,
}

impl Times {
    /// The times with those of the last run; without them if they cannot be read.
    pub(crate) fn open(root: &Path) -> Self {
        let file = root.join("target/xtask/times.json");
        let before = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        Times { file, before: before.unwrap_or_default(), found: Content::default() }
    }

    /// The known times of tests.
    pub(super) fn known(&self) -> HashMap<String, TestTime> {
        self.before.tests.iter().map(|(key, time)| (key.clone(), *time)).collect()
    }

    pub(super) fn add(&mut self, job: &Job, took: TestDuration) {
        let TestDuration { seconds, cpu_s } = took;
        self.found.tests.insert(job.key(), TestTime { seconds, cpu_s });
        let group = self.found.groups.entry(job.group.name().to_owned()).or_default();
        group.tests += 1;
        group.seconds += seconds;
        group.cpu_s += cpu_s;
    }

    pub(super) fn ran_for(&mut self, took: Duration) {
        self.found.tests_s += took.as_secs_f64();
    }

    pub(crate) fn step(&mut self, name: &str, took: Duration) {
        self.found.steps.push(Step { name: name.to_owned(), seconds: took.as_secs_f64() });
    }

    /// Groups and slowest tests, a line each, beside those of the last run.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for name in Group::ALL.map(Group::name) {
            let Some(group) = self.found.groups.get(name) else { continue };
            let before = self.before.groups.get(name).map(|before| before.seconds);
            let text = format!("{} {name} tests, {:.1} s of processors", group.tests, group.cpu_s);
            lines.push(line(group.seconds, before, &text));
        }
        let mut slowest: Vec<(&String, &TestTime)> = self.found.tests.iter().collect();
        slowest.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        for (key, time) in slowest.into_iter().take(SLOWEST) {
            lines.push(line(time.seconds, self.before.tests.get(key).map(|before| before.seconds), key));
        }
        lines
    }

    /// Writes the file; tests that did not run this time keep their earlier time. The old file becomes
    /// `times-before.json`.
    pub(crate) fn write(&self) -> anyhow::Result<PathBuf> {
        let folder = self.file.parent().context("find the folder of the times")?;
        fs::create_dir_all(folder).context("make the folder of the times")?;
        if self.file.is_file() {
            fs::rename(&self.file, folder.join("times-before.json")).context("keep the earlier times")?;
        }
        let mut content = self.found.clone();
        for (key, time) in &self.before.tests {
            content.tests.entry(key.clone()).or_insert(*time);
        }
        let text = serde_json::to_string_pretty(&content).context("write the times as JSON")?;
        fs::write(&self.file, text).with_context(|| format!("write {}", self.file.display()))?;
        Ok(self.file.clone())
    }
}

fn line(seconds: f64, before: Option<f64>, text: &str) -> String {
    let before = before.map_or_else(String::new, |before| format!(" (before: {before:.1} s)"));
    format!("{seconds:7.1} s  {text}{before}")
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::job;
    use super::*;

    #[test]
    fn times_are_told_beside_those_of_the_last_run_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut times = Times::open(folder.path());
        assert!(times.known().is_empty());
        let took = |seconds| TestDuration { seconds, cpu_s: 0.5 };
        times.add(&job("p", None, "a"), took(2.0));
        times.add(&job("p", None, "b"), took(1.0));
        times.step("clippy", Duration::from_secs(5));
        assert_eq!(
            times.lines(),
            ["    3.0 s  2 quick tests, 1.0 s of processors", "    2.0 s  p unit a", "    1.0 s  p unit b"]
        );
        times.write().unwrap();

        let mut again = Times::open(folder.path());
        assert_eq!(again.known()["p unit a"].seconds, 2.0);
        again.add(&job("p", None, "b"), took(4.0));
        let expected = [
            "    4.0 s  1 quick tests, 0.5 s of processors (before: 3.0 s)",
            "    4.0 s  p unit b (before: 1.0 s)",
        ];
        assert_eq!(again.lines(), expected);
        let file = again.write().unwrap();
        assert_eq!(
            Times::open(folder.path()).known()["p unit a"].seconds,
            2.0,
            "a test that did not run keeps its time"
        );
        assert!(file.with_file_name("times-before.json").is_file());
    }
}
