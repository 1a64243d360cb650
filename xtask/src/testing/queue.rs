//! Order of tests: long ones first, as many side by side as the machine has room for.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use super::group::Group;
use super::job::Job;
use super::process;
use super::progress::Progress;
use super::times::TestTime;

/// Processor time from which a test is heavy by its known time.
const HEAVY_CPU_S: f64 = 20.0;

/// Waiting tests, the longest first, and the free room.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    threads: usize,
}

struct State {
    waiting: Vec<Job>,
    all: MachineShare,
    free: MachineShare,
}

/// Resources of the machine, or of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MachineShare {
    /// Eighths of cores.
    eighths: usize,
    /// Places for tests that wait most of their time: too many at once make each other late.
    waiters: usize,
}

impl MachineShare {
    /// The room of a machine with this number of cores.
    fn of(cores: usize) -> Self {
        MachineShare { eighths: 8 * cores, waiters: 3 * cores }
    }

    /// The room for a test. A heavy one has more than a third of a core and twice the places, so that two
    /// of them fit beside a guest on two cores, and three without one.
    fn wanted_by(job: &Job) -> Self {
        match job.heavy {
            true => MachineShare { eighths: 3, waiters: 2 },
            false => MachineShare { eighths: job.group.eighths(), waiters: job.group.waits().into() },
        }
    }

    fn holds(self, other: MachineShare) -> bool {
        other.eighths <= self.eighths && other.waiters <= self.waiters
    }
}

impl State {
    /// The room taken by a test; one that wants more than there is takes all.
    fn taken_by(&self, job: &Job) -> MachineShare {
        let wanted = MachineShare::wanted_by(job);
        MachineShare { eighths: wanted.eighths.min(self.all.eighths), ..wanted }
    }
}

impl Queue {
    /// A queue of tests, whose times are known in part.
    pub(super) fn new(mut jobs: Vec<Job>, known: &HashMap<String, TestTime>) -> Self {
        for job in jobs.iter_mut().filter(|job| job.group.waits()) {
            job.heavy |= known.get(&job.key()).is_some_and(|time| time.cpu_s >= HEAVY_CPU_S);
        }
        let alone = jobs.iter().any(|job| job.alone);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let all = MachineShare::of(cores);
        // A test that measures alone waits most of its time; each has a core of its own.
        let threads = if alone { cores } else { cores + all.waiters };
        let state = Mutex::new(State { waiting: in_order(jobs, known), all, free: all });
        Queue { state, changed: Condvar::new(), threads }
    }

    /// Runs all tests, with their temporary files in this folder, if any.
    pub(super) fn run_all(&self, folder: Option<&Path>, progress: &Progress) {
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    while let Some((job, taken)) = self.next() {
                        progress.starts(&job);
                        progress.ends(process::run(job, folder));
                        self.give_back(taken);
                    }
                });
            }
        });
    }

    /// The first test in order for which there is room, with that room; waits until there is room. `None` if
    /// no test is left.
    fn next(&self) -> Option<(Job, MachineShare)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.waiting.is_empty() {
                return None;
            }
            if let Some(at) = state.waiting.iter().position(|job| state.free.holds(state.taken_by(job))) {
                let job = state.waiting.remove(at);
                let taken = state.taken_by(&job);
                state.free.eighths -= taken.eighths;
                state.free.waiters -= taken.waiters;
                return Some((job, taken));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, taken: MachineShare) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.free.eighths += taken.eighths;
        state.free.waiters += taken.waiters;
        drop(state);
        self.changed.notify_all();
    }
}

