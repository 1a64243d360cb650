//! Episodes: stretches of a series that lie apart from the rest.
//!
//! A straight line shows a series that rises or falls. It does not show one that goes up and comes down
//! again, and hardly shows a step near an end. Here every stretch of batch means is held against all the
//! others; the stretch that differs most decides, by a limit so high that the best of many stretches of noise
//! seldom reaches it.
//!
//! MSER-5, the usual rule for the beginning of a steady state, does not serve: it places the beginning in the
//! second half of more than a fifth of all windows of a minute with pure noise (tested below).

use barograph_model::Share;

use crate::steady::{means_of, widening};

/// Largest shift of the window's mean that is not an episode: that allowed for a drift.
pub const SHIFT_ALLOWED: Share = crate::steady::DRIFT_ALLOWED;

/// Fewest values that can show an episode.
pub const FEWEST_VALUES: usize = 8;

/// Contrast between a stretch and the rest, in standard errors, that counts as certain. In noise, the best of
/// all stretches reaches it in fewer than one window of a hundred (tested below); a single stretch would need
/// 2.6 for that.
const CERTAIN: f64 = 7.0;

/// Smallest difference of the sides, as a part of the mean, that is not due to rounding.
const ROUNDING: f64 = 1e-9;

/// Values per batch worth having before there are more batches.
const BATCH_VALUES: usize = 4;

/// Least and greatest number of batches.
const BATCHES: (usize, usize) = (8, 20);

/// Growth of the noise of a series with its level, which decides the scale of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Hardly any growth, as with counts per second of a constant load: differences are taken.
    Even,
    /// Growth in proportion, as with response times, which are products of demand and queue length: ratios
    /// are taken. Differences would hide a stretch behind its own noise: six times as long with a swing of 15
    /// % swings by as much as the mean before.
    Proportional,
}

/// The stretch that differs most from the rest of its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Begin, as a part of the window.
    pub from: f64,
    /// End, as a part of the window.
    pub to: f64,
    /// Its mean, in the unit of the series.
    pub mean: f64,
    /// The mean of the rest.
    pub rest: f64,
    /// Difference of the two in standard errors.
    pub contrast: f64,
    /// Shift of the window's mean by the smaller of the two, as a part.
    pub shift: f64,
}

impl Episode {
    /// Whether the episode is certain, and large enough to matter. `floor` is the largest shift of the mean,
    /// in the unit of the series, that never matters.
    #[must_use]
    pub fn counts(&self, floor: f64) -> bool {
        let moved = self.shift * self.window_mean();
        self.contrast > CERTAIN && self.shift > SHIFT_ALLOWED.get() && moved > floor
    }

    /// Whether it begins with the window. A stretch up to the end of the window is never reported: the part
    /// before it differs from it as much and is reported instead, since either part may be the unusual one.
    #[must_use]
    pub fn is_the_beginning(&self) -> bool {
        self.from <= 0.0
    }

    fn window_mean(&self) -> f64 {
        let share = self.to - self.from;
        self.mean * share + self.rest * (1.0 - share)
    }
}

/// The stretch that differs most; `None` with fewer than [`FEWEST_VALUES`] values, or if their mean is not
/// above zero. Ratios need values above zero: if a batch has none, differences are taken.
#[must_use]
pub fn episode(values: &[f64], noise: Noise) -> Option<Episode> {
    if values.len() < FEWEST_VALUES {
        return None;
    }
    let batches = means_of(values, (values.len() / BATCH_VALUES).clamp(BATCHES.0, BATCHES.1));
    let count = batches.len();
    let mean = batches.iter().sum::<f64>() / count as f64;
    if !mean.is_finite() || mean <= 0.0 {
        return None;
    }
    let by_ratio = noise == Noise::Proportional && batches.iter().all(|batch| *batch > 0.0);
    let unitless = batches.iter().map(|batch| batch / mean);
    let scaled: Vec<f64> = unitless.map(|part| if by_ratio { part.ln() } else { part }).collect();
    // Sums of deviations up to each batch: a stretch is then a difference of two.
    let middle = scaled.iter().sum::<f64>() / count as f64;
    let mut sums = vec![0.0];
    for value in &scaled {
        sums.push(sums[sums.len() - 1] + value - middle);
    }
    let (mut best, mut most) = ((0, 1), -1.0);
    for from in 0..count {
        // Not up to the end: such a stretch has the contrast of the beginning that it leaves, and rounding
        // would decide between the two.
        for to in from + 1..count {
            let (inside, outside) = ((to - from) as f64, (count - (to - from)) as f64);
            let off: f64 = sums[to] - sums[from];
            let between = off * off * (1.0 / inside + 1.0 / outside);
            if between > most {
                (best, most) = ((from, to), between);
            }
        }
    }
    let (stretch, rest) = sides(&batches, best);
    Some(Episode {
        from: best.0 as f64 / count as f64,
        to: best.1 as f64 / count as f64,
        mean: stretch,
        rest,
        contrast: contrast(&scaled, best, most),
        shift: (stretch - rest).abs() * inside(best).min(count as f64 - inside(best)) / count as f64 / mean,
    })
}

