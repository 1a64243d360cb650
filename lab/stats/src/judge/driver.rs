//! Checks that the driver was not the limit: start lag, its busiest worker, and the offered load.

use barograph_model::{
    Arrivals, Check, CheckFacts, CheckId, Excuse, LoadUnit, Nanos, OpenLoop, Profile, StartOf,
};

use super::WindowInput;
use crate::interval::{Interval, histogram};

/// Largest start lag if no operation has a limit, as a part of the p99 of response time …
const LAG_OF_RESPONSE: f64 = 0.10;

/// … or in milliseconds, whichever is more: smaller differences are irrelevant.
const LAG_FLOOR_MS: f64 = 1.0;

/// Tolerance of the number of users at the end of each interval, as a part of the requested number.
const USERS_TOLERANCE: f64 = 0.01;

/// Tolerance of starts per second, as a part of the requested rate.
const RATE_TOLERANCE: f64 = 0.01;

/// Operations that may fall on the wrong side of the edges of a span. With few independent arrivals, an
/// excess over the mean is likelier than an equal shortfall: beyond the standard deviations by (3.29² − 1) /
/// 6, which is less than this.
pub(super) const AT_EDGES: f64 = 2.0;

/// Standard deviations by which independent arrivals miss their mean once in a thousand windows.
const CHANCE: f64 = 3.29;

pub(super) fn all(input: &WindowInput<'_>) -> Vec<Check> {
    let mut checks = vec![start_lag(input)];
    checks.extend(input.driver.busiest_worker.map(|allowed| busiest_worker(input, allowed.get())));
    let goes_on = input.operations.is_none();
    match input.offered.unit {
        LoadUnit::Users | LoadUnit::Scale | LoadUnit::Tiles => checks.extend(goes_on.then(|| users(input))),
        LoadUnit::PerSecond => {
            checks.extend(goes_on.then(|| offered_rate(input)));
            checks.push(driver_bound(input));
        }
    }
    checks
}

/// The tightest response-time limit of all rules.
pub(super) fn tightest_limit(profile: &Profile) -> Option<Nanos> {
    profile.response_limits().map(|(.., limit)| limit).min()
}

fn start_lag(input: &WindowInput<'_>) -> Check {
    let p99_ms = input.joined.lag.value_at_quantile(0.99) as f64 / 1e3;
    let limit = tightest_limit(input.profile);
    let most_ms = match limit {
        Some(limit) => limit.as_secs_f64() * 1e3 * input.driver.lag_of_limit.get(),
        None => LAG_FLOOR_MS.max(judged_p99_ms(input) * LAG_OF_RESPONSE),
    };
    let facts = CheckFacts::StartLag { p99_ms, most_ms, is_limited: limit.is_some() };
    Check::new(CheckId::StartLag, facts, p99_ms <= most_ms)
}

/// The p99 of response time over all judged operations together.
fn judged_p99_ms(input: &WindowInput<'_>) -> f64 {
    let mut all = histogram();
    let judged = input.profile.judged(input.ops.len());
    for (op, _) in input.joined.ops.iter().zip(judged).filter(|(_, judged)| *judged) {
        all.add(&op.response).expect("all histograms have the same bounds");
    }
    all.value_at_quantile(0.99) as f64 / 1e3
}

fn busiest_worker(input: &WindowInput<'_>, allowed: f64) -> Check {
    let seconds = input.joined.seconds();
    let busy = if seconds > 0.0 { input.joined.busiest_worker_cpu_s / seconds } else { 0.0 };
    let facts = CheckFacts::Worker { share: busy, most: allowed };
    Check::new(CheckId::BusiestWorker, facts, busy <= allowed)
}

fn users(input: &WindowInput<'_>) -> Check {
    let least = input.parts.iter().map(|part| part.users).min().unwrap_or(0);
    let most = input.parts.iter().map(|part| part.users).max().unwrap_or(0);
    let asked = input.offered.level;
    let slack = f64::from(asked) * USERS_TOLERANCE;
    let ok = [least, most].iter().all(|found| (f64::from(*found) - f64::from(asked)).abs() <= slack);
    let facts = CheckFacts::Users { least, most, asked: asked.whole(), tolerance: USERS_TOLERANCE };
    Check::new(CheckId::Users, facts, ok)
}

/// Check of the number of starts against the requested rate. Arrivals that begin whole sessions, and those of
/// a trace, have no such number; dropped arrivals are checked in any case.
fn offered_rate(input: &WindowInput<'_>) -> Check {
    let Interval { starts, late, .. } = input.joined;
    let seconds = input.joined.seconds();
    let rate = if seconds > 0.0 { *starts as f64 / seconds } else { 0.0 };
    let expected = f64::from(input.offered.level) * seconds;
    let slack = starts_slack(input, expected);
    let tolerance = slack.map(|slack| slack / expected);
    let facts = CheckFacts::Rate { rate, late: *late, asked: input.offered.level, tolerance };
    let missed = *starts as f64 - expected;
    let right = slack.is_none_or(|slack| missed.abs() <= slack);
    let is_excused = !right && missed < 0.0 && too_slow_by_service(input);
    Check::excused(CheckId::OfferedRate, facts, (right, is_excused.then_some(Excuse::SlowService)))
}

/// Allowed difference of a span from its expected starts; `None` if no rate was requested.
pub(super) fn starts_slack(input: &WindowInput<'_>, expected: f64) -> Option<f64> {
    let OpenLoop { arrivals, start_of, .. } = input.open?;
    let chance = match (arrivals, start_of) {
        (Arrivals::Trace(_), _) | (_, StartOf::Session) => return None,
        (Arrivals::Constant, StartOf::Operation) => 0.0,
        (Arrivals::Poisson, StartOf::Operation) => CHANCE * expected.sqrt(),
    };
    Some((expected * RATE_TOLERANCE).max(chance + AT_EDGES))
}

/// Check for dropped arrivals: they would have had the longest response times of all.
fn driver_bound(input: &WindowInput<'_>) -> Check {
    let dropped = input.joined.dropped;
    let excuse = (dropped > 0 && too_slow_by_service(input)).then_some(Excuse::SlowService);
    Check::excused(CheckId::DriverBound, CheckFacts::Dropped { arrivals: dropped }, (dropped == 0, excuse))
}

/// Whether a limit is exceeded even by service time, which contains no waiting in the driver. Then more users
/// and more room to wait would not help: the target is too slow, which is a result and not invalid.
pub(super) fn too_slow_by_service(input: &WindowInput<'_>) -> bool {
    input.profile.response_limits().any(|(op, quantile, limit)| {
        let service = &input.joined.ops[op.index()].service;
        !service.is_empty() && service.value_at_quantile(quantile.get()) > limit.as_micros()
    })
}
