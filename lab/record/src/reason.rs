//! Reasons why a run did not pass or is not valid: causes as data, and their words.

use barograph_model::CheckId;
use barograph_model::words::{count, millis, quantile};
use serde::{Deserialize, Serialize};

use crate::entry::nan;
use crate::{
    ActionRecord, AnswerRecord, CheckRecord, CrossCheckRecord, ExitCode, OpRecord, RepeatsRecord, RuleRecord,
    SubjectRecord, UnitRecord, Verdict, WindowRecord,
};

/// A reason of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonRecord {
    /// Name of the load, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// The cause.
    pub cause: CauseRecord,
}

/// The cause of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CauseRecord {
    /// A default rule of an operation did not hold.
    Rule {
        /// The rule with its value.
        rule: RuleRecord,
    },
    /// Another rule that did not hold.
    FurtherRule {
        /// The rule with its value.
        rule: RuleRecord,
        /// Title of the measure that the rule is about.
        title: Option<String>,
    },
    /// A judged operation did not occur.
    Absent {
        /// Name of the operation.
        op: String,
    },
    /// Every operation failed.
    AllFailed,
    /// A validity check failed.
    Check {
        /// The check with its figures.
        check: CheckRecord,
    },
    /// The data were wrong after the run.
    WrongData {
        /// One finding of the data checks.
        finding: String,
    },
    /// The data could not be checked after the run.
    UncheckedData {
        /// The error.
        why: String,
    },
    /// Response times give a different capacity than passes and fails.
    CrossCheck {
        /// Unit of all levels.
        unit: UnitRecord,
        /// Capacity from response times.
        by_times: CrossCheckRecord,
        /// Lower end of the 95 % interval from passes and fails.
        #[serde(deserialize_with = "nan")]
        low: f64,
        /// Upper end of the 95 % interval from passes and fails.
        #[serde(deserialize_with = "nan")]
        high: f64,
    },
    /// The target changed during a search.
    Drift {
        /// Trials that were expected to pass.
        repeats: RepeatsRecord,
    },
    /// An action did not keep its limit.
    Action {
        /// The action.
        action: Box<ActionRecord>,
    },
    /// A cause written by a later version.
    #[serde(other)]
    Unknown,
}

impl From<CauseRecord> for ReasonRecord {
    fn from(cause: CauseRecord) -> Self {
        ReasonRecord { load: None, cause }
    }
}

impl ReasonRecord {
    /// Returns the rule that did not hold, if the cause is one.
    #[must_use]
    pub fn rule(&self) -> Option<&RuleRecord> {
        match &self.cause {
            CauseRecord::Rule { rule } | CauseRecord::FurtherRule { rule, .. } => Some(rule),
            _ => None,
        }
    }

    /// Returns the check that failed, if the cause is one.
    #[must_use]
    pub fn check(&self) -> Option<&CheckRecord> {
        if let CauseRecord::Check { check } = &self.cause { Some(check) } else { None }
    }

    /// Returns the name of the operation that it is about.
    #[must_use]
    pub fn op(&self) -> Option<&String> {
        match &self.cause {
            CauseRecord::Absent { op } => Some(op),
            _ => self.rule()?.op.as_ref(),
        }
    }

    /// Whether it is about the data of the application.
    #[must_use]
    pub fn is_about_data(&self) -> bool {
        matches!(self.cause, CauseRecord::WrongData { .. } | CauseRecord::UncheckedData { .. })
    }

    /// Whether it makes a measurement not valid.
    #[must_use]
    pub fn is_doubt(&self) -> bool {
        self.is_about_data() || matches!(self.cause, CauseRecord::Check { .. })
    }

    /// Whether it is the same cause in another load; for checks of the machine, with any figures.
    #[must_use]
    pub fn is_as(&self, other: &ReasonRecord) -> bool {
        match (&self.cause, &other.cause) {
            (CauseRecord::Check { check }, CauseRecord::Check { check: other }) => {
                check.is_of_machine() && check.id == other.id
            }
            (cause, other) => cause == other,
        }
    }

    /// Returns the reason in words.
    #[must_use]
    pub fn words(&self) -> String {
        let load = self.load.as_ref().map_or_else(String::new, |load| format!("{load}: "));
        format!("{load}{}", self.cause.words())
    }
}

impl Verdict {
    /// Adds answer, reasons and doubts, as data and in words.
    #[must_use]
    pub fn because<R: Into<ReasonRecord>>(
        mut self,
        answer: Option<AnswerRecord>,
        reasons: Vec<R>,
        doubts: Vec<R>,
    ) -> Self {
        self.sentence = answer.as_ref().map_or_else(String::new, |answer| answer.sentence(self.unit));
        self.answer = answer;
        self.why = reasons.into_iter().map(Into::into).collect();
        self.why_not_valid = doubts.into_iter().map(Into::into).collect();
        self.word();
        self
    }