/// Sorts tests: those that need most of the machine first, since shorter ones would never leave that much
/// free; then the longest first, and equal ones by name, so that the order is stable.
fn in_order(mut jobs: Vec<Job>, known: &HashMap<String, TestTime>) -> Vec<Job> {
    let seconds = |job: &Job| known.get(&job.key()).map_or_else(|| job.guess_s(), |time| time.seconds);
    let needs_most = |job: &Job| job.group == Group::Emulated;
    jobs.sort_by(|a, b| {
        let by_time = || seconds(b).total_cmp(&seconds(a));
        needs_most(b).cmp(&needs_most(a)).then_with(by_time).then_with(|| a.key().cmp(&b.key()))
    });
    jobs
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::job;
    use super::*;

    #[test]
    fn guests_and_then_long_tests_come_first_known_or_guessed() {
        let jobs = vec![
            job("a", None, "tests::short"),
            job("a", Some("program"), "guessed"),
            job("a", Some("program"), "shipped_studies::long"),
            job("a", None, "tests::known"),
            job("a", Some("service"), "known_short"),
            job("a", Some("emulated"), "guests"),
        ];
        let known =
            [("a unit tests::known", 50.0), ("a service known_short", 0.01), ("a emulated guests", 2.0)];
        let took = |(key, seconds): (&str, f64)| (key.to_owned(), TestTime { seconds, cpu_s: 0.1 });
        let order = in_order(jobs, &known.map(took).into());
        let names: Vec<&str> = order.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(
            names,
            ["guests", "shipped_studies::long", "tests::known", "guessed", "tests::short", "known_short"]
        );
    }

    /// A queue on a machine with one core.
    fn on_one_core(jobs: Vec<Job>) -> Queue {
        with_times(jobs, &HashMap::new())
    }

    fn with_times(jobs: Vec<Job>, known: &HashMap<String, TestTime>) -> Queue {
        let queue = Queue::new(jobs, known);
        let mut state = queue.state.lock().unwrap();
        (state.all, state.free) = (MachineShare::of(1), MachineShare::of(1));
        drop(state);
        queue
    }

    #[test]
    fn a_test_for_which_there_is_no_room_lets_others_go_first() {
        let service = |name| job("a", Some("service"), name);
        let queue =
            on_one_core(vec![job("a", None, "tests::computes"), service("a"), service("b"), service("c")]);
        let next = || queue.next().map(|(job, taken)| (job.name, taken.eighths, taken.waiters));
        queue.state.lock().unwrap().free = MachineShare { eighths: 4, waiters: 1 };
        assert_eq!(next(), Some(("a".to_owned(), 1, 1)));
        queue.give_back(MachineShare { eighths: 1, waiters: 2 });
        assert_eq!(next(), Some(("b".to_owned(), 1, 1)), "computing takes more than half a core");
        assert_eq!(next(), Some(("c".to_owned(), 1, 1)));
        queue.give_back(MachineShare { eighths: 3, waiters: 0 });
        assert_eq!(next(), Some(("tests::computes".to_owned(), 5, 0)), "and no place of those that wait");
        assert_eq!(next(), None);
    }

    #[test]
    fn heavy_tests_let_light_ones_run_beside_them() {
        let program = |name| job("a", Some("program"), name);
        let queue = on_one_core(vec![program("job_engines::a"), program("job_engines::b"), program("light")]);
        let next = || queue.next().map(|(job, taken)| (job.name, taken.eighths, taken.waiters));
        assert_eq!(next(), Some(("job_engines::a".to_owned(), 3, 2)));
        assert_eq!(next(), Some(("light".to_owned(), 1, 1)), "a second heavy one needs two places");
        queue.give_back(MachineShare { eighths: 3, waiters: 2 });
        assert_eq!(next(), Some(("job_engines::b".to_owned(), 3, 2)));
    }

    #[test]
    fn a_test_of_much_processor_time_is_heavy_unless_it_computes_all_the_time() {
        let took = TestTime { seconds: 30.0, cpu_s: HEAVY_CPU_S };
        let known = ["a program x", "a unit tests::y"].map(|key| (key.to_owned(), took));
        let jobs = vec![job("a", Some("program"), "x"), job("a", None, "tests::y")];
        let queue = with_times(jobs, &known.into());
        assert_eq!(queue.next().unwrap().1, MachineShare { eighths: 3, waiters: 2 });
        assert_eq!(queue.next().unwrap().1, MachineShare { eighths: 5, waiters: 0 });
    }

    #[test]
    fn a_test_takes_no_more_than_there_is() {
        let queue = on_one_core(vec![job("a", Some("emulated"), "guests")]);
        let small = MachineShare { eighths: 4, waiters: 3 };
        let mut state = queue.state.lock().unwrap();
        (state.all, state.free) = (small, small);
        drop(state);
        assert_eq!(queue.next().unwrap().1, MachineShare { eighths: 4, waiters: 0 });
    }
}
