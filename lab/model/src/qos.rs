//! Rules of a profile, which a measured window must keep.

use crate::{MeasureSpec, Nanos, OpId, OpSpec, Share};

/// Largest number of limits of response and service time for one operation, in addition to the first of
/// response time.
pub const MOST_FURTHER_LIMITS: usize = 3;

/// Subject of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject {
    /// Response time of an operation at a quantile, in milliseconds.
    Response {
        /// The operation.
        op: OpId,
        /// The quantile.
        quantile: Share,
    },
    /// Service time of an operation at a quantile, in milliseconds.
    Service {
        /// The operation.
        op: OpId,
        /// The quantile.
        quantile: Share,
    },
    /// Mean response time of an operation, in milliseconds.
    MeanResponse(OpId),
    /// Operations per second that ended well: of one kind, or of all.
    Rate(Option<OpId>),
    /// Share of failures of an operation, 0 to 1.
    Failures(OpId),
    /// Share of an operation of all judged operations, 0 to 1.
    Mix(OpId),
    /// Busy share of the CPU time of the driver's host, 0 to 1: the run and all others. Time stolen by a hypervisor
    /// counts as busy.
    HostCpu,
    /// A measure of the workload by its id, in its unit.
    Measure(&'static str),
}

impl Subject {
    /// Returns the operation it is about; `None` for the whole load.
    #[must_use]
    pub const fn op(self) -> Option<OpId> {
        match self {
            Subject::Response { op, .. }
            | Subject::Service { op, .. }
            | Subject::MeanResponse(op)
            | Subject::Failures(op)
            | Subject::Mix(op) => Some(op),
            Subject::Rate(op) => op,
            Subject::HostCpu | Subject::Measure(_) => None,
        }
    }
}

/// Requirement on the value of a subject, in the subject's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This value or less.
    AtMost(f64),
    /// This value or more.
    AtLeast(f64),
    /// This value within a relative tolerance.
    Within {
        /// The required value.
        value: f64,
        /// Relative tolerance.
        tolerance: Share,
    },
}

impl Bound {
    /// Tolerance for rounding, relative to the limit: 10.95 % of a mix plus its tolerance is not exact in
    /// binary.
    const HAIR: f64 = 1e-12;

    /// Returns the limit, or the required value.
    #[must_use]
    pub const fn limit(self) -> f64 {
        match self {
            Bound::AtMost(limit) | Bound::AtLeast(limit) | Bound::Within { value: limit, .. } => limit,
        }
    }

    /// Whether a value keeps the bound, if chance alone explains a deviation of `chance`.
    #[must_use]
    pub fn holds(self, value: f64, chance: f64) -> bool {
        let hair = Self::HAIR * (1.0 + self.limit().abs());
        match self {
            Bound::AtMost(limit) => value <= limit + chance + hair,
            Bound::AtLeast(limit) => value + chance >= limit - hair,
            Bound::Within { value: required, tolerance } => {
                (value - required).abs() <= (required.abs() * tolerance.get()).max(chance) + hair
            }
        }
    }
}

/// A requirement on a measured window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Subject of the rule.
    pub subject: Subject,
    /// Requirement on its value.
    pub bound: Bound,
}

impl Rule {
    /// Makes a rule: response time of an operation is within `limit` at a quantile.
    #[must_use]
    pub fn response(op: OpId, quantile: Share, limit: Nanos) -> Self {
        Rule { subject: Subject::Response { op, quantile }, bound: Bound::AtMost(millis(limit)) }
    }

    /// Returns the limit of a quantile, with which each operation is compared when it ends.
    #[must_use]
    pub fn time_limit(&self) -> Option<TimeLimit> {
        match (self.subject, self.bound) {
            (Subject::Response { .. }, Bound::AtMost(ms)) => Some(TimeLimit::Response(nanos(ms))),
            (Subject::Service { .. }, Bound::AtMost(ms)) => Some(TimeLimit::Service(nanos(ms))),
            _ => None,
        }
    }
}

fn millis(span: Nanos) -> f64 {
    span.as_secs_f64() * 1e3
}

fn nanos(ms: f64) -> Nanos {
    Nanos((ms.max(0.0) * 1e6).round() as u64)
}

/// A limit on the time of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// Of response time.
    Response(Nanos),
    /// Of service time.
    Service(Nanos),
}

/// Limits of one operation. Each operation that ends is compared with them, and those over each limit are
/// counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLimits {
    /// First limit of response time, by which goodput is counted.
    pub response: Option<Nanos>,
    /// Limits of its further rules.
    pub further: [Option<TimeLimit>; MOST_FURTHER_LIMITS],
}

impl TimeLimits {
    /// Adds a limit, unless it is there; returns false if there is no room for it.
    fn add(&mut self, limit: TimeLimit) -> bool {
        match (self.response, limit) {
            (None, TimeLimit::Response(first)) => self.response = Some(first),
            (Some(first), limit) if limit == TimeLimit::Response(first) => {}
            _ if self.further.contains(&Some(limit)) => {}
            _ => match self.further.iter_mut().find(|free| free.is_none()) {
                Some(free) => *free = Some(limit),
                None => return false,
            },
        }
        true
    }
}

