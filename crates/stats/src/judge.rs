//! Holds a measured window against the rules of its profile: *passed* and *valid*, kept apart.
//!
//! The rules of one operation: the judged quantile of response time is within the limit (counted, not read off a
//! histogram: the share of operations within the limit must reach the quantile), its share of all judged operations
//! is within the tolerance, or within chance, where one is required, and its failures are within their share. An operation
//! whose share is required and that did not happen, though by chance it would have, cannot pass, and a window in which
//! nothing judged happened passes nothing. Whether the measurement can be believed at all is asked in `checks`.

mod checks;
mod driver;
mod errors;
pub mod host;
mod little;
mod mix;
mod pacing;
mod slices;

use barograph_model::{
    Behaviours, MeasureSpec, Nanos, Offered, OpSpec, OpVerdict, OpenLoop, Outcome, Profile, QosRule, Share,
    WindowVerdict,
};

use crate::Part;
use crate::interval::{Histogram, Interval, OpStats};
use crate::measure::measured;

/// Everything that is known about a measured window.
#[derive(Clone, Copy, Debug)]
pub struct WindowInput<'a> {
    /// The whole window as one interval.
    pub joined: &'a Interval,
    /// The intervals (seconds) the window consists of, in order.
    pub parts: &'a [Part],
    /// The rules.
    pub profile: &'a Profile,
    /// The operations, by operation index.
    pub ops: &'a [OpSpec],
    /// Measures of the workload.
    pub measures: &'a [MeasureSpec],
    /// The load that was asked for.
    pub offered: Offered,
    /// How it came, in an open loop.
    pub open: Option<&'a OpenLoop>,
    /// What users do and how fast; `None` where nobody says.
    pub behaviours: Option<&'a Behaviours>,
    /// What the host did meanwhile; `None` where there is none, as in simulated time.
    pub host: Option<&'a host::HostUse>,
    /// How often a control command changed the load in the window.
    pub level_changes: u32,
    /// For how long users have spread over their sessions when the window begins: since many of them came, or came out of a
    /// queue. `None` where a window is not made again, and its rules hold as they are.
    pub spread_for: Option<Nanos>,
    /// What the driver may use before it counts as the limit.
    pub driver: DriverLimits,
    /// Seconds the wall clock went on during the window minus seconds of the monotonic clock.
    pub clock_jump_s: f64,
}

/// Beyond these figures the driver, not the target, may have been the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriverLimits {
    /// The p99 of start lag may be this part of the tightest response-time limit of the profile.
    pub lag_of_limit: Share,
    /// The busiest worker may use this part of a core.
    pub busiest_worker: Share,
}

impl Default for DriverLimits {
    /// Start lag up to 5 % of the tightest limit (100 ms of 2 s), since start lag is part of response time and more
    /// than that would move verdicts. A worker up to 95 % of a core: at 100 % it has a queue of its own.
    fn default() -> Self {
        DriverLimits { lag_of_limit: Share::percent(5.0), busiest_worker: Share::percent(95.0) }
    }
}

/// So ends what a check of steadiness or of a mix says that found something and holds all the same, because the window breaks
/// a rule in any case.
pub const FAILS_ANYWAY: &str = "fails anyway";

/// Judges one measured window.
///
/// # Panics
/// When `joined`, `profile.rules` and `ops` do not have the same number of operations: they describe one workload.
#[must_use]
pub fn judge_window(input: &WindowInput<'_>) -> WindowVerdict {
    assert_eq!(input.joined.ops.len(), input.ops.len(), "one workload, one number of operations");
    assert_eq!(input.profile.rules.len(), input.ops.len(), "one rule per operation");
    let joined = input.joined;
    let judged_total: u64 = joined
        .ops
        .iter()
        .zip(&input.profile.rules)
        .filter(|(_, rule)| rule.judged)
        .map(|(op, _)| op.count())
        .sum();
    let ops: Vec<OpVerdict> = joined
        .ops
        .iter()
        .zip(&input.profile.rules)
        .zip(input.ops)
        .enumerate()
        .map(|(op, ((stats, rule), spec))| {
            let mix_chance = mix::chance(input.parts, &input.profile.rules, op);
            judge_op(spec, rule, &Counted { stats, judged_total, mix_chance })
        })
        .collect();
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
        checks: checks::all(input, &ops),
        ops,
        measures: measured(input.measures, joined),
    }
}

/// What one operation did, how many judged operations there were in all, and what chance makes of its share.
struct Counted<'a> {
    stats: &'a OpStats,
    judged_total: u64,
    mix_chance: f64,
}

fn judge_op(spec: &OpSpec, rule: &QosRule, counted: &Counted<'_>) -> OpVerdict {
    let stats = counted.stats;
    let (count, failed) = (stats.count(), stats.failed());
    let judged = rule.judged;
    let mix = if judged { part(count, counted.judged_total) } else { 0.0 };
    let over_limit = part(stats.over_limit, count);
    // Absence breaks a rule where more than chance makes is required, or where nothing judged happened at all.
    let absent = count == 0 && (counted.judged_total == 0 || rule.mix.get() > counted.mix_chance);
    let within = part(count.saturating_sub(stats.over_limit), count);
    OpVerdict {
        op: spec.name.to_owned(),
        count,
        failed,
        mix,
        mix_required: rule.mix.get(),
        mix_tolerance: rule.mix_tolerance.get(),
        mix_chance: counted.mix_chance,
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
        judged_ms: quantile_ms(&stats.response, rule.quantile.get()),
        limit_ms: rule.limit.map(|limit| limit.as_secs_f64() * 1e3),
        over_limit,
        failures_allowed: rule.failures.get(),
        judged,
        time_ok: !absent && (count == 0 || rule.limit.is_none() || at_least(within, rule.quantile.get())),
        mix_ok: !absent && mix::kept(mix, rule, counted.mix_chance),
        failures_ok: !absent && at_least(rule.failures.get(), part(failed, count)),
    }
}

/// `a >= b`, forgiving the last digits: 10.95 % of a mix plus its tolerance is not exact in binary.
fn at_least(a: f64, b: f64) -> bool {
    a >= b - 1e-12
}

fn part(some: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { some as f64 / all as f64 }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// 0 where nothing ended, as quantiles are.
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
