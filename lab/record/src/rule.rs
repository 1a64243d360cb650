//! Rules as recorded: value in a window, limit, and result.

use std::borrow::Cow;

use barograph_model::words::{amount, beside, expected, quantile};
use serde::{Deserialize, Serialize};

use crate::{OpRecord, WindowRecord};

/// Subject of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectRecord {
    /// Response time at a quantile.
    Response,
    /// Service time at a quantile.
    Service,
    /// Mean response time.
    MeanResponse,
    /// Operations per second that ended well.
    Rate,
    /// Share of failures, 0 to 1.
    Failures,
    /// Share of all judged operations, 0 to 1.
    Mix,
    /// Busy share of the CPU of the driver's host, 0 to 1.
    HostCpu,
    /// A measure of the workload.
    Measure,
}

impl SubjectRecord {
    /// Returns the name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SubjectRecord::Response => "response",
            SubjectRecord::Service => "service",
            SubjectRecord::MeanResponse => "mean_response",
            SubjectRecord::Rate => "rate",
            SubjectRecord::Failures => "failures",
            SubjectRecord::Mix => "mix",
            SubjectRecord::HostCpu => "host_cpu",
            SubjectRecord::Measure => "measure",
        }
    }
}

/// Requirement on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundRecord {
    /// The limit or less.
    AtMost,
    /// The limit or more.
    AtLeast,
    /// The limit, or off by the tolerance.
    Within,
}

impl BoundRecord {
    /// Returns the name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BoundRecord::AtMost => "at_most",
            BoundRecord::AtLeast => "at_least",
            BoundRecord::Within => "within",
        }
    }
}

/// A rule applied to one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// Subject of the rule.
    pub subject: SubjectRecord,
    /// Name of the operation; absent for a rule about the whole load.
    pub op: Option<String>,
    /// Quantile of a time; absent for other subjects, and in older records, whose profile has it.
    pub quantile: Option<f64>,
    /// Id of the measure, for a rule about one.
    pub measure: Option<String>,
    /// The unit of value and limit; empty for shares.
    pub unit: String,
    /// The value; absent if nothing occurred that would have one.
    pub value: Option<f64>,
    /// The requirement: at most, at least or within.
    pub bound: BoundRecord,
    /// The limit, or the required value.
    pub limit: f64,
    /// Relative tolerance of the required value.
    pub tolerance: Option<f64>,
    /// Deviation of the value that chance alone explains in this window.
    pub chance: f64,
    /// Whether the rule held.
    pub holds: bool,
}

impl RuleRecord {
    /// Whether an operation has a rule of this kind by default.
    pub(crate) fn is_usual(&self) -> bool {
        matches!(
            (self.subject, self.bound),
            (SubjectRecord::Response | SubjectRecord::Failures, BoundRecord::AtMost)
                | (SubjectRecord::Mix, BoundRecord::Within)
        )
    }

    fn is_about_the_same(&self, other: &RuleRecord) -> bool {
        (self.subject, &self.op) == (other.subject, &other.op)
    }
}

