//! The run in slices of time, with the quantiles of whole histograms, and the first ramp as points.

use std::collections::HashMap;

use barograph_record::{IntervalRow, Run, UnitRecord};
use barograph_stats::Histogram;

use crate::deciding::{DecidingWindow, TimeJudgement};

/// Most slices: the eye does not distinguish more in a figure.
const MOST_SLICES: usize = 400;

/// Length of a point of the ramp in seconds, so that rare operations have samples in it.
const RAMP_STEP_S: f64 = 5.0;

/// Fewest samples of an operation for a point of the ramp. Ten would be too few for a 99 % quantile; with
/// thirty the largest one or two decide, enough for a faint dot.
const RAMP_SAMPLES: u64 = 30;

/// Figures of one slice of time; times in seconds from the start of the load.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) users: u32,
    /// Operations started per second.
    pub(crate) starts_s: f64,
    /// Arrivals per second that waited for a user, arrivals that never started, and skipped beats.
    pub(crate) late_s: f64,
    pub(crate) dropped_s: f64,
    pub(crate) skipped_s: f64,
    /// Operations ended per second.
    pub(crate) ops_s: f64,
    /// Operations failed per second.
    pub(crate) failed_s: f64,
    pub(crate) lag_p50_ms: f64,
    pub(crate) lag_p99_ms: f64,
    /// Response time of the operations judged by time; absent without samples.
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
}

/// The worst operation at a time of the ramp.
#[derive(Debug)]
pub(crate) struct RampPoint {
    pub(crate) level: u32,
    /// Judged quantile over its limit.
    pub(crate) ratio: f64,
}

/// The run over time.
#[derive(Debug, Default)]
pub(crate) struct RunSeries {
    pub(crate) slices: Vec<Slice>,
    /// Intervals of the record in one slice.
    pub(crate) merged: usize,
    pub(crate) ramp: Vec<RampPoint>,
    /// The deciding window.
    pub(crate) deciding: Option<DecidingWindow>,
    /// Unreadable parts of the histograms.
    pub(crate) damage: Vec<String>,
}

/// Limit in milliseconds and quantile of every operation judged by time.
type Limits = HashMap<String, (f64, f64)>;

/// Reads the run over time from its intervals and its log of response times.
pub(crate) fn measure(run: &Run) -> RunSeries {
    let rows: Vec<&IntervalRow> = run.intervals().collect();
    let merged = rows.len().div_ceil(MOST_SLICES).max(1);
    let slices = rows.chunks(merged).map(slice).collect();
    let mut measured = RunSeries { slices, merged, ..RunSeries::default() };
    match run.response_log() {
        Ok(log) => read_log(run, &log, &rows, &mut measured),
        Err(why) => measured.damage.push(why.in_one_line()),
    }
    measured
}

fn slice(rows: &[&IntervalRow]) -> Slice {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Slice::default() };
    let seconds = last.to_s - first.from_s;
    let sum = |of: fn(&barograph_record::OpRow) -> u64| -> f64 {
        rows.iter().flat_map(|r| &r.ops).map(of).sum::<u64>() as f64 / seconds
    };
    let rate =
        |of: fn(&IntervalRow) -> u64| -> f64 { rows.iter().map(|r| of(r)).sum::<u64>() as f64 / seconds };
    let mean = |of: fn(&IntervalRow) -> f64| rows.iter().map(|r| of(r)).sum::<f64>() / rows.len() as f64;
    Slice {
        from_s: first.from_s,
        to_s: last.to_s,
        users: last.users,
        starts_s: rate(|r| r.starts),
        late_s: rate(|r| r.late),
        dropped_s: rate(|r| r.dropped),
        skipped_s: rate(|r| r.skipped),
        ops_s: sum(|op| op.count),
        failed_s: sum(|op| op.failed),
        lag_p50_ms: mean(|r| r.lag_p50_ms),
        lag_p99_ms: rows.iter().map(|r| r.lag_p99_ms).fold(0.0, f64::max),
        p50_ms: None,
        p99_ms: None,
    }
}

fn limits(run: &Run) -> Option<Limits> {
    let judged = run.expected()?.rules.iter().filter(|r| r.is_judged());
    Some(judged.filter_map(|r| Some((r.op.clone(), (r.limit_ms?, r.quantile)))).collect())
}

