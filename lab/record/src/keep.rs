//! Conversion of the types of lower floors to the types of the record.

use barograph_model::{
    BetterWhen, Bound, Check, MeasureSpec, MeasureValue, OpId, OpSpec, OpVerdict, Outcome, Phase, Profile,
    RuleVerdict, Subject, TrialResult, WindowVerdict,
};
use barograph_stats::{Histogram, Interval, OpStats};

use crate::{
    BetterWhenRecord, BoundRecord, CheckRecord, Count, DerivedRecord, Entry, ExpectedFigures, Figure,
    IntervalRow, MeasureRecord, OpRecord, OpRow, PhaseEnded, PhaseOutcome, PhaseStarted, Purpose, Resources,
    ResultRecord, Rule, RuleRecord, SubjectRecord, Trial, UnitRecord, WindowRecord,
};

/// A quantile of a histogram of microseconds, in milliseconds; 0 if it is empty.
fn quantile_ms(times: &Histogram, share: f64) -> f64 {
    if times.is_empty() { 0.0 } else { times.value_at_quantile(share) as f64 / 1e3 }
}

impl Entry {
    /// Entry for the start of a phase, `at_s` seconds after that of the run.
    #[must_use]
    pub fn phase_started(phase: Phase, at_s: f64) -> Self {
        Entry::PhaseStarted(PhaseStarted { phase: phase.name().to_owned(), at_s })
    }

    /// Entry for the completion of a phase, `at_s` seconds after the run began.
    #[must_use]
    pub fn phase_done(phase: Phase, at_s: f64) -> Self {
        let phase = phase.name().to_owned();
        Entry::PhaseEnded(PhaseEnded { phase, at_s, outcome: PhaseOutcome::Done, error: None })
    }

    /// Entry for the failure of a phase, `at_s` seconds after the run began.
    #[must_use]
    pub fn phase_failed(phase: Phase, at_s: f64, error: String) -> Self {
        let phase = phase.name().to_owned();
        Entry::PhaseEnded(PhaseEnded { phase, at_s, outcome: PhaseOutcome::Failed, error: Some(error) })
    }

    /// Entry for a phase in which the run was interrupted, `at_s` seconds after it began.
    #[must_use]
    pub fn phase_interrupted(phase: Phase, at_s: f64) -> Self {
        let phase = phase.name().to_owned();
        Entry::PhaseEnded(PhaseEnded { phase, at_s, outcome: PhaseOutcome::Interrupted, error: None })
    }
}

impl IntervalRow {
    /// Converts an interval; `names` are the operations' names by index.
    #[must_use]
    pub fn keep(interval: &Interval, names: &[&str]) -> Self {
        let seconds = interval.seconds();
        let per_second = |sum: f64| if seconds > 0.0 { sum / seconds } else { 0.0 };
        let values = interval.counters.values();
        let counters = &values[..values.iter().rposition(|value| *value > 0).map_or(0, |last| last + 1)];
        let ops = interval.ops.iter().enumerate().filter(|(_, op)| op.outcomes.iter().any(|n| *n > 0));
        IntervalRow {
            from_s: interval.from.as_secs_f64(),
            to_s: interval.to.as_secs_f64(),
            users: interval.users,
            starts: interval.starts,
            late: interval.late,
            dropped: interval.dropped,
            skipped: interval.skipped,
            lag_p50_ms: quantile_ms(&interval.lag, 0.5),
            lag_p99_ms: quantile_ms(&interval.lag, 0.99),
            in_flight: per_second(interval.in_flight_s),
            worker_cpu: per_second(interval.worker_cpu_s),
            busiest_worker: per_second(interval.busiest_worker_cpu_s),
            ops: ops.map(|(i, op)| OpRow::keep(op, &name_of(names, i))).collect(),
            counters: counters.to_vec(),
        }
    }
}

/// Name of an operation, or its number if the list of names is too short.
pub(crate) fn name_of(names: &[&str], index: usize) -> String {
    names.get(index).map_or_else(|| format!("Operation{index}"), |name| (*name).to_owned())
}

