//! Knee of a curve: two straight segments that meet, with an interval for the place.

use super::{Point, levels, usable};

/// Places tried between the second smallest and the second largest `n`.
const PLACES: u32 = 400;
/// Fewest points: four parameters are fitted, and at least one more point is needed for their error.
const FEWEST: usize = 5;
/// Largest probability by chance of the gain of two segments over one line. Stricter than 5 %, because the
/// place of the bend is chosen.
const CHANCE: f64 = 0.01;
/// Probability outside of the interval.
const LEFT_OUT: f64 = 0.05;

/// A knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Its place.
    pub n: f64,
    /// Lower end of its 95 % interval, by the likelihood of every other place.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Rate per unit before it.
    pub before: f64,
    /// Rate per unit after it.
    pub after: f64,
}

/// The knee of two straight segments that meet. `None` with fewer than five points or four different `n`, or
/// if one straight line is as good. The interval of a knee between two measured `n` is at least as wide as
/// their distance. `taken` is the number of parameters removed from the points before, such as the means of
/// blocks: each lowers the scatter of the points, so one more point is needed for each.
#[must_use]
pub fn knee(points: &[Point], taken: usize) -> Option<Knee> {
    let sorted = usable(points);
    if sorted.len() < FEWEST + taken || levels(&sorted) < 4 {
        return None;
    }
    let (first, last) = (sorted.first()?.n, sorted.last()?.n);
    let from = sorted.iter().find(|p| p.n > first)?.n;
    let to = sorted.iter().rev().find(|p| p.n < last)?.n;
    let places = (0..=PLACES).map(|i| from + (to - from) * f64::from(i) / f64::from(PLACES));
    let tried: Vec<(f64, Segments)> =
        places.filter_map(|at| Some((at, segments(&sorted, Some(at))?))).collect();
    let (n, best) = tried.iter().min_by(|a, b| a.1.squares.total_cmp(&b.1.squares)).copied()?;
    let left = sorted.len() - 4 - taken;
    let straight = segments(&sorted, None)?.squares;
    // An exact fit makes every ratio infinite, and the knee certain.
    let gain = ((straight - best.squares) / 2.0) / (best.squares / left as f64);
    let chance = (1.0 + 2.0 * gain / left as f64).powf(-(left as f64) / 2.0);
    let negligible = straight <= 1e-18 * sorted.iter().map(|p| p.x * p.x).sum::<f64>();
    if negligible || gain.is_nan() || chance > CHANCE {
        return None;
    }
    // The quantile of F with two degrees of freedom, in its closed form: the bend counts twice, because where the squares
    // have kinks, as they do at every measured n, the usual one would be too narrow.
    let allowed = best.squares * LEFT_OUT.powf(-2.0 / left as f64);
    let likely = || tried.iter().filter(|(_, s)| s.squares <= allowed).map(|(at, _)| *at);
    Some(Knee {
        n,
        low: likely().fold(n, f64::min),
        high: likely().fold(n, f64::max),
        before: best.before,
        after: best.before + best.bend,
    })
}

#[derive(Clone, Copy, Debug)]
struct Segments {
    before: f64,
    bend: f64,
    squares: f64,
}

/// Least squares of a + before n + bend max(n - at, 0); one straight line without `at`. `None` if the points
/// do not determine the parameters.
fn segments(points: &[Point], at: Option<f64>) -> Option<Segments> {
    let count = points.len() as f64;
    let mean = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / count;
    let after = |p: &Point| at.map_or(0.0, |at| (p.n - at).max(0.0));
    let (mean_n, mean_x, mean_after) = (mean(&|p| p.n), mean(&|p| p.x), mean(&after));
    // Around the means, two unknowns are left.
    let centred = |p: &Point| (p.n - mean_n, after(p) - mean_after, p.x - mean_x);
    let sum = |of: &dyn Fn((f64, f64, f64)) -> f64| points.iter().map(|p| of(centred(p))).sum::<f64>();
    let (nn, na, aa) = (sum(&|(n, _, _)| n * n), sum(&|(n, a, _)| n * a), sum(&|(_, a, _)| a * a));
    let (nx, ax) = (sum(&|(n, _, x)| n * x), sum(&|(_, a, x)| a * x));
    let (before, bend) = if at.is_none() {
        (nx / nn, 0.0)
    } else {
        let determinant = nn * aa - na * na;
        if determinant <= 1e-12 * nn * aa {
            return None;
        }
        ((nx * aa - ax * na) / determinant, (ax * nn - nx * na) / determinant)
    };
    let squares = sum(&|(n, a, x)| (x - before * n - bend * a).powi(2));
    Some(Segments { before, bend, squares })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn line(levels: u32, repeats: u32, noise: f64, seed: u64, rate: impl Fn(f64) -> f64) -> Vec<Point> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        (1..=levels)
            .flat_map(|n| (0..repeats).map(move |_| f64::from(n)))
            .map(|n| Point::new(n, rate(n) + noise * normal()))
            .collect()
    }

    fn bent(n: f64) -> f64 {
        if n < 5.5 { 100.0 * n } else { 550.0 + 10.0 * (n - 5.5) }
    }

    #[test]
    fn a_bend_without_noise_is_exact() {
        let found = knee(&line(10, 1, 0.0, 0, bent), 0).unwrap();
        assert!((found.n - 5.5).abs() < 0.02 && (found.before - 100.0).abs() < 1.0, "{found:?}");
        assert!(
            (found.after - 10.0).abs() < 1.0 && found.low <= found.n && found.n <= found.high,
            "{found:?}"
        );
    }

    #[test]
    fn the_interval_holds_the_bend_as_often_as_it_says() {
        let rounds = 300;
        let held = (0..rounds)
            .filter(|seed| {
                let found = knee(&line(10, 2, 25.0, *seed, bent), 0).unwrap();
                found.low <= 5.5 && 5.5 <= found.high
            })
            .count();
        assert!(held as f64 >= 0.92 * rounds as f64, "{held} of {rounds}");
    }

    #[test]
    fn a_straight_line_has_none() {
        assert_eq!(knee(&line(10, 1, 0.0, 0, |n| 3.0 + 2.0 * n), 0), None);
        let found =
            (0..300).filter(|seed| knee(&line(10, 2, 25.0, *seed, |n| 100.0 * n), 0).is_some()).count();
        assert!(found <= 15, "{found} of 300 bends in straight lines");
        assert_eq!(knee(&line(3, 3, 1.0, 0, bent), 0), None);
    }

    /// Figures without the mean of their block scatter less than their noise, by one parameter for each
    /// block.
    #[test]
    fn what_was_taken_out_before_makes_a_bend_less_certain() {
        let points = line(10, 2, 25.0, 3, bent);
        let (all, fewer) = (knee(&points, 0).unwrap(), knee(&points, 6).unwrap());
        assert_eq!((all.n, all.before, all.after), (fewer.n, fewer.before, fewer.after));
        assert!(fewer.low <= all.low && all.high <= fewer.high, "{all:?} {fewer:?}");
        assert!(fewer.high - fewer.low > all.high - all.low, "{all:?} {fewer:?}");
        assert_eq!(knee(&points, 16), None, "no figure is left over");
    }
}
