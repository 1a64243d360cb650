//! Figures that studies take from the statistics of services and loads.

use crate::BetterWhen;

/// How the values of a window become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Joined {
    /// Their mean over time.
    Mean,
    /// The highest.
    Highest,
}

/// A figure of a run from its statistics, declared by a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticMetric {
    /// Name in study files and tables, in `snake_case`.
    pub id: &'static str,
    /// Name in sentences.
    pub title: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// Direction in which it is better.
    pub better: BetterWhen,
    /// Tier of the parts that have the statistic; empty for the load itself.
    pub tier: &'static str,
    /// Names of the statistic, which differ by product. One that ends with a slash is a class of states, all of
    /// which are added up.
    pub of: &'static [&'static str],
    /// How the values of a window become one.
    pub joined: Joined,
}

impl StatisticMetric {
    /// Whether a statistic of this name is one of those.
    #[must_use]
    pub fn is_of(&self, statistic: &str) -> bool {
        let fits = |name: &&'static str| {
            if name.ends_with('/') { statistic.starts_with(*name) } else { statistic == *name }
        };
        self.of.iter().any(fits)
    }

    /// Whether it counts those in a class of states.
    #[must_use]
    pub fn is_of_states(&self) -> bool {
        self.of.iter().any(|name| name.ends_with('/'))
    }
}
