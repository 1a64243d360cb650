//! A test and its binary.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, ensure};

use super::group::Group;

/// A built test binary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Binary {
    pub(super) package: String,
    /// The name of an integration test; `None` for the unit tests of a library or a program.
    pub(super) target: Option<String>,
    pub(super) path: PathBuf,
    /// The folder of the package, in which tests run.
    pub(super) folder: PathBuf,
}

/// A test.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(super) binary: Arc<Binary>,
    pub(super) name: String,
    pub(super) group: Group,
    /// Whether only others of its kind may run beside it, because it measures to the millisecond.
    pub(super) alone: bool,
    /// Whether it keeps much of a core busy for long, as clusters and runs of many loads do.
    pub(super) heavy: bool,
}

/// The segment of a test's path by which only others of its kind may run beside it.
const ALONE: &str = "alone";

/// The segment of paths of tests that make several runs.
const LONG: &str = "shipped_studies";

/// Segments of paths of heavy tests: those that start clusters, every store, or the loads of a tile.
const HEAVY: [&str; 12] = [
    "job_engines",
    "kubernetes",
    "sort_hadoop",
    "sort_spark",
    "sort_workers",
    "stores",
    "tile",
    "tile_elastic",
    "tile_full",
    "tile_operations",
    "tile_short",
    "tiles",
];

impl Job {
    fn new(binary: &Arc<Binary>, name: &str) -> Self {
        let group = Group::of(binary.target.as_deref(), name);
        Job {
            binary: Arc::clone(binary),
            name: name.to_owned(),
            group,
            alone: name.split("::").any(|segment| segment == ALONE),
            heavy: group.waits() && name.split("::").any(|segment| HEAVY.contains(&segment)),
        }
    }

    /// Assumed time of a test that was never run, in seconds: enough to put costly ones first.
    pub(super) fn guess_s(&self) -> f64 {
        let is_long = self.heavy || self.name.split("::").any(|segment| segment == LONG);
        match self.group {
            Group::Quick => 0.05,
            Group::Service | Group::Program if is_long => 60.0,
            Group::Service => 3.0,
            Group::Program => 10.0,
            Group::Emulated => 100.0,
        }
    }

    /// Package, target and name: stable as long as nothing is renamed.
    pub(crate) fn key(&self) -> String {
        let Binary { package, target, .. } = &*self.binary;
        format!("{package} {} {}", target.as_deref().unwrap_or("unit"), self.name)
    }
}

/// All tests of a binary.
pub(super) fn list(binary: &Arc<Binary>) -> anyhow::Result<Vec<Job>> {
    let listed = Command::new(&binary.path)
        .args(["--list", "--format", "terse"])
        .current_dir(&binary.folder)
        .output()
        .with_context(|| format!("list the tests of {}", binary.path.display()))?;
    ensure!(listed.status.success(), "failed to list the tests of {}", binary.path.display());
    Ok(names(&String::from_utf8_lossy(&listed.stdout)).map(|name| Job::new(binary, name)).collect())
}

fn names(listed: &str) -> impl Iterator<Item = &str> {
    listed.lines().filter_map(|line| line.strip_suffix(": test"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn job(package: &str, target: Option<&str>, name: &str) -> Job {
        let binary = Binary {
            package: package.to_owned(),
            target: target.map(str::to_owned),
            path: PathBuf::from("/bin/false"),
            folder: PathBuf::from("/"),
        };
        Job::new(&Arc::new(binary), name)
    }

    #[test]
    fn names_are_those_of_tests() {
        let listed = "a::b: test\nc: test\nd: benchmark\n\n2 tests, 1 benchmark\n";
        assert_eq!(names(listed).collect::<Vec<_>>(), ["a::b", "c"]);
    }

    #[test]
    fn a_job_knows_its_key_and_whether_it_runs_alone() {
        let measured = job("barograph", Some("program"), "alone::stalls::exact");
        assert_eq!(measured.key(), "barograph program alone::stalls::exact");
        assert!(measured.alone && measured.group == Group::Program);
        assert!(!job("barograph-stats", None, "standalone::tests::x").alone);
    }

    #[test]
    fn heavy_tests_are_those_of_the_groups_that_wait() {
        assert!(job("barograph", Some("program"), "plans::smoke::tile").heavy);
        assert!(job("barograph-social", None, "tests::service::stores::answers").heavy);
        assert!(!job("barograph", Some("program"), "plans::smoke::kv").heavy);
        assert!(
            !job("barograph", Some("program"), "emulated::tiles::x").heavy,
            "guests have a share of their own"
        );
        assert!(!job("barograph-tiles", None, "tiles::tests::x").heavy);
    }
}
