//! Comparison of two single figures with known uncertainty: the capacities of two searches.
//!
//! The two are independent, so their uncertainties add up as squares. They are added on the scale of
//! logarithms, where a ratio is a difference, and separately for each side: the ratio is low when the
//! candidate is low or the baseline is high, so its lower end rests on the candidate's lower and the
//! baseline's upper arm. Intervals that are longer on one side stay so; one standard error for both sides
//! would lose that (Zou and Donner's "method of variance estimates recovery").

use std::fmt;

use barograph_model::words::figure;

use super::{Comparison, Direction, Finding, conclude};
use crate::normal;
use crate::rank::Confidence;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalEstimate {
    /// The figure. Above zero, and within its interval.
    pub value: f64,
    /// Lower end; zero if unbounded below.
    pub low: f64,
    /// Upper end; infinite if unbounded above.
    pub high: f64,
}

impl IntervalEstimate {
    /// `None` unless the figure and its ends are numbers and the figure is above zero. An interval that
    /// misses the figure because of rounding is extended to it.
    #[must_use]
    pub fn new(value: f64, low: f64, high: f64) -> Option<Self> {
        let sensible = value.is_finite() && value > 0.0 && low >= 0.0 && high >= 0.0;
        sensible.then(|| IntervalEstimate { value, low: low.min(value), high: high.max(value) })
    }

    /// Lengths of the lower and the upper arm, as logarithms.
    fn arms(&self) -> (f64, f64) {
        ((self.value / self.low).ln(), (self.high / self.value).ln())
    }
}

/// The figure and its interval, which may be open above: `11,800 (11,500 to 12,100)`, `11,800 (11,500 or more)`.
impl fmt::Display for IntervalEstimate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, low) = (figure(self.value), figure(self.low));
        if self.high.is_finite() {
            write!(out, "{value} ({low} to {})", figure(self.high))
        } else {
            write!(out, "{value} ({low} or more)")
        }
    }
}

