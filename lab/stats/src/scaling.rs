//! Scaling: speed-up, the serial part, the universal scalability law, and knees.
//!
//! *More* may be cores, nodes, users or tiles: `n`. The result is a rate: `x`. A fit describes its formula
//! beyond the data, not the system; nothing here extrapolates further than twice the largest `n` measured.

mod knee;
mod least_squares;
pub mod usl;

pub use knee::{Knee, knee};

/// One measurement: the rate `x` with `n` units. Several measurements of the same `n` are several points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Number of units: cores, nodes, users, tiles. Above zero.
    pub n: f64,
    /// The rate, in any unit.
    pub x: f64,
}

impl Point {
    /// The rate `x` with `n`.
    #[must_use]
    pub const fn new(n: f64, x: f64) -> Self {
        Point { n, x }
    }

    fn usable(&self) -> bool {
        self.n.is_finite() && self.x.is_finite() && self.n > 0.0 && self.x > 0.0
    }
}

/// Usable points, by rising `n`.
fn usable(points: &[Point]) -> Vec<Point> {
    let mut usable: Vec<Point> = points.iter().copied().filter(Point::usable).collect();
    usable.sort_by(|a, b| a.n.total_cmp(&b.n));
    usable
}

/// Number of different `n` among sorted points.
fn levels(sorted: &[Point]) -> usize {
    sorted.len().min(1) + sorted.windows(2).filter(|two| two[0].n < two[1].n).count()
}

/// Comparison of one point with the smallest `n`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    /// Number of units.
    pub n: f64,
    /// Rate over the rate of one. Without a point at one, the rate of one is that of the smallest `n`, divided by it.
    pub speedup: f64,
    /// Speed-up per unit: 1 is linear.
    pub efficiency: f64,
    /// The serial part that alone would explain this speed-up (Karp and Flatt). If it rises with `n`,
    /// overhead grows; if it stays, there is a serial part. Absent at the smallest `n`.
    pub karp_flatt: Option<f64>,
}

/// Speed-up, efficiency and serial part of every point, by rising `n`. The base is the mean of the points at the smallest
/// `n`; points that are not positive are left out.
#[must_use]
pub fn speedup(points: &[Point]) -> Vec<Speedup> {
    let sorted = usable(points);
    let Some(first) = sorted.first() else { return Vec::new() };
    let base: Vec<f64> = sorted.iter().take_while(|p| p.n == first.n).map(|p| p.x).collect();
    let one = base.iter().sum::<f64>() / base.len() as f64 / first.n;
    let row = |point: &Point| {
        let speedup = point.x / one;
        // In multiples of the smallest n, so that 2, 4, 8 give the same as 1, 2, 4.
        let (times, gain) = (point.n / first.n, speedup / first.n);
        let serial = (1.0 / gain - 1.0 / times) / (1.0 - 1.0 / times);
        Speedup {
            n: point.n,
            speedup,
            efficiency: speedup / point.n,
            karp_flatt: (times > 1.0).then_some(serial),
        }
    };
    sorted.iter().map(row).collect()
}

/// Fit of Amdahl's law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amdahl {
    /// The serial part, 0 to 1.
    pub serial: f64,
    /// Standard error of the serial part; NaN if there are only as many points as parameters.
    pub serial_error: f64,
    /// Fitted rate of one.
    pub gamma: f64,
    /// The largest speed-up with any number: 1 / serial. Absent without a serial part.
    pub limit: Option<f64>,
}

/// Fits Amdahl's law: the universal scalability law without coherency. `None` with fewer than two different `n`.
#[must_use]
pub fn amdahl(points: &[Point]) -> Option<Amdahl> {
    let fitted = usl::fit_without_coherency(points)?;
    Some(Amdahl {
        serial: fitted.contention,
        serial_error: fitted.contention_error,
        gamma: fitted.gamma,
        limit: (fitted.contention > 0.0).then(|| 1.0 / fitted.contention),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(of: &[(f64, f64)]) -> Vec<Point> {
        of.iter().map(|(n, x)| Point::new(*n, *x)).collect()
    }

    /// Karp and Flatt of a speed-up of 5.6 and of 4 with eight: 0.061 and 0.143.
    #[test]
    fn serial_parts_of_eight() {
        let found = speedup(&points(&[(1.0, 100.0), (8.0, 560.0), (8.0, 400.0)]));
        let serial: Vec<String> =
            found.iter().filter_map(|s| s.karp_flatt).map(|e| format!("{e:.3}")).collect();
        assert_eq!(serial, ["0.061", "0.143"]);
        assert_eq!((found[0].speedup, found[0].efficiency, found[0].karp_flatt), (1.0, 1.0, None));
        assert_eq!((found[1].speedup, found[1].efficiency), (5.6, 0.7));
    }

    #[test]
    fn without_a_point_at_one_the_smallest_is_the_base() {
        let found = speedup(&points(&[(4.0, 30.0), (2.0, 20.0), (0.0, 5.0), (8.0, f64::NAN)]));
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].speedup, found[1].speedup, found[1].efficiency), (2.0, 3.0, 0.75));
        // From 2 to 4 the gain is 1.5 of 2: a third is serial.
        assert!((found[1].karp_flatt.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert!(speedup(&[]).is_empty());
    }

    #[test]
    fn a_planted_serial_part_is_found() {
        let law = |n: f64| 50.0 / (0.1 + 0.9 / n);
        let found = amdahl(&points(&[1.0, 2.0, 4.0, 8.0].map(|n| (n, law(n))))).unwrap();
        assert!((found.serial - 0.1).abs() < 1e-6 && (found.gamma - 50.0).abs() < 1e-4, "{found:?}");
        assert!((found.limit.unwrap() - 10.0).abs() < 1e-4);
        assert_eq!(amdahl(&points(&[(2.0, 1.0), (2.0, 1.1)])), None);
        let linear = amdahl(&points(&[(1.0, 10.0), (2.0, 20.0), (4.0, 40.0)])).unwrap();
        assert!(linear.serial < 1e-6, "{linear:?}");
    }

    proptest! {
        /// Karp and Flatt recover the serial part of Amdahl's law at every n.
        #[test]
        fn karp_flatt_reads_amdahl(serial in 0.0f64..1.0, n in 2.0f64..100.0, rate in 0.1f64..1e6) {
            let found = speedup(&points(&[(1.0, rate), (n, rate / (serial + (1.0 - serial) / n))]));
            prop_assert!((found[1].karp_flatt.unwrap() - serial).abs() < 1e-9);
        }
    }
}
