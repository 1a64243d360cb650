//! Actions of the plan and their impact on users, beside the calm part of the same window.

use barograph_record::{ActionRecord, Impact, Run, WindowSpan, WindowSpanOp};

use crate::html::Grid;
use crate::words;

/// Most rows about what users saw.
const MOST_ROWS: usize = 100;

/// How many times as long as before the slowest operation of a load among several must take. Among many loads and
/// actions a little longer is mere chance.
const CLEARLY: f64 = 2.0;

/// The section of the report.
pub(crate) struct Actions {
    pub(crate) table: Grid,
    /// Operations by action; absent if no action began in a measured window.
    pub(crate) seen: Option<Grid>,
}

/// `None` for a plan without actions.
pub(crate) fn actions(run: &Run) -> Option<Actions> {
    let rows: Vec<Vec<String>> = run.actions().map(|action| row(run, action)).collect();
    let head = ["Action", "Part", "At (load)", "Took", "Pause", "Pause inside", "Back after", "Outcome"];
    let table = (!rows.is_empty()).then(|| Grid::new(&head, rows).with_words(&["Part", "Outcome"]))?;
    let impacts = impacts(run);
    let mut rows: Vec<Vec<String>> = run.actions().flat_map(|action| seen(&of(&impacts, action))).collect();
    if rows.len() > MOST_ROWS {
        let more = format!("and {} more rows", rows.len() - MOST_ROWS);
        rows.truncate(MOST_ROWS);
        rows.push(std::iter::once(more).chain((1..6).map(|_| String::new())).collect());
    }
    let of = if run.loads.is_empty() { "Operation" } else { "Load" };
    let head = ["Action", of, "Before", "During it", "Until as before", "As before after"];
    let words = &["Operation", "Load", "Before", "During it", "Until as before"];
    let seen = (!rows.is_empty()).then(|| Grid::new(&head, rows).with_words(words));
    Some(Actions { table, seen })
}

/// An impact of an action, with the name of the load; the name is empty in a run of one load.
type LoadImpact<'r> = (&'r str, Impact<'r>);

/// The impacts of all actions on every load.
fn impacts(run: &Run) -> Vec<LoadImpact<'_>> {
    let mut all = Vec::new();
    for load in run.each_load() {
        let name = load.load.as_deref().filter(|_| !run.loads.is_empty()).unwrap_or_default();
        all.extend(load.impacts().into_iter().map(|impact| (name, impact)));
    }
    all
}

/// The impacts of one action.
fn of<'i, 'r>(all: &'i [LoadImpact<'r>], action: &ActionRecord) -> Vec<&'i LoadImpact<'r>> {
    all.iter().filter(|(_, impact)| impact.action == action).collect()
}

fn row(run: &Run, action: &ActionRecord) -> Vec<String> {
    let maybe = |seconds: Option<f64>| seconds.map_or_else(|| words::NONE.to_owned(), length);
    vec![
        action.act.clone(),
        part(action).to_owned(),
        words::clock(action.at_s),
        length(action.took_s),
        maybe(action.pause_s),
        inside(action).unwrap_or_else(|| words::NONE.to_owned()),
        maybe(run.back_after_s(action)),
        result(action),
    ]
}

/// The result of an action, with its limit if it has one.
fn result(action: &ActionRecord) -> String {
    let result = action.failed.clone().unwrap_or_else(|| "done".to_owned());
    match action.limit_s {
        Some(limit_s) if action.is_over_limit() => {
            format!("{result}, above its limit of {}", length(limit_s))
        }
        Some(limit_s) => format!("{result}, within {}", length(limit_s)),
        None => result,
    }
}

/// `310 ms ± 2.00 ms`: the pause by the guest's clock.
fn inside(action: &ActionRecord) -> Option<String> {
    let (pause_s, error_s) = action.pause_inside_s.zip(action.pause_inside_error_s)?;
    Some(format!("{} ± {}", length(pause_s), length(error_s)))
}

/// A length of time in milliseconds or seconds: many actions take milliseconds.
fn length(seconds: f64) -> String {
    if seconds < 10.0 { words::time(seconds * 1e3) } else { words::duration(seconds) }
}

