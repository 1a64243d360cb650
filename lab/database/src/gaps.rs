//! Times between commits.

use std::sync::atomic::{AtomicU64, Ordering};

use barograph_model::Nanos;

/// The longest time without a commit of any user. Users share it, as they share a tally.
#[derive(Debug, Default)]
pub struct CommitGaps {
    last: AtomicU64,
    longest: AtomicU64,
}

impl CommitGaps {
    /// Notes the end of a transaction that was committed, in the time of the load.
    pub fn committed(&self, at: Nanos) {
        let last = self.last.fetch_max(at.0, Ordering::Relaxed);
        // There is no time before the first commit.
        if last > 0 {
            self.longest.fetch_max(at.0.saturating_sub(last), Ordering::Relaxed);
        }
    }

    /// Takes the longest time that ended since the last call; `None` where none ended.
    pub fn take_longest(&self) -> Option<Nanos> {
        Some(self.longest.swap(0, Ordering::Relaxed)).filter(|longest| *longest > 0).map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_time_belongs_to_the_interval_in_which_it_ends() {
        let gaps = CommitGaps::default();
        assert_eq!(gaps.take_longest(), None);
        // Threads may note their commits late.
        for at in [1_000, 1_010, 1_050, 1_040, 1_060] {
            gaps.committed(Nanos(at));
        }
        assert_eq!(gaps.take_longest(), Some(Nanos(40)));
        assert_eq!(gaps.take_longest(), None);
        gaps.committed(Nanos(5_060));
        assert_eq!(gaps.take_longest(), Some(Nanos(4_000)));
    }
}
