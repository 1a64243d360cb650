//! The reasons to believe a window or not: driver, Little's law, steadiness, clock, users.
//!
//! Every check words what it found and what is allowed, because a person who reads "not valid" needs the figure.

use barograph_model::{Check, Nanos, QosRule};

use super::WindowInput;
use crate::Part;
use crate::steady::{DRIFT_ALLOWED, Drift, FEWEST_VALUES, drift};

/// Mean in flight may differ from throughput times mean service time by this part. The law holds exactly over all
/// time; over a window it misses the operations that straddle its edges, and long polls of up to 45 s straddle the
/// edges of a one-minute window often. A driver that lost operations or mistook times would be off by far more.
const LITTLE_TOLERANCE: f64 = 0.10;

/// Wall clock and monotonic clock may part by this many seconds in a window: time synchronisation slews by far less,
/// a step or a suspended machine shows more.
const CLOCK_JUMP_ALLOWED_S: f64 = 0.1;

/// Users at the end of each interval may differ from the number asked for by this part.
const USERS_TOLERANCE: f64 = 0.01;

/// A drift of response time below this part of the tightest limit cannot move a verdict, even where it is large
/// against a mean of a few milliseconds.
const FLOOR_OF_LIMIT: f64 = 0.05;

pub(super) fn all(input: &WindowInput<'_>, passed: bool) -> Vec<Check> {
    vec![
        start_lag(input),
        busiest_worker(input),
        little(input),
        steady_throughput(input, passed),
        steady_response(input, passed),
        clock(input),
        users(input),
    ]
}

/// The tightest response-time limit among judged operations; without any there is nothing start lag could spoil.
fn tightest_limit(rules: &[QosRule]) -> Option<Nanos> {
    rules.iter().filter(|rule| rule.judged()).filter_map(|rule| rule.limit).min()
}

fn start_lag(input: &WindowInput<'_>) -> Check {
    let found_ms = input.joined.lag.value_at_quantile(0.99) as f64 / 1e3;
    let name = "driver start lag".to_owned();
    let found = format!("p99 {found_ms:.1} ms");
    match tightest_limit(&input.profile.rules) {
        Some(limit) => {
            let allowed_ms = limit.as_secs_f64() * 1e3 * input.driver.lag_of_limit.get();
            Check { name, found, allowed: format!("at most {allowed_ms:.0} ms"), ok: found_ms <= allowed_ms }
        }
        None => Check { name, found, allowed: "any: no response time is judged".to_owned(), ok: true },
    }
}

fn busiest_worker(input: &WindowInput<'_>) -> Check {
    let seconds = input.joined.seconds();
    let busy = if seconds > 0.0 { input.joined.busiest_worker_cpu_s / seconds } else { 0.0 };
    let allowed = input.driver.busiest_worker.get();
    Check {
        name: "busiest driver worker".to_owned(),
        found: format!("{:.0} % of a core", busy * 100.0),
        allowed: format!("at most {:.0} %", allowed * 100.0),
        ok: busy <= allowed,
    }
}

fn little(input: &WindowInput<'_>) -> Check {
    let name = "Little's law".to_owned();
    let seconds = input.joined.seconds();
    let in_flight = input.joined.in_flight_s;
    let served: f64 = input.joined.ops.iter().map(|op| op.service_sum_s + op.cancelled_sum_s).sum();
    let count: u64 = input.joined.ops.iter().map(crate::OpStats::count).sum();
    if seconds <= 0.0 || count == 0 {
        return Check { name, found: "no operation ended".to_owned(), allowed: "some".to_owned(), ok: false };
    }
    let larger = in_flight.max(served).max(f64::MIN_POSITIVE);
    let differs = (in_flight - served).abs() / larger;
    let edges = edge_growth(input.parts) * (served / count as f64) / larger;
    let allowed = LITTLE_TOLERANCE + edges;
    Check {
        name,
        found: format!(
            "{:.2} in flight, throughput x service time {:.2}: {:.1} % apart",
            in_flight / seconds,
            served / seconds,
            differs * 100.0
        ),
        allowed: format!("at most {:.1} % apart", allowed * 100.0),
        ok: differs <= allowed,
    }
}

