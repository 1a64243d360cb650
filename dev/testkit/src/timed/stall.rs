//! Stalls of a server in a known rhythm, and their effect on response times.

use std::time::Duration;

/// A stall in the last part of every period.
///
/// Answers due in a stall leave at its end, all at once. Times are counted from an origin, at which the first
/// period begins: with `every` 5 s and `lasts` 1 s the server stands still from 4 s to 5 s, from 9 s to 10 s,
/// ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// Length of a period, above zero.
    pub every: Duration,
    /// Length of the stall, not above `every`.
    pub lasts: Duration,
}

impl Stalls {
    /// The time at which an answer due at this time leaves, both after the origin.
    #[must_use]
    pub fn leaves_at(&self, due: Duration) -> Duration {
        let (every, due_nanos) = (self.every.as_nanos(), due.as_nanos());
        let period_start = due_nanos - due_nanos % every;
        if due_nanos - period_start < every - self.lasts.as_nanos() {
            return due;
        }
        nanos(period_start + every)
    }

    /// The exact response time of a start at this time after the origin, for an answer with the delay
    /// `delay`.
    #[must_use]
    pub fn response_at(&self, start: Duration, delay: Duration) -> Duration {
        self.leaves_at(start + delay) - start
    }
}

fn nanos(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).expect("a test does not run for five hundred years"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exact;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const ISSUE: Stalls = Stalls { every: MS_5000, lasts: Duration::from_secs(1) };
    const MS_5000: Duration = Duration::from_secs(5);

    #[test]
    fn answers_wait_for_the_end_of_the_stall_they_fall_in() {
        for (due, leaves) in
            [(0, 0), (3999, 3999), (4000, 5000), (4999, 5000), (5000, 5000), (14_500, 15_000)]
        {
            assert_eq!(ISSUE.leaves_at(MS(due)), MS(leaves), "due at {due} ms");
        }
        assert_eq!(
            ISSUE.response_at(MS(3995), MS(10)),
            MS(1005),
            "it began before the stall and is due in it"
        );
        let never = Stalls { every: MS(100), lasts: Duration::ZERO };
        assert_eq!(never.leaves_at(MS(399)), MS(399));
    }

    #[test]
    fn quantiles_of_a_fixed_rate_follow_from_the_pattern() {
        // 1000 starts per second for 50 s; a fifth of them waits between 1 ms and 1 s, evenly spread.
        let times = || (0..50_000).map(|n| ISSUE.response_at(MS(n), Duration::ZERO));
        for (q, wanted) in [(0.5, 0), (0.8, 0), (0.9, 500), (0.99, 950), (0.999, 995), (1.0, 1000)] {
            assert_eq!(exact(times(), q), Some(MS(wanted)), "{q}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_leaves_before_it_is_due_or_in_a_stall(every in 1_u64..10_000, share in 0_u64..=100, due: u32) {
            let stalls = Stalls { every: MS(every), lasts: MS(every) * u32::try_from(share).unwrap() / 100 };
            let (due, leaves) = (MS(u64::from(due)), stalls.leaves_at(MS(u64::from(due))));
            prop_assert!(leaves >= due && leaves - due <= stalls.lasts);
            let phase = leaves.as_nanos() % stalls.every.as_nanos();
            prop_assert!(phase == 0 || phase < (stalls.every - stalls.lasts).as_nanos());
        }
    }
}
