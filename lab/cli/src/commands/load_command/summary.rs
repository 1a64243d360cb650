//! Figures of a finished load command, from its record, as JSON and as a table.

mod figures;
mod traffic;

use barograph_model::Level;
use barograph_record::{IntervalRow, MeasureRecord, Run, Trial, Verdict};
use barograph_workload::{FailureReason, Noun};
use serde::Serialize;

use crate::words::{NONE, bytes, count, figure, percent, time, wrapped};
use figures::{Figures, Operation, QUANTILES, Times, cell, times};
use traffic::Traffic;

/// Width at which sentences wrap, which suits most terminals.
const WIDTH: usize = 100;

/// Bytes of a mebibyte.
const MIB: f64 = 1_048_576.0;

/// Smallest number of users for a figure of memory per user; below it the fixed memory of a run dominates.
const USERS_FOR_A_SHARE: u32 = 1_000;

/// Indentation below the name of a row.
const BEGIN: &str = "                ";

/// Printed result. Its keys are a promise: they keep their meaning, and later versions may add others.
/// Figures are those of the deciding window; figures that were not measured are null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Target of the load.
    pub(crate) request: String,
    /// `users` or `starts/s`.
    pub(crate) unit: &'static str,
    /// The load asked for, in `unit`.
    #[serde(with = "barograph_record::level")]
    pub(crate) level: Level,
    /// Users active at the end of the window.
    pub(crate) users: u32,
    /// Length of the window.
    pub(crate) seconds: f64,
    /// Number of operations asked for; null for a load by time.
    #[serde(rename = "operations_asked")]
    pub(crate) asked: Option<u64>,
    /// Time from the first start to the last end of the operations asked for; null if not all of them ended.
    pub(crate) elapsed_s: Option<f64>,
    /// Whether the time ended before the operations asked for did.
    pub(crate) ended_by_time: bool,
    /// Figures of all operations together.
    #[serde(flatten)]
    pub(crate) whole: Figures,
    /// Operations that ended well and within the limit.
    pub(crate) goodput_per_s: f64,
    /// Operations started per second.
    pub(crate) achieved_rate: f64,
    /// Figures of each operation.
    pub(crate) operations: Vec<Operation>,
    /// Measures of the workload.
    pub(crate) measures: Vec<Measure>,
    /// Comparisons of the operations with the first of them; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) comparisons: Vec<serde_json::Value>,
    /// Failures with their first few reasons, over the whole load including warm-up.
    pub(crate) failures: Vec<FailureReason>,
    /// Arrivals that waited for a free user.
    pub(crate) late: u64,
    /// Arrivals that never started.
    pub(crate) dropped: u64,
    /// Beats left out.
    pub(crate) skipped: u64,
    pub(crate) lag_p50_ms: f64,
    pub(crate) lag_p99_ms: f64,
    /// CPU time of this process per request, user and system, in microseconds.
    pub(crate) cpu_us_per_request: Option<f64>,
    /// Cores used by this process.
    pub(crate) driver_cores: Option<f64>,
    /// Memory of this process at the end of the window.
    pub(crate) rss_mib: Option<f64>,
    /// Memory added per user.
    pub(crate) bytes_per_user: Option<f64>,
    /// Connections open at the end of the window.
    pub(crate) connections: Option<u64>,
    /// Bytes and connections of the window.
    pub(crate) traffic: Option<Traffic>,
    /// Whether every rule held.
    pub(crate) passed: bool,
    /// Whether the measurement is valid.
    pub(crate) valid: bool,
    /// The answer in a sentence.
    pub(crate) verdict: String,
    /// Reasons why it did not pass or is not valid.
    pub(crate) reasons: Vec<String>,
    /// Result of a search; absent for other loads.
    pub(crate) search: Option<SearchResult>,
    /// Whether the level changed during the window, so that the figures cover more than one load.
    pub(crate) level_changed: bool,
    /// Whether a signal ended the run, so that the window may be shorter than asked for.
    pub(crate) interrupted: bool,
    /// Pause of a user after a failure, if users otherwise continue at once.
    pub(crate) failure_pause_s: Option<f64>,
}

/// A measure of the workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Measure {
    /// Name in study files and tables.
    pub(crate) measure: String,
    /// Name in sentences.
    pub(crate) title: String,
    pub(crate) unit: String,
    /// The value; null if it would be divided by zero.
    pub(crate) value: Option<f64>,
}

impl Measure {
    fn of(record: &MeasureRecord) -> Self {
        let MeasureRecord { id, title, unit, value, .. } = record.clone();
        Measure { measure: id, title, unit, value }
    }

