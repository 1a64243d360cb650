//! The answer of a run, from its trials: one sentence, passed and valid apart, and the part that gave way
//! first.

mod certainty;
mod reasons;
mod sentence;
#[cfg(test)]
mod tests;
mod together;

use barograph_model::Strategy;
use barograph_record::{
    AboutRecord, CauseRecord, DataRecord, Entry, EstimateRecord, Note, Resources, ResultRecord,
    SearchSummary, Trial, Verdict,
};
use barograph_stats::search::{Answer, BoundedBy};
use barograph_workload::VerifyResult;

use crate::check::Target;
use crate::load_phase::LoadResult;
use crate::run::{CheckedLoad, Run};
use sentence::Case;
pub(crate) use together::tiles;

/// Concludes the verdict on a run. Each of several loads has its own verdict in its record; the run passes if
/// all pass and is valid if all are valid. `verified` holds the result of the data checks of each load;
/// `None` if it has none.
pub(crate) fn conclude(
    run: &mut Run<'_>,
    held: &LoadResult,
    verified: &[Option<Result<VerifyResult, String>>],
    urls: &[String],
) -> Verdict {
    let mut verdicts = Vec::new();
    for (at, (verified, url)) in verified.iter().zip(urls).enumerate() {
        verdicts.push(of_load(run, at, held, (verified.as_ref(), url)));
    }
    if let [only] = &mut verdicts[..] {
        only.judge_actions(&held.acted);
        return only.clone();
    }
    for (at, verdict) in verdicts.iter_mut().enumerate() {
        verdict.exit_code = verdict.exit().code();
        // A failing disk is reported when the verdict of the run cannot be written.
        let _ = run.record.of_load(at).append(&Entry::Verdict(Box::new(verdict.clone())));
    }
    let mut verdict = together::of_all(&run.loads, held, &verdicts);
    verdict.judge_actions(&held.acted);
    verdict
}

/// Verdict on one load.
fn of_load(
    run: &mut Run<'_>,
    at: usize,
    held: &LoadResult,
    (verified, url): (Option<&Result<VerifyResult, String>>, &str),
) -> Verdict {
    let findings = verified.map_or_else(Vec::new, data_reasons);
    for finding in &findings {
        let note = Note { at_s: run.clock.at_s(), text: finding.words() };
        // A failing disk is reported when the verdict itself cannot be written.
        let _ = run.record.append(&Entry::Note(note));
    }
    let data = match verified {
        None => None,
        Some(Ok(verified)) if verified.ok => None,
        Some(Ok(_)) => Some(DataRecord::Wrong),
        Some(Err(_)) => Some(DataRecord::Unchecked),
    };
    let CheckedLoad { checked, workload } = &run.loads[at];
    let about = match &checked.target {
        Target::Deployed => AboutRecord::Application {
            workload: workload.name().to_owned(),
            profile: checked.plan.profile.clone(),
        },
        Target::There { .. } => AboutRecord::Target {
            url: run.record.shown(url).into_owned(),
            is_of_driver: workload.target_is_of_driver(),
        },
    };
    let trials: Vec<&Trial> = together::deciding(held, at);
    let case = Case {
        about: &about,
        unit: checked.plan.unit,
        trials: &trials,
        data,
        most: checked.most,
        searched_s: held.searched_s,
    };
    let mut verdict = match held.answer.as_ref().filter(|_| run.loads.len() == 1) {
        Some(answer) => of_search(&case, answer),
        None => of_windows(&case),
    };
    if let Some(notice) = workload.notice() {
        verdict.sentence.push(' ');
        verdict.sentence.push_str(notice);
        if let Some(answer) = &mut verdict.answer {
            let gap = if answer.details.is_empty() { "" } else { " " };
            answer.details.push_str(&format!("{gap}{notice}"));
        }
    }
    verdict.resources = resources(&held.trials[at], verdict.trial);
    if let (Some(search), Strategy::Search(bounds)) = (&mut verdict.search, checked.plan.of_all()) {
        search.method = Some(bounds.method.name().to_owned());
    }
    verdict.blame(&findings);
    verdict
}

/// Resources used in the trial that decides.
fn resources(trials: &[Trial], trial: Option<u32>) -> Resources {
    let found = trials.iter().find(|t| Some(t.n) == trial);
    found.map(|t| t.resources).unwrap_or_default()
}

