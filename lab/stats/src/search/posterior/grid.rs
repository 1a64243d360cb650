//! Posterior of the edge: joint probabilities of capacity, softness and share of spurious failures.
//!
//! The edge is a logistic curve: at level `x` a trial passes with probability `(1 - spurious) / (1 + (x /
//! capacity)^(1 / softness))`. Capacities lie on a grid of equal ratios over all levels of trials, and some
//! beyond at both ends. Trials never narrow the grid: one that closes on a bracket cannot come back from a
//! spurious failure.

mod outlook;

use crate::search::prior::{Prior, SPURIOUS};
use outlook::Outlook;

/// Logarithm of the ratio of neighbouring capacities: 0.75 %.
pub(super) const STEP: f64 = 0.0075;

/// Logarithm of the extension of the grid beyond the lowest and the highest level: a quarter, so that "above
/// all levels" has a place of its own.
const BEYOND: f64 = 0.22;

/// Least probability of a pass or failure: keeps a pass far above every belief from making all of it
/// impossible.
const LEAST: f64 = 1e-6;

/// Steps of pass probabilities in the curve.
const CURVE_STEPS: usize = 500;

/// Far above the rounding error of sums of probabilities, far below any probability that matters.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Logarithm of the lowest capacity.
    first: f64,
    cells: usize,
    /// Widths of the edge as shares of the capacity, with their prior probabilities.
    softness: &'static [(f64, f64)],
    /// For each softness the edge at every distance between two cells.
    edges: Vec<f64>,
    /// Probabilities: for each softness and each share of spurious failures all capacities.
    weights: Vec<f64>,
    /// Marginal probability of each capacity.
    capacities: Vec<f64>,
}

/// The logistic curve.
fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Pass probability of a trial at this height of the edge, given the share without spurious failures.
fn pass(genuine: f64, edge: f64) -> f64 {
    (genuine * edge).clamp(LEAST, 1.0 - LEAST)
}

impl Grid {
    /// The prior: nothing is known but the allowed levels.
    pub(super) fn new(min: u32, max: u32, prior: Prior) -> Self {
        let softness = prior.softness();
        let first = f64::from(min).ln() - BEYOND;
        let cells = ((f64::from(max).ln() + BEYOND - first) / STEP).ceil() as usize + 1;
        let distances = 0..2 * cells - 1;
        let edge = |width: f64, d: usize| logistic((d as f64 - (cells - 1) as f64) * STEP / width);
        let edges =
            softness.iter().flat_map(|(width, _)| distances.clone().map(|d| edge(*width, d))).collect();
        let likely = |kind: usize| {
            let (width, spurious) = (softness[kind / SPURIOUS.len()], SPURIOUS[kind % SPURIOUS.len()]);
            width.1 * spurious.1 / cells as f64
        };
        let kinds = 0..softness.len() * SPURIOUS.len();
        let weights = kinds.flat_map(|kind| std::iter::repeat_n(likely(kind), cells)).collect();
        let mut grid = Grid { first, cells, softness, edges, weights, capacities: vec![0.0; cells] };
        grid.normalise();
        grid
    }

    fn ln_of(&self, cell: usize) -> f64 {
        self.first + cell as f64 * STEP
    }

    /// The capacity nearest to a level.
    pub(super) fn cell_of(&self, level: f64) -> usize {
        // Below the first cell it is negative, which becomes zero.
        (((level.ln() - self.first) / STEP + 0.5) as usize).min(self.cells - 1)
    }

    /// The level of a capacity.
    pub(super) fn level_of(&self, cell: usize) -> f64 {
        self.ln_of(cell).exp()
    }

    /// Multiplies the probability of each capacity by a factor.
    pub(super) fn prefer(&mut self, factor: impl Fn(f64) -> f64) {
        let factors: Vec<f64> = (0..self.cells).map(|cell| factor(self.level_of(cell))).collect();
        for weights in self.weights.chunks_exact_mut(self.cells) {
            weights.iter_mut().zip(&factors).for_each(|(weight, factor)| *weight *= factor);
        }
        self.normalise();
    }

    /// Normalises all probabilities to one, and sums up those of each capacity.
    fn normalise(&mut self) {
        self.capacities.fill(0.0);
        for weights in self.weights.chunks_exact(self.cells) {
            self.capacities.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
        }
        let scale = 1.0 / self.capacities.iter().sum::<f64>();
        self.weights.iter_mut().chain(&mut self.capacities).for_each(|weight| *weight *= scale);
    }

    /// The edge of every softness at `level`, for all capacities.
    fn edge_at(&self, level: f64) -> Vec<f64> {
        let x = level.ln();
        let of = |width: f64| (0..self.cells).map(move |cell| logistic((self.ln_of(cell) - x) / width));
        self.softness.iter().flat_map(|(width, _)| of(*width)).collect()
    }

