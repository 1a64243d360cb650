//! Actions of the plan and their impact on users, beside the calm part of the same window.

use barograph_record::{ActionRecord, Impact, Run, WindowSpan, WindowSpanOp};

use crate::html::Grid;
use crate::words;

/// The section of the report.
pub(crate) struct Actions {
    pub(crate) table: Grid,
    /// Operations by action; absent if no action began in a measured window.
    pub(crate) seen: Option<Grid>,
}

/// `None` for a plan without actions.
pub(crate) fn actions(run: &Run) -> Option<Actions> {
    let rows: Vec<Vec<String>> = run.actions().map(|action| row(run, action)).collect();
    let head = ["Action", "Part", "At (load)", "Took", "Pause", "Back after", "Outcome"];
    let table = (!rows.is_empty()).then(|| Grid::new(&head, rows).with_words(&["Part", "Outcome"]))?;
    let rows: Vec<Vec<String>> = run.impacts().iter().flat_map(seen).collect();
    let head = ["Action", "Operation", "Before", "During it", "Until as before", "As before after"];
    let words = &["Operation", "Before", "During it", "Until as before"];
    let seen = (!rows.is_empty()).then(|| Grid::new(&head, rows).with_words(words));
    Some(Actions { table, seen })
}

fn row(run: &Run, action: &ActionRecord) -> Vec<String> {
    let maybe = |seconds: Option<f64>| seconds.map_or_else(|| words::NONE.to_owned(), length);
    vec![
        action.act.clone(),
        part(action).to_owned(),
        words::clock(action.at_s),
        length(action.took_s),
        maybe(action.pause_s),
        maybe(run.back_after_s(action)),
        action.failed.clone().unwrap_or_else(|| "done".to_owned()),
    ]
}

/// A length of time in milliseconds or seconds: many actions take milliseconds.
fn length(seconds: f64) -> String {
    if seconds < 10.0 { words::time(seconds * 1e3) } else { words::duration(seconds) }
}

fn part(action: &ActionRecord) -> &str {
    if action.unit.is_empty() { "all" } else { &action.unit }
}

/// A row for each operation that failed or was slower than before, or one row that states that there is none.
fn seen(impact: &Impact<'_>) -> Vec<Vec<String>> {
    let title = format!("{} {}", impact.action.name, part(impact.action));
    let recovered = recovered(impact);
    let row = |op: &str, cells: [String; 3]| {
        let [before, during, after] = cells;
        vec![title.clone(), op.to_owned(), before, during, after, recovered.clone()]
    };
    let hurt = hurt(impact);
    if hurt.is_empty() {
        return vec![row("none failed or was slower", [(); 3].map(|()| words::NONE.to_owned()))];
    }
    let cells =
        |op: &str| [&impact.before, &impact.during, &impact.after].map(|stretch| cell(stretch.as_ref(), op));
    hurt.into_iter().map(|op| row(op, cells(op))).collect()
}

/// The operations that failed more often or had a longer response time than before.
fn hurt<'i>(impact: &'i Impact<'_>) -> Vec<&'i str> {
    let (failed, slowest) =
        (|op: &WindowSpanOp| op.failed as f64 / op.count as f64, |op: &WindowSpanOp| op.max_ms);
    let before = impact.before.as_ref();
    let worse = |op: &&WindowSpanOp| match before.and_then(|before| before.op(&op.op)) {
        Some(before) => failed(op) > failed(before) || slowest(op) > slowest(before),
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

/// `2 of 300 failed, p99 12 ms, slowest 40 ms`.
fn cell(stretch: Option<&WindowSpan>, op: &str) -> String {
    let Some(op) = stretch.and_then(|stretch| stretch.op(op)) else { return words::NONE.to_owned() };
    let quantile = op
        .quantile_ms
        .map_or_else(String::new, |ms| format!("{} {}, ", words::quantile(op.quantile), words::time(ms)));
    let (failed, count) = (words::count(op.failed), words::count(op.count));
    format!("{failed} of {count} failed, {quantile}slowest {}", words::time(op.max_ms))
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
    let impacts = run.impacts();
    let line = |action: &ActionRecord| {
        let (at, took) = (words::clock(action.at_s), length(action.took_s));
        let mut text = format!("{at}  {}  {}, took {took}", part(action), action.act);
        match &action.failed {
            Some(why) => text.push_str(&format!(", not done: {why}")),
            None => {
                let pause = action.pause_s.map(|s| format!(", pause {}", length(s)));
                let back = run.back_after_s(action).map(|s| format!(", back after {}", length(s)));
                text.extend(pause.into_iter().chain(back));
            }
        }
        match impacts.iter().find(|impact| std::ptr::eq(impact.action, action)) {
            Some(impact) => format!("{text}; {}", summary(impact)),
            None => text,
        }
    };
    run.actions().map(line).collect()
}

/// Failures, the slowest operation and the time to recovery, in words.
fn summary(impact: &Impact<'_>) -> String {
    let ops = || impact.during.iter().chain(&impact.after).flat_map(|stretch| &stretch.ops);
    let (failed, count) = ops().fold((0, 0), |(failed, count), op| (failed + op.failed, count + op.count));
    let slowest = ops().max_by(|a, b| a.max_ms.total_cmp(&b.max_ms));
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
        let op = WindowSpanOp { op: op.to_owned(), count, failed, quantile: 0.99, quantile_ms, max_ms };
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
            "0 of 1,000 failed, p99 2.00 ms, slowest 5.00 ms",
            "2 of 40 failed, p99 250 ms, slowest 300 ms",
            "1 of 90 failed, p99 20.0 ms, slowest 40.0 ms",
            "1.50 s",
        ];
        assert_eq!(seen(&impact), [row]);
        assert_eq!(
            summary(&impact),
            "3 of 130 operations failed, slowest GET 300 ms (before 5.00 ms), as before after: 1.50 s"
        );
        impact.recovered_s = None;
        assert!(summary(&impact).ends_with("as before after: not in this window"));
        (impact.during, impact.after) = (stretch(1.0, ("GET", 900, 0, 2.0, 5.0)), None);
        assert_eq!(seen(&impact)[0][1], "none failed or was slower");
    }
}
