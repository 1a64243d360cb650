//! Impact of actions on users: failures and response times until they are as before.

use std::collections::{BTreeMap, BTreeSet};

use barograph_stats::Histogram;
use barograph_stats::binomial::{quantile_ranks, share_interval};

use crate::{ActionRecord, IntervalRow, OpRow, Run, WindowRecord, tag};

/// Normal intervals in a row that end a disturbance: a single one may be normal by chance.
const AS_BEFORE: usize = 3;

/// Fewest operations in a normal interval, as a share of the smallest interval before: counts vary.
const ENOUGH: f64 = 0.5;

/// Quantile of operations without a rule.
const QUANTILE: f64 = 0.99;

/// An action in a measured window and its impact. Times are in seconds since the start of the load.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact<'r> {
    /// The action.
    pub action: &'r ActionRecord,
    /// The window before its first action; `None` if an action begins with the window.
    pub before: Option<WindowSpan>,
    /// Intervals during the action.
    pub during: Option<WindowSpan>,
    /// Intervals from its end until users see normal behaviour again, or until the window ends.
    pub after: Option<WindowSpan>,
    /// Seconds from the end of the action until normal behaviour, to an interval; absent if that is not
    /// reached in this window, or if nothing precedes the action.
    pub recovered_s: Option<f64>,
}

/// Some intervals of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpan {
    /// Start, seconds.
    pub from_s: f64,
    /// End, seconds.
    pub to_s: f64,
    /// Operations that ended in the stretch.
    pub ops: Vec<WindowSpanOp>,
}

/// One operation in some intervals of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpanOp {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended.
    pub count: u64,
    /// Failed operations among them.
    pub failed: u64,
    /// The judged quantile, 0 to 1.
    pub quantile: f64,
    /// Response time at this quantile, milliseconds; absent if the log of response times is incomplete.
    pub quantile_ms: Option<f64>,
    /// 95 % interval of the quantile, milliseconds; absent if there are too few operations for one.
    pub quantile_interval_ms: Option<(f64, f64)>,
    /// Largest response time, milliseconds.
    pub max_ms: f64,
    /// Whether its response time is judged. That of a long poll is not the target's.
    pub judged: bool,
}

impl WindowSpan {
    /// Returns the operation of this name.
    #[must_use]
    pub fn op(&self, name: &str) -> Option<&WindowSpanOp> {
        self.ops.iter().find(|op| op.op == name)
    }
}

impl WindowSpanOp {
    /// Returns the 95 % interval of the share of operations that failed.
    #[must_use]
    pub fn failed_share(&self) -> (f64, f64) {
        share_interval(self.failed, self.count)
    }
}

/// First and last second of a stretch.
type Span = (f64, f64);

/// Stretches of an action, and the seconds until normal behaviour.
struct Spans {
    stretches: [Option<Span>; 3],
    recovered_s: Option<f64>,
}

/// Worst values of any interval before the first action of a window.
struct WorstInterval {
    failed_s: f64,
    ended_s: f64,
    slowest_ms: f64,
}

impl WorstInterval {
    fn of(rows: &[&IntervalRow], unjudged: &BTreeSet<&str>) -> Self {
        let most = |of: &dyn Fn(&IntervalRow) -> f64| rows.iter().map(|row| of(row)).fold(0.0, f64::max);
        let ended_s = rows.iter().map(|row| ended_s(row)).fold(f64::INFINITY, f64::min);
        let slowest_ms = most(&|row| slowest_ms(row, unjudged));
        WorstInterval { failed_s: most(&failed_s), ended_s, slowest_ms }
    }

    fn holds(&self, row: &IntervalRow, unjudged: &BTreeSet<&str>) -> bool {
        failed_s(row) <= self.failed_s
            && ended_s(row) >= ENOUGH * self.ended_s
            && slowest_ms(row, unjudged) <= self.slowest_ms
    }
}

fn failed_s(row: &IntervalRow) -> f64 {
    row.ops.iter().map(|op| op.failed).sum::<u64>() as f64 / row.seconds()
}

fn ended_s(row: &IntervalRow) -> f64 {
    row.ops.iter().map(|op| op.count).sum::<u64>() as f64 / row.seconds()
}