/// First and last second of the first ramp, from the start of the load.
fn ramp_span(run: &Run) -> Option<(f64, f64)> {
    let start = run.load_start_s()?;
    let ramp = run.phases().into_iter().find(|p| p.phase == "ramp")?;
    Some((ramp.from_s - start, ramp.to_s.unwrap_or(f64::INFINITY) - start))
}

fn read_log(run: &Run, log: &barograph_record::LogReader, rows: &[&IntervalRow], measured: &mut RunSeries) {
    let limits = limits(run);
    let mut ramp = limits.as_ref().zip(ramp_span(run)).map(|(limits, span)| Ramp::new(limits, span));
    let mut together: Option<(usize, Histogram)> = None;
    let mut deciding = DecidingWindow::of(run, rows);
    for found in log.histograms() {
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                measured.damage.push(why.in_one_line());
                continue;
            }
        };
        let judged = match &limits {
            Some(limits) if !limits.contains_key(&found.op) => TimeJudgement::No,
            _ => TimeJudgement::Yes,
        };
        if let Some(deciding) = &mut deciding {
            deciding.add(&found, judged);
        }
        if judged == TimeJudgement::No {
            continue;
        }
        let middle = found.from_s + found.seconds / 2.0;
        let index = measured.slices.partition_point(|s| s.to_s <= middle);
        match &mut together {
            // One of different bounds cannot come from this program; it is left out.
            Some((i, sum)) if *i == index => drop(sum.add(&found.histogram)),
            _ => {
                close(&mut measured.slices, together.take());
                together = Some((index, found.histogram.clone()));
            }
        }
        if let Some(ramp) = &mut ramp {
            ramp.add(middle, &found.op, found.histogram);
        }
    }
    close(&mut measured.slices, together);
    measured.deciding = deciding;
    if let Some(ramp) = ramp {
        measured.ramp = ramp.finish(run.unit(), rows);
    }
}

fn close(slices: &mut [Slice], done: Option<(usize, Histogram)>) {
    let Some((index, times)) = done else { return };
    if let Some(slice) = slices.get_mut(index) {
        slice.p50_ms = Some(times.value_at_quantile(0.5) as f64 / 1e3);
        slice.p99_ms = Some(times.value_at_quantile(0.99) as f64 / 1e3);
    }
}

/// Collects the ramp, a few seconds at a time.
struct Ramp<'a> {
    limits: &'a Limits,
    span: (f64, f64),
    step: usize,
    ops: HashMap<String, Histogram>,
    /// Seconds since the start of the load, and the worst ratio.
    found: Vec<(f64, f64)>,
}

impl<'a> Ramp<'a> {
    fn new(limits: &'a Limits, span: (f64, f64)) -> Self {
        Ramp { limits, span, step: 0, ops: HashMap::new(), found: Vec::new() }
    }

    fn add(&mut self, at_s: f64, op: &str, times: Histogram) {
        if at_s < self.span.0 || at_s > self.span.1 {
            return;
        }
        let step = ((at_s - self.span.0) / RAMP_STEP_S) as usize;
        if step != self.step {
            self.close();
            self.step = step;
        }
        match self.ops.get_mut(op) {
            Some(sum) => drop(sum.add(&times)),
            None => drop(self.ops.insert(op.to_owned(), times)),
        }
    }

    fn close(&mut self) {
        let ratio = |(op, times): (&String, &Histogram)| {
            let (limit, quantile) = *self.limits.get(op)?;
            let enough = times.len() >= RAMP_SAMPLES && limit > 0.0;
            enough.then(|| times.value_at_quantile(quantile) as f64 / 1e3 / limit)
        };
        let worst = self.ops.iter().filter_map(ratio).fold(0.0, f64::max);
        if worst > 0.0 {
            let end = self.span.0 + (self.step + 1) as f64 * RAMP_STEP_S;
            self.found.push((end, worst));
        }
        self.ops.clear();
    }

    fn finish(mut self, unit: UnitRecord, rows: &[&IntervalRow]) -> Vec<RampPoint> {
        self.close();
        let level = |row: &&IntervalRow| match unit {
            UnitRecord::Users | UnitRecord::Percent => row.users,
            UnitRecord::StartsPerSecond => (row.starts as f64 / row.seconds()).round() as u32,
        };
        let level_at = |at_s: f64| {
            let index = rows.partition_point(|r| r.to_s < at_s).min(rows.len().saturating_sub(1));
            rows.get(index).map_or(0, level)
        };
        self.found.iter().map(|(at, ratio)| RampPoint { level: level_at(*at), ratio: *ratio }).collect()
    }
}
