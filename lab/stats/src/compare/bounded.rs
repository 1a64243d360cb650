//! Figures that are only lower bounds: a search that ended at the highest level allowed, or below an invalid
//! one. Two bounds can be equal while the real figures are not.

use super::{Comparison, Finding};

/// Withdraws findings that do not follow when figures of `baseline` or `candidate` are only lower bounds:
/// that both are the same, or that the side with a bound is smaller. More pairs of such figures would not
/// decide.
pub fn weaken(compared: &mut Comparison, (baseline, candidate): (bool, bool)) {
    let follows = match compared.finding {
        Finding::Undecided | Finding::Equivalent => !baseline && !candidate,
        Finding::Better | Finding::Worse if compared.ratio > 1.0 => !baseline,
        Finding::Better | Finding::Worse => !candidate,
    };
    if !follows {
        compared.finding = Finding::Undecided;
        compared.pairs_needed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Finding::{Better, Equivalent, Undecided, Worse};
    use super::super::{Direction, Pair, compare};
    use super::*;

    #[test]
    fn what_does_not_follow_from_a_bound_is_taken_back() {
        let found = |ratio: f64, bounds: (bool, bool)| {
            let pairs: Vec<Pair> =
                (0..8).map(|i| Pair::new(100.0, 100.0 * ratio * (1.0 + 1e-4 * f64::from(i)))).collect();
            let mut compared = compare(&pairs, Direction::Higher, 0.01);
            weaken(&mut compared, bounds);
            compared.finding
        };
        for (ratio, without, of_baseline, of_candidate) in [
            (1.0, Equivalent, Undecided, Undecided),
            // "At least 200" is more than 100, but not less than "at least 100".
            (2.0, Better, Undecided, Better),
            (0.5, Worse, Worse, Undecided),
        ] {
            let all = [(false, false), (true, false), (false, true)].map(|bounds| found(ratio, bounds));
            assert_eq!(all, [without, of_baseline, of_candidate], "{ratio}");
        }
        assert_eq!(found(2.0, (true, true)), Undecided);
    }
}
