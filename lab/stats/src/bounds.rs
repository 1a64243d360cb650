//! Bounds of a closed system: the range of throughput and response time for a number of users, from the
//! demand of an operation on each resource alone.
//!
//! A user thinks, starts an operation, waits for its answer, and thinks again; each resource works on one
//! operation at a time. A resource with k servers counts as a single one that is k times as fast. That is
//! better than the real one, so upper bounds of throughput hold for it and lower ones do not. Times are in
//! any one unit, rates are per that unit.

use std::num::NonZeroU32;

/// A closed system: demands of its operations and think time of its users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedSystem {
    /// Demand of an operation on all resources together.
    total: f64,
    /// Demand on the resource with the largest demand.
    largest: f64,
    /// Mean demand over the resources with any demand.
    mean: f64,
    think: f64,
}

/// Range of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower bound.
    pub least: f64,
    /// The upper bound.
    pub most: f64,
}

/// Bounds for a number of users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Operations per unit of time.
    pub throughput: Range,
    /// Mean response time.
    pub response: Range,
}

impl ClosedSystem {
    /// `demands` are the times that an operation needs of each resource, all its visits together; `think` is
    /// the time between an answer and the next operation. `None` if all demands are zero, or a time is
    /// negative or not finite.
    #[must_use]
    pub fn new(demands: &[f64], think: f64) -> Option<Self> {
        let makes_sense = |time: &f64| time.is_finite() && *time >= 0.0;
        let needed: Vec<f64> = demands.iter().copied().filter(|demand| *demand > 0.0).collect();
        let sensible = demands.iter().all(makes_sense) && makes_sense(&think) && !needed.is_empty();
        let total: f64 = needed.iter().sum();
        let (largest, mean) = (needed.iter().copied().fold(0.0, f64::max), total / needed.len() as f64);
        sensible.then_some(ClosedSystem { total, largest, mean, think })
    }

    /// The throughput that no number of users exceeds: `1 / Dmax`, at which the resource with the largest
    /// demand is always busy.
    #[must_use]
    pub fn saturation(&self) -> f64 {
        1.0 / self.largest
    }

    /// The number of users at which the two asymptotes of throughput meet: `N* = (D + Z) / Dmax`. From there
    /// on some user has to wait for another.
    #[must_use]
    pub fn knee(&self) -> f64 {
        (self.total + self.think) / self.largest
    }

    /// Asymptotic bounds (Muntz and Wong 1974; Denning and Buzen 1978). At best no operation waits until a
    /// resource is full: `X <= min(1 / Dmax, N / (D + Z))`. At worst every operation waits for all others: `X
    /// >= N / (N D + Z)`. Hence `max(D, N Dmax - Z) <= R <= N D`.
    #[must_use]
    pub fn asymptotic(&self, users: NonZeroU32) -> Bounds {
        let n = f64::from(users.get());
        let least = n / (n * self.total + self.think);
        let most = self.saturation().min(n / (self.total + self.think));
        self.of(n, Range { least, most })
    }

    /// Bounds of balanced jobs (Zahorjan, Sevcik, Eager and Galler 1982), with think time as in Lazowska,
    /// Zahorjan, Graham and Sevcik (1984).
    ///
    /// The same work spread evenly over the resources is at least as fast, and made of resources that all
    /// have the largest demand at most as fast. With Davg the mean demand, `N / (D + Z + (N - 1) Dmax / (1 +
    /// Z / (N D))) <= X <= min(1 / Dmax, N / (D + Z + (N - 1) Davg / (1 + Z / D)))`.
    ///
    /// They lie within the asymptotic bounds, and assume more: queues with a product form, as with
    /// exponentially distributed service times or with resources shared evenly by all present.
    #[must_use]
    pub fn balanced(&self, users: NonZeroU32) -> Bounds {
        let n = f64::from(users.get());
        let ClosedSystem { total, largest, mean, think } = *self;
        let least = n / (total + think + (n - 1.0) * largest / (1.0 + think / (n * total)));
        let most = n / (total + think + (n - 1.0) * mean / (1.0 + think / total));
        self.of(n, Range { least, most: self.saturation().min(most) })
    }

    /// Adds the response times that follow: `R = N / X - Z`.
    fn of(&self, n: f64, throughput: Range) -> Bounds {
        let response =
            Range { least: n / throughput.most - self.think, most: n / throughput.least - self.think };
        Bounds { throughput, response }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn users(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).unwrap()
    }

    /// Throughput by mean value analysis, which is exact for these queues.
    fn exact(demands: &[f64], think: f64, users: u32) -> f64 {
        let mut waiting = vec![0.0; demands.len()];
        let mut throughput = 0.0;
        for n in 1..=users {
            let times: Vec<f64> = demands.iter().zip(&waiting).map(|(d, queue)| d * (1.0 + queue)).collect();
            throughput = f64::from(n) / (think + times.iter().sum::<f64>());
            waiting = times.iter().map(|time| throughput * time).collect();
        }
        throughput
    }

