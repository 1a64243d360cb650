//! Verdict on several loads at once.

use barograph_model::words::listed;
use barograph_model::{LoadUnit, Strategy};
use barograph_record::{
    AboutRecord, AnswerRecord, ClaimRecord, CopiesRate, OperationReferenceRecord, ReasonRecord, ResultRecord,
    ScoreRecord, SearchBound, SearchSummary, TileLoadRecord, TilesRecord, Trial, Verdict,
};
use barograph_stats::search::{Answer, BoundedBy};

use crate::load_phase::LoadResult;
use crate::run::CheckedLoad;

/// Trials for the verdict on a load: all of them or, if a search scaled several loads, those at the scale it
/// found.
pub(super) fn deciding(held: &LoadResult, at: usize) -> Vec<&Trial> {
    let trials = &held.trials[at];
    let Some(answer) = held.answer.as_ref().filter(|_| held.trials.len() > 1) else {
        return trials.iter().collect();
    };
    let passed = |n: u32| {
        held.trials
            .iter()
            .flatten()
            .filter(|trial| trial.n == n)
            .all(|trial| trial.result == ResultRecord::Pass)
    };
    // A search ends by confirming its answer, so the last window in which all loads passed decides.
    let decides = trials.iter().rev().find(|trial| answer.capacity.is_some() && passed(trial.n));
    decides.or(trials.last()).into_iter().collect()
}

/// Verdict on a run, from those of its loads. Its exit code is filled in by `conclude`.
pub(super) fn of_all(loads: &[CheckedLoad], held: &LoadResult, verdicts: &[Verdict]) -> Verdict {
    let names: Vec<&str> = loads.iter().map(|load| load.checked.plan.load.as_str()).collect();
    let first = &loads[0].checked.plan;
    let (passed, valid) = (verdicts.iter().all(|v| v.passed), verdicts.iter().all(|v| v.valid));
    // Reasons shared by all loads, such as the host, are named once.
    let named = |of: fn(&Verdict) -> &Vec<ReasonRecord>| -> Vec<ReasonRecord> {
        let is_of_all = |one: &&ReasonRecord| verdicts.iter().all(|v| of(v).iter().any(|of| of.is_as(one)));
        let common = verdicts.first().into_iter().flat_map(|v| of(v).iter().filter(is_of_all));
        let each = names.iter().zip(verdicts).flat_map(|(name, v)| {
            let own = of(v).iter().filter(|one| !is_of_all(one));
            own.map(|one| ReasonRecord { load: Some((*name).to_owned()), ..one.clone() })
        });
        each.chain(common.cloned()).collect()
    };
    let worst =
        verdicts.iter().find(|v| !v.passed).or(verdicts.iter().find(|v| !v.valid)).or(verdicts.first());
    let answer = held.answer.as_ref();
    let capacity = answer.and_then(|answer| answer.capacity);
    let search = answer.zip(match first.of_all() {
        Strategy::Search(bounds) => Some(bounds),
        Strategy::Fixed { .. } | Strategy::Path(_) => None,
    });
    let search = search.map(|(answer, bounds)| SearchSummary {
        highest_pass: answer.highest_pass,
        lowest_fail: answer.lowest_fail,
        bounded_by: match answer.bounded_by {
            BoundedBy::Maximum => SearchBound::Maximum { unit: LoadUnit::Scale.into(), because: None },
            BoundedBy::Disbelief => SearchBound::Windows,
            _ => SearchBound::OtherLoad,
        },
        at_least: matches!(answer.bounded_by, BoundedBy::Maximum | BoundedBy::Disbelief),
        trials: answer.trials,
        confirmed: answer.confirmed,
        method: Some(bounds.method.name().to_owned()),
        seconds: held.searched_s,
        aborted: held.trials[0].iter().filter(|trial| trial.aborted).count() as u32,
        estimate: answer.estimate.as_deref().map(|estimate| Box::new(estimate.into())),
    });
    let passed = passed && (answer.is_none() || capacity.is_some());
    let tiles = tiles(loads);
    let score =
        tiles.as_ref().filter(|_| passed && valid).and_then(|tiles| tiles.score(&held.trials, &held.acted));
    let beside =
        copies(tiles.as_ref(), held, verdicts).into_iter().chain(score.as_ref().map(ScoreRecord::sentence));
    let told = answer_of((&names[..], first.unit_of_all()), verdicts, answer, beside);
    let verdict = Verdict {
        unit: LoadUnit::Scale.into(),
        capacity,
        trial: worst.and_then(|v| v.trial),
        passed,
        valid,
        resources: worst
            .and_then(|v| held.used.get(v.trial?.checked_sub(1)? as usize))
            .copied()
            .unwrap_or_default(),
        search,
        score: score.map(Box::new),
        ..Verdict::default()
    };
    verdict.because(Some(told), named(|v| &v.why), named(|v| &v.why_not_valid))
}

