//! Simulated machines with a known truth, for the evaluation of comparisons.
//!
//! A run's figure is 100 times the machine's noise; the candidate's is in addition multiplied by the planted
//! effect. Runs follow each other in time, so the noise of a run may resemble that of the previous one.

use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use barograph_stats::compare::Pair;

/// Distribution of the noise of runs. It is a factor; its logarithm is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Noise {
    /// Normal, independent.
    Independent,
    /// Normal, resembling the previous run: a correlation of 0.55, as measured on a shared machine.
    Autocorrelated,
    /// Student's t with two degrees of freedom, independent: most are close, some far out.
    HeavyTailed,
}

/// Order of the runs of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Design {
    /// All of the baseline, then all of the candidate; the first is paired with the first.
    Blocked,
    /// Alternating, always in the same order.
    Alternating,
    /// Pairs in random order.
    RandomisedPairs,
}

/// Correlation of neighbours in [`Noise::Autocorrelated`].
const MEMORY: f64 = 0.55;

/// A machine and the design of a comparison on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SimulatedMachine {
    /// Its noise.
    pub(crate) noise: Noise,
    /// Standard deviation of the logarithm of one run's figure (of the normal part, where tails are heavy).
    pub(crate) deviation: f64,
    /// The order of runs.
    pub(crate) design: Design,
    /// The true ratio, candidate over baseline.
    pub(crate) ratio: f64,
}

impl SimulatedMachine {
    /// The pairs of one comparison. The same seed gives the same pairs.
    pub(crate) fn pairs(&self, count: usize, seed: u64) -> Vec<Pair> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let noise = self.figures(2 * count, &mut random);
        let pair = |i: usize, random: &mut Xoshiro256PlusPlus| match self.design {
            Design::Blocked => (noise[i], noise[count + i]),
            Design::RandomisedPairs if random.random::<bool>() => (noise[2 * i + 1], noise[2 * i]),
            Design::Alternating | Design::RandomisedPairs => (noise[2 * i], noise[2 * i + 1]),
        };
        (0..count)
            .map(|i| pair(i, &mut random))
            .map(|(baseline, candidate)| Pair::new(baseline, candidate * self.ratio))
            .collect()
    }

    /// Figures of runs in the order of time.
    fn figures(&self, count: usize, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let mut state = normal(random);
        let mut draw = || match self.noise {
            Noise::Independent => normal(random),
            Noise::Autocorrelated => {
                state = MEMORY * state + (1.0 - MEMORY * MEMORY).sqrt() * normal(random);
                state
            }
            // A normal over the root of a mean of two squares.
            Noise::HeavyTailed => {
                let (one, other) = (normal(random), normal(random));
                normal(random) / ((one * one + other * other) / 2.0).sqrt()
            }
        };
        (0..count).map(|_| 100.0 * (self.deviation * draw()).exp()).collect()
    }
}

/// A standard normal draw (Box and Muller).
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (size, angle) = (1.0 - random.random::<f64>(), random.random::<f64>());
    (-2.0 * size.ln()).sqrt() * (TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use barograph_stats::compare::{Comparison, Direction, Finding, compare};

    use super::*;

    const ROUNDS: u64 = 1_000;
    const ALL: [Noise; 3] = [Noise::Independent, Noise::Autocorrelated, Noise::HeavyTailed];

    fn found(machine: SimulatedMachine, pairs: usize, margin: f64) -> Vec<Comparison> {
        (0..ROUNDS).map(|seed| compare(&machine.pairs(pairs, seed), Direction::Higher, margin)).collect()
    }

    fn share(of: &[Comparison], when: impl Fn(&Comparison) -> bool) -> f64 {
        of.iter().filter(|c| when(c)).count() as f64 / of.len() as f64
    }

    /// A thing compared with itself, ten pairs: three standard errors of 5 % in a thousand are 2.1 points.
    #[test]
    fn pairs_are_rarely_wrong_and_blocks_often() {
        for noise in ALL {
            let machine = |design| SimulatedMachine { noise, deviation: 0.1, design, ratio: 1.0 };
            let wrong = |design| share(&found(machine(design), 10, 0.0), |c| c.finding != Finding::Undecided);
            let (pairs, blocked) = (wrong(Design::RandomisedPairs), wrong(Design::Blocked));
            assert!(pairs <= 0.071, "{noise:?}: {pairs} in pairs");
            if noise == Noise::Autocorrelated {
                assert!(blocked >= 0.10, "{noise:?}: {blocked} in blocks");
            }
        }
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        for (noise, pairs) in ALL.into_iter().flat_map(|noise| [6, 10, 30].map(|pairs| (noise, pairs))) {
            let machine =
                SimulatedMachine { noise, deviation: 0.1, design: Design::RandomisedPairs, ratio: 0.9 };
            let held = share(&found(machine, pairs, 0.01), |c| c.low <= 0.9 && 0.9 <= c.high);
            assert!(held >= 0.929, "{noise:?}, {pairs} pairs: {held}");
        }
    }

    /// A slow-down of 10 % with pairs that scatter by 5 % is found by twenty pairs; the predicted number of
    /// pairs decides.
    #[test]
    fn a_planted_slow_down_is_found_by_as_many_pairs_as_were_said() {
        let machine = |ratio| SimulatedMachine {
            noise: Noise::Independent,
            deviation: 0.05 / 2f64.sqrt(),
            design: Design::RandomisedPairs,
            ratio,
        };
        let worse =
            |ratio, pairs| share(&found(machine(ratio), pairs, 0.01), |c| c.finding == Finding::Worse);
        assert!(worse(0.9, 20) > 0.98 && worse(0.98, 6) < 0.1);
        // 7.84 (0.05 / (ln 0.95 + ln 1.01))^2 is 12: four in five, and a little less because ranks cost a little.
        let power = worse(0.95, 12);
        assert!((0.6..0.9).contains(&power), "{power}");
    }
}
