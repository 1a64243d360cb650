//! Whole histograms: a row per interval, operation and recorded value. Sums of their counts give any quantile
//! of any stretch of time.

use barograph_record::{LogHistogram, Run};

use super::{Columns, TableSet};
use crate::ExportError;

/// One value of a histogram: all times between the two bounds count as equal.
struct Row {
    time: &'static str,
    from_s: f64,
    to_s: f64,
    op: String,
    lowest_us: u64,
    highest_us: u64,
    count: u64,
}

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<Row>::new()
        .text("time", |r| r.time.into())
        .float("from_s", |r| r.from_s.into())
        .float("to_s", |r| r.to_s.into())
        .text("operation", |r| (&r.op).into())
        .whole("lowest_us", |r| r.lowest_us.into())
        .whole("highest_us", |r| r.highest_us.into())
        .whole("count", |r| r.count.into());
    let logs = [("response", run.response_log()?), ("service", run.service_log()?)];
    // The last line of a killed run may be cut; it is skipped here as everywhere.
    let rows = logs.iter().flat_map(|(time, log)| {
        let whole = log.histograms().filter_map(Result::ok);
        whole.flat_map(|histogram| values(time, &histogram))
    });
    book.table("histograms", &columns, rows)
}

fn values(time: &'static str, found: &LogHistogram) -> Vec<Row> {
    let histogram = &found.histogram;
    let row = |value: u64, count: u64| Row {
        time,
        from_s: found.from_s,
        to_s: found.from_s + found.seconds,
        op: found.op.clone(),
        lowest_us: histogram.lowest_equivalent(value),
        highest_us: histogram.highest_equivalent(value),
        count,
    };
    histogram.iter_recorded().map(|at| row(at.value_iterated_to(), at.count_at_value().into())).collect()
}
