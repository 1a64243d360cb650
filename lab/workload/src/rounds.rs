//! Figures of single operations that were done in rounds, for comparisons within one run.

/// Operations of a load in rounds: each round has one of every kind, shortly after each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// Metrics of the operations; less of each is better.
    pub metrics: Vec<RoundMetric>,
    /// The operations, in the order of their ends.
    pub rounds: Vec<Round>,
}

/// A metric of operations in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundMetric {
    /// Key of its figures.
    pub label: &'static str,
    /// Name in tables.
    pub title: &'static str,
    /// Unit of its figures.
    pub unit: &'static str,
}

/// An operation of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Order number of the user.
    pub user: u32,
    /// Number of the round of the user.
    pub round: u64,
    /// Name of the operation.
    pub operation: &'static str,
    /// Figures, one of each metric; empty if the operation failed.
    pub figures: Vec<f64>,
}
