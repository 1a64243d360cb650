//! Display during the tests: failures in full as they come, and progress now and then.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::job::Job;
use super::process::TestResult;
use crate::say::say;

/// The least time between two lines of progress.
const EVERY: Duration = Duration::from_secs(15);

/// Finished and running tests.
pub(super) struct Progress {
    all: usize,
    began: Instant,
    state: Mutex<State>,
}

struct State {
    results: Vec<TestResult>,
    /// Start of each running test.
    running: BTreeMap<String, Instant>,
    shown: Instant,
}

impl Progress {
    pub(super) fn new(all: usize) -> Self {
        let now = Instant::now();
        let state = State { results: Vec::new(), running: BTreeMap::new(), shown: now };
        Progress { all, began: now, state: Mutex::new(state) }
    }

    pub(super) fn starts(&self, job: &Job) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running.insert(job.key(), Instant::now());
    }

    pub(super) fn ends(&self, result: TestResult) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running.remove(&result.job.key());
        if !result.passed {
            say(&format!("---- {} failed after {:.1} s", result.job.key(), result.took.seconds));
            say(result.output.trim_end());
        }
        state.results.push(result);
        if state.shown.elapsed() >= EVERY {
            state.shown = Instant::now();
            say(&self.line(&state));
        }
    }

    fn line(&self, state: &State) -> String {
        let failed = state.results.iter().filter(|result| !result.passed).count();
        let longest = state.running.iter().min_by_key(|(_, since)| **since);
        let longest = longest.map_or_else(String::new, |(key, since)| {
            format!("; {key} runs for {:.0} s", since.elapsed().as_secs_f64())
        });
        let (done, all, seconds) = (state.results.len(), self.all, self.began.elapsed().as_secs_f64());
        format!("{done} of {all} tests in {seconds:.0} s, {failed} failed{longest}")
    }

    pub(super) fn into_results(self) -> Vec<TestResult> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).results
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::job;
    use super::super::process::TestDuration;
    use super::*;

    #[test]
    fn a_line_has_numbers_and_the_test_that_runs_longest() {
        let progress = Progress::new(3);
        let ended = job("p", None, "ended");
        progress.starts(&ended);
        progress.starts(&job("p", None, "going"));
        let passed = TestResult {
            job: ended,
            passed: true,
            took: TestDuration::default(),
            output: String::new(),
            skips: Vec::new(),
        };
        progress.ends(passed);
        let line = progress.line(&progress.state.lock().unwrap());
        assert!(line.starts_with("1 of 3 tests in ") && line.contains(", 0 failed; p unit going runs for "));
        assert_eq!(progress.into_results().len(), 1);
    }
}
