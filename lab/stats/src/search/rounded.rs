//! Levels rounded to convenient numbers.

use barograph_model::SearchBounds;

/// `level` as a multiple of 1, 2 or 5 times a power of ten that is at most `finest`, or 1 where that is less; within the
/// bounds.
pub(super) fn rounded(level: f64, finest: f64, round: fn(f64) -> f64, bounds: &SearchBounds) -> u32 {
    let finest = finest.max(1.0);
    let power = 10f64.powf(finest.log10().floor());
    let unit = [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|u| *u <= finest).unwrap_or(1.0);
    ((round(level / unit) * unit) as u32).clamp(bounds.min, bounds.max)
}

#[cfg(test)]
mod tests {
    use barograph_model::{SearchMethod, Share};

    use super::*;

    #[test]
    fn levels_are_those_a_person_would_write_down() {
        let bounds = SearchBounds {
            min: 100,
            max: 30_000,
            resolution: Share::percent(5.0),
            max_trials: 9,
            method: SearchMethod::Posterior,
        };
        let of = |level, finest, round: fn(f64) -> f64| rounded(level, finest, round, &bounds);
        // 0.25 % of 9,987 is 25, so multiples of 20.
        assert_eq!((of(9_987.0, 25.0, f64::floor), of(9_987.0, 25.0, f64::ceil)), (9_980, 10_000));
        assert_eq!((of(9_987.0, 99.0, f64::round), of(9_987.0, 100.0, f64::round)), (10_000, 10_000));
        assert_eq!((of(333.4, 0.1, f64::round), of(333.4, 7.0, f64::floor)), (333, 330));
        assert_eq!((of(-5.0, 1.0, f64::floor), of(1e12, 1e9, f64::ceil)), (100, 30_000));
    }
}