    /// Puts the causes of a run that is not valid before all other reasons.
    pub fn blame(&mut self, causes: &[CauseRecord]) {
        for reasons in [&mut self.why, &mut self.why_not_valid] {
            reasons.splice(0..0, causes.iter().cloned().map(Into::into));
        }
        self.word();
    }

    /// Fails the run for actions that did not keep their limits, if there are some; they are named before all
    /// other reasons.
    pub fn judge_actions(&mut self, actions: &[ActionRecord]) {
        let over = actions.iter().filter(|action| action.is_over_limit());
        let causes: Vec<ReasonRecord> =
            over.map(|action| CauseRecord::Action { action: Box::new(action.clone()) }.into()).collect();
        if causes.is_empty() {
            return;
        }
        let limited = actions.iter().filter(|action| action.limit_s.is_some()).count();
        let words = format!("{} of {limited} actions with a limit did not keep it.", causes.len());
        (self.passed, self.score) = (false, None);
        for text in std::iter::once(&mut self.sentence).chain(self.answer.as_mut().map(|of| &mut of.details))
        {
            let gap = if text.is_empty() { "" } else { " " };
            text.push_str(&format!("{gap}{words}"));
        }
        self.why.splice(0..0, causes);
        self.word();
    }

    /// Returns the exit code of the run. Wrong data take precedence: they are no matter of the measurement alone.
    #[must_use]
    pub fn exit(&self) -> ExitCode {
        let is_wrong = |reason: &ReasonRecord| matches!(reason.cause, CauseRecord::WrongData { .. });
        match self.why_not_valid.iter().any(is_wrong) {
            true => ExitCode::WrongData,
            false => ExitCode::of_run(self.passed, self.valid),
        }
    }

    fn word(&mut self) {
        self.reasons = self.why.iter().map(ReasonRecord::words).collect();
        self.doubts = self.why_not_valid.iter().map(ReasonRecord::words).collect();
    }
}

impl CheckRecord {
    fn is_of_machine(&self) -> bool {
        let of_machine = [
            CheckId::StolenCpu,
            CheckId::OutsideCpu,
            CheckId::OutsideMemory,
            CheckId::OutsideDisks,
            CheckId::Clock,
        ];
        of_machine.into_iter().any(|id| self.is(id))
    }
}

impl WindowRecord {
    /// Returns the causes of a window that did not pass or is not valid: the operation furthest over its
    /// limit first, checks last.
    #[must_use]
    pub fn causes(&self) -> Vec<CauseRecord> {
        let mut ops: Vec<&OpRecord> = self.ops.iter().filter(|op| !op.passed()).collect();
        let share = |op: &OpRecord| op.limit_share().unwrap_or(0.0);
        ops.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let rules = self.judged_by();
        let usual = ops.into_iter().flat_map(|op| op.causes(&rules));
        let ended: u64 = self.ops.iter().map(|op| op.count).sum();
        let all_failed = ended > 0 && self.ops.iter().all(|op| op.failed == op.count);
        let is_named = self.ops.iter().any(|op| op.count > 0 && !op.failures_ok && op.judged);
        let all_failed = (all_failed && !is_named).then_some(CauseRecord::AllFailed);
        all_failed.into_iter().chain(usual).chain(self.further_causes()).chain(self.doubts()).collect()
    }

    /// Returns the checks that failed.
    #[must_use]
    pub fn doubts(&self) -> Vec<CauseRecord> {
        let broken = self.checks.iter().filter(|check| !check.ok);
        broken.map(|check| CauseRecord::Check { check: check.clone() }).collect()
    }

    /// Further rules that did not hold. An operation that did not occur is a cause of its own.
    fn further_causes(&self) -> Vec<CauseRecord> {
        let happened = |rule: &RuleRecord| {
            let of_rule = |op: &&OpRecord| Some(op.op.as_str()) == rule.op.as_deref();
            self.ops.iter().find(of_rule).is_none_or(|op| op.count > 0)
        };
        let broken = self.further_rules().into_iter().filter(|rule| !rule.holds && happened(rule));
        broken
            .map(|rule| CauseRecord::FurtherRule {
                rule: rule.clone(),
                title: self.title_of(rule).map(str::to_owned),
            })
            .collect()
    }
}

impl OpRecord {
    /// Default rules that did not hold: time, mix, failures.
    fn causes(&self, rules: &[RuleRecord]) -> Vec<CauseRecord> {
        if self.count == 0 {
            return vec![CauseRecord::Absent { op: self.op.clone() }];
        }
        let of = |subject| {
            let first = rules.iter().find(|rule| {
                rule.subject == subject && rule.is_usual() && rule.op.as_ref() == Some(&self.op)
            });
            first.filter(|rule| !rule.holds).map(|rule| CauseRecord::Rule { rule: rule.clone() })
        };
        [SubjectRecord::Response, SubjectRecord::Mix, SubjectRecord::Failures]
            .into_iter()
            .filter_map(of)
            .collect()
    }
}

