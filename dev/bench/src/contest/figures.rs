//! Figures from the readings of several rounds.

/// The middle value, or the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// `median (least to most)`.
pub(crate) fn with_spread(values: &[f64], digits: usize) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    median(values).map_or("-".to_owned(), |m| format!("{m:.digits$} ({least:.digits$} to {most:.digits$})"))
}

/// The median alone.
pub(crate) fn middle(values: &[f64], digits: usize) -> String {
    median(values).map_or("-".to_owned(), |m| format!("{m:.digits$}"))
}

/// Ratios of figures of the same round: a slow round affects both. A figure stands beside its round.
pub(crate) fn ratios(mine: &[(u32, f64)], base: &[(u32, f64)]) -> Vec<f64> {
    let pairs = mine.iter().filter_map(|(round, figure)| {
        let (_, other) = base.iter().find(|(other, _)| other == round)?;
        Some(figure / other)
    });
    pairs.filter(|ratio| ratio.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_nothing() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(with_spread(&[2.0, 1.0, 4.0], 1), "2.0 (1.0 to 4.0)");
        assert_eq!((middle(&[2.0, 1.0], 2), middle(&[], 2)), ("1.50".to_owned(), "-".to_owned()));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // The second round was slow for both: the ratio of the medians would be another one. The third has no base.
        let base = [(0, 10.0), (1, 20.0), (3, 0.0)];
        let mine = [(0, 9.0), (1, 17.0), (2, 1.0), (3, 1.0)];
        assert_eq!(ratios(&mine, &base), [0.9, 0.85]);
    }
}