fn part(action: &ActionRecord) -> &str {
    if action.unit.is_empty() { "all" } else { &action.unit }
}

/// A row for each operation that failed or was slower than before, of several loads for each load, or one row that
/// states that there is none.
fn seen(impacts: &[&LoadImpact<'_>]) -> Vec<Vec<String>> {
    let row = |(_, impact): &LoadImpact<'_>, what: &str, cells: [String; 3]| {
        let title = format!("{} {}", impact.action.name, part(impact.action));
        let [before, during, after] = cells;
        vec![title, what.to_owned(), before, during, after, recovered(impact)]
    };
    let of_load = |of: &&LoadImpact<'_>| -> Vec<Vec<String>> {
        let (load, impact) = of;
        let stretches = [&impact.before, &impact.during, &impact.after];
        if load.is_empty() {
            let cells = |op: &str| stretches.map(|stretch| cell(stretch.as_ref(), op));
            hurt(impact).into_iter().map(|op| row(of, op, cells(op))).collect()
        } else {
            let cells = stretches.map(|stretch| Total::of(stretch.as_slice()).words());
            is_hurt(impact).then(|| row(of, load, cells)).into_iter().collect()
        }
    };
    let rows: Vec<Vec<String>> = impacts.iter().flat_map(of_load).collect();
    match impacts.first() {
        Some(first) if rows.is_empty() => {
            let none = if first.0.is_empty() {
                "none failed or was slower"
            } else {
                "none failed or was clearly slower"
            };
            vec![row(first, none, [(); 3].map(|()| words::NONE.to_owned()))]
        }
        _ => rows,
    }
}

/// All operations of a load in some stretches.
#[derive(Clone, Copy, Debug, Default)]
struct Total<'i> {
    count: u64,
    failed: u64,
    /// The slowest operation that is judged.
    slowest: Option<&'i WindowSpanOp>,
}

impl<'i> Total<'i> {
    fn of(stretches: &'i [WindowSpan]) -> Self {
        let ops = || stretches.iter().flat_map(|stretch| &stretch.ops);
        let judged = ops().filter(|op| op.judged);
        Total {
            count: ops().map(|op| op.count).sum(),
            failed: ops().map(|op| op.failed).sum(),
            slowest: judged.max_by(|a, b| a.max_ms.total_cmp(&b.max_ms)),
        }
    }

    fn failed_share(&self) -> f64 {
        self.failed as f64 / self.count.max(1) as f64
    }

    fn slowest_ms(&self) -> f64 {
        self.slowest.map_or(0.0, |op| op.max_ms)
    }

    /// `2 of 340 failed, slowest GET 40.0 ms`.
    fn words(&self) -> String {
        if self.count == 0 {
            return words::NONE.to_owned();
        }
        let slowest = self.slowest.map(|op| format!(", slowest {} {}", op.op, words::time(op.max_ms)));
        let (failed, count) = (words::count(self.failed), words::count(self.count));
        format!("{failed} of {count} failed{}", slowest.unwrap_or_default())
    }
}

/// Whether a load among several failed more often than before, or had an operation that was clearly slower.
fn is_hurt(impact: &Impact<'_>) -> bool {
    let before = Total::of(impact.before.as_slice());
    let later = [impact.during.as_slice(), impact.after.as_slice()].map(Total::of);
    later.iter().any(|total| {
        let slower = before.slowest.is_some() && total.slowest_ms() > CLEARLY * before.slowest_ms();
        total.failed_share() > before.failed_share() || slower
    })
}

/// The operations that failed more often or had a longer response time than before.
fn hurt<'i>(impact: &'i Impact<'_>) -> Vec<&'i str> {
    let (failed, slowest) =
        (|op: &WindowSpanOp| op.failed as f64 / op.count as f64, |op: &WindowSpanOp| op.max_ms);
    let before = impact.before.as_ref();
    let worse = |op: &&WindowSpanOp| match before.and_then(|before| before.op(&op.op)) {
        Some(before) => failed(op) > failed(before) || (op.judged && slowest(op) > slowest(before)),
        None => op.failed > 0,
    };
    let stretches = impact.during.iter().chain(&impact.after);
    let mut ops: Vec<&str> = Vec::new();
    for op in stretches.flat_map(|stretch| &stretch.ops).filter(worse) {
        if !ops.contains(&op.op.as_str()) {
            ops.push(&op.op);
        }
    }
    ops
}

