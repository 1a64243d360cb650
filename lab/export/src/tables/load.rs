//! The load by interval: all users, each operation, and outcomes.

use barograph_record::{Count, IntervalRow, OpRow, Run};

use super::{Columns, TableSet};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    intervals(book, run)?;
    operations(book, run)?;
    outcomes(book, run)?;
    counters(book, run)
}

fn intervals(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<&IntervalRow>::new()
        .float("from_s", |r| r.from_s.into())
        .float("to_s", |r| r.to_s.into())
        .whole("users", |r| r.users.into())
        .whole("starts", |r| r.starts.into())
        .whole("late", |r| r.late.into())
        .whole("dropped", |r| r.dropped.into())
        .whole("skipped", |r| r.skipped.into())
        .float("lag_p50_ms", |r| r.lag_p50_ms.into())
        .float("lag_p99_ms", |r| r.lag_p99_ms.into())
        .float("in_flight_operations", |r| r.in_flight.into())
        .float("worker_cores", |r| r.worker_cpu.into())
        .float("busiest_worker_share", |r| r.busiest_worker.into());
    book.table("intervals", &columns, run.intervals())
}

fn operations(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a IntervalRow, &'a OpRow);
    let columns = Columns::<Row<'_>>::new()
        .float("from_s", |r| r.0.from_s.into())
        .float("to_s", |r| r.0.to_s.into())
        .text("operation", |r| (&r.1.op).into())
        .whole("count", |r| r.1.count.into())
        .whole("failed", |r| r.1.failed.into())
        .whole("over_limit", |r| r.1.over_limit.into())
        .whole("requests", |r| r.1.requests.into())
        .float("response_p50_ms", |r| r.1.p50_ms.into())
        .float("response_p99_ms", |r| r.1.p99_ms.into())
        .float("response_max_ms", |r| r.1.max_ms.into());
    let rows = run.intervals().flat_map(|interval| interval.ops.iter().map(move |op| (interval, op)));
    book.table("interval_operations", &columns, rows)
}

/// Additions of operations to the workload's counters; no rows without counters.
fn counters(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a IntervalRow, &'a String, u64);
    let columns = Columns::<Row<'_>>::new()
        .float("from_s", |r| r.0.from_s.into())
        .float("to_s", |r| r.0.to_s.into())
        .text("counter", |r| r.1.into())
        .whole("count", |r| r.2.into());
    let names = run.expected().map_or(&[][..], |expected| &expected.counters);
    let rows = run.intervals().flat_map(|interval| {
        let counts = interval.counters.iter().copied().chain(std::iter::repeat(0));
        names.iter().zip(counts).map(move |(name, count)| (interval, name, count))
    });
    book.table("interval_counters", &columns, rows)
}

fn outcomes(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a IntervalRow, &'a OpRow, &'a Count);
    let columns = Columns::<Row<'_>>::new()
        .float("from_s", |r| r.0.from_s.into())
        .float("to_s", |r| r.0.to_s.into())
        .text("operation", |r| (&r.1.op).into())
        .text("outcome", |r| (&r.2.name).into())
        .whole("count", |r| r.2.count.into());
    let rows = run.intervals().flat_map(|interval| {
        let ops = interval.ops.iter();
        ops.flat_map(move |op| op.outcomes.iter().map(move |outcome| (interval, op, outcome)))
    });
    book.table("outcomes", &columns, rows)
}