    fn line(&self) -> String {
        let value = self.value.map_or_else(|| NONE.to_owned(), figure);
        format!("{}: {value} {}", self.title, self.unit)
    }
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SearchResult {
    /// Capacity: its median or, without an interval, the highest valid level that passed.
    pub(crate) highest: Option<u32>,
    pub(crate) lowest_fail: Option<u32>,
    pub(crate) bounded_by: String,
    pub(crate) trials: u32,
    pub(crate) confirmed: bool,
    /// 95 % interval of the capacity; the upper end is null if unknown.
    pub(crate) interval: Option<[Option<f64>; 2]>,
    /// Lower end of the interval, rounded down.
    pub(crate) safe: Option<u32>,
}

impl Summary {
    /// Builds the summary of a record; `None` if its run has no verdict or no window. `request` is the target
    /// of the load.
    pub(crate) fn of(run: &Run, request: &str, failures: Vec<FailureReason>) -> Option<Self> {
        // A search without a pass has no deciding trial; the last one is the most informative.
        let trial = run.deciding_trial().or_else(|| run.trials().last())?;
        let window = &trial.window;
        let middle = |row: &&IntervalRow| {
            let middle = f64::midpoint(row.from_s, row.to_s);
            window.from_s <= middle && middle < window.to_s
        };
        let rows: Vec<&IntervalRow> = run.intervals().filter(middle).collect();
        let changed =
            run.controls().any(|c| c.at_s < window.to_s && window.from_s < c.at_s + c.over_s.max(1e-9));
        let mut summary = Self::of_window(trial, (&rows, times(run, window)), run.verdict()?, request);
        summary.failures = failures;
        summary.traffic = Traffic::of(run, &rows);
        summary.level_changed = changed;
        (!window.ops.is_empty()).then_some(summary)
    }

    fn of_window(
        trial: &Trial,
        (rows, times): (&[&IntervalRow], (Times, Times)),
        verdict: &Verdict,
        request: &str,
    ) -> Self {
        let window = &trial.window;
        let operations = Operation::all(window, rows);
        let used = &trial.resources;
        Summary {
            request: request.to_owned(),
            unit: trial.unit.name(),
            level: trial.level,
            users: window.users,
            seconds: window.seconds(),
            asked: trial.operations,
            elapsed_s: trial.elapsed_s(),
            ended_by_time: trial.operations.is_some() && trial.elapsed_s().is_none(),
            whole: Figures::whole(window, &operations, times),
            goodput_per_s: window.goodput,
            achieved_rate: window.starts_s,
            operations,
            measures: window.measures.iter().map(Measure::of).collect(),
            comparisons: Vec::new(),
            failures: Vec::new(),
            late: window.late,
            dropped: window.dropped,
            skipped: window.skipped,
            lag_p50_ms: window.lag_p50_ms,
            lag_p99_ms: window.lag_p99_ms,
            cpu_us_per_request: used.driver_cpu_us_per_request,
            driver_cores: used.driver_cores,
            rss_mib: used.driver_rss_bytes.map(|b| b as f64 / MIB),
            bytes_per_user: used.driver_bytes_per_user,
            connections: used.driver_connections,
            traffic: None,
            passed: verdict.passed,
            valid: verdict.valid,
            verdict: verdict.sentence.clone(),
            reasons: verdict.reasons.clone(),
            search: verdict.search.as_ref().map(|search| SearchResult {
                highest: verdict.capacity,
                lowest_fail: search.lowest_fail,
                bounded_by: search.bounded_by.to_string(),
                trials: search.trials,
                confirmed: search.confirmed,
                interval: search
                    .estimate
                    .as_deref()
                    .map(|estimate| [Some(estimate.low), Some(estimate.high).filter(|_| !search.is_open())]),
                safe: search.estimate.as_deref().map(|estimate| estimate.safe),
            }),
            level_changed: false,
            interrupted: false,
            failure_pause_s: None,
        }
    }

    /// Formats for a pull request: the table in a code block, which keeps its columns, and the answer below
    /// it.
    pub(crate) fn markdown(&self, noun: Noun) -> String {
        format!("```text\n{}\n```", self.text(noun).replace("```", "'''"))
    }

