//! Random streams and draws from distributions of time.

use barograph_model::{Distribution, Nanos};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution as _, Exp1, Normal, StandardNormal};

/// Generator of all random streams: small state, fast, sufficient for simulation.
pub type Stream = rand_xoshiro::Xoshiro256PlusPlus;

/// Returns an independent stream for each `(seed, user, number)`, the same on every machine and with any
/// number of workers.
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

/// Draws outside the range after which a truncated normal clamps. With a range that holds at least a tenth of
/// the mass this never happens in practice; with an absurd range it ensures an end.
const MAX_REDRAWS: u32 = 1_000;

/// Draws a time.
pub(crate) fn draw(distribution: &Distribution, rng: &mut Stream) -> Nanos {
    match distribution {
        Distribution::Constant(value) => *value,
        Distribution::Uniform { min, max } => Nanos(rng.random_range(min.0..=max.0.max(min.0))),
        Distribution::Exponential { mean, max } => {
            let value: f64 = Exp1.sample(rng);
            Nanos((value * mean.0 as f64) as u64).min(*max)
        }
        Distribution::ShiftedExponential { min, mean, max } => {
            let value: f64 = Exp1.sample(rng);
            Nanos(min.0 + (value * mean.0.saturating_sub(min.0) as f64) as u64).min(*max)
        }
        Distribution::TruncatedNormal { mean, sd, min, max } => truncated(*mean, *sd, (*min, *max), rng),
        Distribution::LogNormal { median, sigma, max } => {
            let value: f64 = StandardNormal.sample(rng);
            Nanos(((value * sigma).exp() * median.0 as f64) as u64).min(*max)
        }
        Distribution::Empirical(values) => between(values, rng.random()),
    }
}

fn truncated(mean: Nanos, sd: Nanos, (min, max): (Nanos, Nanos), rng: &mut Stream) -> Nanos {
    let Ok(normal) = Normal::new(mean.0 as f64, sd.0 as f64) else { return mean };
    for _ in 0..MAX_REDRAWS {
        let value = normal.sample(rng);
        if value >= min.0 as f64 && value <= max.0 as f64 {
            return Nanos(value as u64);
        }
    }
    mean.clamp(min, max)
}

/// Value at the fraction `u` (0 to 1) of sorted `values`, interpolated between neighbours.
fn between(values: &[Nanos], u: f64) -> Nanos {
    let Some(last) = values.len().checked_sub(1) else { return Nanos::ZERO };
    let place = u * last as f64;
    let below = (place as usize).min(last);
    let above = (below + 1).min(last);
    let part = place - below as f64;
    let (low, high) = (values[below].0 as f64, values[above].0 as f64);
    Nanos((low + (high - low) * part) as u64)
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
        let draws: Vec<f64> = (0..20_000).map(|_| draw(&d, &mut rng).as_secs_f64()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 5.0).abs() < 0.03, "mean {mean}");
        assert!(draws.iter().all(|s| (2.5..=7.5).contains(s)));
    }

    fn draws(d: &Distribution) -> Vec<f64> {
        let mut rng = stream(11, 0, 0);
        let mut all: Vec<f64> = (0..40_000).map(|_| draw(d, &mut rng).as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Mean of 40,000 draws.
    fn mean(d: &Distribution) -> f64 {
        draws(d).iter().sum::<f64>() / 40_000.0
    }

    #[test]
    fn every_distribution_has_its_moments_and_its_bounds() {
        let s = Nanos::from_secs;
        assert!((mean(&Distribution::Uniform { min: s(2), max: s(6) }) - 4.0).abs() < 0.03);
        let exponential = Distribution::Exponential { mean: s(3), max: s(60) };
        assert!((mean(&exponential) - 3.0).abs() < 0.05);
        let all = draws(&Distribution::Exponential { mean: s(3), max: s(4) });
        assert_eq!(all[39_999], 4.0);
        let shifted = Distribution::ShiftedExponential { min: s(2), mean: s(5), max: s(25) };
        let all = draws(&shifted);
        assert!((mean(&shifted) - 5.0).abs() < 0.05 && all[0] >= 2.0 && all[0] < 2.01 && all[39_999] <= 25.0);
        let all = draws(&Distribution::LogNormal { median: s(2), sigma: 0.5, max: s(100) });
        assert!((all[20_000] - 2.0).abs() < 0.03, "median {}", all[20_000]);
        // The 84.13 % point of a standard normal is one sigma.
        assert!((all[33_654] / all[20_000] - 0.5f64.exp()).abs() < 0.04);
        let measured = Distribution::Empirical([s(1), s(2), s(10)].into());
        let all = draws(&measured);
        assert!((all[10_000] - 1.5).abs() < 0.03 && (all[30_000] - 6.0).abs() < 0.15);
        assert_eq!(mean(&Distribution::Empirical([s(7)].into())), 7.0);
    }
}
