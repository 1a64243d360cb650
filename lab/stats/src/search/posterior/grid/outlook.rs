//! Expected information of trials: the uncertainty about the capacity that would remain after one at each
//! level.
//!
//! It is prepared once for all candidate levels. Capacities far below the level of a trial never let it pass,
//! and those far above it always do, apart from spurious failures. Their contributions do not depend on the
//! exact level and are summed up beforehand, so that only capacities near the level take logarithms.

use std::ops::Range;

use super::{Grid, STEP};
use crate::search::prior::SPURIOUS;

/// Probability of a capacity below which it is ignored.
const NEGLIGIBLE: f64 = 1e-9;

/// Probability of a width of the edge below which it is ignored: all of them together change the result by
/// less than 1e-9.
const NEVER: f64 = 1e-12;

/// Widths after which the edge is over: the rest, e^-24 of a trial, changes the result by less than 1e-9.
const REACH: f64 = 24.0;

/// Prepared sums. Capacities are counted from the first relevant one.
pub(in crate::search::posterior) struct Outlook<'a> {
    matters: Range<usize>,
    /// Cell of the grid at which distances between cells are zero in the edges.
    origin: usize,
    /// Cells after which the edge is over, at any width.
    reach: usize,
    widths: Vec<Width<'a>>,
    capacities: &'a [f64],
    /// Total of their probabilities.
    all: f64,
    /// Sum of `x ln x` of the capacities before each, if no trial passes there.
    none: Vec<f64>,
    /// The same of each and those after it, if every genuine trial passes there.
    every: Vec<f64>,
    /// Probability of a pass with each and those after it, if every genuine trial passes there.
    passes: Vec<f64>,
    /// Probability of a pass with each near the level; a buffer.
    near: Vec<f64>,
}

/// A relevant width of the edge.
struct Width<'a> {
    /// The edge at every distance between two cells.
    edges: &'a [f64],
    /// For each capacity the probability, times the share of trials without spurious failure.
    genuine: Vec<f64>,
}

/// `x ln x`, and its limit at zero.
fn x_ln_x(x: f64) -> f64 {
    if x > f64::MIN_POSITIVE { x * x.ln() } else { 0.0 }
}

/// The sum over both results.
fn both(passes: f64, capacity: f64) -> f64 {
    x_ln_x(passes) + x_ln_x((capacity - passes).max(0.0))
}

impl<'a> Outlook<'a> {
    pub(super) fn of(grid: &'a Grid) -> Self {
        let matters = matters(&grid.capacities);
        let capacities = &grid.capacities[matters.clone()];
        let (widths, reach) = widths(grid, &matters);
        let count = capacities.len();
        let mut none = vec![0.0; count + 1];
        for (at, capacity) in capacities.iter().enumerate() {
            none[at + 1] = none[at] + x_ln_x(*capacity);
        }
        let (mut every, mut passes) = (vec![0.0; count + 1], vec![0.0; count + 1]);
        for at in (0..count).rev() {
            let genuine: f64 = widths.iter().map(|width| width.genuine[at]).sum();
            every[at] = every[at + 1] + both(genuine, capacities[at]);
            passes[at] = passes[at + 1] + genuine;
        }
        Outlook {
            matters,
            origin: grid.cells - 1,
            reach,
            widths,
            capacities,
            all: capacities.iter().sum(),
            none,
            every,
            passes,
            near: vec![0.0; count],
        }
    }

