//! The answer: its claim as data, and the rest of its sentence, which must not claim more than was measured.

use barograph_model::words::{count, counted, figure, listed, offered};
use barograph_model::{Level, LoadUnit, OfferedLoad};
use barograph_record::{
    AboutRecord, AnswerRecord, ClaimRecord, DataRecord, HoldRecord, Purpose, ResultRecord, SearchBound, Trial,
};
use barograph_stats::search::{Answer, BoundedBy};

use super::certainty;
use super::reasons::{broken_checks, lowest_failure, reasons_of};
use crate::check::LoadLimit;

/// Largest number of broken rules in a sentence; the verdict lists all.
const NAMED: usize = 2;

/// Facts for an answer.
pub(super) struct Case<'a> {
    /// Target or holder of the load.
    pub(super) about: &'a AboutRecord,
    pub(super) unit: LoadUnit,
    pub(super) trials: &'a [&'a Trial],
    /// Defects of the data after the run.
    pub(super) data: Option<DataRecord>,
    pub(super) most: LoadLimit,
    /// Seconds of load until a search ended.
    pub(super) searched_s: Option<f64>,
}

impl Case<'_> {
    /// Formats a level without its unit.
    pub(super) fn number(&self, level: f64) -> String {
        count(level.round().max(0.0) as u64)
    }

    pub(super) fn load(&self, level: impl Into<Level>) -> String {
        offered(OfferedLoad { unit: self.unit, level: level.into() })
    }

    fn answer(&self, claim: ClaimRecord, because: String, details: String) -> AnswerRecord {
        AnswerRecord { claim, about: self.about.clone(), because, details }
    }
}

/// Answer on the windows of a fixed load or of a path, decided by `trial`.
pub(super) fn of_windows(case: &Case<'_>, trial: &Trial) -> AnswerRecord {
    let is_path = trial.purpose == Purpose::Path;
    let passed = trial.result == ResultRecord::Pass;
    let of = case.trials.len() as u32;
    let windows = (is_path && passed).then_some(of);
    let hold = (is_path && !passed).then_some(HoldRecord { n: trial.n, of });
    let most = case.trials.iter().map(|t| t.level).max().filter(|_| windows.is_some());
    let level = most.unwrap_or(trial.level);
    let (claim, because) = match (case.data, trial.result) {
        (Some(data), _) => (ClaimRecord::NotJudged { level, hold, windows, data }, String::new()),
        (None, ResultRecord::Pass) => (ClaimRecord::Kept { level, windows }, String::new()),
        (None, ResultRecord::Fail) => (ClaimRecord::NotKept { level, hold }, worst(reasons_of(trial))),
        (None, ResultRecord::Invalid) => {
            let names = broken_checks(trial);
            (ClaimRecord::NotValid { level, hold, checks: names.len() as u32 }, listed(&names))
        }
    };
    let ends: Vec<String> = [because, operations(trial)].into_iter().filter(|end| !end.is_empty()).collect();
    case.answer(claim, ends.join("; "), String::new())
}

/// Duration of a load that ends with its operations, as the end of the sentence.
fn operations(trial: &Trial) -> String {
    let Some(asked) = trial.operations.map(|n| counted(n, "operation")) else { return String::new() };
    match trial.elapsed_s() {
        Some(elapsed) => format!("{asked} took {} s", figure(elapsed)),
        None => {
            let (ended, seconds) = (count(trial.window.ended()), figure(trial.window.seconds()));
            format!("{ended} of {asked} ended in {seconds} s")
        }
    }
}

/// The first of the reasons, which are sorted worst first, and the number of others.
fn worst(mut reasons: Vec<String>) -> String {
    let more = reasons.len().saturating_sub(NAMED);
    reasons.truncate(NAMED);
    let named = reasons.join("; ");
    if more == 0 { named } else { format!("{named}; and {more} more") }
}

/// Answer of a search.
pub(super) fn of_search(case: &Case<'_>, answer: &Answer) -> AnswerRecord {
    if case.data.is_some() {
        let kept = answer.capacity.map_or_else(String::new, |n| format!("{} kept every rule", case.load(n)));
        return case.answer(ClaimRecord::Unknown { data: case.data }, kept, String::new());
    }
    match (answer.capacity, &answer.estimate) {
        (Some(level), Some(estimate)) => {
            let level = level.into();
            let claim = match answer.bounded_by {
                BoundedBy::Maximum => ClaimRecord::Holds { level, confirmed: false },
                // A level that passed below an invalid one is not an estimate of the capacity.
                BoundedBy::Disbelief => ClaimRecord::Held { level, once: false },
                // At the capacity half of the trials fail, so it cannot be called held.
                _ => ClaimRecord::Capacity { level },
            };
            let limit = limit(case, answer);
            let limit = if limit.is_empty() { limit } else { format!("; {limit}") };
            let (interval, guarantee) =
                (certainty::of(case, answer, estimate), certainty::guarantee(case, estimate));
            // The interval includes the effort.
            case.answer(claim, String::new(), format!("{interval}{limit}{guarantee}."))
        }
        (Some(level), None) => {
            let level = level.into();
            let claim = match answer.confirmed {
                true => ClaimRecord::Holds { level, confirmed: true },
                false => ClaimRecord::Held { level, once: true },
            };
            case.answer(claim, limit(case, answer), effort(case, answer))
        }
        (None, _) => {
            let (claim, because) = without_a_pass(case, answer);
            case.answer(claim, because, effort(case, answer))
        }
    }
}

