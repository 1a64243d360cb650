//! Which test runs when: long ones first, as many side by side as the machine has room for.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};

use super::job::Job;
use super::process;
use super::progress::Progress;

/// Tests that wait for their turn, the longest first, and the room that is left.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    threads: usize,
}

struct State {
    waiting: Vec<Job>,
    /// Quarters of all cores, and those that are free.
    all: usize,
    free: usize,
}

impl State {
    /// What a test takes of them; one that wants more than there are takes all.
    fn taken_by(&self, job: &Job) -> usize {
        job.group.quarters().min(self.all)
    }
}

/// The least that a test takes, in quarters of a core; the largest number of tests at once follows from it.
const LEAST_QUARTERS: usize = 1;

impl Queue {
    /// Of tests whose times in seconds are known in part.
    pub(super) fn new(jobs: Vec<Job>, known: &HashMap<String, f64>) -> Self {
        let alone = jobs.iter().any(|job| job.alone);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (free, threads) = if alone { (usize::MAX, 1) } else { (4 * cores, 4 * cores / LEAST_QUARTERS) };
        let state = Mutex::new(State { waiting: in_order(jobs, known), all: free, free });
        Queue { state, changed: Condvar::new(), threads }
    }

    pub(super) fn run_all(&self, progress: &Progress) {
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    while let Some((job, quarters)) = self.next() {
                        progress.starts(&job);
                        progress.ends(process::run(job));
                        self.give_back(quarters);
                    }
                });
            }
        });
    }

    /// The first test in order for which there is room, and the quarters that it takes; waits until there is room. `None` when no
    /// test is left.
    fn next(&self) -> Option<(Job, usize)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.waiting.is_empty() {
                return None;
            }
            if let Some(at) = state.waiting.iter().position(|job| state.taken_by(job) <= state.free) {
                let job = state.waiting.remove(at);
                let quarters = state.taken_by(&job);
                state.free -= quarters;
                return Some((job, quarters));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, quarters: usize) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).free += quarters;
        self.changed.notify_all();
    }
}

/// The longest first; those of the same time by name, so that the order is the same each time.
fn in_order(mut jobs: Vec<Job>, known: &HashMap<String, f64>) -> Vec<Job> {
    let seconds = |job: &Job| known.get(&job.key()).copied().unwrap_or_else(|| job.group.guess_s());
    jobs.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)).then_with(|| a.key().cmp(&b.key())));
    jobs
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::job;
    use super::*;

    #[test]
    fn long_tests_come_first_known_or_guessed() {
        let jobs = vec![
            job("a", None, "tests::short"),
            job("a", Some("program"), "guessed"),
            job("a", None, "tests::known"),
            job("a", Some("service"), "known_short"),
        ];
        let known = [("a unit tests::known".to_owned(), 60.0), ("a service known_short".to_owned(), 0.01)];
        let order = in_order(jobs, &HashMap::from(known));
        let names: Vec<&str> = order.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["tests::known", "guessed", "tests::short", "known_short"]);
    }

    #[test]
    fn a_test_for_which_there_is_no_room_lets_others_go_first() {
        let jobs = vec![job("a", None, "tests::whole_core"), job("a", Some("service"), "quarter_of_a_core")];
        let known = HashMap::from([("a unit tests::whole_core".to_owned(), 9.0)]);
        let queue = Queue::new(jobs, &known);
        queue.state.lock().unwrap().free = 3;
        let next = || queue.next().map(|(job, quarters)| (job.name, quarters));
        assert_eq!(next(), Some(("quarter_of_a_core".to_owned(), 1)));
        queue.give_back(2);
        assert_eq!(next(), Some(("tests::whole_core".to_owned(), 4)));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_test_takes_no_more_than_there_is() {
        let queue = Queue::new(vec![job("a", Some("emulated"), "guests")], &HashMap::new());
        let mut state = queue.state.lock().unwrap();
        (state.all, state.free) = (4, 4);
        drop(state);
        assert_eq!(queue.next().unwrap().1, 4);
    }
}