/// The total of copies of one load, as a sentence; `None` for other loads.
fn copies(tiles: Option<&TilesRecord>, held: &LoadResult, verdicts: &[Verdict]) -> Option<String> {
    if !tiles?.are_copies() {
        return None;
    }
    let each = held.trials.iter().zip(verdicts);
    let trials: Vec<&Trial> = each
        .map(|(trials, verdict)| trials.iter().find(|trial| Some(trial.n) == verdict.trial))
        .collect::<Option<_>>()?;
    CopiesRate::sentence(&CopiesRate::of(&trials))
}

/// The tiles of a run with their reference rates; `None` without tiles.
pub(crate) fn tiles(loads: &[CheckedLoad]) -> Option<TilesRecord> {
    let load = |CheckedLoad { checked, .. }: &CheckedLoad| {
        let plan = &checked.plan;
        let (tile, member) = match &plan.tile {
            Some(tile) => (tile.number, tile.member.clone()),
            None => (0, plan.load.clone()),
        };
        let rate = checked.reference.as_ref().filter(|_| tile > 0).and_then(|of| of.rates.get(&member));
        TileLoadRecord {
            load: plan.load.clone(),
            member,
            tile,
            whole: plan.whole().map(|whole| whole.level).unwrap_or_default(),
            of: rate.map(|rate| rate.of.clone()),
            rate: rate.map(|rate| rate.rate),
        }
    };
    let first = &loads.iter().find(|load| load.checked.plan.tile.is_some())?.checked;
    let reference = first.reference.as_ref();
    let operation =
        |(act, per_hour): (&String, &f64)| OperationReferenceRecord { act: act.clone(), per_hour: *per_hour };
    Some(TilesRecord {
        reference: reference.map(|reference| reference.about.clone()).unwrap_or_default(),
        operations: reference
            .iter()
            .flat_map(|reference| reference.operations.iter().map(operation))
            .collect(),
        one_by_one: first.plan.one_by_one,
        loads: loads.iter().map(load).collect(),
    })
}

/// The end of the sentence about a search over tiles: both definitions of saturation.
fn saturation(answer: &Answer) -> String {
    let Some(fail) = answer.lowest_fail else { return "no more were tried, or none failed".to_owned() };
    let first = barograph_record::tiles(fail.into());
    match answer.highest_pass {
        Some(pass) => {
            let last = barograph_record::tiles(pass.into());
            format!(
                "saturation is at {last} by the last level that passed, and at {first} by the first that failed"
            )
        }
        None => format!("saturation is at {first} by the first level that failed"),
    }
}

fn answer_of(
    (names, unit): (&[&str], LoadUnit),
    verdicts: &[Verdict],
    answer: Option<&Answer>,
    beside: impl Iterator<Item = String>,
) -> AnswerRecord {
    let those = |wrong: fn(&Verdict) -> bool| -> Vec<&str> {
        let each = names.iter().zip(verdicts);
        each.filter(|(_, v)| wrong(v)).map(|(name, _)| *name).collect()
    };
    let (failed, doubted) = (those(|v| !v.passed), those(|v| !v.valid));
    let claim = match answer {
        Some(Answer { capacity: Some(level), .. }) if unit == LoadUnit::Tiles => {
            ClaimRecord::Tiles { level: (*level).into() }
        }
        Some(Answer { capacity: Some(level), .. }) => ClaimRecord::AllPass { level: (*level).into() },
        Some(Answer { bounded_by: BoundedBy::Disbelief, .. }) => ClaimRecord::ScaleUnknown,
        Some(_) => ClaimRecord::NoScale,
        None if failed.is_empty() => ClaimRecord::AllKept,
        None => ClaimRecord::SomeFailed { failed: failed.len() as u32 },
    };
    let failed =
        matches!(claim, ClaimRecord::SomeFailed { .. }).then(|| format!("Failed: {}.", listed(&failed)));
    let doubted = (!doubted.is_empty()).then(|| format!("Not valid: {}.", listed(&doubted)));
    let details: Vec<String> = failed.into_iter().chain(doubted).chain(beside).collect();
    let because = match (claim, answer) {
        (ClaimRecord::Tiles { .. }, Some(answer)) => saturation(answer),
        _ => String::new(),
    };
    let about = AboutRecord::Loads { loads: names.len() as u32 };
    AnswerRecord { claim, about, because, details: details.join(" ") }
}
