//! The run and its answer: one row each, reasons, and the rules.

use barograph_record::{ReasonRecord, Rule, RuleRecord, Run, ScoreRecord, Verdict};

use super::estimate::of as estimate;
use super::{Columns, TableSet, some};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    runs(book, run)?;
    verdict(book, run)?;
    let verdict = run.verdict();
    reasons(book, ("reasons", "reason"), verdict.map(|verdict| (&verdict.reasons[..], &verdict.why[..])))?;
    let doubts = verdict.map(|verdict| (&verdict.doubts[..], &verdict.why_not_valid[..]));
    reasons(book, ("doubts", "doubt"), doubts)?;
    rules(book, run)
}

/// Reasons in words, numbered, each with the rule or the check that did not hold.
fn reasons(
    book: &mut TableSet<'_>,
    (table, column): (&'static str, &str),
    reasons: Option<(&[String], &[ReasonRecord])>,
) -> Result<(), ExportError> {
    type Row<'a> = (u32, &'a String, Option<&'a ReasonRecord>);
    let columns = Columns::<Row<'_>>::new()
        .whole("n", |r| r.0.into())
        .text(column, |r| r.1.into())
        .text("kind", |r| r.2.map(|why| why.cause.kind()).into())
        .text("load", |r| r.2.and_then(|why| why.load.as_ref()).into())
        .text("check", |r| r.2.and_then(|why| Some(&why.check()?.id)).into())
        .text("operation", |r| r.2.and_then(ReasonRecord::op).into())
        .text("subject", |r| rule(r.2, |rule| rule.subject.name()).into())
        .float("quantile", |r| rule(r.2, |rule| rule.quantile).flatten().into())
        .text("measure", |r| r.2.and_then(|why| why.rule()?.measure.as_ref()).into())
        .text("unit", |r| r.2.and_then(|why| some(&why.rule()?.unit)).into())
        .float("found", |r| rule(r.2, |rule| rule.value).flatten().into())
        .text("bound", |r| rule(r.2, |rule| rule.bound.name()).into())
        .float("limit", |r| rule(r.2, |rule| rule.limit).into())
        .float("tolerance_share", |r| rule(r.2, |rule| rule.tolerance).flatten().into())
        .float("chance", |r| rule(r.2, |rule| rule.chance).into());
    let (texts, why) = reasons.unwrap_or_default();
    let rows = texts.iter().enumerate().map(|(at, text)| (at as u32 + 1, text, why.get(at)));
    book.table(table, &columns, rows)
}

fn rule<T>(why: Option<&ReasonRecord>, pick: fn(&RuleRecord) -> T) -> Option<T> {
    why?.rule().map(pick)
}

/// The run, and the state of its record.
fn runs(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<&Run>::new()
        .whole("record_version", |r| r.header.v.into())
        .text("tool", |r| (&r.header.tool).into())
        .text("started_at", |r| (&r.header.started_at).into())
        .text("command", |r| (&r.header.command).into())
        .text("workload", |r| r.expected().map(|e| &e.workload).into())
        .text("profile", |r| r.expected().map(|e| &e.profile).into())
        .text("unit", |r| r.unit().name().into())
        .text("target", |r| r.expected().and_then(|e| e.target.as_ref()).into())
        .text("session_operation", |r| r.expected().and_then(|e| e.session_op.as_ref()).into())
        .float("operations_per_user_and_s", |r| derived(r, |d| d.ops_per_user_s).into())
        .float("requests_per_operation", |r| derived(r, |d| d.requests_per_op).into())
        .float("session_s", |r| derived(r, |d| d.session_s).into())
        .float("load_start_s", |r| r.load_start_s().into())
        .truth("complete", |r| r.complete.into())
        .float("interrupted_at_s", |r| r.interrupted().map(|i| i.at_s).into())
        .text("interrupted_in_phase", |r| r.interrupted().map(|i| &i.phase).into())
        .text("interrupted_by", |r| r.interrupted().map(|i| &i.cause).into())
        .whole("lines_that_could_not_be_read", |r| (r.damage.len() as u64).into());
    book.table("runs", &columns, [run])
}

fn derived(run: &Run, pick: fn(&barograph_record::DerivedRecord) -> f64) -> Option<f64> {
    run.expected()?.derived.as_ref().map(pick)
}

/// The verdict; no row if the run has none.
fn verdict(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = &'a barograph_record::Verdict;
    let columns = Columns::<Row<'_>>::new()
        .text("unit", |r| r.unit.name().into())
        .whole("capacity", |r| r.capacity.into())
        .whole("trial", |r| r.trial.into())
        .truth("passed", |r| r.passed.into())
        .truth("valid", |r| r.valid.into())
        .text("sentence", |r| (&r.sentence).into())
        .whole("exit_code", |r| r.exit_code.into())
        .whole("highest_pass", |r| r.search.as_ref().and_then(|s| s.highest_pass).into())
        .whole("lowest_fail", |r| r.search.as_ref().and_then(|s| s.lowest_fail).into())
        .text("bounded_by", |r| r.search.as_ref().map(|s| s.bounded_by.to_string()).into())
        .truth("at_least", |r| r.search.as_ref().map(|s| s.at_least).into())
        .whole("trials", |r| r.search.as_ref().map(|s| s.trials).into())
        .truth("confirmed", |r| r.search.as_ref().map(|s| s.confirmed).into())
        .text("method", |r| r.search.as_ref().and_then(|s| s.method.as_ref()).into())
        .float("search_s", |r| r.search.as_ref().and_then(|s| s.seconds).into())
        .whole("aborted_trials", |r| r.search.as_ref().map(|s| s.aborted).into())
        .float("capacity_median", |r| estimate(r).map(|e| e.capacity).into())
        .float("capacity_low", |r| estimate(r).map(|e| e.low).into())
        .float("capacity_high", |r| estimate(r).map(|e| e.high).into())
        .whole("safe", |r| estimate(r).map(|e| e.safe).into())
        .float("tiles", |r| score(r, |s| Some(s.tiles)).into())
        .float("score", |r| score(r, |s| Some(s.score)).into())
        .float("score_low", |r| score(r, |s| s.low).into())
        .float("score_high", |r| score(r, |s| s.high).into())
        .float("score_applications", |r| score(r, |s| s.applications).into())
        .float("score_operations", |r| score(r, |s| s.parts()?.operations).into())
        .whole("scored_trial", |r| r.score.as_ref().map(|s| s.trial).into())
        .float("least_ratio", |r| score(r, |s| Some(s.least_ratio)).into())
        .text("least_load", |r| r.score.as_ref().map(|s| &s.least_load).into())
        .float("fairness", |r| score(r, |s| Some(s.fairness)).into());
    let columns = super::trials::resources(columns, |r| &r.resources);
    book.table("verdict", &columns, run.verdict())
}

fn score(verdict: &Verdict, pick: fn(&ScoreRecord) -> Option<f64>) -> Option<f64> {
    pick(verdict.score.as_ref()?)
}

fn rules(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<&Rule>::new()
        .text("operation", |r| (&r.op).into())
        .text("about", |r| some(&r.about).into())
        .truth("judged", |r| r.is_judged().into())
        .float("quantile", |r| r.quantile.into())
        .float("limit_ms", |r| r.limit_ms.into())
        .float("mix_share", |r| r.mix.into())
        .float("mix_tolerance_share", |r| r.mix_tolerance.into())
        .float("failures_share", |r| r.failures.into());
    book.table("rules", &columns, run.expected().map_or(&[][..], |expected| &expected.rules))
}
