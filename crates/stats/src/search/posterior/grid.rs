//! What is believed about the edge: a probability for every capacity, softness and share of spurious failures together.
//!
//! The edge is a logistic curve: at level `x` a trial passes with probability `(1 - spurious) / (1 + (x / capacity)^(1 /
//! softness))`. Capacities stand on a grid of equal ratios over all levels a trial may have, and some beyond at both ends.
//! The grid is never narrowed, whatever the trials say: one that closes on a bracket cannot come back from a spurious
//! failure.

use std::ops::Range;

/// Logarithm of the ratio of neighbouring capacities: 0.75 %.
pub(super) const STEP: f64 = 0.0075;

/// Logarithm of how far the grid goes on beyond the lowest and the highest level: a quarter, so that "higher than anything
/// that may be tried" has a place of its own.
const BEYOND: f64 = 0.22;

/// Widths of the edge, as shares of the capacity; all are equally likely at first.
const SOFTNESS: [f64; 4] = [0.003, 0.01, 0.03, 0.08];

/// Shares of trials that fail for no reason, and how likely each is at first.
const SPURIOUS: [(f64, f64); 5] = [(0.0, 0.3), (0.02, 0.2), (0.05, 0.2), (0.1, 0.2), (0.2, 0.1)];

/// Combinations beside the capacity.
const KINDS: usize = SOFTNESS.len() * SPURIOUS.len();

/// No trial is certain: keeps a pass far above every belief from making all of it impossible.
const LEAST: f64 = 1e-6;

/// Capacities with less than this part of all probability do not matter when trials are placed.
const NEGLIGIBLE: f64 = 1e-9;

/// Steps in which pass probabilities are told apart in the curve.
const CURVE_STEPS: usize = 500;

#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Logarithm of the lowest capacity.
    first: f64,
    cells: usize,
    /// For each softness the edge at every distance between two cells.
    edges: Vec<f64>,
    /// Probabilities: for each softness and each share of spurious failures all capacities.
    weights: Vec<f64>,
}

/// The logistic curve.
fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// `x ln x`, and its limit at zero.
fn x_ln_x(x: f64) -> f64 {
    if x > f64::MIN_POSITIVE { x * x.ln() } else { 0.0 }
}

impl Grid {
    /// Nothing is known but the levels that may be tried.
    pub(super) fn new(min: u32, max: u32) -> Self {
        let first = f64::from(min).ln() - BEYOND;
        let cells = ((f64::from(max).ln() + BEYOND - first) / STEP).ceil() as usize + 1;
        let distances = 0..2 * cells - 1;
        let edge = |softness: f64, d: usize| logistic((d as f64 - (cells - 1) as f64) * STEP / softness);
        let edges = SOFTNESS.iter().flat_map(|s| distances.clone().map(|d| edge(*s, d))).collect();
        let likely = SPURIOUS.map(|(_, likely)| likely / (SOFTNESS.len() * cells) as f64);
        let weights = (0..KINDS * cells).map(|i| likely[i / cells % SPURIOUS.len()]).collect();
        Grid { first, cells, edges, weights }
    }

    fn ln_of(&self, cell: usize) -> f64 {
        self.first + cell as f64 * STEP
    }

    /// The capacity nearest to a level.
    pub(super) fn cell_of(&self, level: f64) -> usize {
        (((level.ln() - self.first) / STEP).round().max(0.0) as usize).min(self.cells - 1)
    }

    /// The level of a capacity.
    pub(super) fn level_of(&self, cell: usize) -> f64 {
        self.ln_of(cell).exp()
    }

    /// Makes capacities more or less likely by a factor that depends on them.
    pub(super) fn prefer(&mut self, factor: impl Fn(f64) -> f64) {
        let factors: Vec<f64> = (0..self.cells).map(|cell| factor(self.level_of(cell))).collect();
        for weights in self.weights.chunks_exact_mut(self.cells) {
            weights.iter_mut().zip(&factors).for_each(|(weight, factor)| *weight *= factor);
        }
        self.normalise();
    }

