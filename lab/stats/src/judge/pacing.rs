//! Checks of the start rates: users of a closed loop against their profile, arrivals of an open loop for
//! evenness.
//!
//! A user of a closed loop that starts every `C` seconds, or thinks for `Z` after an answer that took `R`,
//! starts between once in `C + R` and once in `C`, or once in `Z + R`. That holds for a slow target as for a
//! fast one, because `R` is measured. Users that are stuck, lost, or skip their pauses break it.

use std::collections::BTreeSet;

use barograph_model::{
    Behaviour, Check, CheckFacts, CheckId, Excuse, LoadUnit, MissedBeats, NextOp, OpId, Pace,
};

use super::driver::{starts_slack, too_slow_by_service};
use super::{WindowInput, slices};
use crate::pace::mean_s;
use crate::steady::mean_within;

/// Tolerance of starts per user, as a part, in addition to chance.
const TOLERANCE: f64 = 0.03;

pub(super) fn all(input: &WindowInput<'_>) -> Option<Check> {
    match input.offered.unit {
        LoadUnit::Users | LoadUnit::Scale | LoadUnit::Tiles => closed(input),
        LoadUnit::PerSecond => open(input),
    }
}

/// Range of a user's starts per second. `done` are the operations that ended.
fn expected(pace: &Pace, response_s: f64, done: &[(OpId, u64)]) -> Option<(f64, f64)> {
    // The mean of a time that depends on the operation.
    let mean = |time_s: &dyn Fn(OpId) -> f64| {
        let all: u64 = done.iter().map(|(_, count)| count).sum();
        done.iter().map(|(op, count)| time_s(*op) * *count as f64).sum::<f64>() / all.max(1) as f64
    };
    let (least, most) = match pace {
        // The next start is the answer: Little's law covers that.
        Pace::AtOnce => return None,
        Pace::Cycle(times) => (mean_s(times) + response_s, mean_s(times)),
        Pace::CycleByOperation(times) => {
            let cycle_s = mean(&|op| mean_s(&times[op.index()]));
            (cycle_s + response_s, cycle_s)
        }
        // Operations in flight at once lower the rate only when all of them are busy.
        Pace::Beat { every, missed: MissedBeats::Beside { most } } => {
            let every_s = every.as_secs_f64();
            (every_s.max(response_s / f64::from(*most)), every_s)
        }
        Pace::Beat { every, .. } => (every.as_secs_f64() + response_s, every.as_secs_f64()),
        Pace::ByOperation(waits) => {
            let wait_s = mean(&|op| {
                let waits = &waits[op.index()];
                waits.before.as_secs_f64() + mean_s(&waits.after)
            });
            (wait_s + response_s, wait_s + response_s)
        }
        Pace::Think(times) => (mean_s(times) + response_s, mean_s(times) + response_s),
    };
    (most > 0.0).then(|| (1.0 / least, 1.0 / most))
}

fn closed(input: &WindowInput<'_>) -> Option<Check> {
    let behaviours = input.behaviours?;
    let main = &behaviours.all()[0];
    let own = operations(main);
    // An operation that users also do beside their main activity cannot be attributed to it.
    if behaviours.all()[1..].iter().any(|other| !operations(other).is_disjoint(&own)) {
        return None;
    }
    let done: Vec<(OpId, u64)> = own.iter().map(|op| (*op, input.joined.ops[op.index()].count())).collect();
    let ended: u64 = done.iter().map(|(_, count)| count).sum();
    let served: f64 = own.iter().map(|op| input.joined.ops[op.index()].service_sum_s).sum();
    let (least, most) = expected(&main.pace, served / ended.max(1) as f64, &done)?;
    let rates: Vec<f64> = input
        .parts
        .iter()
        .filter(|part| part.seconds > 0.0 && part.users > 0)
        .map(|part| {
            let ended: u64 = own.iter().map(|op| part.ops[op.index()].ended()).sum();
            ended as f64 / part.seconds / f64::from(part.users)
        })
        .collect();
    let (rate, within) = mean_within(&rates)?;
    // Operations in progress at only one edge of the window make the rates of starts and ends differ.
    let edges = super::checks::edge_growth(input.parts) / ended.max(1) as f64;
    let slack = within + most * (TOLERANCE + edges);
    let facts = CheckFacts::Pacing {
        behaviour: main.name.to_owned(),
        rate_s: rate,
        least_s: least,
        most_s: most,
        tolerance: slack / most,
    };
    Some(Check::new(CheckId::Pacing, facts, rate >= least - slack && rate <= most + slack))
}

/// All operations of a behaviour.
fn operations(behaviour: &Behaviour) -> BTreeSet<OpId> {
    let mut all = BTreeSet::new();
    let mut todo = vec![behaviour.first];
    while let Some(op) = todo.pop() {
        if all.insert(op)
            && let Some(next) = behaviour.next.get(op.index()).and_then(Option::as_ref)
        {
            following(next, &mut todo);
        }
    }
    all
}

fn following(next: &NextOp, todo: &mut Vec<OpId>) {
    match next {
        NextOp::Op(op) | NextOp::EndSession { first: op } => todo.push(*op),
        NextOp::Vector(vector) => todo.extend(vector.entries().iter().map(|entry| entry.0)),
        NextOp::Choose { branches, .. } => branches.iter().for_each(|branch| following(branch, todo)),
    }
}

/// Checks that every third of the window has the same rate. Its value is checked elsewhere; a rate that
/// begins too low and ends too high has the right mean. `None` with too few intervals for thirds.
fn open(input: &WindowInput<'_>) -> Option<Check> {
    let (seconds, starts) = (input.joined.seconds(), input.joined.starts as f64);
    let thirds = slices::thirds(input.parts)?;
    let of_third = starts / thirds.len() as f64;
    let slack = starts_slack(input, of_third)?;
    if seconds <= 0.0 || of_third == 0.0 {
        return None;
    }
    let mean = starts / seconds;
    let (mut worst, mut right) = (mean, true);
    for third in &thirds {
        let length: f64 = third.iter().map(|part| part.seconds).sum();
        let starts = third.iter().map(|part| part.starts).sum::<u64>() as f64;
        let rate = starts / length.max(f64::MIN_POSITIVE);
        if (rate - mean).abs() > (worst - mean).abs() {
            (worst, right) = (rate, (starts - mean * length).abs() <= slack);
        }
    }
    let excuse = (!right && too_slow_by_service(input)).then_some(Excuse::SlowService);
    let facts = CheckFacts::Thirds { furthest_s: worst, mean_s: mean, tolerance: slack / of_third };
    Some(Check::excused(CheckId::Pacing, facts, (right, excuse)))
}
