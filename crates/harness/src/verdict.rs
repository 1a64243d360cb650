//! From trials to the answer: one sentence, passed and valid apart, and what gave way first.

mod reasons;
mod sentence;
#[cfg(test)]
mod tests;

use barograph_record::{Entry, KeptResult, Note, Resources, SearchSummary, Trial, Verdict};
use barograph_stats::search::{Answer, BoundedBy};

use crate::Verified;
use crate::drive::Held;
use crate::run::Run;
use reasons::reasons_of;
use sentence::{Case, DataAfter};

pub(crate) fn conclude(run: &mut Run<'_>, held: &Held, verified: &Result<Verified, String>) -> Verdict {
    let findings = data_reasons(verified);
    for text in &findings {
        let note = Note { at_s: run.clock.at_s(), text: text.clone() };
        // A disk that fails now is reported when the verdict itself cannot be written.
        let _ = run.record.append(&Entry::Note(note));
    }
    let data = match verified {
        Ok(verified) if verified.ok => DataAfter::Right,
        Ok(_) => DataAfter::Wrong,
        Err(_) => DataAfter::Unknown,
    };
    let application = format!("the {} application ({})", run.world.kind.name(), run.plan.profile);
    let trials: Vec<&Trial> = held.trials.iter().map(|(trial, _)| trial).collect();
    let case = Case { application: &application, trials: &trials, data, most: run.most_users };
    let mut verdict = match &held.answer {
        Some(answer) => of_search(&case, answer),
        None => of_fixed(&case),
    };
    verdict.resources = resources(held, verdict.trial);
    verdict.reasons.splice(0..0, findings);
    verdict
}

/// What was used in the trial the answer rests on.
fn resources(held: &Held, trial: Option<u32>) -> Resources {
    let found = held.trials.iter().find(|(t, _)| Some(t.n) == trial);
    found.map(|(_, resources)| *resources).unwrap_or_default()
}

/// What the data checks found wrong.
fn data_reasons(verified: &Result<Verified, String>) -> Vec<String> {
    match verified {
        Ok(v) if v.ok => Vec::new(),
        Ok(v) => v.findings.iter().map(|f| format!("the data is not right after the run: {f}")).collect(),
        Err(why) => vec![format!("the data could not be checked after the run: {why}")],
    }
}

/// The verdict on a fixed load. The exit code and the resources are put in where they are known.
fn of_fixed(case: &Case<'_>) -> Verdict {
    // The answer rests on the worst window: the first that did not pass, else the last.
    let worst = case.trials.iter().find(|t| t.result != KeptResult::Pass).or(case.trials.last());
    Verdict {
        capacity: None,
        trial: worst.map(|t| t.n),
        passed: case.trials.iter().all(|t| t.window.passed),
        valid: case.data == DataAfter::Right && case.trials.iter().all(|t| t.window.valid),
        sentence: worst.map_or_else(String::new, |trial| sentence::of_fixed(case, trial)),
        exit_code: 0,
        reasons: worst.map_or_else(Vec::new, |trial| reasons_of(trial)),
        resources: Resources::default(),
        search: None,
    }
}

/// The verdict on a search. The exit code and the resources are put in where they are known.
fn of_search(case: &Case<'_>, answer: &Answer) -> Verdict {
    let deciding = deciding(case.trials, answer);
    // Without a pass, levels that could not be believed leave open what lies below the lowest failure.
    let open = answer.capacity.is_none() && answer.bounded_by == BoundedBy::Disbelief;
    let data_right = case.data == DataAfter::Right;
    Verdict {
        // On data that are wrong nobody knows what the rules were kept with.
        capacity: answer.capacity.filter(|_| data_right),
        trial: deciding.map(|t| t.n),
        passed: answer.capacity.is_some(),
        valid: data_right && !open && deciding.is_some_and(|t| t.window.valid),
        sentence: sentence::of_search(case, answer),
        exit_code: 0,
        reasons: deciding.map_or_else(Vec::new, reasons_of),
        resources: Resources::default(),
        search: Some(SearchSummary {
            highest_pass: answer.highest_pass,
            lowest_fail: answer.lowest_fail,
            bounded_by: sentence::bound_words(case, answer.bounded_by),
            trials: answer.trials,
            confirmed: answer.confirmed,
        }),
    }
}

/// The trial the answer rests on: the last that passed at the capacity; without one the failed one with the fewest
/// users; without that the last of all.
fn deciding<'t>(trials: &[&'t Trial], answer: &Answer) -> Option<&'t Trial> {
    let passed = |t: &&&Trial| Some(t.users) == answer.capacity && t.result == KeptResult::Pass;
    match answer.capacity {
        Some(_) => trials.iter().rev().find(passed).copied(),
        None => reasons::lowest_failure(trials).or(trials.last().copied()),
    }
}