    /// The cell at which a trial is expected to leave the least entropy of the capacity; `None` without
    /// candidates.
    pub(in crate::search::posterior) fn most_telling(
        &mut self,
        candidates: impl Iterator<Item = usize>,
    ) -> Option<usize> {
        let all = candidates.map(|at| (at, self.entropy_after(at)));
        all.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    fn entropy_after(&mut self, at: usize) -> f64 {
        let Range { start, end } = self.matters;
        let within = |cell: usize| cell.clamp(start, end) - start;
        let (from, to) = (within(at.saturating_sub(self.reach)), within(at + self.reach + 1));
        let near = &mut self.near[from..to];
        near.fill(0.0);
        let distance = start + from + self.origin - at;
        for width in &self.widths {
            let edge = &width.edges[distance..distance + near.len()];
            for ((passes, edge), genuine) in near.iter_mut().zip(edge).zip(&width.genuine[from..to]) {
                *passes += edge * genuine;
            }
        }
        let (mut pass, mut ordered) = (self.passes[to], self.none[from] + self.every[to]);
        for (passes, capacity) in near.iter().zip(&self.capacities[from..to]) {
            pass += passes;
            ordered += both(*passes, *capacity);
        }
        both(pass, self.all) - ordered
    }
}

/// The relevant widths, and the number of cells from a level after which the softest edge is over.
fn widths<'a>(grid: &'a Grid, matters: &Range<usize>) -> (Vec<Width<'a>>, usize) {
    let distances = 2 * grid.cells - 1;
    let (mut widths, mut reach) = (Vec::with_capacity(grid.softness.len()), 0);
    let all = grid.weights.chunks_exact(grid.cells * SPURIOUS.len()).zip(grid.edges.chunks_exact(distances));
    for ((weights, edges), (softness, _)) in all.zip(grid.softness) {
        if weights.iter().sum::<f64>() < NEVER {
            continue;
        }
        let mut genuine = vec![0.0; matters.len()];
        for (weights, (spurious, _)) in weights.chunks_exact(grid.cells).zip(SPURIOUS) {
            let weights = &weights[matters.clone()];
            genuine.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += (1.0 - spurious) * weight);
        }
        widths.push(Width { edges, genuine });
        reach = reach.max((REACH * softness / STEP).ceil() as usize);
    }
    (widths, reach)
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
    use proptest::prelude::*;

    use super::*;
    use crate::search::prior::Prior;

    /// The entropy left after a trial at a cell, computed without shortcuts.
    fn plainly(grid: &Grid, at: usize) -> f64 {
        let distances = 2 * grid.cells - 1;
        let (mut pass, mut fail, mut ordered) = (0.0, 0.0, 0.0);
        for cell in matters(&grid.capacities) {
            let of = |(kind, weights): (usize, &[f64])| {
                let edge = grid.edges[kind / SPURIOUS.len() * distances + cell + grid.cells - 1 - at];
                (1.0 - SPURIOUS[kind % SPURIOUS.len()].0) * edge * weights[cell]
            };
            let passes: f64 = grid.weights.chunks_exact(grid.cells).enumerate().map(of).sum();
            let fails = (grid.capacities[cell] - passes).max(0.0);
            ordered += x_ln_x(passes) + x_ln_x(fails);
            pass += passes;
            fail += fails;
        }
        x_ln_x(pass) + x_ln_x(fail) - ordered
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn short_cuts_change_nothing(
            trials in prop::collection::vec((100u32..10_000, any::<bool>()), 0..30),
            // Trials of a sharp edge leave little to believe; trials at random leave much.
            sharp in prop::option::of(100u32..10_000),
            soft in any::<bool>(),
        ) {
            let mut grid = Grid::new(100, 10_000, if soft { Prior::Soft } else { Prior::Even });
            for (level, passed) in trials {
                grid.learn(level, sharp.map_or(passed, |capacity| level <= capacity));
            }
            let mut outlook = grid.outlook();
            for at in (0..grid.cells).step_by(11).chain([grid.cells - 1]) {
                let (fast, plain) = (outlook.entropy_after(at), plainly(&grid, at));
                prop_assert!((fast - plain).abs() < 1e-9, "{fast} and {plain} after a trial at cell {at}");
            }
        }
    }

    #[test]
    fn the_level_that_halves_what_is_believed_tells_the_most() {
        let grid = Grid::new(100, 10_000, Prior::Even);
        let at = grid.outlook().most_telling(0..grid.cells).unwrap();
        assert!(at.abs_diff(grid.cells / 2) < grid.cells / 8, "{at} of {}", grid.cells);
        assert_eq!(grid.outlook().most_telling(0..0), None);
    }
}
