//! Order statistics of small samples.

/// The value below which this share of the sorted values lies, by nearest rank.
fn of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * share).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// Quantiles of values in any order; `None` without values.
pub(crate) fn quantiles<const N: usize>(values: &[f64], shares: [f64; N]) -> Option<[f64; N]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let found: Vec<f64> = shares.iter().filter_map(|share| of_sorted(&sorted, *share)).collect();
    found.try_into().ok()
}

/// `median (least .. most)` of values, with this many decimals.
pub(crate) fn spread(values: &[f64], decimals: usize) -> String {
    match quantiles(values, [0.5, 0.0, 1.0]) {
        Some([median, least, most]) => {
            format!("{median:.decimals$} ({least:.decimals$} .. {most:.decimals$})")
        }
        None => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        assert_eq!(quantiles(&[3.0, 1.0, 2.0], [0.0, 0.5, 1.0]), Some([1.0, 2.0, 3.0]));
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(quantiles(&hundred, [0.5, 0.99]), Some([50.0, 99.0]));
        assert_eq!(quantiles(&[], [0.5]), None);
        assert_eq!(spread(&[2.0, 1.0, 4.0], 1), "2.0 (1.0 .. 4.0)");
    }
}