fn slowest_ms(row: &IntervalRow, unjudged: &BTreeSet<&str>) -> f64 {
    let judged = row.ops.iter().filter(|op| !unjudged.contains(op.op.as_str()));
    judged.map(|op| op.max_ms).fold(0.0, f64::max)
}

impl Run {
    /// Returns the impact of each action that began in a measured window, in the order of time.
    #[must_use]
    pub fn impacts(&self) -> Vec<Impact<'_>> {
        let rows: Vec<&IntervalRow> = self.intervals().collect();
        let unjudged = self.unjudged();
        let windows = || self.trials().map(|trial| &trial.window);
        let window = |action: &ActionRecord| windows().find(|w| (w.from_s..w.to_s).contains(&action.at_s));
        let all = self
            .actions()
            .filter_map(|action| Some((action, self.spans(action, window(action)?, (&rows, &unjudged)))));
        let all: Vec<(&ActionRecord, Spans)> = all.collect();
        let mut stretches: Vec<Span> =
            all.iter().flat_map(|(_, spans)| spans.stretches.iter().flatten().copied()).collect();
        stretches.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        stretches.dedup();
        let times = self.times(&stretches);
        let stretch = |span: Span| {
            let at = stretches.iter().position(|known| *known == span)?;
            Some(self.stretch(span, &rows, times.as_ref().map(|times| &times[at])))
        };
        let impact = |(action, Spans { stretches: [before, during, after], recovered_s })| Impact {
            action,
            before: before.and_then(stretch),
            during: during.and_then(stretch),
            after: after.and_then(stretch),
            recovered_s,
        };
        all.into_iter().map(impact).collect()
    }

    /// Returns the seconds from an action that took a part away until another brought it back; `None` if none
    /// did.
    #[must_use]
    pub fn back_after_s(&self, action: &ActionRecord) -> Option<f64> {
        let undo = match action.name.as_str() {
            "kill" | "stop" => "start",
            "pause" => "resume",
            "partition" => "heal",
            _ => return None,
        };
        let undoes = |other: &&ActionRecord| {
            let done = other.failed.is_none() && other.at_s >= action.at_s;
            done && other.name == undo && (other.unit == action.unit || undo == "heal")
        };
        let back = self.actions().filter(|_| action.failed.is_none()).find(undoes)?;
        Some(back.at_s + back.took_s - action.at_s)
    }

    /// Operations whose response time is not judged.
    fn unjudged(&self) -> BTreeSet<&str> {
        let rules = self.expected().map_or(&[][..], |expected| &expected.rules);
        // Where no operation has a limit, the times of all count.
        let limited = rules.iter().any(|rule| rule.limit_ms.is_some());
        let unjudged = |rule: &&crate::entry::Rule| !rule.is_judged() || (limited && rule.limit_ms.is_none());
        rules.iter().filter(unjudged).map(|rule| rule.op.as_str()).collect()
    }

    fn spans(
        &self,
        action: &ActionRecord,
        window: &WindowRecord,
        (rows, unjudged): (&[&IntervalRow], &BTreeSet<&str>),
    ) -> Spans {
        let inside = rows.iter().filter(|row| window.holds(row.from_s, row.to_s)).copied();
        let ends_s = action.at_s + action.took_s;
        let of_window = self.actions().map(|other| other.at_s).filter(|at_s| *at_s >= window.from_s);
        let first_s = of_window.fold(f64::INFINITY, f64::min);
        let before: Vec<&IntervalRow> = inside.clone().filter(|row| row.to_s <= first_s).collect();
        let goes_on = |row: &IntervalRow| row.from_s <= action.at_s || row.from_s < ends_s;
        let (during, later): (Vec<&IntervalRow>, Vec<&IntervalRow>) =
            inside.filter(|row| row.to_s > action.at_s).partition(|row| goes_on(row));
        let worst = Some(WorstInterval::of(&before, unjudged)).filter(|_| !before.is_empty());
        let recovered = worst.and_then(|worst| {
            let as_before: Vec<bool> = later.iter().map(|row| worst.holds(row, unjudged)).collect();
            as_before.windows(AS_BEFORE).position(|some| some.iter().all(|held| *held))
        });
        let after = &later[..recovered.unwrap_or(later.len())];
        let recovered_s = recovered.map(|at| (later[at].from_s - ends_s).max(0.0));
        Spans { stretches: [span(&before), span(&during), span(after)], recovered_s }
    }

    /// Response times of each operation in each stretch; `None` if the log is incomplete.
    fn times(&self, stretches: &[Span]) -> Option<Vec<BTreeMap<String, Times>>> {
        let mut all = vec![BTreeMap::<String, Times>::new(); stretches.len()];
        if stretches.is_empty() {
            return Some(all);
        }
        for found in self.response_log().ok()?.histograms() {
            let found = found.ok()?;
            let middle = found.from_s + found.seconds / 2.0;
            let holds = |(from_s, to_s): &Span| (*from_s..*to_s).contains(&middle);
            for (times, _) in all.iter_mut().zip(stretches).filter(|(_, span)| holds(span)) {
                times.entry(found.op.clone()).or_default().add(&found.histogram);
            }
        }
        Some(all)
    }

    fn stretch(
        &self,
        (from_s, to_s): Span,
        rows: &[&IntervalRow],
        times: Option<&BTreeMap<String, Times>>,
    ) -> WindowSpan {
        let mut ops: Vec<WindowSpanOp> = Vec::new();
        let rules = self.expected().map_or(&[][..], |expected| &expected.rules);
        let unjudged = self.unjudged();
        for row in rows.iter().filter(|row| row.from_s >= from_s && row.to_s <= to_s).flat_map(|row| &row.ops)
        {
            match ops.iter_mut().find(|op| op.op == row.op) {
                Some(op) => op.add(row),
                None => {
                    let rule = rules.iter().find(|rule| rule.op == row.op);
                    let quantile = rule.map_or(QUANTILE, |rule| rule.quantile);
                    let mut op = WindowSpanOp {
                        op: row.op.clone(),
                        count: 0,
                        failed: 0,
                        quantile,
                        quantile_ms: None,
                        quantile_interval_ms: None,
                        max_ms: 0.0,
                        judged: !unjudged.contains(row.op.as_str()),
                    };
                    op.add(row);
                    ops.push(op);
                }
            }
        }
        ops.retain(|op| op.count > 0);
        for op in &mut ops {
            let Some(times) = times.and_then(|times| times.get(&tag(&op.op))) else { continue };
            op.quantile_ms = times.quantile_ms(op.quantile);
            op.quantile_interval_ms = times.interval_ms(op.quantile);
        }
        WindowSpan { from_s, to_s, ops }
    }
}