    fn normalise(&mut self) {
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// The edge of every softness at `level`, for all capacities.
    fn edge_at(&self, level: f64) -> Vec<f64> {
        let x = level.ln();
        let of = |softness: f64| (0..self.cells).map(move |cell| logistic((self.ln_of(cell) - x) / softness));
        SOFTNESS.iter().flat_map(|softness| of(*softness)).collect()
    }

    /// Each kind's share of spurious failures, its edge and its probabilities.
    fn kinds<'a>(&'a self, edge: &'a [f64]) -> impl Iterator<Item = (f64, &'a [f64], &'a [f64])> {
        let kinds = self.weights.chunks_exact(self.cells).enumerate();
        kinds.map(|(kind, weights)| {
            let at = kind / SPURIOUS.len() * self.cells;
            (SPURIOUS[kind % SPURIOUS.len()].0, &edge[at..at + self.cells], weights)
        })
    }

    /// Probability that a trial at `level` passes, all that is believed taken together.
    pub(super) fn predict(&self, level: u32) -> f64 {
        let edge = self.edge_at(f64::from(level));
        let of = |(spurious, edge, weights): (f64, &[f64], &[f64])| {
            (1.0 - spurious) * edge.iter().zip(weights).map(|(edge, weight)| edge * weight).sum::<f64>()
        };
        self.kinds(&edge).map(of).sum::<f64>().clamp(LEAST, 1.0 - LEAST)
    }

    /// Learns from a trial.
    pub(super) fn learn(&mut self, level: u32, passed: bool) {
        let edge = self.edge_at(f64::from(level));
        for (kind, weights) in self.weights.chunks_exact_mut(self.cells).enumerate() {
            let genuine = 1.0 - SPURIOUS[kind % SPURIOUS.len()].0;
            let at = kind / SPURIOUS.len() * self.cells;
            for (weight, edge) in weights.iter_mut().zip(&edge[at..at + self.cells]) {
                let pass = (genuine * edge).clamp(LEAST, 1.0 - LEAST);
                *weight *= if passed { pass } else { 1.0 - pass };
            }
        }
        self.normalise();
    }

