//! The reasons to believe a window or not: all of them in order, and those of steadiness and clock.
//!
//! Every check words what it found and what is allowed, because a person who reads "not valid" needs the figure.

use barograph_model::words::millis;
use barograph_model::{Check, OpVerdict, RuleVerdict};

use super::driver::{self, tightest_limit};
use super::rules::is_overload;
use super::{FAILS_ANYWAY, WindowInput, errors, host, little, mix, pacing};
use crate::Part;
use crate::episode::{Episode, Noise, episode};
use crate::steady::{DRIFT_ALLOWED, Drift, FEWEST_VALUES, drift};

/// Wall clock and monotonic clock may part by this many seconds in a window: time synchronisation slews by far less,
/// a step or a suspended machine shows more.
const CLOCK_JUMP_ALLOWED_S: f64 = 0.1;

/// A drift of response time below this part of the tightest limit is let be: what swings from one second to the next looks
/// like a line now and then, and with 1 % more than 2 % of clean windows would be disbelieved (`cargo xtask simulate gates`,
/// 2026-11-26).
const DRIFT_OF_LIMIT: f64 = 0.05;

/// The same for a stretch that lies apart. What is several times slower for a while moves the slowest operations far more
/// than the mean, so it matters from less on; and it takes more to look like one. With this part no more clean windows of
/// those simulations are disbelieved than with 5 %, and none of 292 windows of real studies that passed and
/// were believed (2026-11-25: nodes, durability, push), of which it would be 7 with no part at all.
const STRETCH_OF_LIMIT: f64 = 0.01;

pub(super) fn all(input: &WindowInput<'_>, ops: &[OpVerdict], rules: &[RuleVerdict]) -> Vec<Check> {
    let passed = rules.iter().all(|rule| rule.holds);
    // An overload upsets what users do; so does a target that an operation never reaches.
    let hopeless = is_overload(rules);
    let mut checks = driver::all(input);
    checks.push(errors::of_the_driver(input));
    checks.extend(input.host.into_iter().flat_map(host::all));
    checks.push(little::check(input));
    checks.extend(pacing::all(input));
    checks.extend([steady_throughput(input, passed), steady_response(input, passed)]);
    checks.extend(no_episode(input, passed));
    checks.extend(mix::drift(input, hopeless));
    checks.extend(mix::unsettled(input, ops).filter(|_| !hopeless));
    checks.extend(errors::mix(input, hopeless));
    checks.push(clock(input));
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

/// By how many operations the number in flight changed from the first interval to the last. Each of them brings
/// about one service time into the window that is not matched by an end in it: an overloaded target whose queue
/// grows must be found too slow, not disbelieved.
pub(super) fn edge_growth(parts: &[Part]) -> f64 {
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
    let values = throughput_series(input);
    let (found, ok) = worded(drift(&values), &Allowed { floor: 0.0, passed, better: Better::Higher });
    Check { name: "steady throughput".to_owned(), found, allowed: allowed_drift(), ok }
}

fn steady_response(input: &WindowInput<'_>, passed: bool) -> Check {
    let values = response_series(input);
    let name = "steady response time".to_owned();
    let Some(limit) = tightest_limit(input.profile) else {
        return Check { name, found: "not judged".to_owned(), allowed: "any".to_owned(), ok: true };
    };
    let floor = limit.as_secs_f64() * DRIFT_OF_LIMIT;
    let (found, ok) = worded(drift(&values), &Allowed { floor, passed, better: Better::Lower });
    let allowed = format!("{}, or at most {}", allowed_drift(), millis(floor * 1e3));
    Check { name, found, allowed, ok }
}

/// A stretch apart from the rest, in throughput or response time: the window has no steady state. In a window that fails
/// only a beginning that is worse than the rest is against it, as with drifts.
fn no_episode(input: &WindowInput<'_>, passed: bool) -> Option<Check> {
    let limit = tightest_limit(input.profile);
    let floor = limit.map(|limit| limit.as_secs_f64() * STRETCH_OF_LIMIT);
    let series = [
        (("throughput", Noise::Even), Some(throughput_series(input)), (0.0, Better::Higher)),
        (
            ("mean response time", Noise::Proportional),
            floor.map(|_| response_series(input)),
            (floor.unwrap_or(0.0), Better::Lower),
        ),
    ];
    let mut found = "the same throughout".to_owned();
    let (mut known, mut ok) = (false, true);
    for ((name, noise), values, (floor, better)) in series {
        let Some(one) = values.and_then(|values| episode(&values, noise)) else { continue };
        known = true;
        if !one.counts(floor) {
            continue;
        }
        let worse_first = one.is_the_beginning() && one.worse(better);
        let excused = !passed && !worse_first;
        if ok {
            found = format!("{name} {}{}", told(&one, input), if excused { anyway() } else { String::new() });
            ok = excused;
        }
    }
    let mut allowed =
        format!("no stretch that moves the mean by more than {:.0} %", DRIFT_ALLOWED.get() * 100.0);
    if let Some(floor) = floor {
        allowed += &format!(", of response time by more than {} besides", millis(floor * 1e3));
    }
    known.then(|| Check { name: "steady state".to_owned(), found, allowed, ok })
}

fn anyway() -> String {
    format!("; it gets worse in a window that {FAILS_ANYWAY}")
}

fn told(one: &Episode, input: &WindowInput<'_>) -> String {
    let seconds = input.joined.seconds();
    format!(
        "was {:+.0} % apart from {:.0} s to {:.0} s: no steady state",
        (one.mean / one.rest - 1.0) * 100.0,
        one.from * seconds,
        one.to * seconds
    )
}

impl Episode {
    fn worse(&self, better: Better) -> bool {
        match better {
            Better::Higher => self.mean < self.rest,
            Better::Lower => self.mean > self.rest,
        }
    }
}

fn throughput_series(input: &WindowInput<'_>) -> Vec<f64> {
    let parts = input.parts.iter().filter(|part| part.seconds > 0.0);
    parts.map(|part| part.ended as f64 / part.seconds).collect()
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
    let excuse = if excused && !steady { anyway() } else { String::new() };
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
