//! Random streams and draws from distributions of time.

use barograph_model::{Distribution, Nanos};
use rand::SeedableRng;
use rand_distr::{Distribution as _, Normal};

/// The generator of every random stream: small state, fast, good enough for simulation.
pub type Stream = rand_xoshiro::Xoshiro256PlusPlus;

/// An independent stream for each `(seed, user, number)`, the same on every machine and with any number of workers.
#[must_use]
pub fn stream(seed: u64, user: u32, number: u32) -> Stream {
    let place = (u64::from(user) << 32) | u64::from(number);
    Stream::seed_from_u64(mix(seed ^ mix(place)))
}

/// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// After this many draws outside the range a truncated normal gives up and clamps; with a range that holds at
/// least a tenth of the mass that never happens in practice, with a senseless one it still ends.
const MAX_REDRAWS: u32 = 1_000;

/// One draw.
pub(crate) fn draw(distribution: Distribution, rng: &mut Stream) -> Nanos {
    match distribution {
        Distribution::Constant(value) => value,
        Distribution::TruncatedNormal { mean, sd, min, max } => {
            let Ok(normal) = Normal::new(mean.0 as f64, sd.0 as f64) else { return mean };
            for _ in 0..MAX_REDRAWS {
                let value = normal.sample(rng);
                if value >= min.0 as f64 && value <= max.0 as f64 {
                    return Nanos(value as u64);
                }
            }
            mean.clamp(min, max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |s: u64, u: u32, n: u32| stream(s, u, n).next_u64();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        assert_ne!(first(1, 2, 3), first(1, 2, 4));
        assert_ne!(first(1, 2, 3), first(1, 3, 2));
        assert_ne!(first(1, 2, 3), first(2, 2, 3));
    }

    #[test]
    fn cycle_times_have_the_published_mean_and_range() {
        let d = Distribution::TruncatedNormal {
            mean: Nanos::from_secs(5),
            sd: Nanos::from_millis(1_250),
            min: Nanos::from_millis(2_500),
            max: Nanos::from_millis(7_500),
        };
        let mut rng = stream(7, 0, 0);
        let draws: Vec<f64> = (0..20_000).map(|_| draw(d, &mut rng).as_secs_f64()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 5.0).abs() < 0.03, "mean {mean}");
        assert!(draws.iter().all(|s| (2.5..=7.5).contains(s)));
    }
}
