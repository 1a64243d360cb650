//! Trials that an answer names, and the reasons why they did not pass or are not valid.

use barograph_record::{CauseRecord, ResultRecord, Trial};

/// Failed trial with the lowest level.
pub(super) fn lowest_failure<'t>(trials: &[&'t Trial]) -> Option<&'t Trial> {
    trials.iter().filter(|t| t.result == ResultRecord::Fail).min_by_key(|t| t.level).copied()
}

/// Invalid trial with the lowest level.
pub(super) fn lowest_disbelieved<'t>(trials: &[&'t Trial]) -> Option<&'t Trial> {
    trials.iter().filter(|t| !t.window.valid).min_by_key(|t| t.level).copied()
}

/// Names of the validity checks that a trial failed.
pub(super) fn broken_checks(trial: &Trial) -> Vec<&str> {
    trial.window.checks.iter().filter(|c| !c.ok).map(|c| c.name.as_str()).collect()
}

/// Reasons why a trial did not pass or is not valid, worst first, in words.
pub(super) fn reasons_of(trial: &Trial) -> Vec<String> {
    trial.window.causes().iter().map(CauseRecord::words).collect()
}