fn effort(case: &Case<'_>, answer: &Answer) -> String {
    let invalid = case.trials.iter().filter(|trial| trial.result == ResultRecord::Invalid).count();
    format!("It took {}.", certainty::effort(case, answer, invalid as u32))
}

fn without_a_pass(case: &Case<'_>, answer: &Answer) -> (ClaimRecord, String) {
    let Some(failure) = lowest_failure(case.trials) else {
        let why = case.trials.last().map_or_else(String::new, |trial| disbelief(trial));
        return (ClaimRecord::Unknown { data: None }, why);
    };
    match answer.bounded_by {
        BoundedBy::Minimum => {
            let why = reasons_of(failure).into_iter().next().unwrap_or_default();
            (ClaimRecord::DoesNotHold { level: failure.level }, why)
        }
        BoundedBy::Disbelief => {
            let parts = [gave_way(case, answer), lowest_disbelieved(case, 0)];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            (ClaimRecord::NonePassed, parts.join("; "))
        }
        BoundedBy::Maximum | BoundedBy::Fail | BoundedBy::Budget | BoundedBy::Gain | BoundedBy::Cpu => {
            (ClaimRecord::NonePassed, gave_way(case, answer))
        }
    }
}

/// Reason why the capacity is not higher, as the end of the sentence.
fn limit(case: &Case<'_>, answer: &Answer) -> String {
    match answer.bounded_by {
        BoundedBy::Maximum => format!("more was not tried, because {}", case.most),
        BoundedBy::Disbelief => lowest_disbelieved(case, answer.capacity.unwrap_or(0)),
        BoundedBy::Budget => {
            let gave_way = gave_way(case, answer);
            let gave_way = if gave_way.is_empty() { gave_way } else { format!("; {gave_way}") };
            format!("the trials were used up before the edge was found closer{gave_way}")
        }
        BoundedBy::Fail | BoundedBy::Minimum => gave_way(case, answer),
        BoundedBy::Gain => "the next step brought no more throughput".to_owned(),
        BoundedBy::Cpu => {
            "more was not tried, because the host's CPU was used as far as the plan allows".to_owned()
        }
    }
}

/// Failure of the lowest failed trial, above the capacity if there is one. The report lists all failures.
fn gave_way(case: &Case<'_>, answer: &Answer) -> String {
    let above: Vec<&Trial> = case
        .trials
        .iter()
        .filter(|t| answer.capacity.is_none_or(|capacity| t.level > capacity))
        .copied()
        .collect();
    let first = lowest_failure(&above).or_else(|| lowest_failure(case.trials));
    let first = first.and_then(|t| Some((t, reasons_of(t).into_iter().next()?)));
    first.map_or_else(String::new, |(trial, why)| {
        format!("at {}, {why}{}", case.load(trial.level), busy(trial))
    })
}

/// Clause for a CPU of the host at its limit; empty if it was not.
fn busy(trial: &Trial) -> String {
    let used = &trial.resources;
    let (true, Some(busy), Some(cores)) = (used.cpu_at_limit(), used.host_busy_cores, used.host_cores) else {
        return String::new();
    };
    let parts = match (used.app_cores, used.driver_cores) {
        (Some(app), Some(driver)) => format!(" (application {app:.2}, driver {driver:.2})"),
        _ => String::new(),
    };
    format!(", with {busy:.2} of {cores:.0} cores busy{parts}")
}

/// Lowest invalid level above `above`.
fn lowest_disbelieved(case: &Case<'_>, above: u32) -> String {
    let invalid = case.trials.iter().filter(|t| t.result == ResultRecord::Invalid && t.level > above);
    invalid.min_by_key(|t| t.level).map_or_else(String::new, |trial| disbelief(trial))
}

fn disbelief(trial: &Trial) -> String {
    let names = broken_checks(trial);
    let checks = if names.len() == 1 { "this check" } else { "these checks" };
    let level = offered(trial.offered());
    format!(
        "{level} could not be judged, because {checks} of the measurement did not hold: {}",
        listed(&names)
    )
}

/// What bounds the answer, for the summary of a search.
pub(super) fn bound(case: &Case<'_>, bound: BoundedBy) -> SearchBound {
    match bound {
        BoundedBy::Maximum => SearchBound::Maximum { unit: case.unit.into(), because: Some(case.most) },
        BoundedBy::Fail => SearchBound::Fail,
        BoundedBy::Disbelief => SearchBound::Disbelief,
        BoundedBy::Budget => SearchBound::Budget,
        BoundedBy::Minimum => SearchBound::Minimum { unit: case.unit.into() },
        BoundedBy::Gain => SearchBound::Gain,
        BoundedBy::Cpu => SearchBound::Cpu,
    }
}
