//! The report in a terminal: the same answer and verdict table in at most 110 columns.

use barograph_record::{ExpectedFigures, OpRecord, Run, WindowRecord};
use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

use crate::answer::answer;
use crate::operations::{
    RuleLine, further_rules, has_mix, has_p90, judged, judged_head, measured, measures, quantile_name,
};
use crate::{actions, elasticity, loads, power, services, tiles, words};

/// Lines around the rows and below the names, none between.
pub(crate) const LINES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// A plain table in a terminal; columns with a head among `words` are left-aligned.
pub(crate) fn plain(grid: &crate::html::Grid, words: &[&str]) -> String {
    let mut table = Table::new();
    table.load_style(LINES);
    table.set_header(&grid.head);
    for row in &grid.rows {
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(i == 0), 1));
        if i > 0 && !words.contains(&grid.head[i].as_str()) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// The verdict table of a window, with a column for the quantile judged by a rule in `expected`, and further
/// rules below. Times in milliseconds; `!` marks a figure that breaks its rule. If no share of the mix is
/// required, the tail of the response times and the service time replace the mix.
#[must_use]
pub fn terminal_table(window: &WindowRecord, expected: Option<&ExpectedFigures>) -> String {
    let has_mix = has_mix(window);
    let mut table = Table::new();
    table.load_style(LINES);
    let quantile_head = judged_head(window, expected);
    let (before, after): (&[&str], &[&str]) = match has_mix {
        true => (&["operation", "count", "mix %", "required", "p50 ms"], &["max"]),
        false => (&["operation", "count", "p50 ms"], &["p99.9", "max", "service p99"]),
    };
    let p90 = has_p90(&quantile_head).then_some("p90");
    let head = before.iter().copied().chain(p90).chain([&*quantile_head]).chain(after.iter().copied());
    table.set_header(head.chain(["limit", "failed", "verdict"]));
    for op in window.ops.iter().filter(|op| op.judged || op.count > 0) {
        let verdict = match (op.judged, op.passed()) {
            (false, _) => "not judged".to_owned(),
            (true, true) if op.count == 0 => words::NO_OPERATIONS.to_owned(),
            (true, true) => "pass".to_owned(),
            (true, false) => "FAIL".to_owned(),
        };
        let mut row = vec![op.op.clone(), words::count(op.count)];
        let quantile = quantile_name(expected, &op.op);
        let quantile = (quantile.as_str(), quantile_head.as_str());
        row.extend(if has_mix { with_mix(op, quantile) } else { without_mix(op, quantile) });
        row.push(op.limit_ms.map_or_else(|| words::NONE.to_owned(), words::ms));
        row.push(mark(words::count(op.failed), op.failures_ok || !op.judged));
        row.push(verdict);
        table.add_row(row);
    }
    let last = table.column_count() - 1;
    for (i, column) in table.column_iter_mut().enumerate() {
        // The outer columns have no outer padding, so that eleven columns fit.
        column.set_padding((u16::from(i == 0), 1));
        if i > 0 && i < last {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    [table.trim_fmt()].into_iter().chain(below(window)).collect::<Vec<_>>().join("\n")
}

/// The further rules of a window and the measures of the workload, one per line.
fn below(window: &WindowRecord) -> Vec<String> {
    let line = |rule: RuleLine| {
        let verdict = match rule.holds {
            None => words::NO_OPERATIONS,
            Some(true) => "pass",
            Some(false) => "FAIL",
        };
        format!("  {verdict}  {}: {}, required {}", rule.name, rule.found, rule.required)
    };
    let measures = measures(window).into_iter().map(|(name, value)| format!("  {name}: {value}"));
    further_rules(window).into_iter().map(line).chain(measures).collect()
}

/// Share of the mix, required share, and the response times.
fn with_mix(op: &OpRecord, quantile: (&str, &str)) -> Vec<String> {
    let percent = |share: f64| words::fixed(share * 100.0, 2);
    let none = || words::NONE.to_owned();
    let mut row = vec![
        if op.judged { mark(percent(op.mix), op.mix_ok) } else { none() },
        match op.judged && op.mix_required > 0.0 {
            false => none(),
            // The figure has no room, and means little.
            true if op.mix_too_few() => words::TOO_FEW.to_owned(),
            true => format!("{}±{}", percent(op.mix_required), percent(op.mix_slack())),
        },
        words::ms(measured(op, op.p50_ms)),
    ];
    row.extend(has_p90(quantile.1).then(|| words::ms(measured(op, op.p90_ms))));
    row.extend([
        mark(judged(op, quantile, words::ms), op.time_ok || !op.judged),
        words::ms(measured(op, op.max_ms)),
    ]);
    row
}

/// The response times up to their tail, and the service time.
fn without_mix(op: &OpRecord, quantile: (&str, &str)) -> Vec<String> {
    let mut row = vec![words::ms_fine(measured(op, op.p50_ms))];
    row.extend(has_p90(quantile.1).then(|| words::ms_fine(measured(op, op.p90_ms))));
    row.push(mark(judged(op, quantile, words::ms_fine), op.time_ok || !op.judged));
    row.extend([op.p999_ms, op.max_ms, op.service_p99_ms].map(|time| words::ms_fine(measured(op, time))));
    row
}

/// The figure, marked if its rule does not hold.
fn mark(figure: String, holds: bool) -> String {
    if holds { figure } else { format!("!{figure}") }
}

/// The answer, the verdict table of the deciding window and the faults, as a complete text.
#[must_use]
pub fn terminal_summary(run: &Run) -> String {
    let top = answer(run);
    let mut parts = Vec::new();
    for (name, load) in run.load_names().iter().zip(&run.loads) {
        let Some(trial) = load.deciding_trial() else {
            parts.push(format!("{name}: not measured"));
            continue;
        };
        let sentence = load.verdict().map_or_else(String::new, |verdict| verdict.sentence.clone());
        parts.push(format!("{name}: {sentence}\n{}", terminal_table(&trial.window, load.expected())));
    }
    if let Some(trial) = run.deciding_trial() {
        parts.push(terminal_table(&trial.window, run.expected()));
        let broken = trial.window.checks.iter().filter(|c| !c.ok);
        let lines: Vec<String> =
            broken.map(|c| format!("  ✕ {}: found {}, allowed {}", c.name, c.found, c.allowed)).collect();
        if !lines.is_empty() {
            parts.push(format!("Validity checks that do not hold:\n{}", lines.join("\n")));
        }
    }
    let listed = |title: &str, lines: &[String]| format!("{title}:\n  {}", lines.join("\n  "));
    if !top.gave_way.is_empty() {
        parts.push(listed(&top.gave_way_title, &top.gave_way));
    }
    if let Some(headroom) = &top.headroom {
        parts.push(listed(&headroom.title, &headroom.points));
        if let Some(bounds) = &headroom.bounds {
            parts.push(format!("{}\n{}", listed("Bounds", &bounds.points), plain(&bounds.table, &[])));
        }
    }
    if !top.reasons.is_empty() {
        parts.push(listed("Reasons", &top.reasons));
    }
    if !top.warnings.is_empty() {
        parts.push(listed("Take note", &top.warnings));
    }
    if let Some(copies) = loads::copies(run) {
        parts.push(plain(&copies, &[]));
    }
    if let Some((title, lines)) = tiles::terminal(run) {
        parts.push(listed(title, &lines));
    }
    let actions = actions::terminal(run);
    if !actions.is_empty() {
        parts.push(listed("Actions", &actions));
    }
    let elastic = elasticity::terminal(run);
    if !elastic.is_empty() {
        parts.push(listed("Elasticity, with the range of the demand curve's intervals", &elastic));
    }
    let services = services::terminal(run);
    if !services.is_empty() {
        parts.push(listed("What the services did, medians of that window", &services));
    }
    if let Some(power) = power::section(run) {
        parts.push(format!("Power: {}", power.lede));
    }
    let tiles: Vec<String> =
        top.tiles.iter().map(|t| format!("{}: {} {}", t.label, t.value, t.unit)).collect();
    // Three per line: seven figures on one would be wider than the table.
    parts.push(tiles.chunks(3).map(|c| c.join("   ")).collect::<Vec<_>>().join("\n"));
    let badges: Vec<String> = top.badges.iter().map(|b| format!("{} {}", b.mark, b.text)).collect();
    parts.push(format!("{}\n{}", top.sentence, badges.join("   ")));
    parts.join("\n\n")
}
