//! Cores on which worker threads run.

use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Whether the system lets threads of this process run on all of these cores. A core that does not exist, or is
/// not in the process's set of cores (`cpuset`), is none of them.
#[must_use]
pub fn cores_are_permitted(cores: &[usize]) -> bool {
    thread::scope(|scope| scope.spawn(|| run_on(cores)).join().unwrap_or(false))
}

/// Keeps this thread, and threads that it starts from now on, on these cores below 1,024. Returns whether the
/// system gave it all of them.
pub(crate) fn run_on(cores: &[usize]) -> bool {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    // The kernel leaves cores out that it does not permit, and fails only if none is left.
    sched_setaffinity(None, &set).is_ok() && sched_getaffinity(None).is_ok_and(|given| given == set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted() -> CpuSet {
        sched_getaffinity(None).unwrap()
    }

    #[test]
    fn a_thread_runs_on_its_cores_and_others_as_before() {
        let before = permitted();
        let first = (0..CpuSet::MAX_CPU).find(|core| before.is_set(*core)).unwrap();
        let (is_pinned, inherited) = thread::spawn(move || {
            let is_pinned = run_on(&[first]);
            (is_pinned, thread::spawn(permitted).join().unwrap())
        })
        .join()
        .unwrap();
        let mut only = CpuSet::new();
        only.set(first);
        assert!(is_pinned && inherited == only);
        assert!(cores_are_permitted(&[first]));
        assert!(permitted() == before, "this thread is as it was");
    }

    #[test]
    fn a_core_that_does_not_exist_is_not_permitted() {
        let before = permitted();
        let first = (0..CpuSet::MAX_CPU).find(|core| before.is_set(*core)).unwrap();
        let highest = CpuSet::MAX_CPU - 1;
        assert!(!cores_are_permitted(&[highest]));
        assert!(!cores_are_permitted(&[first, highest]), "the kernel leaves it out");
    }
}
