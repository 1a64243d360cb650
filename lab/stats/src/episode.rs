//! Was there an episode: a stretch of a series that lies apart from the rest?
//!
//! A straight line sees a series that rises or falls. It does not see one that goes up and comes down again, and it
//! hardly sees a step near an end. Here every stretch of batch means is held against all the others; the stretch that
//! differs most decides, by a limit set so high that the best of many stretches of noise seldom reaches it.
//!
//! MSER-5, the usual rule for where a steady state begins, was tried in its place: it names a beginning in the second half
//! of more than a fifth of all windows of a minute in which there is nothing but noise (tested below).

use barograph_model::Share;

use crate::steady::{means_of, widening};

/// An episode that moves the mean of the window by no more than this part is none: the same that a drift is allowed.
pub const SHIFT_ALLOWED: Share = crate::steady::DRIFT_ALLOWED;

/// Fewer values than this show no episode.
pub const FEWEST_VALUES: usize = 8;

/// The contrast between a stretch and the rest, in standard errors, that counts as certain. Of noise, the best of all
/// stretches reaches it in fewer than one window of a hundred (tested below); a single one would need 2.6 for that.
const CERTAIN: f64 = 7.0;

/// Sides that differ by less, as a part of the mean, differ by how their figures are rounded.
const ROUNDING: f64 = 1e-9;

/// Values per batch worth having before there are more batches.
const BATCH_VALUES: usize = 4;

/// Batches at the least and at the most.
const BATCHES: (usize, usize) = (8, 20);

/// How the noise of a series grows with its level, which decides on which scale a stretch is held against the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// It hardly does, as with counts per second of a load that stays: differences are taken.
    Even,
    /// In proportion, as with response times, which are products of what is asked for and how long the queues are: ratios are
    /// taken. Differences would hide a stretch behind the noise that it brings along: six times as long with a swing of 15 %
    /// swings by as much as everything took before.
    Proportional,
}

/// The stretch that differs most from the rest of its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Where it begins, as a part of the window.
    pub from: f64,
    /// Where it ends, as a part of the window.
    pub to: f64,
    /// Its mean, in the unit of the series.
    pub mean: f64,
    /// The mean of the rest.
    pub rest: f64,
    /// The difference of the two in standard errors.
    pub contrast: f64,
    /// By which part the smaller of the two moves the mean of the window.
    pub shift: f64,
}

impl Episode {
    /// Certain, and large enough to matter. `floor` is the move of the mean, in the unit of the series, below which nobody
    /// needs to care.
    #[must_use]
    pub fn counts(&self, floor: f64) -> bool {
        let moved = self.shift * self.window_mean();
        self.contrast > CERTAIN && self.shift > SHIFT_ALLOWED.get() && moved > floor
    }

    /// It begins with the window. A stretch that lasts to the end of the window is never named: the part before it differs
    /// from it as much, and that part is named instead, since which of two parts is the unusual one cannot be told.
    #[must_use]
    pub fn is_the_beginning(&self) -> bool {
        self.from <= 0.0
    }

    fn window_mean(&self) -> f64 {
        let share = self.to - self.from;
        self.mean * share + self.rest * (1.0 - share)
    }
}

/// The stretch that differs most; `None` of fewer than [`FEWEST_VALUES`] values, or when their mean is not above zero. Ratios
/// need values above zero: where a batch has none, differences are taken.
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
        // Not up to the end: such a stretch has the contrast of the beginning that it leaves, and the last digits of the two
        // would decide which is named.
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

/// The batches that an edge of the stretch runs through: of the two beside it the one that fits worse. Such a batch is partly
/// of the stretch and partly of the rest, so what it is off by is no noise, and counted as noise it would hide the stretch. How
/// far neighbours resemble each other is taken from all batches, because without these the rest looks too even.
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

    /// Values around 100 whose noise is a factor, as is the shape.
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

    /// What takes twenty times as long swings twenty times as much, too: differences miss a fifth of such stretches.
    #[test]
    fn noise_that_a_stretch_brings_along_does_not_hide_it() {
        let long = |x: f64| if (0.3..0.63).contains(&x) { 20.0 } else { 1.0 };
        let series = |seed| in_proportion(seed, 60, (0.5, 0.0), long);
        let (even, proportional) = (count(series, Noise::Even), count(series, Noise::Proportional));
        assert!(even < RUNS as usize * 9 / 10, "{even} of {RUNS}");
        assert!(proportional > RUNS as usize * 99 / 100, "{proportional} of {RUNS}");
        // Ratios of nothing are none.
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

    /// A step is told from its beginning, whatever the last digits of sums are.
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

    /// Where the rest has the smallest estimated error of its mean, in batches of five values.
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
