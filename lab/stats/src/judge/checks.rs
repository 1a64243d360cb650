//! Validity checks of a window: all of them in order, and those of steadiness and clock.

use barograph_model::{
    Check, CheckFacts, CheckId, DriftEstimate, Excuse, OpVerdict, OutlyingStretch, RuleVerdict,
};

use super::driver::{self, tightest_limit};
use super::rules::is_overload;
use super::{WindowInput, errors, host, little, mix, pacing};
use crate::IntervalSummary;
use crate::episode::{Episode, Noise, episode};
use crate::steady::{DRIFT_ALLOWED, FEWEST_VALUES, drift};

/// Largest difference between wall clock and monotonic clock in a window, in seconds: time synchronisation
/// slews by far less, a step or a suspended machine shows more.
const CLOCK_JUMP_ALLOWED_S: f64 = 0.1;

/// Largest drift of response time, as a part of the tightest limit, that is ignored: variation from second to
/// second looks like a line now and then, and with 1 % more than 2 % of clean windows would be invalid
/// (`cargo xtask simulate gates`, 2026-11-26).
const DRIFT_OF_LIMIT: f64 = 0.05;

/// The same for an episode. A stretch that is several times slower moves the slowest operations far more than
/// the mean, so it matters from less on; noise also seldom looks like one. With this part no more clean
/// windows of those simulations are invalid than with 5 %, and none of 292 windows of real studies that
/// passed and were valid (2026-11-25: nodes, durability, push); with no part at all 7 of those would be.
const STRETCH_OF_LIMIT: f64 = 0.01;

pub(super) fn all(input: &WindowInput<'_>, ops: &[OpVerdict], rules: &[RuleVerdict]) -> Vec<Check> {
    let passed = rules.iter().all(|rule| rule.holds);
    // An overload changes the users' operations; so does a target on which an operation is never reached.
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
    // Only changes of the load are reported.
    let changes = CheckFacts::Changes { changes: input.level_changes };
    checks.extend((input.level_changes > 0).then(|| Check::new(CheckId::ConstantLoad, changes, false)));
    checks
}

/// Change of the number of operations in flight from the first interval to the last. Each adds about one
/// service time to the window without an end in it: an overloaded target whose queue grows must be found too
/// slow, not invalid.
pub(super) fn edge_growth(parts: &[IntervalSummary]) -> f64 {
    match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => (last.in_flight() - first.in_flight()).abs(),
        _ => 0.0,
    }
}

/// Direction in which a series must not move in a failed window: towards passing. A window that fails while
/// things get worse would fail even more if it were longer; one that fails while things get better may have
/// begun too early. In a window that passed, both directions count.
#[derive(Clone, Copy)]
enum PassingDirection {
    Higher,
    Lower,
}

/// Possible effect of the edges of a window on its throughput, in operations per second.
fn edges(input: &WindowInput<'_>) -> f64 {
    driver::AT_EDGES / input.joined.seconds().max(f64::MIN_POSITIVE)
}

fn steady_throughput(input: &WindowInput<'_>, passed: bool) -> Check {
    let values = throughput_series(input);
    let allowed =
        DriftLimits { floor: edges(input), floor_ms: None, passed, better: PassingDirection::Higher };
    steady(CheckId::SteadyThroughput, &values, &allowed)
}

fn steady_response(input: &WindowInput<'_>, passed: bool) -> Check {
    let Some(limit) = tightest_limit(input.profile) else {
        return Check::new(CheckId::SteadyResponse, CheckFacts::NotJudged { why: None }, true);
    };
    let floor = limit.as_secs_f64() * DRIFT_OF_LIMIT;
    let allowed = DriftLimits { floor, floor_ms: Some(floor * 1e3), passed, better: PassingDirection::Lower };
    steady(CheckId::SteadyResponse, &response_series(input), &allowed)
}

/// A stretch apart from the rest, in throughput or response time: the window has no steady state. In a failed
/// window only a beginning that is worse than the rest counts, as with drifts.
fn no_episode(input: &WindowInput<'_>, passed: bool) -> Option<Check> {
    let limit = tightest_limit(input.profile);
    let floor_s = limit.map(|limit| limit.as_secs_f64() * STRETCH_OF_LIMIT);
    let series = [
        (false, Noise::Even, Some(throughput_series(input)), (edges(input), PassingDirection::Higher)),
        (
            true,
            Noise::Proportional,
            floor_s.map(|_| response_series(input)),
            (floor_s.unwrap_or(0.0), PassingDirection::Lower),
        ),
    ];
    let (mut found, mut excuse, mut known) = (None, None, false);
    for (is_response, noise, values, (floor, better)) in series {
        let Some(one) = values.and_then(|values| episode(&values, noise)) else { continue };
        known = true;
        // Findings that count are reported before excused ones.
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
    fn stretch(&self, is_response: bool, seconds: f64) -> OutlyingStretch {
        OutlyingStretch {
            is_response,
            mean: self.mean,
            rest: self.rest,
            from_s: self.from * seconds,
            to_s: self.to * seconds,
        }
    }

    fn worse(&self, better: PassingDirection) -> bool {
        match better {
            PassingDirection::Higher => self.mean < self.rest,
            PassingDirection::Lower => self.mean > self.rest,
        }
    }
}

fn throughput_series(input: &WindowInput<'_>) -> Vec<f64> {
    let parts = input.parts.iter().filter(|part| part.seconds > 0.0);
    parts.map(|part| part.ended as f64 / part.seconds).collect()
}

struct DriftLimits {
    /// The drift below which values count as steady, in their unit.
    floor: f64,
    /// The same in milliseconds, of response time.
    floor_ms: Option<f64>,
    passed: bool,
    better: PassingDirection,
}

fn steady(id: CheckId, values: &[f64], allowed: &DriftLimits) -> Check {
    let found = drift(values);
    let is_steady = found.is_some_and(|found| found.steady(allowed.floor));
    let excused = found.filter(|found| {
        let improves = match allowed.better {
            PassingDirection::Higher => found.relative > 0.0,
            PassingDirection::Lower => found.relative < 0.0,
        };
        !is_steady && !allowed.passed && !improves
    });
    let facts = CheckFacts::Drift {
        found: found.map(|d| DriftEstimate { relative: d.relative, low: d.low, high: d.high }),
        fewest: FEWEST_VALUES,
        most: DRIFT_ALLOWED.get(),
        floor_ms: allowed.floor_ms,
    };
    Check::excused(id, facts, (is_steady, excused.map(|_| Excuse::GetsWorse)))
}

/// Mean response time in seconds of the operations with judged response times, by interval. An interval
/// without ended operations takes the mean of the others, which shows no trend.
fn response_series(input: &WindowInput<'_>) -> Vec<f64> {
    let means: Vec<Option<f64>> = input.parts.iter().map(IntervalSummary::mean_response_s).collect();
    let known: Vec<f64> = means.iter().flatten().copied().collect();
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    means.into_iter().map(|value| value.unwrap_or(mean)).collect()
}

fn clock(input: &WindowInput<'_>) -> Check {
    let facts = CheckFacts::Clock { apart_s: input.clock_jump_s, most_s: CLOCK_JUMP_ALLOWED_S };
    Check::new(CheckId::Clock, facts, input.clock_jump_s.abs() < CLOCK_JUMP_ALLOWED_S)
}
