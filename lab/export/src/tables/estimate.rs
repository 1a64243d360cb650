//! Certainty of a search by posterior: its estimate besides the capacity, and the curve.

use barograph_record::{EstimateRecord, PassPointRecord, Run, Verdict};

use super::{Columns, TableSet};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<&EstimateRecord>::new()
        .float("beyond_share", |r| r.beyond.into())
        .float("softness_share", |r| r.softness.into())
        .float("spurious_share", |r| r.spurious.into())
        .whole("valid_trials", |r| r.valid.into())
        .whole("invalid_trials", |r| r.invalid.into())
        .whole("confirmed_level", |r| r.confirmation.map(|c| c.level).into())
        .whole("confirmed_passed", |r| r.confirmation.map(|c| c.passed).into())
        .whole("confirmed_trials", |r| r.confirmation.map(|c| c.trials).into())
        .float("confirmed_at_least_share", |r| r.confirmation.map(|c| c.at_least).into())
        .truth("confirmed_complete", |r| r.confirmation.map(|c| c.complete).into())
        .whole("above_level", |r| r.above.map(|a| a.level).into())
        .whole("above_failed", |r| r.above.map(|a| a.failed).into())
        .whole("above_trials", |r| r.above.map(|a| a.trials).into())
        .float("above_below_share", |r| r.above.map(|a| a.below).into())
        .truth("above_complete", |r| r.above.map(|a| a.complete).into())
        .float("cross_check_capacity", |r| r.cross_check.map(|c| c.capacity).into())
        .float("cross_check_low", |r| r.cross_check.map(|c| c.low).into())
        .float("cross_check_high", |r| r.cross_check.map(|c| c.high).into())
        .whole("cross_check_trials", |r| r.cross_check.map(|c| c.trials).into())
        .truth("cross_check_disagrees", |r| r.cross_check.map(|c| c.disagrees).into())
        .whole("repeats_trials", |r| r.repeats.map(|again| again.trials).into())
        .whole("repeats_passed", |r| r.repeats.map(|again| again.passed).into())
        .float("repeats_expected", |r| r.repeats.map(|again| again.expected).into())
        .float("repeats_p", |r| r.repeats.map(|again| again.p).into())
        .truth("repeats_drifted", |r| r.repeats.map(|again| again.drifted).into());
    let found = run.verdict().and_then(of);
    book.table("estimate", &columns, found)?;
    let columns = Columns::<&PassPointRecord>::new()
        .whole("level", |r| r.level.into())
        .float("pass_share", |r| r.pass.into())
        .float("pass_low_share", |r| r.low.into())
        .float("pass_high_share", |r| r.high.into());
    book.table("pass_curve", &columns, found.map_or(&[][..], |found| &found.curve))
}

/// The estimate of a verdict, if it has one.
pub(super) fn of(verdict: &Verdict) -> Option<&EstimateRecord> {
    verdict.search.as_ref()?.estimate.as_deref()
}