    /// Each kind's share of spurious failures, its edge and its probabilities.
    fn kinds<'a>(&'a self, edge: &'a [f64]) -> impl Iterator<Item = (f64, &'a [f64], &'a [f64])> {
        let kinds = self.weights.chunks_exact(self.cells).enumerate();
        kinds.map(|(kind, weights)| {
            let at = kind / SPURIOUS.len() * self.cells;
            (SPURIOUS[kind % SPURIOUS.len()].0, &edge[at..at + self.cells], weights)
        })
    }

    /// Probability that a trial at `level` passes, over the whole posterior.
    pub(super) fn predict(&self, level: u32) -> f64 {
        let edge = self.edge_at(f64::from(level));
        let of = |(spurious, edge, weights): (f64, &[f64], &[f64])| {
            (1.0 - spurious) * edge.iter().zip(weights).map(|(edge, weight)| edge * weight).sum::<f64>()
        };
        self.kinds(&edge).map(of).sum::<f64>().clamp(LEAST, 1.0 - LEAST)
    }

    /// Updates the posterior with a trial.
    pub(super) fn learn(&mut self, level: u32, passed: bool) {
        let edge = self.edge_at(f64::from(level));
        for (kind, weights) in self.weights.chunks_exact_mut(self.cells).enumerate() {
            let genuine = 1.0 - SPURIOUS[kind % SPURIOUS.len()].0;
            let at = kind / SPURIOUS.len() * self.cells;
            let each = weights.iter_mut().zip(&edge[at..at + self.cells]);
            if passed {
                each.for_each(|(weight, edge)| *weight *= pass(genuine, *edge));
            } else {
                each.for_each(|(weight, edge)| *weight *= 1.0 - pass(genuine, *edge));
            }
        }
        self.normalise();
    }

    /// Probability that the capacity is above `level`.
    pub(super) fn above(&self, level: u32) -> f64 {
        let from = ((f64::from(level).ln() - self.first) / STEP - 0.5).ceil().max(0.0) as usize;
        self.capacities.iter().skip(from).sum()
    }

    /// Quantiles of the capacity, for `parts` in order. Within a cell probability is spread evenly.
    pub(super) fn quantiles<const N: usize>(&self, parts: [f64; N]) -> [f64; N] {
        parts.map(|part| {
            let mut below = 0.0;
            for (cell, here) in self.capacities.iter().enumerate() {
                if below + here >= part {
                    let inside = if *here > 0.0 { (part - below) / here } else { 0.5 };
                    return (self.ln_of(cell) + (inside - 0.5) * STEP).exp();
                }
                below += here;
            }
            self.level_of(self.cells - 1)
        })
    }

    /// Softness (its geometric mean) and share of spurious failures (its mean).
    pub(super) fn kind(&self) -> (f64, f64) {
        let (mut softness, mut spurious) = (0.0, 0.0);
        for (kind, weights) in self.weights.chunks_exact(self.cells).enumerate() {
            let likely: f64 = weights.iter().sum();
            softness += likely * self.softness[kind / SPURIOUS.len()].0.ln();
            spurious += likely * SPURIOUS[kind % SPURIOUS.len()].0;
        }
        (softness.exp(), spurious)
    }

    /// Quantiles of the pass probability at `level`.
    pub(super) fn pass_at<const N: usize>(&self, level: u32, parts: [f64; N]) -> [f64; N] {
        let edge = self.edge_at(f64::from(level));
        let mut likely = vec![0.0; CURVE_STEPS + 1];
        for (spurious, edge, weights) in self.kinds(&edge) {
            for (edge, weight) in edge.iter().zip(weights) {
                likely[((1.0 - spurious) * edge * CURVE_STEPS as f64 + 0.5) as usize] += weight;
            }
        }
        parts.map(|part| {
            let mut below = 0.0;
            let at = likely.iter().position(|here| {
                below += here;
                // Rounding errors at a part that is reached exactly must not move the quantile by a whole
                // step.
                below + ROUNDING >= part
            });
            at.unwrap_or(CURVE_STEPS) as f64 / CURVE_STEPS as f64
        })
    }

    /// The expected information of trials now.
    pub(super) fn outlook(&self) -> Outlook<'_> {
        Outlook::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_is_the_rule_of_bayes() {
        let mut grid = Grid::new(1_000, 2_000, Prior::Even);
        let before = grid.predict(1_500);
        let twice = {
            let mut passed = grid.clone();
            passed.learn(1_500, true);
            before * passed.predict(1_500)
        };
        // P(fail, pass) + P(pass, pass) = P(pass).
        grid.learn(1_500, false);
        let after_fail = (1.0 - before) * grid.predict(1_500);
        assert!((twice + after_fail - before).abs() < 1e-5, "{twice} + {after_fail} against {before}");
    }

    #[test]
    fn a_sharp_edge_is_closed_in_on() {
        let mut grid = Grid::new(100, 10_000, Prior::Even);
        for _ in 0..12 {
            let all = (0..grid.cells).step_by(5);
            let level = grid.level_of(grid.outlook().most_telling(all).unwrap()) as u32;
            grid.learn(level, level <= 3_217);
        }
        let [low, median, high] = grid.quantiles([0.025, 0.5, 0.975]);
        assert!(
            low <= 3_217.0 && 3_217.0 <= high && (median / 3_217.0 - 1.0).abs() < 0.04,
            "{low} {median} {high}"
        );
        assert!(grid.above(2_500) > 0.95 && grid.above(4_000) < 0.05);
    }

    #[test]
    fn a_spurious_failure_is_come_back_from() {
        let mut grid = Grid::new(100, 10_000, Prior::Even);
        grid.learn(1_000, false);
        assert!(grid.above(1_000) < 0.3);
        for level in [1_000, 1_000, 2_000, 3_000] {
            grid.learn(level, true);
        }
        assert!(grid.above(2_500) > 0.95, "{}", grid.above(2_500));
    }

    #[test]
    fn before_any_trial_every_capacity_is_as_likely_and_the_curve_is_wide() {
        let grid = Grid::new(100, 10_000, Prior::Even);
        let [quarter, half] = grid.quantiles([0.25, 0.5]);
        assert!((half - 1_000.0).abs() < 20.0 && quarter < 400.0, "{quarter} {half}");
        let [low, high] = grid.pass_at(1_000, [0.025, 0.975]);
        assert!(low < 0.01 && high > 0.9, "{low} {high}");
        let (softness, spurious) = grid.kind();
        assert!((0.003..0.08).contains(&softness) && (0.04..0.08).contains(&spurious));
    }
}
