//! Sums of intervals over drivers, which report in any order.

use std::collections::BTreeMap;

use barograph_model::Nanos;

use crate::interval::{Interval, OpStats};

/// Sum of the intervals of several drivers over the same slice of time, equal to the last bit for any order
/// of the drivers.
///
/// Histograms and counts are added up as they come, so the memory is that of one interval. Sums of fractions
/// depend on their order, so the fractions of each driver are kept until the end.
#[derive(Clone, Debug, Default)]
pub struct IntervalSum {
    /// Its histograms and counts are right, and the rest is not.
    counted: Option<Interval>,
    /// By driver.
    rest: BTreeMap<usize, Rest>,
}

/// Figures of a driver whose sum depends on the order, or is none.
#[derive(Clone, Debug)]
struct Rest {
    from: Nanos,
    to: Nanos,
    starts: u64,
    users: u32,
    busiest_worker_cpu_s: f64,
    fractions: Vec<f64>,
}

impl IntervalSum {
    /// Adds an interval of a driver: as that of another worker, or as the one that follows if it has one already.
    pub fn add(&mut self, driver: usize, mut interval: Interval) {
        let rest = Rest::of(&mut interval);
        match self.rest.get_mut(&driver) {
            Some(earlier) => earlier.append(&rest),
            None => {
                self.rest.insert(driver, rest);
            }
        }
        match &mut self.counted {
            Some(counted) => counted.add_counts(&interval),
            None => self.counted = Some(interval),
        }
    }

    /// Returns the sum; `None` without intervals.
    #[must_use]
    pub fn whole(self) -> Option<Interval> {
        let sum = self.rest.into_values().reduce(|mut sum, other| {
            sum.add_worker(&other);
            sum
        })?;
        let mut whole = self.counted?;
        (whole.from, whole.to, whole.users) = (sum.from, sum.to, sum.users);
        whole.busiest_worker_cpu_s = sum.busiest_worker_cpu_s;
        for (place, value) in fractions(&mut whole).zip(sum.fractions) {
            *place = value;
        }
        Some(whole)
    }
}

/// The fractions of an interval that are added up.
fn fractions(interval: &mut Interval) -> impl Iterator<Item = &mut f64> {
    let Interval { in_flight_s, aged_s, worker_cpu_s, ops, .. } = interval;
    let of_ops = ops.iter_mut().flat_map(|op| {
        let OpStats { response_sum_s, service_sum_s, cancelled_sum_s, .. } = op;
        [response_sum_s, service_sum_s, cancelled_sum_s]
    });
    [in_flight_s, aged_s, worker_cpu_s].into_iter().chain(of_ops)
}

impl Rest {
    fn of(interval: &mut Interval) -> Self {
        Rest {
            from: interval.from,
            to: interval.to,
            starts: interval.starts,
            users: interval.users,
            busiest_worker_cpu_s: interval.busiest_worker_cpu_s,
            fractions: fractions(interval).map(|fraction| *fraction).collect(),
        }
    }

    /// As [`Interval::append`].
    fn append(&mut self, later: &Rest) {
        if self.to == self.from && self.starts == 0 {
            self.from = later.from;
        }
        self.to = later.to;
        self.add(later);
        self.users = later.users;
        self.busiest_worker_cpu_s += later.busiest_worker_cpu_s;
    }

    /// As [`Interval::add_worker`].
    fn add_worker(&mut self, other: &Rest) {
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
        self.add(other);
        self.users += other.users;
        self.busiest_worker_cpu_s = self.busiest_worker_cpu_s.max(other.busiest_worker_cpu_s);
    }

    fn add(&mut self, other: &Rest) {
        self.starts += other.starts;
        for (mine, theirs) in self.fractions.iter_mut().zip(&other.fractions) {
            *mine += theirs;
        }
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::{CounterId, Outcome};
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn interval()(
            from in 0_u64..1_000,
            length in 0_u64..3,
            starts in 0_u64..2,
            users in 0_u32..1_000,
            times in prop::collection::vec(0_u64..1_000_000, 2..6),
            fractions in prop::array::uniform10(0.0_f64..1e3),
        ) -> Interval {
            let mut made = Interval::new(2);
            (made.from, made.to) = (Nanos(from), Nanos(from + length));
            (made.starts, made.users) = (starts, users);
            for (at, time) in times.iter().enumerate() {
                let op = &mut made.ops[at % 2];
                op.response.saturating_record(*time);
                op.service.saturating_record(time / 2);
                op.outcomes[at % Outcome::ALL.len()] += time;
                (op.over_limit, op.good_in_time, op.requests) = (op.over_limit + 1, time / 3, time / 5);
                op.over_further[0] += time / 7;
                made.lag.saturating_record(time / 100);
                made.counters.raise(CounterId(1), *time);
            }
            (made.late, made.dropped, made.skipped) = (times[0], times[1], times[0] / 2);
            made.busiest_worker_cpu_s = fractions[9];
            for (place, value) in super::fractions(&mut made).zip(fractions) {
                *place = value;
            }
            made
        }
    }

    fn bytes(interval: &Interval) -> Vec<u8> {
        let mut bytes = Vec::new();
        interval.write_to(&mut bytes);
        bytes
    }

    /// What the sum is to be: each driver's intervals appended, then added up in the order of the drivers.
    fn expected(of_drivers: &[Vec<Interval>]) -> Option<Interval> {
        let mut each = of_drivers.iter().filter_map(Interval::joined);
        let mut sum = each.next()?;
        each.for_each(|other| sum.add_worker(&other));
        Some(sum)
    }

    proptest! {
        #[test]
        fn in_any_order_the_sum_is_that_of_whole_intervals_to_the_last_bit(
            of_drivers in prop::collection::vec(prop::collection::vec(interval(), 1..3), 1..6),
            order in prop::collection::vec(any::<prop::sample::Index>(), 12),
        ) {
            let mut left: Vec<(usize, Vec<Interval>)> = of_drivers.iter().cloned().enumerate().collect();
            let mut sum = IntervalSum::default();
            for pick in order.iter().cycle() {
                if left.is_empty() {
                    break;
                }
                // Those of one driver come in their order.
                let at = pick.index(left.len());
                let (driver, intervals) = &mut left[at];
                sum.add(*driver, intervals.remove(0));
                if intervals.is_empty() {
                    left.swap_remove(at);
                }
            }
            let expected = expected(&of_drivers).unwrap();
            prop_assert_eq!(bytes(&sum.whole().unwrap()), bytes(&expected));
        }
    }

    #[test]
    fn no_intervals_have_no_sum() {
        assert!(IntervalSum::default().whole().is_none());
    }
}
