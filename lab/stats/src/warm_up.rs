//! Length of the warm-up of a series, by MSER-5.
//!
//! Means of five values each are cut from the front until the rest has the smallest standard error. Cutting
//! more than half means that the series never settled.

/// Values per mean.
const BATCH: usize = 5;
/// Fewest means, and fewest that must remain.
const FEWEST: usize = 4;

/// Number of values to leave out in front. `None` if that would be more than half (the series did not
/// settle), or with too few values.
#[must_use]
pub fn cut(values: &[f64]) -> Option<usize> {
    let means: Vec<f64> =
        values.chunks_exact(BATCH).map(|of| of.iter().sum::<f64>() / BATCH as f64).collect();
    if means.len() < FEWEST || means.iter().any(|mean| !mean.is_finite()) {
        return None;
    }
    let error = |from: usize| {
        let rest = &means[from..];
        let (count, mean) = (rest.len() as f64, rest.iter().sum::<f64>() / rest.len() as f64);
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count * count)
    };
    // The last few would win with an error that is small only because they are few.
    let tried = 0..=means.len() - FEWEST.max(means.len() / 4);
    let best = tried.min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (best <= means.len() / 2).then_some(best * BATCH)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn noise(seed: u64, length: usize) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..length).map(|_| 100.0 + 4.0 * random.random::<f64>()).collect()
    }

    #[test]
    fn a_slow_start_is_cut_and_no_more_than_it_needs() {
        for seed in 0..50 {
            let mut values = noise(seed, 300);
            for (i, value) in values.iter_mut().take(40).enumerate() {
                *value *= 0.2 + 0.02 * i as f64;
            }
            let found = cut(&values).unwrap();
            assert!((35..=100).contains(&found), "{found} of seed {seed}");
        }
    }

    #[test]
    fn steady_noise_is_kept_for_the_most_part() {
        let kept = (0..200).filter(|seed| cut(&noise(*seed, 300)).is_some_and(|cut| cut <= 60)).count();
        assert!(kept >= 160, "{kept} of 200");
    }

    #[test]
    fn what_never_settles_says_so() {
        let rising: Vec<f64> = (0..300).map(f64::from).collect();
        assert_eq!(cut(&rising), None);
        assert_eq!(cut(&[1.0; 12]), None);
        assert_eq!(cut(&[1.0; 40]), Some(0));
    }
}