impl OpRow {
    fn keep(op: &OpStats, name: &str) -> Self {
        let outcomes = Outcome::ALL
            .iter()
            .map(|o| Count::new(o.name(), op.outcomes[o.index()]))
            .filter(|c| c.count > 0)
            .collect();
        OpRow {
            op: name.to_owned(),
            count: op.count(),
            failed: op.failed(),
            p50_ms: quantile_ms(&op.response, 0.5),
            p99_ms: quantile_ms(&op.response, 0.99),
            max_ms: quantile_ms(&op.response, 1.0),
            over_limit: op.over_limit,
            requests: op.requests,
            outcomes,
        }
    }
}

impl ExpectedFigures {
    /// Converts `profile` of `workload`; `ops` are the operations by index. `session_op` occurs exactly once
    /// in a session. The caller adds the unit of load, the target and the names of counters.
    #[must_use]
    pub fn keep(workload: &str, profile: &Profile, ops: &[OpSpec], session_op: Option<&str>) -> Self {
        let judged = profile.judged(ops.len());
        let rule = |(op, spec): (usize, &OpSpec)| Rule::keep(profile, OpId(op as u8), (spec, judged[op]));
        ExpectedFigures {
            workload: workload.to_owned(),
            profile: profile.name.to_owned(),
            unit: UnitRecord::default(),
            target: None,
            derived: profile.derived.map(|derived| DerivedRecord {
                ops_per_user_s: derived.ops_per_user_s,
                requests_per_op: derived.requests_per_op,
                session_s: derived.session_s,
            }),
            session_op: session_op.map(str::to_owned),
            rules: ops.iter().enumerate().map(rule).collect(),
            counters: Vec::new(),
        }
    }
}

/// Quantile shown for an operation without a limit.
const SHOWN: f64 = 0.99;

impl Rule {
    fn keep(profile: &Profile, op: OpId, (spec, judged): (&OpSpec, bool)) -> Self {
        let limit = profile.response_limit(op);
        let (mix, mix_tolerance) = match profile.mix(op) {
            Some(Bound::Within { value, tolerance }) => (value, tolerance.get()),
            Some(Bound::AtMost(_) | Bound::AtLeast(_)) | None => (0.0, 0.0),
        };
        Rule {
            op: spec.name.to_owned(),
            about: spec.about.to_owned(),
            quantile: limit.map_or(SHOWN, |(quantile, _)| quantile.get()),
            limit_ms: limit.map(|(_, limit)| limit.as_secs_f64() * 1e3),
            judged: Some(judged),
            mix,
            mix_tolerance,
            failures: profile.failures(op),
        }
    }
}

impl Trial {
    /// Converts trial number `n`, made for `purpose`. The caller adds the resources.
    #[must_use]
    pub fn keep(n: u32, purpose: Purpose, window: &WindowVerdict) -> Self {
        Trial {
            n,
            purpose,
            unit: window.offered.unit.into(),
            level: window.offered.level,
            result: window.result().into(),
            aborted: false,
            operations: None,
            window: WindowRecord::keep(window),
            resources: Resources::default(),
        }
    }
}

impl From<TrialResult> for ResultRecord {
    fn from(result: TrialResult) -> Self {
        match result {
            TrialResult::Pass => ResultRecord::Pass,
            TrialResult::Fail => ResultRecord::Fail,
            TrialResult::Invalid => ResultRecord::Invalid,
        }
    }
}

impl WindowRecord {
    /// Converts a judged window.
    #[must_use]
    pub fn keep(window: &WindowVerdict) -> Self {
        WindowRecord {
            users: window.users,
            from_s: window.from_s,
            to_s: window.to_s,
            throughput: window.throughput,
            goodput: window.goodput,
            requests_s: window.requests_s,
            starts_s: window.starts_s,
            late: window.late,
            dropped: window.dropped,
            skipped: window.skipped,
            lag_p50_ms: window.lag_p50_ms,
            lag_p99_ms: window.lag_p99_ms,
            passed: window.passed(),
            valid: window.valid(),
            ops: window.ops.iter().map(OpRecord::keep).collect(),
            checks: window.checks.iter().map(CheckRecord::keep).collect(),
            rules: window.rules.iter().map(|rule| RuleRecord::keep(rule, &window.measures)).collect(),
            measures: window.measures.iter().map(MeasureRecord::keep).collect(),
        }
    }
}

