//! The order of runs: blocks of all configurations, each shuffled by the study's seed.

/// Order of the configurations by block. A pure function of the seed and the number of configurations only,
/// so that a seed gives the same order in every version of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    seed: u64,
    places: usize,
}

impl Schedule {
    /// A schedule of `places` configurations, including the control.
    #[must_use]
    pub fn new(seed: u64, places: usize) -> Self {
        Schedule { seed, places }
    }

    /// The order within a block of warm-up, numbered from 1. It is that of a judged block at the far end of
    /// their numbers, which no study reaches, so that the order of judged blocks does not depend on the
    /// warm-up.
    #[must_use]
    pub fn warm_up(&self, number: u32) -> Vec<usize> {
        self.block(u32::MAX - number)
    }

    /// The order within a block, numbered from 1: indices of configurations.
    #[must_use]
    pub fn block(&self, number: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.places).collect();
        // Blocks of one seed, and the same block of neighbouring seeds, must not resemble each other.
        let mut state = mix(self.seed).wrapping_add(mix(u64::from(number) << 32));
        for last in (1..order.len()).rev() {
            state = state.wrapping_add(STEP);
            let draw = mix(state);
            // The high half of a product maps evenly onto a small range; the error for a few places is far below 1e-15.
            let at = ((u128::from(draw) * (last as u128 + 1)) >> 64) as usize;
            order.swap(last, at);
        }
        order
    }
}

/// An odd number without a pattern: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scatters the bits of a number: the finishing step of the generator SplitMix64.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_order_of_a_seed_never_changes() {
        // Computed by another program; studies begun with an older version depend on them.
        let blocks = |seed, places| (1..).map(move |block| Schedule::new(seed, places).block(block));
        let golden: [[usize; 4]; 6] =
            [[3, 1, 0, 2], [2, 1, 0, 3], [1, 3, 0, 2], [3, 2, 0, 1], [0, 3, 1, 2], [2, 0, 3, 1]];
        assert_eq!(blocks(1, 4).take(6).collect::<Vec<_>>(), golden);
        let golden: [[usize; 7]; 3] = [[4, 0, 3, 6, 5, 1, 2], [1, 4, 5, 3, 2, 6, 0], [5, 6, 4, 0, 1, 3, 2]];
        assert_eq!(blocks(20_301_120, 7).take(3).collect::<Vec<_>>(), golden);
        assert_eq!(Schedule::new(u64::MAX, 5).block(u32::MAX), [2, 1, 4, 3, 0]);
        let warm_ups = [1, 2, 3].map(|number| Schedule::new(1, 4).warm_up(number));
        assert_eq!(warm_ups, [[2, 1, 3, 0], [2, 1, 0, 3], [3, 1, 0, 2]]);
    }

    #[test]
    fn every_order_is_as_likely_as_any_other() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..60u64 {
            for block in 1..=100 {
                *counts.entry(Schedule::new(seed, 3).block(block)).or_insert(0) += 1;
            }
        }
        // 6,000 draws of 6 orders: 1,000 each, with a standard deviation of 29.
        assert!(counts.len() == 6 && counts.values().all(|n| (880..1_120).contains(n)), "{counts:?}");
    }

    proptest! {
        #[test]
        fn every_block_holds_every_place_once(seed in any::<u64>(), places in 1..40usize, block in 1..10_000u32) {
            let mut order = Schedule::new(seed, places).block(block);
            order.sort_unstable();
            prop_assert_eq!(order, (0..places).collect::<Vec<_>>());
        }
    }
}
