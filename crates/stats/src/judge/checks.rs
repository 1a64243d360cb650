//! The reasons to believe a window or not: the driver's own (in `driver`), Little's law, steadiness, clock.
//!
//! Every check words what it found and what is allowed, because a person who reads "not valid" needs the figure.

use barograph_model::Check;
use barograph_model::words::millis;

use super::WindowInput;
use super::driver::{self, tightest_limit};
use crate::Part;
use crate::steady::{DRIFT_ALLOWED, Drift, FEWEST_VALUES, drift};

/// Mean in flight may differ from throughput times mean service time by this part. The law holds exactly over all
/// time; over a window it misses the operations that straddle its edges, and long polls of up to 45 s straddle the
/// edges of a one-minute window often. A driver that lost operations or mistook times would be off by far more.
const LITTLE_TOLERANCE: f64 = 0.10;

/// Wall clock and monotonic clock may part by this many seconds in a window: time synchronisation slews by far less,
/// a step or a suspended machine shows more.
const CLOCK_JUMP_ALLOWED_S: f64 = 0.1;

/// A drift of response time below this part of the tightest limit cannot move a verdict, even where it is large
/// against a mean of a few milliseconds.
const FLOOR_OF_LIMIT: f64 = 0.05;

pub(super) fn all(input: &WindowInput<'_>, passed: bool) -> Vec<Check> {
    let mut checks = driver::all(input);
    checks.extend([
        little(input),
        steady_throughput(input, passed),
        steady_response(input, passed),
        clock(input),
    ]);
    // A load that nobody changed is no news.
    checks.extend((input.level_changes > 0).then(|| Check {
        name: "constant load".to_owned(),
        found: match input.level_changes {
            1 => "1 change by a control command".to_owned(),
            n => format!("{n} changes by control commands"),
        },
        allowed: "none in a measured window".to_owned(),
        ok: false,
    }));
    checks
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
    let allowed = format!("{}, or at most {}", allowed_drift(), millis(floor * 1e3));
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
