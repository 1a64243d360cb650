//! Placement of labels one below the other without overlap.

/// Places for labels with wanted places `wanted`, at least `gap` apart, within `range` while there is room,
/// in the given order.
pub(crate) fn spread(wanted: &[f64], gap: f64, range: (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut least = range.0;
    for at in &order {
        places[*at] = places[*at].max(least);
        least = places[*at] + gap;
    }
    // Labels pushed out at the far end push the others back.
    let mut most = range.1;
    for at in order.iter().rev() {
        places[*at] = places[*at].min(most);
        most = places[*at] - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_apart_and_stay_inside() {
        assert_eq!(spread(&[10.0, 50.0], 12.0, (0.0, 100.0)), [10.0, 50.0]);
        assert_eq!(spread(&[12.0, 10.0, 11.0], 12.0, (0.0, 100.0)), [34.0, 10.0, 22.0]);
        assert_eq!(spread(&[98.0, 99.0, 5.0], 12.0, (0.0, 100.0)), [88.0, 100.0, 5.0]);
        assert_eq!(spread(&[-4.0, -4.0], 12.0, (0.0, 100.0)), [0.0, 12.0]);
        assert!(spread(&[], 12.0, (0.0, 100.0)).is_empty());
    }
}
