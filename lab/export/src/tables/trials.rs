//! Trials: level, operations, checks, and resources.

use barograph_record::{CheckRecord, Figure, MeasureRecord, OpRecord, Resources, RuleRecord, Run, Trial};

use super::{Columns, TableSet, some};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    windows(book, run)?;
    operations(book, run)?;
    rules(book, run)?;
    measures(book, run)?;
    checks(book, run)
}

fn windows(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<&Trial>::new()
        .whole("trial", |r| r.n.into())
        .text("purpose", |r| r.purpose.name().into())
        .text("unit", |r| r.unit.name().into())
        .float("level", |r| f64::from(r.level).into())
        .text("result", |r| r.result.name().into())
        .truth("passed", |r| r.window.passed.into())
        .truth("valid", |r| r.window.valid.into())
        .truth("aborted", |r| r.aborted.into())
        .float("from_s", |r| r.window.from_s.into())
        .float("to_s", |r| r.window.to_s.into())
        .whole("users", |r| r.window.users.into())
        .float("throughput_operations_per_s", |r| r.window.throughput.into())
        .float("goodput_operations_per_s", |r| r.window.goodput.into())
        .float("requests_per_s", |r| r.window.requests_s.into())
        .float("starts_per_s", |r| r.window.starts_s.into())
        .whole("late", |r| r.window.late.into())
        .whole("dropped", |r| r.window.dropped.into())
        .whole("skipped", |r| r.window.skipped.into())
        .float("lag_p50_ms", |r| r.window.lag_p50_ms.into())
        .float("lag_p99_ms", |r| r.window.lag_p99_ms.into())
        .whole("operations", |r| r.operations.into())
        .float("elapsed_s", |r| r.elapsed_s().into());
    let columns = resources(columns, |r| &r.resources);
    book.table("trials", &columns, run.trials())
}

/// Resources used in a window, as columns after others.
pub(super) fn resources<'c, R: 'c>(columns: Columns<'c, R>, of: fn(&R) -> &Resources) -> Columns<'c, R> {
    columns
        .float("host_cores", move |r| of(r).host_cores.into())
        .float("host_busy_cores", move |r| of(r).host_busy_cores.into())
        .float("application_cores", move |r| of(r).app_cores.into())
        .float("driver_cores", move |r| of(r).driver_cores.into())
        .float("users_per_application_core", move |r| of(r).users_per_app_core.into())
        .float("users_per_driver_core", move |r| of(r).users_per_driver_core.into())
        .float("driver_cpu_us_per_request", move |r| of(r).driver_cpu_us_per_request.into())
        .whole("application_memory_bytes", move |r| of(r).app_rss_bytes.into())
        .whole("driver_memory_bytes", move |r| of(r).driver_rss_bytes.into())
        .float("driver_memory_bytes_per_user", move |r| of(r).driver_bytes_per_user.into())
        .whole("driver_connections", move |r| of(r).driver_connections.into())
}

fn operations(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a Trial, &'a OpRecord);
    let columns = Columns::<Row<'_>>::new()
        .whole("trial", |r| r.0.n.into())
        .text("operation", |r| (&r.1.op).into())
        .truth("judged", |r| r.1.judged.into())
        .truth("passed", |r| r.1.passed().into())
        .truth("time_ok", |r| r.1.time_ok.into())
        .truth("mix_ok", |r| r.1.mix_ok.into())
        .truth("failures_ok", |r| r.1.failures_ok.into())
        .truth("further_ok", |r| r.1.further_ok.into())
        .whole("count", |r| r.1.count.into())
        .whole("failed", |r| r.1.failed.into())
        .float("failures_allowed_share", |r| r.1.failures_allowed.into())
        .float("mix_share", |r| r.1.mix.into())
        .float("mix_required_share", |r| r.1.mix_required.into())
        .float("mix_tolerance_share", |r| r.1.mix_tolerance.into())
        .float("mix_chance_share", |r| r.1.mix_chance.into())
        .float("over_limit_share", |r| r.1.over_limit.into())
        .float("judged_ms", |r| r.1.judged_ms.into())
        .float("limit_ms", |r| r.1.limit_ms.into())
        .float("response_mean_ms", |r| r.1.mean_ms.into())
        .float("response_p50_ms", |r| r.1.p50_ms.into())
        .float("response_p90_ms", |r| r.1.p90_ms.into())
        .float("response_p95_ms", |r| r.1.p95_ms.into())
        .float("response_p99_ms", |r| r.1.p99_ms.into())
        .float("response_p999_ms", |r| r.1.p999_ms.into())
        .float("response_max_ms", |r| r.1.max_ms.into())
        .float("service_mean_ms", |r| r.1.service_mean_ms.into())
        .float("service_p50_ms", |r| r.1.service_p50_ms.into())
        .float("service_p90_ms", |r| r.1.service_p90_ms.into())
        .float("service_p95_ms", |r| r.1.service_p95_ms.into())
        .float("service_p99_ms", |r| r.1.service_p99_ms.into())
        .float("service_p999_ms", |r| r.1.service_p999_ms.into())
        .float("service_max_ms", |r| r.1.service_max_ms.into());
    let rows = run.trials().flat_map(|trial| trial.window.ops.iter().map(move |op| (trial, op)));
    book.table("trial_operations", &columns, rows)
}

/// Every rule in each window; for older records, those implied by the figures of operations.
fn rules(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a Trial, RuleRecord);
    let columns = Columns::<Row<'_>>::new()
        .whole("trial", |r| r.0.n.into())
        .text("subject", |r| r.1.subject.name().into())
        .text("operation", |r| r.1.op.as_ref().into())
        .float("quantile", |r| r.1.quantile.into())
        .text("measure", |r| r.1.measure.as_ref().into())
        .text("unit", |r| some(&r.1.unit).into())
        .float("value", |r| r.1.value.into())
        .text("bound", |r| r.1.bound.name().into())
        .float("limit", |r| r.1.limit.into())
        .float("tolerance_share", |r| r.1.tolerance.into())
        .float("chance", |r| r.1.chance.into())
        .truth("holds", |r| r.1.holds.into());
    let of = |trial: &'_ Trial| trial.window.judged_by().into_owned();
    let rows = run.trials().flat_map(|trial| of(trial).into_iter().map(move |rule| (trial, rule)));
    book.table("trial_rules", &columns, rows)
}

