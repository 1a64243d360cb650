//! Response times in the deciding window, from whole histograms: of each operation over the whole window, and
//! over time for all operations judged by time together.

use std::collections::BTreeMap;

use barograph_record::{IntervalRow, LogHistogram, Run, WindowRecord};
use barograph_stats::Histogram;

/// Bins of response time in a decade: each is about a quarter wider than the one before.
const BINS_PER_DECADE: f64 = 10.0;

/// Bins from 1 µs to the highest time of a histogram.
const BINS: usize = 81;

/// Most columns of the window: more would be too narrow for the eye.
const MOST_COLUMNS: usize = 120;

/// Most rows of the table beside the heat map.
const MOST_ROWS: usize = 30;

/// Successive intervals of the window, by bins of response time.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    /// Operations that ended, by [`bin`].
    pub(crate) bins: Vec<u64>,
}

/// Successive columns of the window, whole.
#[derive(Debug)]
pub(crate) struct ColumnGroup {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) times: Option<Histogram>,
}

/// The deciding window.
#[derive(Debug)]
pub(crate) struct DecidingWindow {
    window: WindowRecord,
    /// Response times over the whole window, by operation.
    pub(crate) ops: BTreeMap<String, Histogram>,
    pub(crate) columns: Vec<Column>,
    pub(crate) stretches: Vec<ColumnGroup>,
}

/// The bin of a time in microseconds.
fn bin(micros: u64) -> usize {
    // A small amount is added because the logarithm of a power of ten may come out below its whole number.
    (((micros.max(1) as f64).log10() + 1e-9) * BINS_PER_DECADE) as usize
}

/// The lower end of a bin, in milliseconds; it ends at the begin of the next one.
pub(crate) fn bin_from_ms(bin: usize) -> f64 {
    10f64.powf(bin as f64 / BINS_PER_DECADE - 3.0)
}

impl DecidingWindow {
    /// The empty window of `run`; `rows` are the intervals of the whole run. `None` if no window was judged.
    pub(crate) fn of(run: &Run, rows: &[&IntervalRow]) -> Option<Self> {
        let window = run.deciding_trial()?.window.clone();
        let inside: Vec<&IntervalRow> =
            rows.iter().filter(|row| window.holds(row.from_s, row.to_s)).copied().collect();
        let merged = inside.len().div_ceil(MOST_COLUMNS).max(1);
        let ends = |some: &[&IntervalRow]| Some((some.first()?.from_s, some.last()?.to_s));
        let columns: Vec<Column> = inside
            .chunks(merged)
            .filter_map(ends)
            .map(|(from_s, to_s)| Column { from_s, to_s, bins: vec![0; BINS] })
            .collect();
        let together = columns.len().div_ceil(MOST_ROWS).max(1);
        let stretches = columns
            .chunks(together)
            .filter_map(|some| Some((some.first()?.from_s, some.last()?.to_s)))
            .map(|(from_s, to_s)| ColumnGroup { from_s, to_s, times: None })
            .collect();
        Some(DecidingWindow { window, ops: BTreeMap::new(), columns, stretches })
    }

    /// Adds the times of one operation in one interval; `judged` is whether it is judged by time.
    pub(crate) fn add(&mut self, found: &LogHistogram, judged: TimeJudgement) {
        if !self.window.holds(found.from_s, found.from_s + found.seconds) {
            return;
        }
        let whole = self.ops.remove(&found.op);
        self.ops.insert(found.op.clone(), joined(whole, &found.histogram));
        if judged == TimeJudgement::No {
            return;
        }
        let middle = found.from_s + found.seconds / 2.0;
        let column = self.columns.partition_point(|column| column.to_s <= middle);
        if let Some(column) = self.columns.get_mut(column) {
            for value in found.histogram.iter_recorded() {
                let at = bin(found.histogram.median_equivalent(value.value_iterated_to())).min(BINS - 1);
                column.bins[at] += value.count_since_last_iteration();
            }
        }
        let stretch = self.stretches.partition_point(|stretch| stretch.to_s <= middle);
        if let Some(stretch) = self.stretches.get_mut(stretch) {
            stretch.times = Some(joined(stretch.times.take(), &found.histogram));
        }
    }
}

/// Whether an operation is judged by its response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeJudgement {
    /// It is.
    Yes,
    /// It is not.
    No,
}

/// Merges two histograms. One of different bounds cannot come from this program and is left out.
fn joined(sum: Option<Histogram>, more: &Histogram) -> Histogram {
    let Some(mut sum) = sum else { return more.clone() };
    match sum.add(more) {
        Ok(()) | Err(_) => sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_in_the_bin_that_begins_at_or_below_it() {
        for (micros, expected) in [(0, 0), (1, 0), (2, 3), (999, 29), (1_000, 30), (1_258, 30), (1_259, 31)] {
            assert_eq!(bin(micros), expected, "{micros}");
        }
        assert!((bin_from_ms(30) - 1.0).abs() < 1e-9 && (bin_from_ms(0) - 1e-3).abs() < 1e-9);
        assert_eq!(
            bin(120_000_000),
            BINS - 1,
            "the longest time that a histogram tells apart has the last bin"
        );
    }
}
