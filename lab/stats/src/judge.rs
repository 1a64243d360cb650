//! Judgement of a measured window by the rules of its profile: *passed* and *valid*, kept apart.
//!
//! `rules` judges the rules. An operation whose share is required and that is missing, more than by chance,
//! cannot pass, and a window without judged operations passes nothing. `checks` decides whether the
//! measurement is valid at all.

mod checks;
mod driver;
mod errors;
pub mod host;
mod little;
mod mix;
mod pacing;
mod rules;
mod slices;

use barograph_model::{
    Behaviours, Bound, MeasureSpec, Nanos, OfferedLoad, OpId, OpSpec, OpVerdict, OpenLoop, Outcome, Profile,
    RuleVerdict, Share, Subject, WindowVerdict,
};

use self::rules::JudgedWindow;
use crate::IntervalSummary;
use crate::interval::{Histogram, Interval};
use crate::measure::measured;

/// All facts about a measured window.
#[derive(Clone, Copy, Debug)]
pub struct WindowInput<'a> {
    /// The whole window as one interval.
    pub joined: &'a Interval,
    /// The intervals (seconds) of the window, in order.
    pub parts: &'a [IntervalSummary],
    /// The rules.
    pub profile: &'a Profile,
    /// The operations, by operation index.
    pub ops: &'a [OpSpec],
    /// Measures of the workload.
    pub measures: &'a [MeasureSpec],
    /// The requested load.
    pub offered: OfferedLoad,
    /// Number of operations after which the load ends; `None` for a window of a continuing load. A load that
    /// ends has no steady state, and the window is all of its length.
    pub operations: Option<u64>,
    /// The arrivals, in an open loop.
    pub open: Option<&'a OpenLoop>,
    /// Behaviours of the users and their pace; `None` if unknown.
    pub behaviours: Option<&'a Behaviours>,
    /// Use of the host during the window; `None` without a host, as in simulated time.
    pub host: Option<&'a host::HostUse>,
    /// Changes of the load by control commands in the window.
    pub level_changes: u32,
    /// Time that users have had to spread over their sessions when the window begins: since many of them
    /// came, or came out of a queue. `None` if windows are not repeated, and the rules hold as they are.
    pub spread_for: Option<Nanos>,
    /// Limits of the driver.
    pub driver: DriverLimits,
    /// Seconds of the wall clock during the window minus seconds of the monotonic clock.
    pub clock_jump_s: f64,
}

/// Figures beyond which the driver, not the target, may have been the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriverLimits {
    /// Largest p99 of start lag, as a part of the tightest response-time limit of the profile.
    pub lag_of_limit: Share,
    /// Largest use of a core by the busiest worker; `None` if the worker itself does the operations.
    pub busiest_worker: Option<Share>,
}

impl Default for DriverLimits {
    /// Start lag up to 5 % of the tightest limit (100 ms of 2 s), since start lag is part of response time
    /// and more would change verdicts. A worker up to 95 % of a core: at 100 % it has a queue of its own.
    fn default() -> Self {
        DriverLimits { lag_of_limit: Share::percent(5.0), busiest_worker: Some(Share::percent(95.0)) }
    }
}

/// The quantile shown when no rule names another.
const SHOWN: f64 = 0.99;

/// Judges one measured window.
///
/// # Panics
/// If `joined` and `ops` differ in their number of operations: they describe one workload.
#[must_use]
pub fn judge_window(input: &WindowInput<'_>) -> WindowVerdict {
    assert_eq!(input.joined.ops.len(), input.ops.len(), "one workload, one number of operations");
    let joined = input.joined;
    let measures = measured(input.measures, joined);
    let judged = JudgedWindow::new(input, &measures);
    let rules = judged.verdicts();
    let op = |op: usize| op_verdict(input, &judged, &rules, OpId(op as u8));
    let ops: Vec<OpVerdict> = (0..input.ops.len()).map(op).collect();
    let seconds = joined.seconds();
    WindowVerdict {
        offered: input.offered,
        users: joined.users,
        from_s: joined.from.as_secs_f64(),
        to_s: joined.to.as_secs_f64(),
        throughput: per_second(joined.ops.iter().map(|op| op.outcomes[Outcome::Good.index()]).sum(), seconds),
        goodput: per_second(joined.ops.iter().map(|op| op.good_in_time).sum(), seconds),
        requests_s: per_second(joined.ops.iter().map(|op| op.requests).sum(), seconds),
        starts_s: per_second(joined.starts, seconds),
        late: joined.late,
        dropped: joined.dropped,
        skipped: joined.skipped,
        lag_p50_ms: quantile_ms(&joined.lag, 0.5),
        lag_p99_ms: quantile_ms(&joined.lag, 0.99),
        checks: checks::all(input, &ops, &rules),
        ops,
        rules,
        measures,
    }
}