fn measures(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a Trial, &'a MeasureRecord);
    let columns = Columns::<Row<'_>>::new()
        .whole("trial", |r| r.0.n.into())
        .text("measure", |r| (&r.1.id).into())
        .text("title", |r| (&r.1.title).into())
        .text("unit", |r| (&r.1.unit).into())
        .text("better", |r| r.1.better.name().into())
        .float("value", |r| r.1.value.into());
    let rows =
        run.trials().flat_map(|trial| trial.window.measures.iter().map(move |measure| (trial, measure)));
    book.table("measures", &columns, rows)
}

fn checks(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a Trial, &'a CheckRecord);
    let columns = Columns::<Row<'_>>::new()
        .whole("trial", |r| r.0.n.into())
        .text("check", |r| (&r.1.name).into())
        .truth("ok", |r| r.1.ok.into())
        .text("found", |r| (&r.1.found).into())
        .text("allowed", |r| (&r.1.allowed).into())
        .text("id", |r| some(&r.1.id).into())
        .truth("excused", |r| r.1.excused.into())
        .text("operation", |r| r.1.op.as_ref().into())
        .text("driver", |r| r.1.driver.as_ref().into());
    let rows = || run.trials().flat_map(|trial| trial.window.checks.iter().map(move |check| (trial, check)));
    book.table("checks", &columns, rows())?;
    type Numbered<'a> = (u32, &'a CheckRecord, &'a Figure);
    let columns = Columns::<Numbered<'_>>::new()
        .whole("trial", |r| r.0.into())
        .text("id", |r| some(&r.1.id).into())
        .text("figure", |r| (&r.2.name).into())
        .float("value", |r| r.2.value.into());
    let figures = rows().flat_map(|(trial, check)| check.figures.iter().map(move |of| (trial.n, check, of)));
    book.table("check_figures", &columns, figures)
}
