//! Headroom: the growth of a load until a resource is used up, by the utilisation law (use = rate x demand)
//! solved for the rate.
//!
//! The demand of an operation is assumed constant, so use grows in proportion to the load. The resulting
//! level is an upper bound in two ways: queueing makes response times fail before a resource is full, and a
//! resource that was not measured may be exhausted sooner.

/// Use of a limited resource at one level of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// Use without any load: memory and files have some, cores hardly any.
    pub idle: f64,
    /// Use at the level.
    pub used: f64,
    /// The limit.
    pub limit: f64,
}

impl Use {
    /// The level at which the resource is used up, given this use at `level`. `None` if the load used none of
    /// it, or if a figure is invalid.
    #[must_use]
    pub fn used_up_at(&self, level: f64) -> Option<f64> {
        let grown = self.used - self.idle;
        let sensible = grown > 0.0 && level > 0.0 && self.limit > self.idle && self.idle >= 0.0;
        let at = level * (self.limit - self.idle) / grown;
        (sensible && at.is_finite()).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queueing::Queue;

    #[test]
    fn by_hand() {
        let of = |idle, used, limit| Use { idle, used, limit }.used_up_at(1_000.0);
        assert_eq!(of(0.0, 1.0, 4.0), Some(4_000.0));
        // The load uses 100 of the 900 left for it: nine times as much fits.
        assert_eq!(of(100.0, 200.0, 1_000.0), Some(9_000.0));
        assert_eq!(of(0.0, 4.0, 4.0), Some(1_000.0));
    }

    #[test]
    fn what_does_not_grow_is_never_used_up() {
        for (idle, used, limit) in [
            (5.0, 5.0, 10.0),
            (5.0, 4.0, 10.0),
            (0.0, 1.0, 0.0),
            (f64::NAN, 1.0, 2.0),
            (0.0, f64::NAN, 2.0),
            (0.0, 1.0, f64::INFINITY),
        ] {
            assert_eq!(Use { idle, used, limit }.used_up_at(100.0), None, "{idle} {used} {limit}");
        }
        assert_eq!(Use { idle: 0.0, used: 1.0, limit: 2.0 }.used_up_at(0.0), None);
    }

    /// Four cores and 20 ms of them for each operation are full at 200 operations per second, seen from any rate below.
    #[test]
    fn a_queue_is_full_where_the_law_says() {
        for rate in [1.0, 50.0, 120.0, 199.0] {
            let used = Queue::new(4, 0.02, rate).unwrap().utilisation() * 4.0;
            let full = Use { idle: 0.0, used, limit: 4.0 }.used_up_at(rate).unwrap();
            assert!((full - 200.0).abs() < 1e-9, "{rate}: {full}");
            assert!(Queue::new(4, 0.02, full).is_none(), "nothing is left at {full}");
        }
    }
}