impl CauseRecord {
    /// Returns the name in tables and records.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            CauseRecord::Rule { .. } => "rule",
            CauseRecord::FurtherRule { .. } => "further_rule",
            CauseRecord::Absent { .. } => "absent",
            CauseRecord::AllFailed => "all_failed",
            CauseRecord::Check { .. } => "check",
            CauseRecord::WrongData { .. } => "wrong_data",
            CauseRecord::UncheckedData { .. } => "unchecked_data",
            CauseRecord::CrossCheck { .. } => "cross_check",
            CauseRecord::Drift { .. } => "drift",
            CauseRecord::Action { .. } => "action",
            CauseRecord::Unknown => "unknown",
        }
    }

    /// Returns the cause in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            CauseRecord::Rule { rule } => rule.broken(),
            CauseRecord::FurtherRule { rule, title } => {
                let found =
                    rule.found().map_or_else(|| "has no value".to_owned(), |found| format!("was {found}"));
                format!("{} {found}, required is {}", rule.called(title.as_deref()), rule.required())
            }
            CauseRecord::Absent { op } => format!("{op} did not happen"),
            CauseRecord::AllFailed => "every operation failed".to_owned(),
            CauseRecord::Check { check } => {
                format!("not valid: {}: {}, allowed is {}", check.name, check.found, check.allowed)
            }
            CauseRecord::WrongData { finding } => format!("the data is not right after the run: {finding}"),
            CauseRecord::UncheckedData { why } => {
                format!("the data could not be checked after the run: {why}")
            }
            CauseRecord::CrossCheck { unit, by_times, low, high } => format!(
                "warning: response times say {} (95 % interval {} to {}), passes and fails {} to {}; the rules may be broken \
                 by something else than load",
                unit.offered_at(by_times.capacity),
                level(by_times.low),
                level(by_times.high),
                level(*low),
                level(*high)
            ),
            CauseRecord::Drift { repeats } => format!(
                "warning: the target changed during the search: of {} trials that should have passed {} did, expected were \
                 {:.1} (p = {:.4})",
                repeats.trials, repeats.passed, repeats.expected, repeats.p
            ),
            CauseRecord::Action { action } => over_limit(action),
            CauseRecord::Unknown => "a reason that this version does not know".to_owned(),
        }
    }
}

/// Describes an action that did not keep its limit.
fn over_limit(action: &ActionRecord) -> String {
    let part = if action.unit.is_empty() { "of all" } else { &action.unit };
    let what = format!("{} {part} at {:.1} s", action.name, action.at_s);
    match (&action.failed, action.limit_s) {
        (None, Some(limit_s)) => {
            format!("{what} took {}, allowed are {}", time(action.took_s * 1e3), time(limit_s * 1e3))
        }
        (Some(why), _) => format!("{what} was not done: {why}"),
        (None, None) => what,
    }
}

impl UnitRecord {
    fn offered_at(self, level: f64) -> String {
        barograph_model::words::offered(self.offered(level.round() as u32))
    }
}

/// Formats a level without its unit.
fn level(level: f64) -> String {
    count(level.round().max(0.0) as u64)
}

impl RuleRecord {
    /// Describes a default rule that did not hold.
    fn broken(&self) -> String {
        let op = self.op.as_deref().unwrap_or_default();
        let value = self.value.unwrap_or(f64::NAN);
        match self.subject {
            SubjectRecord::Mix => {
                let tolerance = self.limit * self.tolerance.unwrap_or(0.0);
                let why = if self.chance > tolerance { ", which chance makes in so few" } else { "" };
                format!(
                    "{op} was {:.2} % of the mix, required are {:.2} % within {:.0} %{why}",
                    value * 100.0,
                    self.limit * 100.0,
                    tolerance.max(self.chance) / self.limit * 100.0
                )
            }
            SubjectRecord::Failures => format!(
                "{op} failed in {:.2} % of its operations, allowed are {:.2} %",
                value * 100.0,
                self.limit * 100.0
            ),
            _ => {
                let at = self.quantile.map_or_else(|| "the judged quantile".to_owned(), quantile);
                format!("{op} took {} at {at}, allowed are {}", time(value), time(self.limit))
            }
        }
    }
}

/// Formats milliseconds; long times with separated thousands.
fn time(ms: f64) -> String {
    if ms >= 100.0 { format!("{} ms", count(ms.round() as u64)) } else { millis(ms) }
}
