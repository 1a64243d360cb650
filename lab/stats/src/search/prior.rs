//! Priors of an edge before the first trial, except for its capacity.

/// Shares of spurious failures, with their prior probabilities.
pub(super) const SPURIOUS: [(f64, f64); 5] = [(0.0, 0.3), (0.02, 0.2), (0.05, 0.2), (0.1, 0.2), (0.2, 0.1)];

/// Widths of [`Prior::Even`], as shares of the capacity, with their prior probabilities.
const EVEN: [(f64, f64); 4] = [(0.003, 0.25), (0.01, 0.25), (0.03, 0.25), (0.08, 0.25)];

/// Widths of [`Prior::Soft`], as shares of the capacity, with their prior probabilities.
const SOFT: [(f64, f64); 6] =
    [(0.003, 0.10), (0.006, 0.12), (0.012, 0.18), (0.025, 0.24), (0.05, 0.22), (0.1, 0.14)];

/// Prior of the width of the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Prior {
    /// 0.3, 1, 3 and 8 % of the capacity, all equally likely: the default.
    #[default]
    Even,
    /// Six widths of 0.3 to 10 %, with 2.5 and 5 % the likeliest: a candidate, only simulated so far.
    Soft,
}

impl Prior {
    /// Widths as shares of the capacity, with their prior probabilities.
    pub(super) fn softness(self) -> &'static [(f64, f64)] {
        match self {
            Prior::Even => &EVEN,
            Prior::Soft => &SOFT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_believed_adds_up() {
        let sum = |all: &[(f64, f64)]| all.iter().map(|(_, likely)| likely).sum::<f64>();
        for all in [Prior::Even.softness(), Prior::Soft.softness(), &SPURIOUS] {
            assert!((sum(all) - 1.0).abs() < 1e-12, "{all:?}");
            assert!(all.is_sorted_by(|a, b| a.0 < b.0), "{all:?}");
        }
    }
}
