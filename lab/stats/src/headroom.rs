//! How far a load can grow until a resource is used up: the utilisation law, use = rate x demand, turned round.
//!
//! What an operation needs of a resource is taken to stay as it is, so use grows in proportion to the load. The level that
//! follows is an upper bound in two ways: queueing makes response times fail before a resource is full, and what nobody
//! measured may end it sooner.

/// A resource with a limit, as it was used at one level of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// What is used without any load: memory and files have that, cores hardly.
    pub idle: f64,
    /// What was used at the level.
    pub used: f64,
    /// All there is of it.
    pub limit: f64,
}

impl Use {
    /// The level at which nothing is left of it, when so much was used at `level`. `None` where the load used nothing of it,
    /// or where a figure makes no sense.
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
        // 100 of 900 that are left for the load: nine times as much fits.
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