impl From<Option<Nanos>> for TimeLimits {
    fn from(response: Option<Nanos>) -> Self {
        TimeLimits { response, further: [None; MOST_FURTHER_LIMITS] }
    }
}

/// Default rules of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QosRule {
    /// The operation.
    pub op: OpId,
    /// Quantile of response time that must be within `limit`.
    pub quantile: Share,
    /// Limit of response time; `None` if response time is not judged (a long poll waits on purpose).
    pub limit: Option<Nanos>,
    /// Whether the operation is judged. Others are counted and shown.
    pub judged: bool,
    /// Required share of all judged operations; zero if the share is not judged.
    pub mix: Share,
    /// Tolerance of the mix, relative to `mix`.
    pub mix_tolerance: Share,
    /// Largest share of failed operations.
    pub failures: Share,
}

impl QosRule {
    /// Returns a rule for each requirement; none if the operation is not judged.
    pub fn rules(&self) -> impl Iterator<Item = Rule> + use<> {
        let QosRule { op, quantile, mix, mix_tolerance: tolerance, .. } = *self;
        let time = self.limit.map(|limit| Rule::response(op, quantile, limit));
        let within = Bound::Within { value: mix.get(), tolerance };
        let mix = (mix > Share::ZERO).then_some(Rule { subject: Subject::Mix(op), bound: within });
        let failures = Rule { subject: Subject::Failures(op), bound: Bound::AtMost(self.failures.get()) };
        let all = time.into_iter().chain(mix).chain([failures]);
        all.filter(|_| self.judged).collect::<Vec<_>>().into_iter()
    }
}

/// Figures derived from a profile's transitions and paces, shown beside the measured ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DerivedFigures {
    /// Operations per user and second, over all behaviours.
    pub ops_per_user_s: f64,
    /// HTTP requests (or the protocol's equivalent) per operation.
    pub requests_per_op: f64,
    /// Mean length of a session in seconds.
    pub session_s: f64,
}

/// A named way of using a workload, with its rules and derived figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Name in plans.
    pub name: &'static str,
    /// Any number of rules, in the order of display. An operation is judged if a rule is about it.
    pub rules: Vec<Rule>,
    /// Figures derived from the profile, if they can be derived.
    pub derived: Option<DerivedFigures>,
}

/// Defect in a list of rules.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidRules {
    /// More limits of time on one operation than are counted.
    #[error("more than {} limits of time for one operation", MOST_FURTHER_LIMITS + 1)]
    TooManyLimits,
    /// A rule about an operation that the workload does not have.
    #[error("a rule about an operation that is not there")]
    NoOperation,
    /// A rule about a measure that the workload does not declare.
    #[error("a rule about the measure `{0}`, which is not declared")]
    NoMeasure(&'static str),
}

impl Profile {
    /// Makes a profile with the default rules of its operations.
    #[must_use]
    pub fn usual(name: &'static str, operations: &[QosRule], derived: Option<DerivedFigures>) -> Self {
        Profile { name, rules: operations.iter().flat_map(QosRule::rules).collect(), derived }
    }