/// Compares one figure per side. The uncertainties are those of the two figures; conditions that stay the
/// same throughout one measurement and change in the next are not part of them. Arms count as those of a
/// normal distribution, from which the 90 % interval and p follow. `margin` is the same as for pairs.
#[must_use]
pub fn compare_believed(
    baseline: IntervalEstimate,
    candidate: IntervalEstimate,
    direction: Direction,
    margin: f64,
) -> Comparison {
    let ((down, up), (base_down, base_up)) = (candidate.arms(), baseline.arms());
    let centre = candidate.value.ln() - baseline.value.ln();
    let (below, above) = (down.hypot(base_up), up.hypot(base_down));
    let narrower = Confidence::P90.z() / Confidence::P95.z();
    // The arm towards "no difference" decides.
    let towards = if centre > 0.0 { below } else { above };
    let z = if centre == 0.0 { 0.0 } else { centre.abs() * Confidence::P95.z() / towards };
    let p = (2.0 * normal::above(z)).min(1.0);
    let mut compared = Comparison {
        pairs: 1,
        excluded: 0,
        ratio: centre.exp(),
        median_ratio: centre.exp(),
        low: (centre - below).exp(),
        high: (centre + above).exp(),
        low_90: (centre - below * narrower).exp(),
        high_90: (centre + above * narrower).exp(),
        p,
        p_holm: p,
        margin: if margin > 0.0 { margin } else { 0.0 },
        floor: 0.0,
        finding: Finding::Undecided,
        scatter: f64::NAN,
        pairs_needed: None,
    };
    conclude(&mut compared, direction);
    compared
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A figure with arms of these lengths, as logarithms.
    fn believed(value: f64, down: f64, up: f64) -> IntervalEstimate {
        IntervalEstimate::new(value, value * (-down).exp(), value * up.exp()).unwrap()
    }

    fn higher(baseline: IntervalEstimate, candidate: IntervalEstimate) -> Comparison {
        compare_believed(baseline, candidate, Direction::Higher, 0.01)
    }

    #[test]
    fn arms_add_up_as_squares_each_with_the_one_it_meets() {
        let found = higher(believed(1_000.0, 0.03, 0.08), believed(1_200.0, 0.06, 0.04));
        assert!((found.ratio - 1.2).abs() < 1e-12);
        // Down: the candidate's 0.06 with the baseline's 0.08. Up: 0.04 with 0.03.
        assert!((found.low.ln() - (1.2f64.ln() - 0.10)).abs() < 1e-12, "{found:?}");
        assert!((found.high.ln() - (1.2f64.ln() + 0.05)).abs() < 1e-12, "{found:?}");
        assert!((found.low_90.ln() - (1.2f64.ln() - 0.10 * 1.644_854 / 1.959_964)).abs() < 1e-6);
        // 0.18232 over 0.1 / 1.96, two-sided.
        assert!((found.p - 0.000_352_4).abs() < 1e-6, "{}", found.p);
        assert_eq!((found.finding, found.pairs, found.pairs_needed), (Finding::Better, 1, None));
    }

    #[test]
    fn four_findings() {
        let arms = 0.01;
        let of = |ratio: f64, arms: f64, direction| {
            let (one, other) = (believed(1_000.0, arms, arms), believed(1_000.0 * ratio, arms, arms));
            compare_believed(one, other, direction, 0.02).finding
        };
        assert_eq!(of(1.10, arms, Direction::Higher), Finding::Better);
        assert_eq!(of(1.10, arms, Direction::Lower), Finding::Worse);
        assert_eq!(of(0.90, arms, Direction::Higher), Finding::Worse);
        assert_eq!(of(1.002, arms, Direction::Higher), Finding::Equivalent);
        assert_eq!(of(1.03, arms, Direction::Higher), Finding::Undecided, "surely more, not surely by 2 %");
        assert_eq!(of(1.03, 0.1, Direction::Higher), Finding::Undecided);
    }

    #[test]
    fn an_open_end_leaves_the_ratio_open_on_that_side_only() {
        let open = |value: f64| IntervalEstimate::new(value, value * 0.98, f64::INFINITY).unwrap();
        let closed = believed(1_000.0, 0.02, 0.02);
        let more = higher(closed, open(1_500.0));
        assert!(more.high == f64::INFINITY && more.low > 1.4 && more.finding == Finding::Better, "{more:?}");
        let fewer = higher(open(1_500.0), closed);
        assert!(fewer.low == 0.0 && fewer.high < 0.7 && fewer.finding == Finding::Worse, "{fewer:?}");
        let same = higher(open(1_000.0), open(1_000.0));
        assert!(same.low == 0.0 && same.high == f64::INFINITY && same.p == 1.0, "{same:?}");
        let unknown = higher(open(1_500.0), open(1_600.0));
        assert!(unknown.p == 1.0 && unknown.finding == Finding::Undecided, "{unknown:?}");
    }

    #[test]
    fn figures_that_make_no_sense_are_none_and_rounded_ones_stay_inside() {
        for (value, low, high) in [
            (0.0, 0.0, 1.0),
            (f64::NAN, 1.0, 2.0),
            (1.0, f64::NAN, 2.0),
            (1.0, 0.5, f64::NAN),
            (1.0, -1.0, 2.0),
        ] {
            assert_eq!(IntervalEstimate::new(value, low, high), None, "{value} {low} {high}");
        }
        let rounded = IntervalEstimate::new(990.0, 991.0, 1_010.0).unwrap();
        assert_eq!((rounded.low, rounded.high), (990.0, 1_010.0));
        // No uncertainty at all: the ratio is known.
        let exact = higher(believed(1_000.0, 0.0, 0.0), believed(1_100.0, 0.0, 0.0));
        assert!((exact.low - 1.1).abs() < 1e-9 && exact.p == 0.0 && exact.finding == Finding::Better);
    }

    proptest! {
        #[test]
        fn the_other_way_round_is_the_same_turned(
            one in 10.0f64..1e6, other in 10.0f64..1e6,
            arms in prop::array::uniform4(0.001f64..0.5),
        ) {
            let (a, b) = (believed(one, arms[0], arms[1]), believed(other, arms[2], arms[3]));
            let (there, back) = (higher(a, b), higher(b, a));
            prop_assert_eq!(there.finding, back.finding.turned());
            prop_assert!((there.low * back.high - 1.0).abs() < 1e-9);
            prop_assert!((there.p - back.p).abs() < 1e-9);
            prop_assert!(there.low <= there.low_90 && there.low_90 <= there.ratio);
            prop_assert!(there.ratio <= there.high_90 && there.high_90 <= there.high);
        }
    }
}