fn inside((from, to): (usize, usize)) -> f64 {
    (to - from) as f64
}

/// The means of a stretch and of the rest.
fn sides(values: &[f64], (from, to): (usize, usize)) -> (f64, f64) {
    let of_stretch: f64 = values[from..to].iter().sum();
    let (inside, all) = (inside((from, to)), values.len() as f64);
    (of_stretch / inside, (values.iter().sum::<f64>() - of_stretch) / (all - inside))
}

/// The difference of the two sides in standard errors.
fn contrast(values: &[f64], (from, to): (usize, usize), between: f64) -> f64 {
    let (stretch, rest) = sides(values, (from, to));
    let off = |(at, value): (usize, &f64)| value - if (from..to).contains(&at) { stretch } else { rest };
    let residuals: Vec<f64> = values.iter().enumerate().map(off).collect();
    let all: f64 = residuals.iter().map(|r| r * r).sum();
    let straddling = straddling(&residuals, &[from, to]);
    let squares: f64 = all - straddling.iter().map(|at| residuals[*at].powi(2)).sum::<f64>();
    // Two means and the choice of the stretch are taken from the data.
    let freedom = (values.len() - 3 - straddling.len()) as f64;
    let error = (squares.max(0.0) / freedom).sqrt() * widening(&residuals, all);
    if between.sqrt() < ROUNDING {
        0.0
    } else if error > 0.0 {
        between.sqrt() / error
    } else {
        f64::INFINITY
    }
}

