//! CPU time of the caller, exact to the nanosecond where `/proc` counts in hundredths of a second.

use barograph_model::Nanos;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns the CPU time of the calling thread since it began.
#[must_use]
pub fn thread_cpu() -> Nanos {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// Returns the CPU time of this process, including ended threads.
#[must_use]
pub fn process_cpu() -> Nanos {
    nanos(clock_gettime(ClockId::ProcessCPUTime))
}

fn nanos(time: Timespec) -> Nanos {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works until this thread has used `span` of CPU time.
    fn burn(span: Nanos) {
        let start = thread_cpu();
        let mut sum = 0u64;
        while thread_cpu().since(start) < span {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
    }

    #[test]
    fn a_process_counts_its_dead_threads_and_a_thread_only_itself() {
        let burnt = Nanos::from_millis(30);
        // A machine that stands still may charge the time to the running thread, so the best of several tries
        // counts.
        let ours = (0..5).map(|_| {
            let (own, all) = (thread_cpu(), process_cpu());
            std::thread::spawn(move || burn(burnt)).join().unwrap();
            assert!(process_cpu().since(all) >= burnt);
            thread_cpu().since(own)
        });
        assert!(ours.min().unwrap() < burnt, "the work of another thread is not ours");
    }
}