    /// Formats as a table. `noun` is the name of a request.
    pub(crate) fn text(&self, noun: Noun) -> String {
        let times = if self.shown().count() > 1 { self.operations_table() } else { self.times_table() };
        let mut text = format!("{}\n\n{times}\n", self.request);
        for (name, figures) in [
            (noun.several, self.requests_line()),
            ("failed", self.failed_line()),
            ("load", self.load_line()),
            ("traffic", self.traffic.map(|traffic| traffic.line()).unwrap_or_default()),
            ("driver", self.driver_line(noun.one)),
        ]
        .into_iter()
        .filter(|(_, figures)| !figures.is_empty())
        {
            text.push_str(&format!("{name:<16}{}\n", figures.join("   ")));
        }
        for (row, measure) in self.measures.iter().enumerate() {
            let name = if row == 0 { "measures" } else { "" };
            text.push_str(&format!("{name:<16}{}\n", measure.line()));
        }
        for (row, failures) in self.failures.iter().enumerate() {
            let name = if row == 0 { "reasons" } else { "" };
            let line = wrapped(&failures.to_string(), WIDTH - BEGIN.len(), BEGIN);
            text.push_str(&format!("{name:<16}{line}\n"));
        }
        let outside = self.failures.iter().map(|of| of.count).sum::<u64>().saturating_sub(self.whole.errors);
        if outside > 0 {
            text.push_str(&format!("{BEGIN}{} of these were outside of this window\n", count(outside)));
        }
        if let Some(pause) = self.failure_pause_s.filter(|pause| *pause > 0.0 && self.whole.errors > 0) {
            let pause = time(pause * 1e3);
            text.push_str(&format!("{BEGIN}users paused for {pause} after each (--failure-pause)\n"));
        }
        let passed = if self.passed { "passed" } else { "not passed" };
        let valid = if self.valid { "valid" } else { "not valid: the figures above cannot be believed" };
        text.push_str(&format!("{:<16}{passed}, {valid}\n", "verdict"));
        if self.ended_by_time {
            let asked = count(self.asked.unwrap_or_default());
            text.push_str(&format!("{:<16}the time was up before {asked} {} had ended\n", "", noun.several));
        }
        if self.interrupted {
            text.push_str(&format!("{:<16}interrupted after {} s of this\n", "", figure(self.seconds)));
        }
        if self.level_changed {
            text.push_str(&format!("{:<16}the load was changed by hand while this was measured\n", ""));
        }
        text.push_str(&format!("\n{}", wrapped(&self.verdict, WIDTH, "")));
        for reason in &self.reasons {
            text.push_str(&format!("\n  {}", wrapped(reason, WIDTH - 2, "    ")));
        }
        text
    }

    /// Response and service time of the only operation.
    fn times_table(&self) -> String {
        let mut table = format!("{:<16}{}\n", "", QUANTILES.map(cell).concat());
        for (name, times) in [("response time", &self.whole.response), ("service time", &self.whole.service)]
        {
            table.push_str(&format!("{name:<16}{}\n", times.cells()));
        }
        table
    }

    /// Operations of the tables, as in the report: those that are judged or that ended.
    fn shown(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.is_judged || operation.count > 0)
    }

    /// Response time of each operation, and of all together.
    fn operations_table(&self) -> String {
        let row = |name: &str, count_per_s: f64, figures: &Figures| {
            let counts = [figure(count_per_s), count(figures.errors)].map(|text| cell(&text)).concat();
            format!("{name:<16}{counts}{}\n", figures.response.cells())
        };
        let head = ["per second", "failed"].map(cell).concat();
        let mut table = format!("{:<16}{head}{}\n", "response time", QUANTILES.map(cell).concat());
        for operation in self.shown() {
            table.push_str(&row(&operation.operation, operation.count_per_s, &operation.figures));
        }
        let together = self.operations.iter().map(|operation| operation.count_per_s).sum();
        table + &row("together", together, &self.whole)
    }

    fn requests_line(&self) -> Vec<String> {
        vec![
            format!("{}/s", figure(self.whole.requests_per_s)),
            format!("{} in {} s", count(self.whole.requests), figure(self.seconds)),
            format!("good and in time {}/s", figure(self.goodput_per_s)),
        ]
    }

    fn failed_line(&self) -> Vec<String> {
        let whole = &self.whole;
        let mut parts = vec![format!("{} ({})", count(whole.errors), percent(whole.error_share))];
        let kinds = whole
            .outcomes
            .iter()
            .filter(|(name, n)| !matches!(name.as_str(), "good" | "cancelled") && **n > 0);
        parts.extend(kinds.map(|(name, n)| format!("{name} {}", count(*n))));
        parts
    }

    fn load_line(&self) -> Vec<String> {
        let mut parts = vec![match self.unit {
            "users" => barograph_model::words::users(self.level.whole()),
            unit => format!("{} {unit}", self.level),
        }];
        if self.unit == "users" {
            if self.skipped > 0 {
                parts.push(format!("beats skipped {}", count(self.skipped)));
            }
        } else {
            parts.push(format!("started {}/s", figure(self.achieved_rate)));
            parts.push(format!("late {}", count(self.late)));
            parts.push(format!("dropped {}", count(self.dropped)));
        }
        // Users who continue at once have no start lag.
        let lag = if self.lag_p99_ms > 0.0 { time(self.lag_p99_ms) } else { NONE.to_owned() };
        parts.push(format!("start lag p99 {lag}"));
        parts
    }

    fn driver_line(&self, request: &str) -> Vec<String> {
        let maybe = |x: Option<f64>, word: fn(f64) -> String| x.map_or_else(|| NONE.to_owned(), word);
        let mut parts = vec![
            format!("{} µs CPU per {request}", maybe(self.cpu_us_per_request, figure)),
            format!("{} cores", maybe(self.driver_cores, figure)),
            format!("{} memory", maybe(self.rss_mib.map(|m| m * MIB), bytes)),
        ];
        if self.users >= USERS_FOR_A_SHARE {
            parts.push(format!("{} per user", maybe(self.bytes_per_user.map(|b| b.max(0.0)), bytes)));
        }
        parts
    }
}

#[cfg(test)]
mod tests;