impl WindowRecord {
    /// Returns every judged rule. For older records, which had one of each kind per operation, they are
    /// derived from the operations' figures.
    #[must_use]
    pub fn judged_by(&self) -> Cow<'_, [RuleRecord]> {
        if self.rules.is_empty() {
            Cow::Owned(self.ops.iter().filter(|op| op.judged).flat_map(OpRecord::usual_rules).collect())
        } else {
            Cow::Borrowed(&self.rules)
        }
    }

    /// Returns the rules in addition to the default ones, which have no column in tables of operations.
    #[must_use]
    pub fn further_rules(&self) -> Vec<&RuleRecord> {
        let before = |at: usize, rule: &RuleRecord| {
            self.rules[..at].iter().any(|other| other.is_usual() && other.is_about_the_same(rule))
        };
        let is_further = |(at, rule): &(usize, &RuleRecord)| !rule.is_usual() || before(*at, rule);
        self.rules.iter().enumerate().filter(is_further).map(|(_, rule)| rule).collect()
    }

    /// Whether an operation that occurred was too slow or failed too often, so that users waited; a wrong mix
    /// alone does not make them wait.
    #[must_use]
    pub fn was_too_much(&self) -> bool {
        let of_overload = |rule: &&RuleRecord| {
            let subjects = [
                SubjectRecord::Response,
                SubjectRecord::Service,
                SubjectRecord::MeanResponse,
                SubjectRecord::Failures,
            ];
            subjects.contains(&rule.subject) && !rule.holds
        };
        let happened = |rule: &RuleRecord| {
            self.ops.iter().any(|op| Some(op.op.as_str()) == rule.op.as_deref() && op.count > 0)
        };
        self.judged_by().iter().filter(of_overload).any(happened)
    }

    /// Returns the subject of a rule as a noun: `p90 response time of Order`, `hit share`.
    #[must_use]
    pub fn called(&self, rule: &RuleRecord) -> String {
        rule.called(self.title_of(rule))
    }

    /// Title of the measure that a rule is about.
    pub(crate) fn title_of(&self, rule: &RuleRecord) -> Option<&str> {
        let measure = self.measures.iter().find(|measure| Some(&measure.id) == rule.measure.as_ref());
        measure.map(|measure| measure.title.as_str())
    }
}

impl RuleRecord {
    /// Subject as a noun; for a measure, its title.
    pub(crate) fn called(&self, title: Option<&str>) -> String {
        let of = self.op.as_ref().map_or_else(String::new, |op| format!(" of {op}"));
        let at = self.quantile.map_or_else(String::new, |share| format!("{} ", quantile(share)));
        match self.subject {
            SubjectRecord::Response => format!("{at}response time{of}"),
            SubjectRecord::Service => format!("{at}service time{of}"),
            SubjectRecord::MeanResponse => format!("mean response time{of}"),
            SubjectRecord::Rate => format!("rate{of}"),
            SubjectRecord::Failures => format!("failures{of}"),
            SubjectRecord::Mix => format!("share{of}"),
            SubjectRecord::HostCpu => "CPU of the host".to_owned(),
            SubjectRecord::Measure => title.or(self.measure.as_deref()).unwrap_or_default().to_owned(),
        }
    }

    /// Returns the value with its unit; `None` if there is no value.
    #[must_use]
    pub fn found(&self) -> Option<String> {
        self.value.map(|value| beside(value, self.limit, &self.unit))
    }

    /// Returns the requirement: `at least 95 %`, `40 % within 10 %`.
    #[must_use]
    pub fn required(&self) -> String {
        let limit = amount(self.limit, &self.unit);
        match self.bound {
            BoundRecord::AtMost => format!("at most {limit}"),
            BoundRecord::AtLeast => format!("at least {limit}"),
            BoundRecord::Within => {
                let tolerance = expected(self.tolerance.unwrap_or(0.0), "");
                format!("{} within {tolerance}", expected(self.limit, &self.unit))
            }
        }
    }
}

impl OpRecord {
    /// Rules of an operation in older records.
    fn usual_rules(&self) -> Vec<RuleRecord> {
        let rule = |subject, bound, (value, limit), holds| RuleRecord {
            subject,
            op: Some(self.op.clone()),
            quantile: None,
            measure: None,
            unit: if subject == SubjectRecord::Response { "ms" } else { "" }.to_owned(),
            value: Some(value).filter(|_| self.count > 0),
            bound,
            limit,
            tolerance: None,
            chance: 0.0,
            holds,
        };
        let time = self.limit_ms.map(|limit| {
            rule(SubjectRecord::Response, BoundRecord::AtMost, (self.judged_ms, limit), self.time_ok)
        });
        let mix = (self.mix_required > 0.0).then(|| RuleRecord {
            tolerance: Some(self.mix_tolerance),
            chance: self.mix_chance,
            ..rule(SubjectRecord::Mix, BoundRecord::Within, (self.mix, self.mix_required), self.mix_ok)
        });
        let failed = self.failed as f64 / self.count as f64;
        let failures = (failed, self.failures_allowed);
        let failures = rule(SubjectRecord::Failures, BoundRecord::AtMost, failures, self.failures_ok);
        time.into_iter().chain(mix).chain([failures]).collect()
    }
}
