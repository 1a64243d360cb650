//! Clocks of drivers compared with the harness's: their offset and its uncertainty.

use std::time::Instant;

use barograph_model::Nanos;

/// A monotonic clock that counts from an instant of its own.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Instant,
}

impl Clock {
    /// Starts at zero now.
    #[must_use]
    pub fn start() -> Self {
        Clock { base: Instant::now() }
    }

    /// Starts at zero at `base`.
    #[must_use]
    pub fn since(base: Instant) -> Self {
        Clock { base }
    }

    /// Returns the time since its start.
    #[must_use]
    pub fn now(&self) -> Nanos {
        Nanos::from(self.base.elapsed())
    }

    /// Returns the instant at which the clock shows `at`; `None` beyond the range of the system's clock.
    #[must_use]
    pub fn instant(&self, at: Nanos) -> Option<Instant> {
        self.base.checked_add(at.into())
    }
}

/// Pings of one measurement.
pub(super) const PINGS: u32 = 16;

/// Offset of a driver's clock from the harness's.
///
/// The driver reads its clock between question and answer. The middle between the two is wrong by at most
/// half of their distance, so the quickest of several pings is the most exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    /// Nanoseconds; negative if the driver's clock shows less.
    pub(super) ahead: i64,
    /// Largest error of `ahead`.
    pub(super) within: Nanos,
    /// Longest round trip among the pings.
    pub(super) longest: Nanos,
}

impl Offset {
    /// Offset from one ping: the times of question and answer, and the driver's clock between them.
    pub(super) fn of(asked: Nanos, theirs: Nanos, answered: Nanos) -> Self {
        let round = answered - asked;
        let middle = asked + Nanos(round.0 / 2);
        let ahead = i128::from(theirs.0) - i128::from(middle.0);
        let ahead = i64::try_from(ahead).unwrap_or(if ahead < 0 { i64::MIN } else { i64::MAX });
        // Rounded up, as the middle was rounded down.
        Offset { ahead, within: Nanos(round.0.div_ceil(2)), longest: round }
    }

    /// Returns the more exact of two offsets, with the longest round trip of both.
    pub(super) fn or(self, other: Offset) -> Self {
        let best = if other.within < self.within { other } else { self };
        Offset { longest: self.longest.max(other.longest), ..best }
    }

    /// Converts a time of the harness to the driver's clock; zero before that began.
    pub(super) fn theirs(&self, at: Nanos) -> Nanos {
        let shown = i128::from(at.0) + i128::from(self.ahead);
        Nanos(u64::try_from(shown.max(0)).unwrap_or(u64::MAX))
    }

    /// Smallest and largest drift since this offset was measured, in nanoseconds.
    pub(super) fn drift_to(&self, later: &Offset) -> (u64, u64) {
        let moved = later.ahead.abs_diff(self.ahead);
        let unsure = self.within.0.saturating_add(later.within.0);
        (moved.saturating_sub(unsure), moved.saturating_add(unsure))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_true_offset_is_within_what_is_said(
            shift in -10_000_000_000_i64..10_000_000_000,
            pings in prop::collection::vec((0_u64..5_000_000, 0_u64..5_000_000), 1..17),
        ) {
            let mut asked = Nanos::from_secs(20);
            let mut offset: Option<Offset> = None;
            for (there, back) in pings {
                let (read, answered) = (asked + Nanos(there), asked + Nanos(there + back));
                let theirs = Nanos(read.0.checked_add_signed(shift).unwrap());
                let one = Offset::of(asked, theirs, answered);
                prop_assert!(one.ahead.abs_diff(shift) <= one.within.0);
                offset = Some(offset.map_or(one, |best| best.or(one)));
                asked = answered;
            }
            let offset = offset.unwrap();
            prop_assert!(offset.ahead.abs_diff(shift) <= offset.within.0);
            // Every instant in the driver's time is exact, too.
            let at = Nanos::from_secs(60);
            let exact = at.0.checked_add_signed(shift).unwrap();
            prop_assert!(offset.theirs(at).0.abs_diff(exact) <= offset.within.0);
        }
    }

    #[test]
    fn the_quickest_ping_is_believed_and_the_slowest_remembered() {
        let at = Nanos::from_millis;
        let slow = Offset::of(at(0), at(50), at(40));
        let quick = Offset::of(at(100), at(131), at(102));
        assert_eq!(slow, Offset { ahead: 30_000_000, within: at(20), longest: at(40) });
        let both = Offset { ahead: 30_000_000, within: at(1), longest: at(40) };
        assert_eq!((slow.or(quick), quick.or(slow)), (both, both));
    }

    #[test]
    fn a_drift_is_what_two_measurements_cannot_explain() {
        let offset = |ahead, within| Offset { ahead, within: Nanos(within), longest: Nanos(0) };
        assert_eq!(offset(5, 10).drift_to(&offset(-20, 10)), (5, 45));
        assert_eq!(offset(5, 10).drift_to(&offset(5, 10)), (0, 20));
    }

    #[test]
    fn ends_of_time_do_not_overflow() {
        let far = Offset::of(Nanos(0), Nanos::MAX, Nanos(0));
        assert_eq!((far.ahead, far.theirs(Nanos::MAX)), (i64::MAX, Nanos::MAX));
        let behind = Offset::of(Nanos::MAX, Nanos(0), Nanos::MAX);
        assert_eq!(behind.theirs(Nanos(7)), Nanos::ZERO);
        assert_eq!(behind.drift_to(&far).1, u64::MAX);
    }
}
