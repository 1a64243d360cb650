//! What is wanted of a case: bounds of its figures and ratios, held against their medians.

use crate::contest::figures::median;

/// A bound of one cell of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) of: Cell,
    pub(super) bound: Bound,
}

/// A cell of this product in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// A ratio, by its index.
    Ratio(usize),
    /// A figure, by its index.
    Figure(usize),
}

/// Bounds that hold or do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Within(f64, f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtLeast(least) => value >= least,
            Bound::AtMost(most) => value <= most,
            Bound::Within(least, most) => (least..=most).contains(&value),
        }
    }

    fn words(self) -> String {
        match self {
            Bound::AtLeast(least) => format!("{least:?} or more"),
            Bound::AtMost(most) => format!("{most:?} or less"),
            Bound::Within(least, most) => format!("{least:?} to {most:?}"),
        }
    }
}

/// The words after a cell with these values: what is wanted, and whether their median keeps it. Empty where nothing is.
pub(super) fn words(all: &[Wanted], of: Cell, values: &[f64]) -> String {
    let Some(wanted) = all.iter().find(|wanted| wanted.of == of) else { return String::new() };
    let kept = match median(values) {
        None => "not measured",
        Some(value) if wanted.bound.holds(value) => "kept",
        Some(_) => "missed",
    };
    format!("; wanted {}: {kept}", wanted.bound.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_kept_missed_or_not_measured() {
        let all = [
            Wanted { of: Cell::Ratio(0), bound: Bound::AtLeast(1.5) },
            Wanted { of: Cell::Figure(0), bound: Bound::Within(99.9, 100.1) },
            Wanted { of: Cell::Ratio(1), bound: Bound::AtMost(0.5) },
        ];
        let of = |cell, values: &[f64]| words(&all, cell, values);
        assert_eq!(of(Cell::Ratio(0), &[1.5, 1.4, 9.0]), "; wanted 1.5 or more: kept");
        assert_eq!(of(Cell::Ratio(1), &[0.51]), "; wanted 0.5 or less: missed");
        assert_eq!(of(Cell::Figure(0), &[]), "; wanted 99.9 to 100.1: not measured");
        assert_eq!(of(Cell::Figure(0), &[100.2]), "; wanted 99.9 to 100.1: missed");
        assert_eq!(of(Cell::Figure(1), &[1.0]), "");
    }
}