/// Findings of the data checks.
fn data_reasons(verified: &Result<VerifyResult, String>) -> Vec<CauseRecord> {
    match verified {
        Ok(v) if v.ok => Vec::new(),
        Ok(v) => {
            v.findings.iter().map(|finding| CauseRecord::WrongData { finding: finding.clone() }).collect()
        }
        Err(why) => vec![CauseRecord::UncheckedData { why: why.clone() }],
    }
}

/// Verdict on the windows of a fixed load or of a path. Its exit code and resources are filled in by
/// `conclude`.
fn of_windows(case: &Case<'_>) -> Verdict {
    // The worst window decides: the first that did not pass, else the last.
    let worst = case.trials.iter().find(|t| t.result != ResultRecord::Pass).or(case.trials.last());
    let disbelieved = case.trials.iter().find(|t| !t.window.valid);
    let verdict = Verdict {
        unit: case.unit.into(),
        capacity: None,
        trial: worst.map(|t| t.n),
        passed: case.trials.iter().all(|t| t.window.passed),
        valid: case.data.is_none() && case.trials.iter().all(|t| t.window.valid),
        ..Verdict::default()
    };
    let reasons = worst.map_or_else(Vec::new, |trial| trial.window.causes());
    let doubts = disbelieved.map_or_else(Vec::new, |trial| trial.window.doubts());
    let answer = worst.map(|trial| sentence::of_windows(case, trial));
    verdict.because(answer, reasons, doubts)
}

/// Verdict on a search. Its exit code and resources are filled in by `conclude`.
fn of_search(case: &Case<'_>, answer: &Answer) -> Verdict {
    let deciding = deciding(case.trials, answer);
    // Without a pass, invalid levels leave open what lies below the lowest failure.
    let open = answer.capacity.is_none() && answer.bounded_by == BoundedBy::Disbelief;
    let data_right = case.data.is_none();
    let estimate: Option<Box<EstimateRecord>> =
        answer.estimate.as_deref().map(|estimate| Box::new(estimate.into()));
    let warnings = estimate.iter().flat_map(|estimate| certainty::warnings(case, estimate));
    let reasons = warnings.chain(deciding.map_or_else(Vec::new, |trial| trial.window.causes())).collect();
    let disbelieved = deciding.filter(|t| !t.window.valid);
    let disbelieved = disbelieved.or_else(|| reasons::lowest_disbelieved(case.trials).filter(|_| open));
    let verdict = Verdict {
        unit: case.unit.into(),
        // On wrong data, a pass means nothing.
        capacity: answer.capacity.filter(|_| data_right),
        trial: deciding.map(|t| t.n),
        passed: answer.capacity.is_some(),
        valid: data_right && !open && deciding.is_some_and(|t| t.window.valid),
        search: Some(SearchSummary {
            highest_pass: answer.highest_pass,
            lowest_fail: answer.lowest_fail,
            bounded_by: sentence::bound(case, answer.bounded_by),
            at_least: is_bound(answer),
            trials: answer.trials,
            confirmed: answer.confirmed,
            method: None,
            seconds: case.searched_s,
            aborted: case.trials.iter().filter(|t| t.aborted).count() as u32,
            estimate,
        }),
        ..Verdict::default()
    };
    let doubts = disbelieved.map_or_else(Vec::new, |trial| trial.window.doubts());
    verdict.because(Some(sentence::of_search(case, answer)), reasons, doubts)
}

/// Whether the capacity is only a lower bound. It is one, too, if the estimate lies above the highest level
/// allowed and the trials ended before that level was tried: the answer is the highest level then, and not
/// the edge.
fn is_bound(answer: &Answer) -> bool {
    let is_above = answer.estimate.as_deref().is_some_and(|estimate| estimate.beyond > 0.5);
    is_above || matches!(answer.bounded_by, BoundedBy::Maximum | BoundedBy::Disbelief)
}

/// The trial that decides: the last that passed at the confirmed level, or at the capacity, or at the level
/// nearest to it; else the failed one with the lowest level; else the last.
fn deciding<'t>(trials: &[&'t Trial], answer: &Answer) -> Option<&'t Trial> {
    let confirmed = answer.estimate.as_ref().and_then(|e| e.confirmation).map(|c| c.level);
    match answer.capacity {
        Some(capacity) => {
            let level = confirmed.unwrap_or(capacity);
            let passed = trials.iter().rev().filter(|t| t.result == ResultRecord::Pass);
            passed.min_by_key(|t| (t.level > capacity, t.level.whole().abs_diff(level))).copied()
        }
        None => reasons::lowest_failure(trials).or(trials.last().copied()),
    }
}