    /// Returns the rules about an operation.
    pub fn of(&self, op: OpId) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.subject.op() == Some(op))
    }

    /// Returns whether each operation is judged, by operation index.
    #[must_use]
    pub fn judged(&self, ops: usize) -> Vec<bool> {
        (0..ops).map(|op| self.of(OpId(op as u8)).next().is_some()).collect()
    }

    /// Returns the first limit of an operation's response time, with its quantile.
    #[must_use]
    pub fn response_limit(&self, op: OpId) -> Option<(Share, Nanos)> {
        self.of(op).find_map(|rule| match (rule.subject, rule.time_limit()) {
            (Subject::Response { quantile, .. }, Some(TimeLimit::Response(limit))) => Some((quantile, limit)),
            _ => None,
        })
    }

    /// Returns all limits of response times, with operation and quantile.
    pub fn response_limits(&self) -> impl Iterator<Item = (OpId, Share, Nanos)> {
        self.rules.iter().filter_map(|rule| match (rule.subject, rule.time_limit()) {
            (Subject::Response { op, quantile }, Some(TimeLimit::Response(limit))) => {
                Some((op, quantile, limit))
            }
            _ => None,
        })
    }

    /// Returns the requirement on an operation's share of the mix, if it is judged.
    #[must_use]
    pub fn mix(&self, op: OpId) -> Option<Bound> {
        self.of(op).find_map(|rule| matches!(rule.subject, Subject::Mix(_)).then_some(rule.bound))
    }

    /// Returns the largest share of failures of an operation; 1 if no rule limits it.
    #[must_use]
    pub fn failures(&self, op: OpId) -> f64 {
        let of_failures = self.of(op).find(|rule| matches!(rule.subject, Subject::Failures(_)));
        of_failures.map_or(1.0, |rule| rule.bound.limit())
    }

    /// Returns the limits of each operation, by operation index.
    #[must_use]
    pub fn time_limits(&self, ops: usize) -> Vec<TimeLimits> {
        let of = |op: usize| {
            let mut limits = TimeLimits::default();
            for limit in self.of(OpId(op as u8)).filter_map(Rule::time_limit) {
                // Profiles with more limits are refused.
                let _ = limits.add(limit);
            }
            limits
        };
        (0..ops).map(of).collect()
    }

    /// Checks that all rules can be judged.
    ///
    /// # Errors
    /// The first defect.
    pub fn check(&self, measures: &[MeasureSpec], ops: &[OpSpec]) -> Result<(), InvalidRules> {
        let mut limits = vec![TimeLimits::default(); ops.len()];
        for rule in &self.rules {
            if let Subject::Measure(id) = rule.subject
                && !measures.iter().any(|measure| measure.id == id)
            {
                return Err(InvalidRules::NoMeasure(id));
            }
            let Some(op) = rule.subject.op() else { continue };
            let limits = limits.get_mut(op.index()).ok_or(InvalidRules::NoOperation)?;
            if rule.time_limit().is_some_and(|limit| !limits.add(limit)) {
                return Err(InvalidRules::TooManyLimits);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OP: OpId = OpId(0);
    const P90: Share = Share::percent(90.0);
    const P99: Share = Share::percent(99.0);

    #[test]
    fn bounds_forgive_chance_and_the_last_digits() {
        let within = Bound::Within { value: 0.4, tolerance: Share::percent(10.0) };
        let cases = [
            (Bound::AtMost(5.0), 5.0, 0.0, true),
            (Bound::AtMost(5.0), 5.001, 0.0, false),
            (Bound::AtMost(5.0), 5.5, 0.5, true),
            (Bound::AtLeast(95.0), 95.0, 0.0, true),
            (Bound::AtLeast(95.0), 94.99, 0.0, false),
            (Bound::AtLeast(95.0), f64::NAN, 0.0, false),
            (within, 0.44, 0.0, true),
            (within, 0.45, 0.0, false),
            (within, 0.45, 0.06, true),
        ];
        for (bound, value, chance, expected) in cases {
            assert_eq!(bound.holds(value, chance), expected, "{bound:?} of {value} by {chance}");
        }
    }

    #[test]
    fn the_usual_rules_are_of_time_mix_and_failures() {
        let (mix, mix_tolerance, failures) = (Share::percent(40.0), P90, Share::ZERO);
        let limit = Some(Nanos::from_millis(250));
        let qos = QosRule { op: OP, quantile: P99, limit, judged: true, mix, mix_tolerance, failures };
        let profile = Profile::usual("p", &[qos], None);
        assert_eq!(profile.rules.len(), 3);
        assert_eq!(profile.response_limit(OP), Some((P99, Nanos::from_millis(250))));
        assert_eq!(profile.mix(OP), Some(Bound::Within { value: 0.4, tolerance: P90 }));
        assert_eq!((profile.failures(OP), profile.judged(2)), (0.0, vec![true, false]));
        let few = QosRule { limit: None, mix: Share::ZERO, ..qos };
        assert_eq!(Profile::usual("p", &[few], None).rules.len(), 1);
        assert_eq!(Profile::usual("p", &[QosRule { judged: false, ..qos }], None).rules, []);
    }

    #[test]
    fn limits_are_kept_apart_and_counted_once() {
        let response = |ms, quantile| Rule::response(OP, quantile, Nanos::from_millis(ms));
        let service =
            |ms: f64| Rule { subject: Subject::Service { op: OP, quantile: P90 }, bound: Bound::AtMost(ms) };
        let of = |rules: &[Rule]| Profile { name: "p", rules: rules.to_vec(), derived: None };
        let ops = [OpSpec { name: "Get", about: "looks up" }];
        let two = of(&[service(2.001), response(5_000, P90), response(20_000, P99), response(5_000, P99)]);
        let expected = TimeLimits {
            response: Some(Nanos::from_secs(5)),
            further: [
                Some(TimeLimit::Service(Nanos(2_001_000))),
                Some(TimeLimit::Response(Nanos::from_secs(20))),
                None,
            ],
        };
        assert_eq!((two.time_limits(1), two.check(&[], &ops)), (vec![expected], Ok(())));
        let five: Vec<Rule> = (1..=5).map(|n| response(n, P99)).collect();
        assert_eq!(of(&five[..4]).check(&[], &ops), Ok(()));
        assert_eq!(of(&five).check(&[], &ops), Err(InvalidRules::TooManyLimits));
        assert_eq!(of(&five).check(&[], &[]), Err(InvalidRules::NoOperation));
        let measure = Rule { subject: Subject::Measure("hits"), bound: Bound::AtLeast(1.0) };
        assert_eq!(of(&[measure]).check(&[], &ops), Err(InvalidRules::NoMeasure("hits")));
    }
}