    /// Probability of each capacity.
    pub(super) fn capacities(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.cells];
        for weights in self.weights.chunks_exact(self.cells) {
            sum.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
        }
        sum
    }

    /// Probability that the capacity is above `level`.
    pub(super) fn above(&self, level: u32) -> f64 {
        let from = ((f64::from(level).ln() - self.first) / STEP - 0.5).ceil().max(0.0) as usize;
        self.capacities().iter().skip(from).sum()
    }

    /// Capacities below which lie these parts of all probability, in order. Within a cell probability is spread evenly.
    pub(super) fn quantiles<const N: usize>(&self, parts: [f64; N]) -> [f64; N] {
        let capacities = self.capacities();
        parts.map(|part| {
            let mut below = 0.0;
            for (cell, here) in capacities.iter().enumerate() {
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
            softness += likely * SOFTNESS[kind / SPURIOUS.len()].ln();
            spurious += likely * SPURIOUS[kind % SPURIOUS.len()].0;
        }
        (softness.exp(), spurious)
    }

    /// Quantiles of what is believed about the pass probability at `level`.
    pub(super) fn pass_at<const N: usize>(&self, level: u32, parts: [f64; N]) -> [f64; N] {
        let edge = self.edge_at(f64::from(level));
        let mut likely = vec![0.0; CURVE_STEPS + 1];
        for (spurious, edge, weights) in self.kinds(&edge) {
            for (edge, weight) in edge.iter().zip(weights) {
                likely[((1.0 - spurious) * edge * CURVE_STEPS as f64).round() as usize] += weight;
            }
        }
        parts.map(|part| {
            let mut below = 0.0;
            let at = likely.iter().position(|here| {
                below += here;
                below >= part
            });
            at.unwrap_or(CURVE_STEPS) as f64 / CURVE_STEPS as f64
        })
    }

    /// The cell at which a trial is expected to leave the least entropy of the capacity; `None` without candidates.
    pub(super) fn most_telling(&self, candidates: &[usize]) -> Option<usize> {
        let capacities = self.capacities();
        let matters = matters(&capacities);
        let genuine = self.genuine();
        let left = |at: usize| self.entropy_after(at, &capacities[matters.clone()], (&genuine, &matters));
        let all = candidates.iter().map(|at| (*at, left(*at)));
        all.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    /// For each softness and capacity the probability times the part of trials that do not fail for no reason.
    fn genuine(&self) -> Vec<f64> {
        let mut sum = vec![0.0; SOFTNESS.len() * self.cells];
        for (kind, weights) in self.weights.chunks_exact(self.cells).enumerate() {
            let at = kind / SPURIOUS.len() * self.cells;
            let genuine = 1.0 - SPURIOUS[kind % SPURIOUS.len()].0;
            sum[at..at + self.cells]
                .iter_mut()
                .zip(weights)
                .for_each(|(sum, weight)| *sum += genuine * weight);
        }
        sum
    }

    fn entropy_after(&self, at: usize, capacities: &[f64], genuine: (&[f64], &Range<usize>)) -> f64 {
        let (genuine, matters) = genuine;
        let mut passes = vec![0.0; capacities.len()];
        for softness in 0..SOFTNESS.len() {
            let distances = &self.edges[softness * (2 * self.cells - 1)..][..2 * self.cells - 1];
            let from = matters.start + self.cells - 1 - at;
            let edge = &distances[from..from + capacities.len()];
            let genuine = &genuine[softness * self.cells..][matters.clone()];
            for ((pass, edge), genuine) in passes.iter_mut().zip(edge).zip(genuine) {
                *pass += edge * genuine;
            }
        }
        let (mut pass, mut fail, mut ordered) = (0.0, 0.0, 0.0);
        for (passes, capacity) in passes.iter().zip(capacities) {
            let fails = (capacity - passes).max(0.0);
            ordered += x_ln_x(*passes) + x_ln_x(fails);
            pass += passes;
            fail += fails;
        }
        x_ln_x(pass) + x_ln_x(fail) - ordered
    }
}

/// The cells that hold nearly all probability.
fn matters(capacities: &[f64]) -> Range<usize> {
    let matters = |here: &f64| *here > NEGLIGIBLE;
    let first = capacities.iter().position(matters).unwrap_or(0);
    let last = capacities.iter().rposition(matters).unwrap_or(capacities.len() - 1);
    first..last + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_is_the_rule_of_bayes() {
        let mut grid = Grid::new(1_000, 2_000);
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
        let mut grid = Grid::new(100, 10_000);
        for _ in 0..12 {
            let all: Vec<usize> = (0..grid.cells).step_by(5).collect();
            let level = grid.level_of(grid.most_telling(&all).unwrap()) as u32;
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
        let mut grid = Grid::new(100, 10_000);
        grid.learn(1_000, false);
        assert!(grid.above(1_000) < 0.3);
        for level in [1_000, 1_000, 2_000, 3_000] {
            grid.learn(level, true);
        }
        assert!(grid.above(2_500) > 0.95, "{}", grid.above(2_500));
    }

    #[test]
    fn before_any_trial_every_capacity_is_as_likely_and_the_curve_is_wide() {
        let grid = Grid::new(100, 10_000);
        let [quarter, half] = grid.quantiles([0.25, 0.5]);
        assert!((half - 1_000.0).abs() < 20.0 && quarter < 400.0, "{quarter} {half}");
        let [low, high] = grid.pass_at(1_000, [0.025, 0.975]);
        assert!(low < 0.01 && high > 0.9, "{low} {high}");
        let (softness, spurious) = grid.kind();
        assert!((0.003..0.08).contains(&softness) && (0.04..0.08).contains(&spurious));
    }
}
