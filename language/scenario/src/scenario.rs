//! A checked scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use barograph_model::{Behaviours, OpSpec, Profile, QosRule, Rule, Share, TimeLimits};

use crate::{Chooser, Data, Draw, DrawSource, Operation, Pick, Script, Slots, Source, Target};

/// A checked scenario: all names are resolved to numbers. The crate's page describes its execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name: the path it was read from.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// The target and its options.
    pub target: Target,
    /// Data files, shared by all users.
    pub data: Vec<Arc<Data>>,
    /// Picked rows and generated values.
    pub draws: Vec<Draw>,
    /// Scripts.
    pub scripts: Vec<Script>,
    /// Operations, by `OpId`.
    pub operations: Vec<Operation>,
    /// Behaviours; number 0 is `main`.
    pub behaviours: Behaviours,
    /// Choosers, by `ChooserId`.
    pub choosers: Vec<Chooser>,
    /// Names of streams, by `StreamId`.
    pub streams: Vec<&'static str>,
    /// The usual rules of each operation, by `OpId`.
    pub rules: Vec<QosRule>,
    /// Limits of response times beside the first of an operation.
    pub further: Vec<Rule>,
    /// Number of values of each lifetime.
    pub slots: Slots,
    /// Every name with its source.
    pub names: BTreeMap<&'static str, Source>,
    /// Expected shares of the main behaviour's operations, by `OpId`, if its transitions determine them: for
    /// information.
    pub mix: Option<Vec<Share>>,
    /// The scenario with every default filled in, as text that reads back to the same scenario.
    pub resolved: String,
}

impl Scenario {
    /// Names of operations for records and reports.
    #[must_use]
    pub fn op_specs(&self) -> Vec<OpSpec> {
        self.operations.iter().map(|o| OpSpec { name: o.name, about: o.about }).collect()
    }

    /// All rules, as a profile of this name.
    #[must_use]
    pub fn profile(&self, name: &'static str) -> Profile {
        let mut profile = Profile::usual(name, &self.rules, None);
        profile.rules.extend(&self.further);
        profile
    }

    /// Response-time limits, by operation.
    #[must_use]
    pub fn limits(&self) -> Vec<TimeLimits> {
        self.profile("").time_limits(self.operations.len())
    }

    /// The most users for which data picked once per user suffice; `None` without such data.
    #[must_use]
    pub fn most_users(&self) -> Option<u32> {
        let rows = self.draws.iter().filter_map(|draw| match draw.what {
            DrawSource::Row(data, Pick::Unique) => Some(self.data[data.0 as usize].rows()),
            _ => None,
        });
        rows.min()
    }
}
