//! Times between commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use barograph_model::Nanos;

/// The longest time without a commit of any user. Users share it, as they share a tally.
#[derive(Clone, Debug, Default)]
pub struct CommitGaps(Arc<Times>);

#[derive(Debug, Default)]
struct Times {
    last: AtomicU64,
    longest: AtomicU64,
}

impl CommitGaps {
    /// Notes the end of a transaction that was committed, in the time of the load.
    pub fn committed(&self, at: Nanos) {
        let last = self.0.last.fetch_max(at.0, Ordering::Relaxed);
        self.raise(last, at);
    }

    /// Notes at the end of an operation, and where it is given up, how long no transaction has been committed: a time that lasts
    /// to the end of the load ends with no commit.
    pub fn until_dropped<W: Fn() -> Nanos>(&self, watch: W) -> OpenGap<W> {
        OpenGap { gaps: self.clone(), watch }
    }

    fn raise(&self, last: u64, at: Nanos) {
        // There is no time before the first commit.
        if last > 0 {
            self.0.longest.fetch_max(at.0.saturating_sub(last), Ordering::Relaxed);
        }
    }

    /// Takes the longest time that ended since the last call, or lasted at the end of an operation; `None` without one.
    pub fn take_longest(&self) -> Option<Nanos> {
        Some(self.0.longest.swap(0, Ordering::Relaxed)).filter(|longest| *longest > 0).map(Nanos)
    }
}

/// An operation in progress, at whose end a time without a commit may last.
#[derive(Debug)]
pub struct OpenGap<W: Fn() -> Nanos> {
    gaps: CommitGaps,
    watch: W,
}

impl<W: Fn() -> Nanos> Drop for OpenGap<W> {
    fn drop(&mut self) {
        self.gaps.raise(self.gaps.0.last.load(Ordering::Relaxed), (self.watch)());
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

    #[test]
    fn a_time_that_lasts_to_the_end_of_the_load_is_counted() {
        let gaps = CommitGaps::default();
        // Before the first commit.
        drop(gaps.until_dropped(|| Nanos(500)));
        assert_eq!(gaps.take_longest(), None);
        gaps.committed(Nanos(1_000));
        let in_flight = gaps.until_dropped(|| Nanos(9_000));
        drop(gaps.until_dropped(|| Nanos(3_000)));
        assert_eq!(gaps.take_longest(), Some(Nanos(2_000)));
        // The end of the load gives it up.
        drop(in_flight);
        assert_eq!(gaps.take_longest(), Some(Nanos(8_000)));
        // A commit that was noted meanwhile ends it.
        let late = gaps.until_dropped(|| Nanos(9_500));
        gaps.committed(Nanos(9_600));
        drop(late);
        assert_eq!(gaps.take_longest(), Some(Nanos(8_600)));
    }
}
