//! Decisions made by the check for values that a plan leaves open.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::UnitRecord;

/// Decisions on a plan: of one load, or of all loads of a run together. Fields without a decision are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decisions {
    /// Profile of the workload.
    pub profile: Option<String>,
    /// Size of the data.
    pub size: Option<String>,
    /// Unit of the levels.
    pub unit: UnitRecord,
    /// Lowest level of a search.
    pub lowest: Option<u32>,
    /// Highest level of a search.
    pub highest: Option<u32>,
    /// Largest number of users of an open loop.
    pub most_users: Option<u32>,
    /// Treatment of idle connections: `keep` or `close`.
    pub connections: Option<String>,
    /// Worker threads of each driver.
    pub workers: Option<u64>,
    /// Whether worker threads are scheduled in real time.
    pub realtime: Option<bool>,
}

impl Decisions {
    /// Returns the decided keys of the plan with their values.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, Value)> {
        let (lowest, highest) = match self.unit {
            UnitRecord::Users => ("load.min_users", "load.max_users"),
            UnitRecord::StartsPerSecond => ("load.min_rate", "load.max_rate"),
            UnitRecord::Percent => ("load.min_scale", "load.max_scale"),
        };
        let word = |word: &Option<String>| word.clone().map(Value::from);
        let number = |number: Option<u32>| number.map(Value::from);
        let all = [
            ("profile", word(&self.profile)),
            ("data.size", word(&self.size)),
            (lowest, number(self.lowest)),
            (highest, number(self.highest)),
            ("load.most_users", number(self.most_users)),
            ("driver.connections", word(&self.connections)),
            ("driver.workers", self.workers.map(Value::from)),
            ("driver.realtime", self.realtime.map(Value::from)),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}
