//! The normal distribution, for tests and intervals.

use std::f64::consts::PI;

/// Argument up to which the series is exact to the last digits and short; above, the continued fraction is.
const SERIES_UP_TO: f64 = 4.0;
/// Terms that either form needs at [`SERIES_UP_TO`], with some to spare.
const TERMS: u32 = 120;

/// Probability that a standard normal draw is above `z`.
pub(crate) fn above(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - above(-z);
    }
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    if z < SERIES_UP_TO {
        let (mut term, mut sum) = (z, z);
        for k in 1..TERMS {
            term *= z * z / f64::from(2 * k + 1);
            sum += term;
        }
        return (0.5 - density * sum).max(0.0);
    }
    let fraction = (1..TERMS).rev().fold(z, |below, k| z + f64::from(k) / below);
    density / fraction
}

/// Halvings of a range of 80: more than the precision of a double.
const HALVINGS: u32 = 64;

/// The value that a standard normal draw exceeds with probability `p`.
pub(crate) fn exceeded(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if above(middle) > p { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457),
            (1.959_963_984_540_054, 0.025),
            (-1.644_853_626_951_472, 0.95),
            (3.0, 1.349_898_031_630_09e-3),
            (5.0, 2.866_515_718_791_94e-7),
            (8.0, 6.220_960_574_271_78e-16),
        ] {
            assert!((above(z) / p - 1.0).abs() < 1e-9, "{z}: {} is not {p}", above(z));
        }
    }

    #[test]
    fn quantiles_turn_probabilities_round() {
        for (p, z) in [(0.5, 0.0), (0.025, 1.959_963_984_540_054), (0.95, -1.644_853_626_951_472)] {
            assert!((exceeded(p) - z).abs() < 1e-9, "{p}: {} is not {z}", exceeded(p));
        }
        assert!((above(exceeded(1e-6)) / 1e-6 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn both_forms_meet() {
        let (before, after) = (above(SERIES_UP_TO - 1e-9), above(SERIES_UP_TO));
        assert!((before / after - 1.0).abs() < 1e-7, "{before} {after}");
    }
}