/// By how many operations the number in flight changed from the first interval to the last. Each of them brings
/// about one service time into the window that is not matched by an end in it: an overloaded target whose queue
/// grows must be found too slow, not disbelieved.
fn edge_growth(parts: &[Part]) -> f64 {
    match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => (last.in_flight() - first.in_flight()).abs(),
        _ => 0.0,
    }
}

/// Which way a series must not go in a window that failed: towards passing. A window that fails while things get
/// worse would fail all the more if it were longer; one that fails while things get better may just have begun too
/// early. In a window that passed, either way is against it.
#[derive(Clone, Copy)]
enum Better {
    Higher,
    Lower,
}

fn steady_throughput(input: &WindowInput<'_>, passed: bool) -> Check {
    let values: Vec<f64> = input
        .parts
        .iter()
        .filter(|part| part.seconds > 0.0)
        .map(|part| part.ended as f64 / part.seconds)
        .collect();
    let (found, ok) = worded(drift(&values), &Allowed { floor: 0.0, passed, better: Better::Higher });
    Check { name: "steady throughput".to_owned(), found, allowed: allowed_drift(), ok }
}

fn steady_response(input: &WindowInput<'_>, passed: bool) -> Check {
    let values = response_series(input);
    let name = "steady response time".to_owned();
    let Some(limit) = tightest_limit(&input.profile.rules) else {
        return Check { name, found: "not judged".to_owned(), allowed: "any".to_owned(), ok: true };
    };
    let floor = limit.as_secs_f64() * FLOOR_OF_LIMIT;
    let (found, ok) = worded(drift(&values), &Allowed { floor, passed, better: Better::Lower });
    let allowed = format!("{}, or at most {:.0} ms", allowed_drift(), floor * 1e3);
    Check { name, found, allowed, ok }
}

struct Allowed {
    floor: f64,
    passed: bool,
    better: Better,
}

fn allowed_drift() -> String {
    format!("within {:.0} % of the mean, or not certain at 99 %", DRIFT_ALLOWED.get() * 100.0)
}

fn worded(found: Option<Drift>, allowed: &Allowed) -> (String, bool) {
    let Some(found) = found else {
        return (format!("fewer than {FEWEST_VALUES} intervals, or nothing in them"), false);
    };
    let improves = match allowed.better {
        Better::Higher => found.relative > 0.0,
        Better::Lower => found.relative < 0.0,
    };
    let excused = !allowed.passed && !improves;
    let steady = found.steady(allowed.floor);
    let excuse = if excused && !steady { "; it gets worse in a window that fails anyway" } else { "" };
    let text = format!(
        "drifts by {:+.1} % ({:+.1} to {:+.1} %){excuse}",
        found.relative * 100.0,
        found.low * 100.0,
        found.high * 100.0
    );
    (text, steady || excused)
}

/// Mean response time in seconds of the operations whose response time is judged, interval by interval. An interval
/// in which none of them ended takes the mean of the others: it says nothing about a trend.
fn response_series(input: &WindowInput<'_>) -> Vec<f64> {
    let means: Vec<Option<f64>> = input.parts.iter().map(Part::mean_response_s).collect();
    let known: Vec<f64> = means.iter().flatten().copied().collect();
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    means.into_iter().map(|value| value.unwrap_or(mean)).collect()
}

fn clock(input: &WindowInput<'_>) -> Check {
    Check {
        name: "clock".to_owned(),
        found: format!("wall clock {:+.3} s against monotonic clock", input.clock_jump_s),
        allowed: format!("less than {CLOCK_JUMP_ALLOWED_S} s apart"),
        ok: input.clock_jump_s.abs() < CLOCK_JUMP_ALLOWED_S,
    }
}

fn users(input: &WindowInput<'_>) -> Check {
    let least = input.parts.iter().map(|part| part.users).min().unwrap_or(0);
    let most = input.parts.iter().map(|part| part.users).max().unwrap_or(0);
    let slack = f64::from(input.users) * USERS_TOLERANCE;
    let ok = [least, most].iter().all(|found| (f64::from(*found) - f64::from(input.users)).abs() <= slack);
    Check {
        name: "users present".to_owned(),
        found: if least == most { format!("{least}") } else { format!("{least} to {most}") },
        allowed: format!("{} within {:.0} %", input.users, USERS_TOLERANCE * 100.0),
        ok,
    }
}