/// Batches cut by an edge of the stretch: of the two beside each edge the one that fits worse. Such a batch
/// belongs partly to the stretch and partly to the rest, so its deviation is not noise, and counted as noise
/// it would hide the stretch. The resemblance of neighbours is taken from all batches, because without these
/// the rest looks too even.
fn straddling(residuals: &[f64], edges: &[usize]) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    for edge in edges.iter().filter(|edge| **edge > 0) {
        let off = |at: usize| if found.contains(&at) { 0.0 } else { residuals[at].abs() };
        let worse = if off(edge - 1) > off(*edge) { edge - 1 } else { *edge };
        if !found.contains(&worse) {
            found.push(worse);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::shaped;

    const RUNS: u64 = 500;

    fn flagged(length: usize, noise: (f64, f64), shape: fn(f64) -> f64) -> usize {
        count(|seed| shaped(seed, length, noise, shape), Noise::Even)
    }

    fn count(series: impl Fn(u64) -> Vec<f64>, noise: Noise) -> usize {
        (0..RUNS).filter(|seed| episode(&series(*seed), noise).is_some_and(|e| e.counts(0.0))).count()
    }

    /// Values around 100 with noise and shape as factors.
    fn in_proportion(seed: u64, length: usize, noise: (f64, f64), factor: fn(f64) -> f64) -> Vec<f64> {
        let values = shaped(seed, length, noise, |_| 0.0);
        let at = |i: usize| i as f64 / length as f64;
        values.iter().enumerate().map(|(i, v)| 100.0 * (v / 100.0 - 1.0).exp() * factor(at(i))).collect()
    }

    #[test]
    fn noise_has_no_episodes() {
        for noise in [(0.05, 0.0), (0.1, 0.5), (0.3, 0.0), (0.3, 0.5)] {
            for length in [20, 45, 60, 300] {
                let found = flagged(length, noise, |_| 0.0);
                assert!(found < 6, "{found} of {RUNS}: {length} values, noise {noise:?}");
                let found = count(|seed| in_proportion(seed, length, noise, |_| 1.0), Noise::Proportional);
                assert!(found < 6, "{found} of {RUNS}: {length} values, noise {noise:?} in proportion");
            }
        }
    }

    /// A stretch twenty times as long also swings twenty times as much: differences miss a fifth of such
    /// stretches.
    #[test]
    fn noise_that_a_stretch_brings_along_does_not_hide_it() {
        let long = |x: f64| if (0.3..0.63).contains(&x) { 20.0 } else { 1.0 };
        let series = |seed| in_proportion(seed, 60, (0.5, 0.0), long);
        let (even, proportional) = (count(series, Noise::Even), count(series, Noise::Proportional));
        assert!(even < RUNS as usize * 9 / 10, "{even} of {RUNS}");
        assert!(proportional > RUNS as usize * 99 / 100, "{proportional} of {RUNS}");
        // Ratios of zeros do not exist.
        let none: Vec<f64> = (0..60).map(|i| if i < 20 { 0.0 } else { 5.0 }).collect();
        assert_eq!(episode(&none, Noise::Proportional), episode(&none, Noise::Even));
    }

    #[test]
    fn what_a_line_does_not_see_is_found() {
        let hump = |x: f64| if (0.4..0.7).contains(&x) { 0.5 } else { 0.0 };
        let early = |x: f64| if x < 0.25 { 0.6 } else { 0.0 };
        for shape in [hump as fn(f64) -> f64, early] {
            let found = flagged(60, (0.05, 0.0), shape);
            assert!(found > RUNS as usize * 9 / 10, "{found} of {RUNS}");
            let line = (0..RUNS)
                .filter(|seed| {
                    let values = shaped(*seed, 60, (0.05, 0.0), shape);
                    crate::steady::drift(&values).is_some_and(|d| !d.steady(0.0))
                })
                .count();
            assert!(line < found / 2, "a line sees {line}");
        }
        let found = episode(&shaped(1, 300, (0.05, 0.0), hump), Noise::Even).unwrap();
        assert!((found.from - 0.4).abs() < 0.06 && (found.to - 0.7).abs() < 0.06, "{found:?}");
        assert!((found.mean / found.rest - 1.5).abs() < 0.1 && !found.is_the_beginning(), "{found:?}");
        assert!(episode(&shaped(1, 300, (0.05, 0.0), early), Noise::Even).unwrap().is_the_beginning());
    }

    /// Both edges run through a batch of four seconds. Counted as noise the two would hide four such stretches of five.
    #[test]
    fn edges_within_a_batch_hide_nothing() {
        let hump = |x: f64| if (0.3..0.63).contains(&x) { 0.5 } else { 0.0 };
        let found = flagged(45, (0.05, 0.0), hump);
        assert!(found > RUNS as usize * 3 / 4, "{found} of {RUNS}");
        assert_eq!(straddling(&[0.0, 0.2, -0.1, 0.0, 0.3, 0.4], &[2, 4]), [1, 4]);
        assert_eq!(straddling(&[0.0, 0.2, 0.0, 0.1], &[1, 2]), [1, 2]);
        assert_eq!(straddling(&[0.1, 0.2, 0.0], &[0, 1]), [1]);
    }

    /// A step is reported by its beginning, regardless of rounding.
    #[test]
    fn a_stretch_to_the_end_is_told_by_what_comes_before_it() {
        for at in 1..20 {
            for height in [0.3, -0.3, 0.7] {
                let values: Vec<f64> = (0..80).map(|i| if i < at * 4 { 1.1 } else { 1.1 + height }).collect();
                let found = episode(&values, Noise::Even).unwrap();
                assert!(found.is_the_beginning() && found.to < 1.0, "{at} {height}: {found:?}");
                assert!((found.to - f64::from(at) / 20.0).abs() < 1e-9, "{at} {height}: {found:?}");
            }
        }
    }

    #[test]
    fn what_does_not_move_the_mean_is_no_episode() {
        // Half as much again, for a tenth of the time: 5 %.
        let short = |x: f64| if (0.5..0.6).contains(&x) { 0.5 } else { 0.0 };
        assert_eq!(flagged(300, (0.02, 0.0), short), 0);
        let long = |x: f64| if (0.4..0.7).contains(&x) { 0.5 } else { 0.0 };
        let found = episode(&shaped(1, 300, (0.02, 0.0), long), Noise::Even).unwrap();
        assert!(found.counts(0.0) && !found.counts(1000.0));
    }

    #[test]
    fn too_little_and_nothing_say_nothing() {
        assert_eq!(episode(&[1.0; 7], Noise::Even), None);
        assert_eq!(episode(&[0.0; 60], Noise::Even), None);
        let even = episode(&[5.0; 60], Noise::Proportional).unwrap();
        assert!(!even.counts(0.0) && even.contrast == 0.0);
    }

    /// MSER-5: the cut after which the rest has the smallest estimated error of its mean, in batches of five
    /// values.
    fn mser_5(values: &[f64]) -> (usize, usize) {
        let batches: Vec<f64> = values.chunks_exact(5).map(|c| c.iter().sum::<f64>() / 5.0).collect();
        let error = |cut: usize| {
            let rest = &batches[cut..];
            let (count, mean) = (rest.len() as f64, rest.iter().sum::<f64>() / rest.len() as f64);
            rest.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count * count)
        };
        // The last few always agree well with each other, so they are left out of the choice.
        let cut = (0..batches.len() - 2).min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap();
        (cut, batches.len())
    }

    #[test]
    fn mser_5_would_disbelieve_clean_windows() {
        let late = (0..RUNS)
            .filter(|seed| {
                let (cut, all) = mser_5(&shaped(*seed, 60, (0.1, 0.0), |_| 0.0));
                cut * 2 > all
            })
            .count();
        assert!(late > RUNS as usize / 5, "{late} of {RUNS}");
    }
}