/// `2 of 300 failed (0.183 to 2.40 %), p99 12.0 ms (9.00 ms to 14.0 ms), slowest 40.0 ms`: with 95 %
/// intervals, of a quantile where there are enough operations.
fn cell(stretch: Option<&WindowSpan>, op: &str) -> String {
    let Some(op) = stretch.and_then(|stretch| stretch.op(op)) else { return words::NONE.to_owned() };
    let between = |(low, high): (f64, f64)| format!(" ({} to {})", words::time(low), words::time(high));
    let quantile = op.quantile_ms.map(|ms| {
        let interval = op.quantile_interval_ms.map(between).unwrap_or_default();
        format!("{} {}{interval}, ", words::quantile(op.quantile), words::time(ms))
    });
    let (low, high) = op.failed_share();
    let share = match op.failed {
        0 => String::new(),
        _ => format!(" ({} to {} %)", words::figure(low * 100.0), words::figure(high * 100.0)),
    };
    let (failed, count) = (words::count(op.failed), words::count(op.count));
    let quantile = quantile.unwrap_or_default();
    format!("{failed} of {count} failed{share}, {quantile}slowest {}", words::time(op.max_ms))
}

fn recovered(impact: &Impact<'_>) -> String {
    match (impact.recovered_s, &impact.before) {
        (Some(seconds), _) if seconds <= 0.0 => "at once".to_owned(),
        (Some(seconds), _) => length(seconds),
        (None, Some(_)) => "not in this window".to_owned(),
        (None, None) => words::NONE.to_owned(),
    }
}

/// The actions in a terminal: one line each.
pub(crate) fn terminal(run: &Run) -> Vec<String> {
    let impacts = impacts(run);
    let line = |action: &ActionRecord| {
        let (at, took) = (words::clock(action.at_s), length(action.took_s));
        let mut text = format!("{at}  {}  {}, took {took}", part(action), action.act);
        match &action.failed {
            Some(why) => text.push_str(&format!(", not done: {why}")),
            None => {
                let inside = inside(action).map_or_else(String::new, |inside| format!(" (inside {inside})"));
                let pause = action.pause_s.map(|s| format!(", pause {}{inside}", length(s)));
                let back = run.back_after_s(action).map(|s| format!(", back after {}", length(s)));
                text.extend(pause.into_iter().chain(back));
            }
        }
        match &of(&impacts, action)[..] {
            [] => text,
            [(_, only)] => format!("{text}; {}", summary(only)),
            several => format!("{text}; {}", summaries(several)),
        }
    };
    run.actions().map(line).collect()
}

