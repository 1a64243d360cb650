//! Delays with a known distribution, as a reproducible sequence.

use std::time::Duration;

use super::exact::exact;

/// A distribution of delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// Always the same.
    Constant(Duration),
    /// One of two values.
    Bimodal {
        /// The usual value.
        quick: Duration,
        /// The other value.
        slow: Duration,
        /// The share of `slow`, 0 to 1.
        slow_share: f64,
    },
    /// A bounded Pareto distribution: most values are near `least`, few are near `most`.
    Pareto {
        /// The smallest value, above zero.
        least: Duration,
        /// The largest value, above `least`.
        most: Duration,
        /// The shape, above zero; the smaller, the heavier the tail.
        shape: f64,
    },
}

impl Delay {
    /// The value below which the share `u` (0 to 1) of the distribution lies, to the nanosecond.
    #[must_use]
    pub fn quantile(&self, u: f64) -> Duration {
        match *self {
            Delay::Constant(value) => value,
            Delay::Bimodal { quick, slow, slow_share } => {
                // A quantile rises with `u`, so the smaller value comes first under either name.
                let (low, high, high_share) =
                    if quick <= slow { (quick, slow, slow_share) } else { (slow, quick, 1.0 - slow_share) };
                if u < 1.0 - high_share { low } else { high }
            }
            Delay::Pareto { least, most, shape } => {
                let ratio = (least.as_secs_f64() / most.as_secs_f64()).powf(shape);
                let seconds = least.as_secs_f64() * (1.0 - u * (1.0 - ratio)).powf(-1.0 / shape);
                Duration::from_secs_f64(seconds).clamp(least, most)
            }
        }
    }
}

/// The delays of a server in order: the `n`-th follows from the seed and `n` alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delays {
    delay: Delay,
    seed: u64,
}

impl Delays {
    /// The sequence of this distribution and seed.
    #[must_use]
    pub fn new(delay: Delay, seed: u64) -> Self {
        Delays { delay, seed }
    }

    /// The delay of the `n`-th request, from 0.
    #[must_use]
    pub fn nth(&self, n: u64) -> Duration {
        self.delay.quantile(uniform(self.seed, n))
    }

    /// The first `count` delays in order.
    pub fn first(&self, count: u64) -> impl Iterator<Item = Duration> + use<> {
        let delays = *self;
        (0..count).map(move |n| delays.nth(n))
    }

    /// The exact quantile of the first `count` delays; `None` if `count` is 0.
    #[must_use]
    pub fn exact(&self, count: u64, q: f64) -> Option<Duration> {
        exact(self.first(count), q)
    }
}

/// A number in 0 to 1, excluding 1, that depends only on seed and position: the `SplitMix64` generator, whose
/// state is a counter, so that any position can be computed without those before it.
fn uniform(seed: u64, n: u64) -> f64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    // The upper 53 bits fill the fraction of an f64.
    (z >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        // The first outputs of SplitMix64 from seed 0, by its author's code.
        for (n, word) in
            [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f].iter().enumerate()
        {
            assert_eq!(uniform(0, n as u64), (word >> 11) as f64 / (1_u64 << 53) as f64);
        }
    }

    #[test]
    fn bimodal_shares_are_kept_whichever_value_is_larger() {
        let usual = Delay::Bimodal { quick: MS(1), slow: MS(9), slow_share: 0.1 };
        assert_eq!([0.0, 0.89, 0.91, 1.0].map(|u| usual.quantile(u)), [MS(1), MS(1), MS(9), MS(9)]);
        let odd = Delay::Bimodal { quick: MS(9), slow: MS(1), slow_share: 0.1 };
        assert_eq!([0.0, 0.09, 0.11, 1.0].map(|u| odd.quantile(u)), [MS(1), MS(1), MS(9), MS(9)]);
        let count = Delays::new(usual, 7).first(100_000).filter(|d| *d == MS(9)).count();
        // Five standard deviations of a binomial of 100,000 at 0.1.
        assert!(count.abs_diff(10_000) < 475, "{count}");
    }

    #[test]
    fn pareto_agrees_with_its_distribution_function() {
        let (least, most, shape) = (MS(1), MS(1000), 1.5);
        let delay = Delay::Pareto { least, most, shape };
        assert_eq!((delay.quantile(0.0), delay.quantile(1.0)), (least, most));
        for u in [0.1, 0.5, 0.9, 0.99, 0.999] {
            let x = delay.quantile(u).as_secs_f64();
            let below = (1.0 - (0.001 / x).powf(shape)) / (1.0 - 0.001_f64.powf(shape));
            assert!((below - u).abs() < 1e-6, "{u}: {below}");
        }
        let exact = Delays::new(delay, 3).exact(200_000, 0.5).unwrap().as_secs_f64();
        assert!((exact / delay.quantile(0.5).as_secs_f64() - 1.0).abs() < 0.01, "{exact}");
    }

    proptest! {
        #[test]
        fn a_sequence_depends_on_seed_and_place_alone(seed: u64, n in 0_u64..1000) {
            let delays = Delays::new(Delay::Pareto { least: MS(2), most: MS(50), shape: 1.1 }, seed);
            prop_assert_eq!(delays.nth(n), delays.first(n + 1).last().unwrap());
            prop_assert!(delays.nth(n) >= MS(2) && delays.nth(n) <= MS(50));
        }
    }
}
