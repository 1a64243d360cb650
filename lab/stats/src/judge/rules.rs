//! Judgement of the rules of a window: the value of each, and whether it holds.
//!
//! A quantile of response or service time within a limit is counted, not read off a histogram: the share of
//! operations within the limit must reach the quantile. The share of an operation must lie within its bound,
//! or within chance.

use barograph_model::{
    Bound, MeasureValue, OpId, Outcome, Rule, RuleVerdict, Share, Subject, TimeLimit, TimeLimits,
};

use super::{WindowInput, mean_ms, mix, part, per_second, quantile_ms};
use crate::interval::OpStats;

/// Facts about a window for its rules.
pub(super) struct JudgedWindow<'a> {
    input: &'a WindowInput<'a>,
    measures: &'a [MeasureValue],
    limits: Vec<TimeLimits>,
    /// By operation index.
    is_judged: Vec<bool>,
    /// By operation index: largest deviation of its share by chance.
    chances: Vec<f64>,
    /// Judged operations that ended.
    all: u64,
}

impl<'a> JudgedWindow<'a> {
    pub(super) fn new(input: &'a WindowInput<'a>, measures: &'a [MeasureValue]) -> Self {
        let ops = &input.joined.ops;
        let is_judged = input.profile.judged(ops.len());
        let chance = |op: usize| mix::chance(input.parts, (input.profile, &is_judged), op);
        JudgedWindow {
            input,
            measures,
            limits: input.profile.time_limits(ops.len()),
            chances: (0..ops.len()).map(chance).collect(),
            all: ops.iter().zip(&is_judged).filter(|(_, judged)| **judged).map(|(op, _)| op.count()).sum(),
            is_judged,
        }
    }

    /// Whether the rules judge this operation.
    pub(super) fn judges(&self, op: OpId) -> bool {
        self.is_judged[op.index()]
    }

    /// Largest deviation of an operation's share by chance.
    pub(super) fn chance(&self, op: OpId) -> f64 {
        self.chances[op.index()]
    }

    /// The share of an operation among all judged ones; 0 if it is not judged.
    pub(super) fn share(&self, op: OpId) -> f64 {
        if self.judges(op) { part(self.stats(op).count(), self.all) } else { 0.0 }
    }

    /// Whether the operation is missing though chance alone would not explain it, or no judged operation
    /// happened at all.
    pub(super) fn is_absent(&self, op: OpId) -> bool {
        let required = match self.input.profile.mix(op) {
            Some(Bound::AtLeast(share) | Bound::Within { value: share, .. }) => share,
            Some(Bound::AtMost(_)) | None => 0.0,
        };
        self.stats(op).count() == 0 && (self.all == 0 || required > self.chance(op))
    }

    /// Verdicts on all rules of the profile, in its order.
    pub(super) fn verdicts(&self) -> Vec<RuleVerdict> {
        self.input.profile.rules.iter().map(|rule| self.verdict(rule)).collect()
    }

    fn verdict(&self, rule: &Rule) -> RuleVerdict {
        let Rule { subject, bound } = *rule;
        let op = subject.op();
        let (value, chance) = (self.value(subject), self.chance_of(subject));
        let holds = !op.is_some_and(|op| self.is_absent(op)) && self.holds(rule, value);
        let op = op.map(|op| self.input.ops[op.index()].name.to_owned());
        RuleVerdict { subject, op, value, bound, chance, holds }
    }

    fn stats(&self, op: OpId) -> &OpStats {
        &self.input.joined.ops[op.index()]
    }

    fn chance_of(&self, subject: Subject) -> f64 {
        match subject {
            Subject::Mix(op) => self.chance(op),
            _ => 0.0,
        }
    }

    /// The value of a subject; `None` without operations to compute it from.
    fn value(&self, subject: Subject) -> Option<f64> {
        let ended = |op: OpId| Some(self.stats(op)).filter(|stats| stats.count() > 0);
        match subject {
            Subject::Response { op, quantile } => {
                ended(op).map(|stats| quantile_ms(&stats.response, quantile.get()))
            }
            Subject::Service { op, quantile } => {
                ended(op).map(|stats| quantile_ms(&stats.service, quantile.get()))
            }
            Subject::MeanResponse(op) => ended(op).map(|stats| mean_ms(stats.response_sum_s, stats.count())),
            Subject::Rate(op) => Some(self.rate(op)),
            Subject::Failures(op) => ended(op).map(|stats| part(stats.failed(), stats.count())),
            Subject::Mix(op) => Some(self.share(op)),
            Subject::HostCpu => self.input.host.map(|host| 1.0 - host.idle.get()),
            Subject::Measure(id) => self.measures.iter().find(|measured| measured.spec.id == id)?.value,
        }
    }

    fn rate(&self, op: Option<OpId>) -> f64 {
        let joined = self.input.joined;
        let good = |stats: &OpStats| stats.outcomes[Outcome::Good.index()];
        let count = match op {
            Some(op) => good(self.stats(op)),
            None => joined.ops.iter().map(good).sum(),
        };
        per_second(count, joined.seconds())
    }

    fn holds(&self, rule: &Rule, value: Option<f64>) -> bool {
        // An operation may be absent; a measure or the host would be unknown.
        let Some(value) = value else {
            return !matches!(rule.subject, Subject::Measure(_) | Subject::HostCpu);
        };
        match (rule.subject, rule.time_limit()) {
            (Subject::Response { op, quantile } | Subject::Service { op, quantile }, Some(limit)) => {
                self.is_in_time(op, limit, quantile)
            }
            (subject, _) => rule.bound.holds(value, self.chance_of(subject)),
        }
    }

    fn is_in_time(&self, op: OpId, limit: TimeLimit, quantile: Share) -> bool {
        let (stats, limits) = (self.stats(op), &self.limits[op.index()]);
        let count = stats.count();
        let within = part(count.saturating_sub(stats.over(limit, limits)), count);
        Bound::AtLeast(quantile.get()).holds(within, 0.0)
    }
}

/// Whether the window is too slow or fails too often: an overload with any mix.
pub(super) fn is_overload(rules: &[RuleVerdict]) -> bool {
    let of_overload = |rule: &&RuleVerdict| {
        matches!(
            rule.subject,
            Subject::Response { .. }
                | Subject::Service { .. }
                | Subject::MeanResponse(_)
                | Subject::Failures(_)
                | Subject::HostCpu
        )
    };
    rules.iter().filter(of_overload).any(|rule| !rule.holds)
}