/// The loads of which operations failed or were clearly slower, each with what it saw.
fn summaries(impacts: &[&LoadImpact<'_>]) -> String {
    let hurt = impacts.iter().filter(|(_, impact)| is_hurt(impact));
    let each: Vec<String> = hurt.map(|(load, impact)| format!("{load}: {}", summary(impact))).collect();
    if each.is_empty() { "no load failed or was clearly slower".to_owned() } else { each.join("; ") }
}

/// Failures, the slowest operation and the time to recovery, in words.
fn summary(impact: &Impact<'_>) -> String {
    let ops = || impact.during.iter().chain(&impact.after).flat_map(|stretch| &stretch.ops);
    let (failed, count) = ops().fold((0, 0), |(failed, count), op| (failed + op.failed, count + op.count));
    let slowest = ops().filter(|op| op.judged).max_by(|a, b| a.max_ms.total_cmp(&b.max_ms));
    let slowest = slowest.map_or_else(String::new, |op| {
        let before = impact.before.as_ref().and_then(|before| before.op(&op.op));
        let before = before.map_or_else(String::new, |op| format!(" (before {})", words::time(op.max_ms)));
        format!(", slowest {} {}{before}", op.op, words::time(op.max_ms))
    });
    let (failed, count) = (words::count(failed), words::count(count));
    format!("{failed} of {count} operations failed{slowest}, as before after: {}", recovered(impact))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(from_s: f64, op: (&str, u64, u64, f64, f64)) -> Option<WindowSpan> {
        let (op, count, failed, quantile_ms, max_ms) = op;
        let quantile_ms = Some(quantile_ms);
        let op = WindowSpanOp {
            op: op.to_owned(),
            count,
            failed,
            quantile: 0.99,
            quantile_ms,
            quantile_interval_ms: (count >= 900).then_some((quantile_ms? - 0.5, quantile_ms? + 1.5)),
            max_ms,
            judged: op != "Poll",
        };
        Some(WindowSpan { from_s, to_s: from_s + 1.0, ops: vec![op] })
    }

    #[test]
    fn what_users_saw_is_told_in_a_row_and_in_a_sentence() {
        let action =
            ActionRecord { name: "restart".into(), unit: "store-1".into(), ..ActionRecord::default() };
        let mut impact = Impact {
            action: &action,
            before: stretch(0.0, ("GET", 1_000, 0, 2.0, 5.0)),
            during: stretch(1.0, ("GET", 40, 2, 250.0, 300.0)),
            after: stretch(2.0, ("GET", 90, 1, 20.0, 40.0)),
            recovered_s: Some(1.5),
        };
        let row = [
            "restart store-1",
            "GET",
            "0 of 1,000 failed, p99 2.00 ms (1.50 ms to 3.50 ms), slowest 5.00 ms",
            "2 of 40 failed (1.38 to 16.5 %), p99 250 ms, slowest 300 ms",
            "1 of 90 failed (0.196 to 6.03 %), p99 20.0 ms, slowest 40.0 ms",
            "1.50 s",
        ];
        assert_eq!(seen(&[&("", impact.clone())]), [row]);
        let of_victim = ("victim", impact.clone());
        let of_load = [
            "restart store-1",
            "victim",
            "0 of 1,000 failed, slowest GET 5.00 ms",
            "2 of 40 failed, slowest GET 300 ms",
            "1 of 90 failed, slowest GET 40.0 ms",
            "1.50 s",
        ];
        assert_eq!(seen(&[&of_victim]), [of_load]);
        assert!(summaries(&[&of_victim]).starts_with("victim: 3 of 130 operations failed"));
        assert_eq!(
            summary(&impact),
            "3 of 130 operations failed, slowest GET 300 ms (before 5.00 ms), as before after: 1.50 s"
        );
        let polls = |max_ms: f64| stretch(0.0, ("Poll", 900, 0, max_ms, max_ms));
        let patient = Impact { before: polls(7.0), during: polls(30_000.0), after: None, ..impact.clone() };
        assert_eq!(seen(&[&("", patient.clone())])[0][1], "none failed or was slower", "it waits for others");
        assert!(
            summary(&patient).starts_with("0 of 900 operations failed, as before"),
            "{}",
            summary(&patient)
        );
        impact.recovered_s = None;
        assert!(summary(&impact).ends_with("as before after: not in this window"));
        (impact.during, impact.after) = (stretch(1.0, ("GET", 900, 0, 2.0, 5.0)), None);
        let unhurt = ("", impact);
        assert_eq!(seen(&[&unhurt])[0][1], "none failed or was slower");
        assert_eq!(seen(&[&unhurt, &of_victim]).len(), 1, "only what was hurt");
        assert_eq!(summaries(&[&unhurt]), "no load failed or was clearly slower");
        let [slightly, clearly] = [9.9, 10.1].map(|max_ms| {
            let during = stretch(1.0, ("GET", 900, 0, 2.0, max_ms));
            ("victim", Impact { during, ..unhurt.1.clone() })
        });
        let named = |impact: &LoadImpact<'_>| seen(&[impact])[0][1].clone();
        assert_eq!(
            (named(&slightly).as_str(), named(&clearly).as_str()),
            ("none failed or was clearly slower", "victim")
        );
    }
}
