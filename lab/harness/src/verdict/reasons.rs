//! The trials that an answer names, and why they did not pass or cannot be believed.

use barograph_record::{KeptCause, KeptResult, Trial};

/// The failed trial with the lowest level.
pub(super) fn lowest_failure<'t>(trials: &[&'t Trial]) -> Option<&'t Trial> {
    trials.iter().filter(|t| t.result == KeptResult::Fail).min_by_key(|t| t.level).copied()
}

/// The trial that could not be believed with the lowest level.
pub(super) fn lowest_disbelieved<'t>(trials: &[&'t Trial]) -> Option<&'t Trial> {
    trials.iter().filter(|t| !t.window.valid).min_by_key(|t| t.level).copied()
}

/// Names of the validity checks of a trial that did not hold.
pub(super) fn broken_checks(trial: &Trial) -> Vec<&str> {
    trial.window.checks.iter().filter(|c| !c.ok).map(|c| c.name.as_str()).collect()
}

/// Why a trial did not pass or cannot be believed, worst first, in words.
pub(super) fn reasons_of(trial: &Trial) -> Vec<String> {
    trial.window.causes().iter().map(KeptCause::words).collect()
}