impl OpRecord {
    fn keep(op: &OpVerdict) -> Self {
        OpRecord {
            op: op.op.clone(),
            count: op.count,
            failed: op.failed,
            mix: op.mix,
            mix_required: op.mix_required,
            mix_tolerance: op.mix_tolerance,
            mix_chance: op.mix_chance,
            mean_ms: op.mean_ms,
            p50_ms: op.p50_ms,
            p90_ms: op.p90_ms,
            p95_ms: op.p95_ms,
            p99_ms: op.p99_ms,
            p999_ms: op.p999_ms,
            max_ms: op.max_ms,
            service_mean_ms: op.service_mean_ms,
            service_p50_ms: op.service_p50_ms,
            service_p90_ms: op.service_p90_ms,
            service_p95_ms: op.service_p95_ms,
            service_p99_ms: op.service_p99_ms,
            service_p999_ms: op.service_p999_ms,
            service_max_ms: op.service_max_ms,
            judged_ms: op.judged_ms,
            limit_ms: op.limit_ms,
            over_limit: op.over_limit,
            failures_allowed: op.failures_allowed,
            judged: op.judged,
            time_ok: op.time_ok,
            mix_ok: op.mix_ok,
            failures_ok: op.failures_ok,
            further_ok: op.further_ok,
        }
    }
}

impl RuleRecord {
    fn keep(rule: &RuleVerdict, measures: &[MeasureValue]) -> Self {
        let RuleVerdict { subject, op, value, bound, chance, holds } = rule;
        let (kept, unit) = match *subject {
            Subject::Response { .. } => (SubjectRecord::Response, "ms"),
            Subject::Service { .. } => (SubjectRecord::Service, "ms"),
            Subject::MeanResponse(_) => (SubjectRecord::MeanResponse, "ms"),
            Subject::Rate(_) => (SubjectRecord::Rate, "operations/s"),
            Subject::Failures(_) => (SubjectRecord::Failures, ""),
            Subject::Mix(_) => (SubjectRecord::Mix, ""),
            Subject::HostCpu => (SubjectRecord::HostCpu, ""),
            Subject::Measure(id) => {
                let measure = measures.iter().find(|measured| measured.spec.id == id);
                (SubjectRecord::Measure, measure.map_or("", |measured| measured.spec.unit))
            }
        };
        let (bound, limit, tolerance) = match *bound {
            Bound::AtMost(limit) => (BoundRecord::AtMost, limit, None),
            Bound::AtLeast(limit) => (BoundRecord::AtLeast, limit, None),
            Bound::Within { value, tolerance } => (BoundRecord::Within, value, Some(tolerance.get())),
        };
        RuleRecord {
            subject: kept,
            op: op.clone(),
            quantile: match subject {
                Subject::Response { quantile, .. } | Subject::Service { quantile, .. } => {
                    Some(quantile.get())
                }
                _ => None,
            },
            measure: if let Subject::Measure(id) = subject { Some((*id).to_owned()) } else { None },
            unit: unit.to_owned(),
            value: *value,
            bound,
            limit,
            tolerance,
            chance: *chance,
            holds: *holds,
        }
    }
}

impl MeasureRecord {
    fn keep(measured: &MeasureValue) -> Self {
        let MeasureSpec { id, title, unit, better, .. } = measured.spec;
        MeasureRecord {
            id: id.to_owned(),
            title: title.to_owned(),
            unit: unit.to_owned(),
            better: better.into(),
            value: measured.value,
        }
    }
}

impl From<BetterWhen> for BetterWhenRecord {
    fn from(better: BetterWhen) -> Self {
        match better {
            BetterWhen::Higher => BetterWhenRecord::Higher,
            BetterWhen::Lower => BetterWhenRecord::Lower,
            BetterWhen::Neither => BetterWhenRecord::Neither,
        }
    }
}

impl CheckRecord {
    fn keep(check: &Check) -> Self {
        CheckRecord {
            id: check.id.id().to_owned(),
            name: check.id.name().to_owned(),
            found: check.found(),
            allowed: check.allowed(),
            ok: check.ok,
            excused: check.excuse.is_some(),
            op: check.facts.op().map(str::to_owned),
            driver: check.driver.as_ref().map(|(name, _)| name.clone()),
            figures: check
                .facts
                .figures()
                .into_iter()
                .map(|(name, value)| Figure::new(name, value))
                .collect(),
        }
    }
}