fn op_verdict(
    input: &WindowInput<'_>,
    judged: &JudgedWindow<'_>,
    rules: &[RuleVerdict],
    op: OpId,
) -> OpVerdict {
    let (profile, stats) = (input.profile, &input.joined.ops[op.index()]);
    let (count, failed) = (stats.count(), stats.failed());
    let limit = profile.response_limit(op);
    let quantile = limit.map_or(SHOWN, |(quantile, _)| quantile.get());
    let (mix_required, mix_tolerance) = match profile.mix(op) {
        Some(Bound::Within { value, tolerance }) => (value, tolerance.get()),
        Some(Bound::AtMost(_) | Bound::AtLeast(_)) | None => (0.0, 0.0),
    };
    let mut kept = RuleResults::new(!judged.is_absent(op) || !judged.judges(op));
    rules.iter().filter(|rule| rule.subject.op() == Some(op)).for_each(|rule| kept.add(rule));
    OpVerdict {
        op: input.ops[op.index()].name.to_owned(),
        count,
        failed,
        mix: judged.share(op),
        mix_required,
        mix_tolerance,
        mix_chance: judged.chance(op),
        mean_ms: mean_ms(stats.response_sum_s, count),
        p50_ms: quantile_ms(&stats.response, 0.5),
        p90_ms: quantile_ms(&stats.response, 0.9),
        p95_ms: quantile_ms(&stats.response, 0.95),
        p99_ms: quantile_ms(&stats.response, 0.99),
        p999_ms: quantile_ms(&stats.response, 0.999),
        max_ms: quantile_ms(&stats.response, 1.0),
        service_mean_ms: mean_ms(stats.service_sum_s, count),
        service_p50_ms: quantile_ms(&stats.service, 0.5),
        service_p90_ms: quantile_ms(&stats.service, 0.9),
        service_p95_ms: quantile_ms(&stats.service, 0.95),
        service_p99_ms: quantile_ms(&stats.service, 0.99),
        service_p999_ms: quantile_ms(&stats.service, 0.999),
        service_max_ms: quantile_ms(&stats.service, 1.0),
        judged_ms: quantile_ms(&stats.response, quantile),
        limit_ms: limit.map(|(_, limit)| limit.as_secs_f64() * 1e3),
        over_limit: part(stats.over_limit, count),
        failures_allowed: profile.failures(op),
        judged: judged.judges(op),
        time_ok: kept.time,
        mix_ok: kept.mix,
        failures_ok: kept.failures,
        further_ok: kept.further,
    }
}

/// Whether the rules of an operation hold: the first of response time, of the mix and of failures, and all
/// further ones.
struct RuleResults {
    time: bool,
    mix: bool,
    failures: bool,
    further: bool,
    seen: [bool; 3],
}

impl RuleResults {
    fn new(all: bool) -> Self {
        RuleResults { time: all, mix: all, failures: all, further: true, seen: [false; 3] }
    }

    fn add(&mut self, rule: &RuleVerdict) {
        let (first, place) = match (rule.subject, rule.bound) {
            (Subject::Response { .. }, Bound::AtMost(_)) => (&mut self.time, 0),
            (Subject::Mix(_), Bound::Within { .. }) => (&mut self.mix, 1),
            (Subject::Failures(_), Bound::AtMost(_)) => (&mut self.failures, 2),
            _ => return self.further &= rule.holds,
        };
        if std::mem::replace(&mut self.seen[place], true) {
            self.further &= rule.holds;
        } else {
            *first &= rule.holds;
        }
    }
}

fn part(some: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { some as f64 / all as f64 }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Mean in milliseconds; 0 if no operation ended, like quantiles.
fn mean_ms(sum_s: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum_s * 1e3 / count as f64 }
}

fn quantile_ms(histogram: &Histogram, quantile: f64) -> f64 {
    histogram.value_at_quantile(quantile) as f64 / 1e3
}

#[cfg(test)]
mod gates_tests;
#[cfg(test)]
mod open_loop;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
