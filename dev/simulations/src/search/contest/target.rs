//! Targets of known capacity, with random trials.

use barograph_model::TrialResult;

/// Shape of an edge: fall of the pass probability with the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// A logistic curve, the model of the search.
    Logistic,
    /// The curve of a normal distribution: shorter tails.
    Normal,
    /// A Gompertz curve: a long tail below the capacity, and a sudden end above it.
    Gompertz,
}

/// Stretches of trials in which neighbours take a part of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Neighbours {
    /// There are none.
    None,
    /// Present, without a gate.
    Unnoticed,
    /// Present, with a validity gate that makes their trials invalid.
    Gated,
}

/// A simulated target; its capacity is drawn for each search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Target {
    /// Shape of the edge.
    pub(crate) edge: Edge,
    /// Width of the edge as a share of the capacity.
    pub(crate) softness: f64,
    /// Share of spurious failures.
    pub(crate) spurious: f64,
    /// Its neighbours.
    pub(crate) neighbours: Neighbours,
}

/// Share of trials in stretches.
const IN_STRETCHES: f64 = 0.2;
/// Mean length of a stretch, in trials.
const STRETCH: f64 = 4.0;
/// Capacity left in a stretch, as a part.
const CAPACITY_LEFT: f64 = 0.85;

/// The step of SplitMix64: 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Output of SplitMix64 for a state.
fn mixed(state: u64) -> u64 {
    let mut z = state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The trials of one search.
pub(super) struct Trials {
    target: Target,
    state: u64,
    in_stretch: bool,
}

impl Trials {
    /// Trials with random numbers that depend on the cell and the search.
    pub(super) fn new(target: Target, cell: u32, search: u32) -> Self {
        // Mixed, because neighbouring states of this generator are neighbouring places of one and the same
        // sequence.
        let state = mixed(((u64::from(cell) << 32) | u64::from(search)).wrapping_add(GOLDEN));
        let mut trials = Trials { target, state, in_stretch: false };
        trials.in_stretch = trials.uniform() < IN_STRETCHES;
        trials
    }

    /// A uniform number between 0 and 1 (SplitMix64): good enough for coins, and the same everywhere.
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(GOLDEN);
        (mixed(self.state) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high / low).ln() * self.uniform()).exp()
    }

    /// The next trial.
    pub(super) fn result(&mut self, level: f64, capacity: f64) -> TrialResult {
        let leaves = 1.0 / STRETCH;
        let begins = leaves * IN_STRETCHES / (1.0 - IN_STRETCHES);
        let changes = if self.in_stretch { leaves } else { begins };
        if self.uniform() < changes {
            self.in_stretch = !self.in_stretch;
        }
        let left = match (self.target.neighbours, self.in_stretch) {
            (Neighbours::Gated, true) => return TrialResult::Invalid,
            (Neighbours::Unnoticed, true) => CAPACITY_LEFT,
            _ => 1.0,
        };
        let passes = (1.0 - self.target.spurious) * self.target.passes(level, capacity * left);
        if self.uniform() < passes { TrialResult::Pass } else { TrialResult::Fail }
    }

    /// The next valid trial: whether it passed, and the number of trials made.
    pub(super) fn believed(&mut self, level: f64, capacity: f64) -> (bool, u32) {
        let mut trials = 1;
        loop {
            match self.result(level, capacity) {
                TrialResult::Invalid => trials += 1,
                result => return (result == TrialResult::Pass, trials),
            }
        }
    }
}

impl Target {
    /// Pass probability of a trial without spurious failure.
    fn passes(&self, level: f64, capacity: f64) -> f64 {
        let z = (level / capacity).ln() / self.softness;
        match self.edge {
            Edge::Logistic => 1.0 / (1.0 + z.exp()),
            Edge::Normal => normal(-z),
            Edge::Gompertz => 0.5f64.powf(z.exp()),
        }
    }
}

/// The normal distribution, to seven digits (Abramowitz and Stegun 7.1.26).
fn normal(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * z.abs() / std::f64::consts::SQRT_2);
    let series = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let polynomial = series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    let above = polynomial * (-z * z / 2.0).exp() / 2.0;
    if z < 0.0 { above } else { 1.0 - above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_capacity_half_of_the_trials_pass() {
        for edge in [Edge::Logistic, Edge::Normal, Edge::Gompertz] {
            let target = Target { edge, softness: 0.02, spurious: 0.0, neighbours: Neighbours::None };
            assert!((target.passes(5_000.0, 5_000.0) - 0.5).abs() < 1e-6, "{edge:?}");
            assert!(
                target.passes(4_000.0, 5_000.0) > 0.99 && target.passes(6_000.0, 5_000.0) < 0.01,
                "{edge:?}"
            );
        }
        assert!((normal(1.96) - 0.975_002).abs() < 1e-5 && (normal(-1.0) - 0.158_655).abs() < 1e-5);
    }

    #[test]
    fn cells_and_searches_have_luck_of_their_own() {
        let target =
            Target { edge: Edge::Logistic, softness: 0.02, spurious: 0.5, neighbours: Neighbours::None };
        let draws = |cell, search| {
            let mut trials = Trials::new(target, cell, search);
            [(); 64].map(|()| trials.uniform())
        };
        assert_eq!(draws(3, 5), draws(3, 5));
        let (one, next) = (draws(3, 5), draws(3, 6));
        assert!(one != next && one != draws(4, 5) && one != draws(5, 3));
        assert!(!one.iter().any(|draw| next.contains(draw)), "a search goes on where another one was");
    }

    #[test]
    fn a_fifth_of_the_trials_has_bad_neighbours() {
        let target =
            Target { edge: Edge::Logistic, softness: 0.02, spurious: 0.0, neighbours: Neighbours::Gated };
        let mut trials = Trials::new(target, 0, 1);
        let invalid = (0..20_000).filter(|_| trials.result(1.0, 1e3) == TrialResult::Invalid).count();
        assert!((3_500..4_500).contains(&invalid), "{invalid}");
    }
}
