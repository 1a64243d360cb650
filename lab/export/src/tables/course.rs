//! Events of the run: phases, notes, changes of the load from outside, actions.

use barograph_record::{
    ActionRecord, Control, Impact, PhaseOutcome, PhaseSpan, Run, WindowSpan, WindowSpanOp,
};

use super::{Columns, TableSet, some};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let phases = run.phases();
    let columns = Columns::<&PhaseSpan>::new()
        .text("phase", |r| (&r.phase).into())
        .float("from_s", |r| r.from_s.into())
        .float("to_s", |r| r.to_s.into())
        .text("outcome", |r| r.outcome.map(outcome).into())
        .text("error", |r| r.error.as_ref().into());
    book.table("phases", &columns, &phases)?;
    let columns = Columns::<(f64, &str)>::new().float("at_s", |r| r.0.into()).text("note", |r| r.1.into());
    book.table("notes", &columns, run.notes())?;
    let columns = Columns::<&Control>::new()
        .float("at_s", |r| r.at_s.into())
        .text("unit", |r| r.unit.name().into())
        .float("level", |r| f64::from(r.level).into())
        .float("over_s", |r| r.over_s.into());
    book.table("controls", &columns, run.controls())?;
    let columns = Columns::<&ActionRecord>::new()
        .float("at_s", |r| r.at_s.into())
        .text("part", |r| some(&r.unit).into())
        .text("action", |r| some(&r.name).into())
        .text("act", |r| (&r.act).into())
        .float("took_s", |r| r.took_s.into())
        .float("pause_s", |r| r.pause_s.into())
        .float("pause_inside_s", |r| r.pause_inside_s.into())
        .float("pause_inside_error_s", |r| r.pause_inside_error_s.into())
        .truth("done", |r| r.failed.is_none().into())
        .text("error", |r| r.failed.as_ref().into())
        .float("limit_s", |r| r.limit_s.into())
        .truth("missed", |r| r.is_missed.into());
    book.table("actions", &columns, run.actions())?;
    let impacts = run.impacts();
    let columns = Columns::<ImpactOp<'_>>::new()
        .float("at_s", |r| r.impact.action.at_s.into())
        .text("part", |r| some(&r.impact.action.unit).into())
        .text("action", |r| some(&r.impact.action.name).into())
        .float("recovered_s", |r| r.impact.recovered_s.into())
        .text("stretch", |r| r.name.into())
        .float("from_s", |r| r.stretch.from_s.into())
        .float("to_s", |r| r.stretch.to_s.into())
        .text("operation", |r| (&r.op.op).into())
        .whole("count", |r| r.op.count.into())
        .whole("failed", |r| r.op.failed.into())
        .float("failed_low_share", |r| r.op.failed_share().0.into())
        .float("failed_high_share", |r| r.op.failed_share().1.into())
        .float("response_quantile", |r| r.op.quantile.into())
        .float("response_quantile_ms", |r| r.op.quantile_ms.into())
        .float("response_quantile_low_ms", |r| r.op.quantile_interval_ms.map(|ms| ms.0).into())
        .float("response_quantile_high_ms", |r| r.op.quantile_interval_ms.map(|ms| ms.1).into())
        .float("response_max_ms", |r| r.op.max_ms.into());
    book.table("action_operations", &columns, impacts.iter().flat_map(seen))
}

/// One operation in a stretch around an action.
struct ImpactOp<'i> {
    impact: &'i Impact<'i>,
    name: &'static str,
    stretch: &'i WindowSpan,
    op: &'i WindowSpanOp,
}

fn seen<'i>(impact: &'i Impact<'i>) -> impl Iterator<Item = ImpactOp<'i>> {
    let stretches = [("before", &impact.before), ("during", &impact.during), ("after", &impact.after)];
    let there = stretches.into_iter().filter_map(|(name, stretch)| Some((name, stretch.as_ref()?)));
    there.flat_map(move |(name, stretch)| {
        stretch.ops.iter().map(move |op| ImpactOp { impact, name, stretch, op })
    })
}

fn outcome(outcome: PhaseOutcome) -> &'static str {
    match outcome {
        PhaseOutcome::Done => "done",
        PhaseOutcome::Failed => "failed",
        PhaseOutcome::Interrupted => "interrupted",
    }
}
