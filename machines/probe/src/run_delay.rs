//! Run delay of processes: the time for which their threads could run and waited for a core.

use std::collections::BTreeMap;
use std::fs;

use barograph_model::Nanos;

use crate::text;

/// Sums the run delay of processes that come and go. The kernel reports it per thread and forgets a thread
/// that ends, so differences are added up here; the wait of a thread between the last sample and its end is
/// lost.
#[derive(Debug, Default)]
pub struct RunDelayProbe {
    /// Run delay of each thread at the last sample, in nanoseconds.
    seen: BTreeMap<u32, u64>,
    total: Nanos,
    begun: bool,
}

impl RunDelayProbe {
    /// Returns the run delay of all threads of these processes since the first sample, which is 0. `None` if
    /// nothing can be read: they have ended, or the kernel does not report it.
    pub fn sample(&mut self, processes: &[u32]) -> Option<Nanos> {
        let mut now = BTreeMap::new();
        for process in processes {
            let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
            for thread in threads.flatten() {
                let id = thread.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
                let told = fs::read_to_string(thread.path().join("schedstat"));
                let delay = told.ok().and_then(|text| text::run_delay(&text));
                if let (Some(id), Some(delay)) = (id, delay) {
                    now.insert(id, delay);
                }
            }
        }
        if now.is_empty() {
            return None;
        }
        self.add(now);
        Some(self.total)
    }

    fn add(&mut self, now: BTreeMap<u32, u64>) {
        if self.begun {
            let grown = now.iter().map(|(id, &delay)| match self.seen.get(id) {
                Some(&before) if before <= delay => delay - before,
                // A new thread, or another one with a reused number.
                _ => delay,
            });
            self.total = self.total + Nanos(grown.sum());
        }
        self.begun = true;
        self.seen = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_added_up_over_threads_that_come_and_go() {
        let mut probe = RunDelayProbe::default();
        probe.add(BTreeMap::from([(1, 1_000), (2, 500)]));
        assert_eq!(probe.total, Nanos::ZERO, "what was before the first sample is not ours");
        probe.add(BTreeMap::from([(1, 1_300), (3, 70)]));
        assert_eq!(probe.total, Nanos(370));
        probe.add(BTreeMap::from([(1, 20), (3, 70)]));
        assert_eq!(probe.total, Nanos(390), "thread 1 is another one");
        probe.add(BTreeMap::from([(3, 71)]));
        assert_eq!(probe.total, Nanos(391), "what ended stays in the sum");
    }

    #[test]
    fn the_own_process_has_one_and_a_missing_one_has_none() {
        let own = std::process::id();
        let mut probe = RunDelayProbe::default();
        assert_eq!(probe.sample(&[u32::MAX]), None);
        assert_eq!(probe.sample(&[own]), Some(Nanos::ZERO));
        // More busy threads than cores, so some must wait.
        let threads = 2 + std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let ready = std::sync::Barrier::new(threads + 1);
        let looked = std::sync::atomic::AtomicBool::new(false);
        let delay = std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    ready.wait();
                    while !looked.load(std::sync::atomic::Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            ready.wait();
            let delay = (0..1_000_000).find_map(|_| probe.sample(&[own, u32::MAX]).filter(|d| d.0 > 0));
            looked.store(true, std::sync::atomic::Ordering::Relaxed);
            delay
        });
        let delay = delay.expect("more busy threads than cores wait");
        assert!(probe.sample(&[own]).is_some_and(|later| later >= delay));
    }
}
