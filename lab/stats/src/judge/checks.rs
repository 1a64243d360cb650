//! The reasons to believe a window or not: all of them in order, and those of steadiness and clock.

use barograph_model::{Check, CheckFacts, CheckId, Drifted, Excuse, OpVerdict, RuleVerdict, Stretch};

use super::driver::{self, tightest_limit};
use super::rules::is_overload;
use super::{WindowInput, errors, host, little, mix, pacing};
use crate::Part;
use crate::episode::{Episode, Noise, episode};
use crate::steady::{DRIFT_ALLOWED, FEWEST_VALUES, drift};

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
    if input.operations.is_none() {
        checks.extend(pacing::all(input));
        checks.extend([steady_throughput(input, passed), steady_response(input, passed)]);
        checks.extend(no_episode(input, passed));
        checks.extend(mix::drift(input, hopeless));
        checks.extend(mix::unsettled(input, ops).filter(|_| !hopeless));
        checks.extend(errors::mix(input, hopeless));
    }
    checks.push(clock(input));
    // A load that nobody changed is no news.
    let changes = CheckFacts::Changes { changes: input.level_changes };
    checks.extend((input.level_changes > 0).then(|| Check::new(CheckId::ConstantLoad, changes, false)));
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

/// What the edges of a window may move its throughput by, in operations per second.
fn edges(input: &WindowInput<'_>) -> f64 {
    driver::AT_EDGES / input.joined.seconds().max(f64::MIN_POSITIVE)
}

fn steady_throughput(input: &WindowInput<'_>, passed: bool) -> Check {
    let values = throughput_series(input);
    let allowed = Allowed { floor: edges(input), floor_ms: None, passed, better: Better::Higher };
    steady(CheckId::SteadyThroughput, &values, &allowed)
}

fn steady_response(input: &WindowInput<'_>, passed: bool) -> Check {
    let Some(limit) = tightest_limit(input.profile) else {
        return Check::new(CheckId::SteadyResponse, CheckFacts::NotJudged { why: None }, true);
    };
    let floor = limit.as_secs_f64() * DRIFT_OF_LIMIT;
    let allowed = Allowed { floor, floor_ms: Some(floor * 1e3), passed, better: Better::Lower };
    steady(CheckId::SteadyResponse, &response_series(input), &allowed)
}

/// A stretch apart from the rest, in throughput or response time: the window has no steady state. In a window that fails
/// only a beginning that is worse than the rest is against it, as with drifts.
fn no_episode(input: &WindowInput<'_>, passed: bool) -> Option<Check> {
    let limit = tightest_limit(input.profile);
    let floor_s = limit.map(|limit| limit.as_secs_f64() * STRETCH_OF_LIMIT);
    let series = [
        (false, Noise::Even, Some(throughput_series(input)), (edges(input), Better::Higher)),
        (
            true,
            Noise::Proportional,
            floor_s.map(|_| response_series(input)),
            (floor_s.unwrap_or(0.0), Better::Lower),
        ),
    ];
    let (mut found, mut excuse, mut known) = (None, None, false);
    for (is_response, noise, values, (floor, better)) in series {
        let Some(one) = values.and_then(|values| episode(&values, noise)) else { continue };
        known = true;
        // What counts against the window is told before what is excused.
        if !one.counts(floor) || (found.is_some() && excuse.is_none()) {
            continue;
        }
        let worse_first = one.is_the_beginning() && one.worse(better);
        excuse = (!passed && !worse_first).then_some(Excuse::GetsWorse);
        found = Some(one.stretch(is_response, input.joined.seconds()));
    }
    let ok = found.is_none();
    let facts =
        CheckFacts::Stretch { found, most: DRIFT_ALLOWED.get(), floor_ms: floor_s.map(|floor| floor * 1e3) };
    known.then(|| Check::excused(CheckId::SteadyState, facts, (ok, excuse)))
}

impl Episode {
    fn stretch(&self, is_response: bool, seconds: f64) -> Stretch {
        let change = self.mean / self.rest - 1.0;
        Stretch { is_response, change, from_s: self.from * seconds, to_s: self.to * seconds }
    }

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
    /// The drift below which values count as steady, in their unit.
    floor: f64,
    /// The same in milliseconds, of response time.
    floor_ms: Option<f64>,
    passed: bool,
    better: Better,
}

fn steady(id: CheckId, values: &[f64], allowed: &Allowed) -> Check {
    let found = drift(values);
    let is_steady = found.is_some_and(|found| found.steady(allowed.floor));
    let excused = found.filter(|found| {
        let improves = match allowed.better {
            Better::Higher => found.relative > 0.0,
            Better::Lower => found.relative < 0.0,
        };
        !is_steady && !allowed.passed && !improves
    });
    let facts = CheckFacts::Drift {
        found: found.map(|d| Drifted { relative: d.relative, low: d.low, high: d.high }),
        fewest: FEWEST_VALUES,
        most: DRIFT_ALLOWED.get(),
        floor_ms: allowed.floor_ms,
    };
    Check::excused(id, facts, (is_steady, excused.map(|_| Excuse::GetsWorse)))
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
    let facts = CheckFacts::Clock { apart_s: input.clock_jump_s, most_s: CLOCK_JUMP_ALLOWED_S };
    Check::new(CheckId::Clock, facts, input.clock_jump_s.abs() < CLOCK_JUMP_ALLOWED_S)
}
