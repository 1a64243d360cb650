//! Finds, orders and runs the tests of the workspace: each in a process of its own, several side by side,
//! long ones first.
//!
//! A separate process gives a test its own time, its own output and an end that no other test can prevent.

mod binaries;
mod changed;
mod group;
mod job;
mod memory;
mod process;
mod progress;
mod queue;
mod selection;
mod times;

use std::path::Path;
use std::time::Instant;

pub(crate) use changed::packages as changed_packages;
pub(crate) use group::Group;
pub(crate) use selection::Selection;
pub(crate) use times::Times;

use crate::say::say;
use job::Job;
use memory::Temporary;
use progress::Progress;
use queue::Queue;

/// Counts of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

impl Tally {
    /// The line from which build servers count tests.
    pub(crate) fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }

    fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// The tests of a selection, built and listed.
pub(crate) struct Suite {
    jobs: Vec<Job>,
}

impl Suite {
    /// Builds the test binaries of a selection and lists their tests. `None` if the build failed, after the
    /// compiler's messages.
    pub(crate) fn build(root: &Path, selection: &Selection) -> anyhow::Result<Option<Self>> {
        let Some(binaries) = binaries::build(root, selection)? else { return Ok(None) };
        let mut jobs = Vec::new();
        for binary in binaries {
            jobs.extend(job::list(&binary)?);
        }
        jobs.retain(|job| selection.wants(job));
        Ok(Some(Suite { jobs }))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.jobs.iter().map(|job| format!("{:<8} {}", job.group.name(), job.key()))
    }

    /// Runs all tests and adds their results to the tally and the times.
    pub(crate) fn run(&self, times: &mut Times, tally: &mut Tally) -> anyhow::Result<()> {
        let known = times.known();
        let (alone, beside): (Vec<Job>, Vec<Job>) = self.jobs.iter().cloned().partition(|job| job.alone);
        let progress = Progress::new(self.jobs.len());
        let temporary = Temporary::make();
        let folder = temporary.as_ref().map(Temporary::path);
        for jobs in [beside, alone] {
            let began = Instant::now();
            let queue = Queue::new(jobs, &known);
            queue.run_all(folder, &progress);
            times.ran_for(began.elapsed());
        }
        let results = progress.into_results();
        for result in &results {
            times.add(&result.job, result.took);
            tally.add(result.tally());
        }
        for skip in results.iter().flat_map(|result| &result.skips) {
            say(skip);
        }
        let failed = results.iter().filter(|result| !result.passed);
        failed.for_each(|result| say(&format!("FAILED {}", result.job.key())));
        Ok(())
    }
}