impl WindowSpanOp {
    fn add(&mut self, row: &OpRow) {
        self.count += row.count;
        self.failed += row.failed;
        self.max_ms = self.max_ms.max(row.max_ms);
    }
}

fn span(rows: &[&IntervalRow]) -> Option<Span> {
    Some((rows.first()?.from_s, rows.last()?.to_s))
}

/// Number of operations by response time in microseconds. In a few seconds, most bins of a histogram are
/// empty.
#[derive(Clone, Debug, Default)]
struct Times(BTreeMap<u64, u64>);

impl Times {
    fn add(&mut self, histogram: &Histogram) {
        for bucket in histogram.iter_recorded() {
            *self.0.entry(bucket.value_iterated_to()).or_default() += bucket.count_since_last_iteration();
        }
    }

    fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        self.at_rank_ms(((quantile * self.count() as f64).ceil() as u64).max(1))
    }

    /// The 95 % interval of a quantile.
    fn interval_ms(&self, quantile: f64) -> Option<(f64, f64)> {
        let (low, high) = quantile_ranks(self.count(), quantile)?;
        self.at_rank_ms(low).zip(self.at_rank_ms(high))
    }

    fn count(&self) -> u64 {
        self.0.values().sum()
    }

    fn at_rank_ms(&self, rank: u64) -> Option<f64> {
        let mut below = 0;
        let (micros, _) = self.0.iter().find(|(_, count)| {
            below += **count;
            below >= rank
        })?;
        Some(*micros as f64 / 1e3)
    }
}