    /// Throughput of one resource with several servers, by the probability of each number of operations at
    /// it.
    fn of_several_servers(servers: u32, demand: f64, think: f64, users: u32) -> f64 {
        let busy = |n: u32| f64::from(n.min(servers));
        let (mut chance, mut all, mut working) = (1.0, 1.0, 0.0);
        for n in 1..=users {
            chance *= f64::from(users - n + 1) / think * demand / busy(n);
            all += chance;
            working += chance * busy(n);
        }
        working / all / demand
    }

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-9 * expected.abs().max(1e-9)
    }

    /// Whether `range` holds `value`, up to rounding.
    fn holds(range: Range, value: f64) -> bool {
        range.least <= value * (1.0 + 1e-9) && value <= range.most * (1.0 + 1e-9)
    }

    #[test]
    fn by_hand() {
        let of = |think| ClosedSystem::new(&[5.0, 4.0, 3.0], think).unwrap();
        let (batch, terminals) = (of(0.0), of(15.0));
        assert_eq!((batch.saturation(), terminals.saturation()), (0.2, 0.2));
        assert_eq!((batch.knee(), terminals.knee()), (2.4, 5.4));
        // Least and most throughput, shortest and longest response time.
        for (bounds, throughput, response) in [
            (batch.asymptotic(users(1)), (1.0 / 12.0, 1.0 / 12.0), (12.0, 12.0)),
            (batch.asymptotic(users(3)), (3.0 / 36.0, 0.2), (15.0, 36.0)),
            // 12 + 2 x 5 and 12 + 2 x 4.
            (batch.balanced(users(3)), (3.0 / 22.0, 3.0 / 20.0), (20.0, 22.0)),
            (terminals.asymptotic(users(3)), (3.0 / 51.0, 3.0 / 27.0), (12.0, 36.0)),
            (terminals.asymptotic(users(6)), (6.0 / 87.0, 0.2), (15.0, 72.0)),
            // 12 + 5 x 5 / (1 + 15 / 72) and 12 + 5 x 4 / (1 + 15 / 12).
            (
                terminals.balanced(users(6)),
                (6.0 / (27.0 + 600.0 / 29.0), 6.0 / (27.0 + 80.0 / 9.0)),
                (12.0 + 80.0 / 9.0, 12.0 + 600.0 / 29.0),
            ),
            (
                terminals.balanced(users(20)),
                (20.0 / (27.0 + 95.0 / 1.0625), 0.2),
                (85.0, 12.0 + 95.0 / 1.0625),
            ),
        ] {
            for (range, (least, most)) in [(bounds.throughput, throughput), (bounds.response, response)] {
                assert!(close(range.least, least) && close(range.most, most), "{range:?}: {least} to {most}");
            }
        }
    }

    #[test]
    fn evenly_spread_work_leaves_nothing_open() {
        let closed = ClosedSystem::new(&[2.0, 2.0, 2.0, 0.0], 0.0).unwrap();
        for n in [1, 2, 10, 500] {
            // N / (D + (N - 1) D / K); a demand of zero changes nothing.
            let known = f64::from(n) / (6.0 + f64::from(n - 1) * 2.0);
            let Range { least, most } = closed.balanced(users(n)).throughput;
            assert!(close(least, known) && close(most, known), "{n}: {least} to {most} is not {known}");
            assert!(close(exact(&[2.0, 2.0, 2.0], 0.0, n), known));
        }
    }

    #[test]
    fn what_makes_no_sense_has_no_bounds() {
        let cases: [(&[f64], f64); 7] = [
            (&[], 1.0),
            (&[0.0], 1.0),
            (&[1.0, -1.0], 1.0),
            (&[1.0, f64::NAN], 1.0),
            (&[f64::INFINITY], 1.0),
            (&[1.0], -1.0),
            (&[1.0], f64::NAN),
        ];
        for (demands, think) in cases {
            assert_eq!(ClosedSystem::new(demands, think), None, "{demands:?} {think}");
        }
    }

    proptest! {
        #[test]
        fn what_is_exact_lies_within(
            demands in vec(0.001f64..1.0, 1..6),
            think in prop_oneof![Just(0.0), 0.0f64..1.0, 0.0f64..30.0],
            n in 1u32..120,
        ) {
            let closed = ClosedSystem::new(&demands, think).unwrap();
            let throughput = exact(&demands, think, n);
            let response = f64::from(n) / throughput - think;
            let (asymptotic, balanced) = (closed.asymptotic(users(n)), closed.balanced(users(n)));
            prop_assert!(holds(asymptotic.throughput, throughput) && holds(balanced.throughput, throughput));
            // The differences of long times are less exact than the times.
            let hair = 1e-9 * (think + response);
            for range in [asymptotic.response, balanced.response] {
                prop_assert!(range.least <= response + hair && response <= range.most + hair);
            }
            prop_assert!(holds(asymptotic.throughput, balanced.throughput.least));
            prop_assert!(holds(asymptotic.throughput, balanced.throughput.most));
        }

        /// The asymptotes meet at the knee: below it users set the upper bound, above it the resource does.
        #[test]
        fn the_knee_parts_users_from_resources(demands in vec(0.001f64..1.0, 1..6), think in 0.0f64..30.0) {
            let closed = ClosedSystem::new(&demands, think).unwrap();
            let (below, above) = (closed.knee().floor() as u32, closed.knee().ceil() as u32 + 1);
            prop_assert!(close(closed.asymptotic(users(above)).throughput.most, closed.saturation()));
            let alone = f64::from(below) / (think + demands.iter().sum::<f64>());
            prop_assert!(close(closed.asymptotic(users(below)).throughput.most, alone));
        }

        #[test]
        fn several_servers_are_no_faster_than_a_fast_one(
            servers in 1u32..9, demand in 0.01f64..2.0, think in 0.1f64..10.0, n in 1u32..100,
        ) {
            let closed = ClosedSystem::new(&[demand / f64::from(servers)], think).unwrap();
            let found = of_several_servers(servers, demand, think, n);
            prop_assert!(found <= closed.asymptotic(users(n)).throughput.most * (1.0 + 1e-9));
        }
    }
}
