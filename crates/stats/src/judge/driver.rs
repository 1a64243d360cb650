//! Was the driver the limit? Start lag, its busiest worker, and whether it offered the load that was asked for.

use barograph_model::words::{count, millis};
use barograph_model::{Arrivals, Check, LoadUnit, Nanos, OpenLoop, Profile, StartOf};

use super::WindowInput;
use crate::interval::{Interval, histogram};

/// Where no operation has a limit, start lag may be this part of the p99 of response time …
const LAG_OF_RESPONSE: f64 = 0.10;

/// … or this many milliseconds, where that is more: below it nobody looks at the difference.
const LAG_FLOOR_MS: f64 = 1.0;

/// Users at the end of each interval may differ from the number asked for by this part.
const USERS_TOLERANCE: f64 = 0.01;

/// Starts per second may differ from the rate asked for by this part.
const RATE_TOLERANCE: f64 = 0.01;

/// Independent arrivals miss their mean by chance: by more than so many standard deviations once in a thousand windows.
const CHANCE: f64 = 3.29;

pub(super) fn all(input: &WindowInput<'_>) -> Vec<Check> {
    let mut checks = vec![start_lag(input)];
    checks.extend(input.driver.busiest_worker.map(|allowed| busiest_worker(input, allowed.get())));
    match input.offered.unit {
        LoadUnit::Users | LoadUnit::Scale => checks.push(users(input)),
        LoadUnit::PerSecond => checks.extend([offered_rate(input), driver_bound(input)]),
    }
    checks
}

/// The tightest response-time limit of all rules.
pub(super) fn tightest_limit(profile: &Profile) -> Option<Nanos> {
    profile.response_limits().map(|(.., limit)| limit).min()
}

fn start_lag(input: &WindowInput<'_>) -> Check {
    let found_ms = input.joined.lag.value_at_quantile(0.99) as f64 / 1e3;
    let (allowed_ms, of) = match tightest_limit(input.profile) {
        Some(limit) => (limit.as_secs_f64() * 1e3 * input.driver.lag_of_limit.get(), ""),
        None => {
            (LAG_FLOOR_MS.max(judged_p99_ms(input) * LAG_OF_RESPONSE), ", as no response time is limited")
        }
    };
    Check {
        name: "driver start lag".to_owned(),
        found: format!("p99 {}", millis(found_ms)),
        allowed: format!("at most {}{of}", millis(allowed_ms)),
        ok: found_ms <= allowed_ms,
    }
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
    Check {
        name: "busiest driver worker".to_owned(),
        found: format!("{:.0} % of a core", busy * 100.0),
        allowed: format!("at most {:.0} %", allowed * 100.0),
        ok: busy <= allowed,
    }
}

fn users(input: &WindowInput<'_>) -> Check {
    let least = input.parts.iter().map(|part| part.users).min().unwrap_or(0);
    let most = input.parts.iter().map(|part| part.users).max().unwrap_or(0);
    let asked = input.offered.level;
    let slack = f64::from(asked) * USERS_TOLERANCE;
    let ok = [least, most].iter().all(|found| (f64::from(*found) - f64::from(asked)).abs() <= slack);
    Check {
        name: "users present".to_owned(),
        found: if least == most { format!("{least}") } else { format!("{least} to {most}") },
        allowed: format!("{asked} within {:.0} %", USERS_TOLERANCE * 100.0),
        ok,
    }
}

/// Did as many operations start as were asked for? Arrivals that begin whole sessions, and those of a trace, have no
/// such number to be held against; what they drop is looked at in any case.
fn offered_rate(input: &WindowInput<'_>) -> Check {
    let Interval { starts, late, .. } = input.joined;
    let seconds = input.joined.seconds();
    let rate = if seconds > 0.0 { *starts as f64 / seconds } else { 0.0 };
    let waited = match late {
        0 => String::new(),
        n => format!(", {} arrivals late", count(*n)),
    };
    let rate_words = if rate < 1_000.0 { format!("{rate:.1}") } else { count(rate.round() as u64) };
    let found = format!("{rate_words} starts/s{waited}");
    let name = "offered rate".to_owned();
    let Some(tolerance) = rate_tolerance(input, seconds) else {
        return Check {
            name,
            found,
            allowed: "any: arrivals are a trace, or begin sessions".to_owned(),
            ok: true,
        };
    };
    let asked = f64::from(input.offered.level);
    let right = (rate - asked).abs() <= asked * tolerance;
    let excused = !right && rate < asked && too_slow_by_service(input);
    Check {
        name,
        found: if excused { format!("{found}; {EXCUSE}") } else { found },
        allowed: format!("{} within {:.1} %", count(input.offered.level.into()), tolerance * 100.0),
        ok: right || excused,
    }
}

/// By which part the rate may be missed; `None` where there is no rate to miss.
pub(super) fn rate_tolerance(input: &WindowInput<'_>, seconds: f64) -> Option<f64> {
    let OpenLoop { arrivals, start_of, .. } = input.open?;
    match (arrivals, start_of) {
        (Arrivals::Trace(_), _) | (_, StartOf::Session) => None,
        (Arrivals::Constant, StartOf::Operation) => Some(RATE_TOLERANCE),
        (Arrivals::Poisson, StartOf::Operation) => {
            let expected = (f64::from(input.offered.level) * seconds).max(1.0);
            Some(RATE_TOLERANCE.max(CHANCE / expected.sqrt()))
        }
    }
}

/// Arrivals that were dropped would have had the longest response times of all.
fn driver_bound(input: &WindowInput<'_>) -> Check {
    let dropped = input.joined.dropped;
    let excused = dropped > 0 && too_slow_by_service(input);
    let found = format!("{} arrivals dropped", count(dropped));
    Check {
        name: "driver bound".to_owned(),
        found: if excused { format!("{found}; {EXCUSE}") } else { found },
        allowed: "none; raise load.most_users or load.most_waiting".to_owned(),
        ok: dropped == 0 || excused,
    }
}

pub(super) const EXCUSE: &str = "by service time alone the target is too slow";

/// Is some limit broken even by service time, which knows nothing of waiting in the driver? Then more users and more
/// room to wait would not help: the target is too slow, and that is to be found, not disbelieved.
pub(super) fn too_slow_by_service(input: &WindowInput<'_>) -> bool {
    input.profile.response_limits().any(|(op, quantile, limit)| {
        let service = &input.joined.ops[op.index()].service;
        !service.is_empty() && service.value_at_quantile(quantile.get()) > limit.as_micros()
    })
}
