//! The plain tables of the report: trials, expected against measured, phases, fill, disclosure.

use barograph_record::{Fill, OpRecord, PhaseOutcome, Run, WindowRecord};

use crate::curve::{load_name, worst};
use crate::html::Grid;
use crate::operations::RuleLine;
use crate::{operations, words};

/// All trials.
pub(crate) fn trials(run: &Run) -> Grid {
    let rows = run.trials().map(|trial| {
        let w = &trial.window;
        let slowest = worst(trial).map_or_else(
            || words::NONE.to_owned(),
            |(op, share)| format!("{} ({})", op.op, words::percent(share)),
        );
        let mut why = broken_rules(w);
        if trial.aborted {
            why.push("ended early, as it could no longer pass".to_owned());
        }
        for (name, n) in [("late", w.late), ("dropped", w.dropped), ("skipped", w.skipped)] {
            if n > 0 {
                why.push(format!("{} {name}", words::count(n)));
            }
        }
        for check in w.checks.iter().filter(|c| !c.ok) {
            why.push(format!("{} {} (allowed {})", check.name, check.found, check.allowed));
        }
        vec![
            trial.n.to_string(),
            trial.purpose.name().to_owned(),
            trial.level.to_string(),
            format!("{} – {}", words::clock(w.from_s), words::clock(w.to_s)),
            words::figure(w.throughput),
            words::figure(w.goodput),
            words::figure(w.requests_s),
            slowest,
            trial.result.name().to_owned(),
            if why.is_empty() { words::NONE.to_owned() } else { why.join("; ") },
        ]
    });
    Grid::new(
        &[
            "Trial",
            "Purpose",
            load_name(run.unit()),
            "Window",
            "Good ops/s",
            "In time/s",
            "Requests/s",
            "Nearest to its limit",
            "Result",
            "Why, and what else",
        ],
        rows.collect(),
    )
    .with_words(&["Purpose", "Nearest to its limit", "Result", "Why, and what else"])
}

/// The rules of a window without a column in the table of operations; `None` if there are none.
pub(crate) fn further_rules(window: &WindowRecord) -> Option<Grid> {
    let row = |rule: RuleLine| {
        let verdict = match rule.holds {
            None => words::NO_OPERATIONS,
            Some(true) => "● pass",
            Some(false) => "✕ fail",
        };
        vec![rule.name, rule.found, rule.required, verdict.to_owned()]
    };
    let rows: Vec<Vec<String>> = operations::further_rules(window).into_iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        Grid::new(&["Rule", "Found", "Required", "Verdict"], rows).with_words(&["Required", "Verdict"])
    })
}

/// Measures of the workload; `None` if it has none.
pub(crate) fn measures(window: &WindowRecord) -> Option<Grid> {
    let rows: Vec<Vec<String>> =
        operations::measures(window).into_iter().map(|(name, value)| vec![name, value]).collect();
    (!rows.is_empty()).then(|| Grid::new(&["Measure", "Value"], rows))
}

/// Broken rules by kind, each with its first operations: `time: Home, Search and 3 more`.
fn broken_rules(window: &WindowRecord) -> Vec<String> {
    type Holds = fn(&OpRecord) -> bool;
    /// Most names per kind, for readability; the operations' own table has them all.
    const NAMED: usize = 3;
    let rules: [(&str, Holds); 3] =
        [("time", |op| op.time_ok), ("mix", |op| op.mix_ok), ("failures", |op| op.failures_ok)];
    let mut found = Vec::new();
    for (rule, ok) in rules {
        let names: Vec<&str> =
            window.ops.iter().filter(|op| op.judged && !ok(op)).map(|op| op.op.as_str()).collect();
        match names.len() {
            0 => {}
            n if n <= NAMED + 1 => found.push(format!("{rule}: {}", names.join(", "))),
            n => found.push(format!("{rule}: {} and {} more", names[..NAMED].join(", "), n - NAMED)),
        }
    }
    let further = operations::further_rules(window).into_iter().filter(|rule| rule.holds == Some(false));
    found.extend(further.map(|rule| rule.name));
    found
}

/// Figures derived from the profile beside those measured in `window`.
pub(crate) fn expected(run: &Run, window: &WindowRecord) -> Option<Grid> {
    let expected = run.expected()?;
    let d = expected.derived?;
    let seconds = window.seconds();
    let ops: u64 = window.ops.iter().map(|op| op.count).sum();
    let users = f64::from(window.users);
    let ops_s = ops as f64 / seconds;
    let sessions = expected.session_op.as_ref().and_then(|name| window.ops.iter().find(|op| op.op == *name));
    let session_s = sessions.filter(|op| op.count > 0).map(|op| users * seconds / op.count as f64);
    let row = |name: &str, derived: f64, measured: Option<f64>| {
        let difference = measured.map_or_else(|| words::NONE.to_owned(), |m| words::difference(m, derived));
        vec![name.to_owned(), words::figure(derived), words::maybe(measured), difference]
    };
    let rows = vec![
        row("Operations per user and second", d.ops_per_user_s, Some(ops_s / users)),
        row("Requests per operation", d.requests_per_op, Some(window.requests_s / ops_s)),
        row("Length of a session, seconds", d.session_s, session_s),
    ];
    Some(Grid::new(&["Figure", "Derived from the profile", "Measured", "Difference"], rows))
}

/// Validity checks of `window`.
pub(crate) fn checks(window: &WindowRecord) -> Grid {
    let rows = window.checks.iter().map(|c| {
        let holds = if c.ok { "✓ holds" } else { "✕ does not hold" };
        vec![c.name.clone(), c.found.clone(), c.allowed.clone(), holds.to_owned()]
    });
    Grid::new(&["Check", "Found", "Allowed", "Verdict"], rows.collect())
        .with_words(&["Found", "Allowed", "Verdict"])
}

/// The phases with their lengths.
pub(crate) fn phases(run: &Run) -> Grid {
    let rows = run.phases().into_iter().map(|p| {
        let outcome = match p.outcome {
            Some(PhaseOutcome::Done) => "done",
            Some(PhaseOutcome::Failed) => "failed",
            Some(PhaseOutcome::Interrupted) => "interrupted",
            None => "record ends here",
        };
        let length = p.to_s.map_or_else(|| words::NONE.to_owned(), |to| words::duration(to - p.from_s));
        vec![p.phase, words::clock(p.from_s), length, outcome.to_owned(), p.error.unwrap_or_default()]
    });
    Grid::new(&["Phase", "Began at", "Took", "Ended", ""], rows.collect()).with_words(&["Ended", ""])
}

/// The application's stores by tier; `None` if it did not report them.
pub(crate) fn tiers(run: &Run) -> Option<Grid> {
    let rows: Vec<Vec<String>> = run
        .tiers()
        .iter()
        .map(|tier| vec![tier.tier.clone(), tier.product.clone(), tier.durability.clone()])
        .collect();
    let table = |rows| Grid::new(&["Tier", "Product", "What survives what"], rows);
    (!rows.is_empty()).then(|| table(rows).with_words(&["Product", "What survives what"]))
}

/// The data under the load: facts, then rows and bytes by name.
pub(crate) fn fill(run: &Run) -> Option<(Vec<(String, String)>, Grid)> {
    let fill = run.fill()?;
    let rows = fill.rows.iter().map(|c| vec![c.name.clone(), words::count(c.count), words::NONE.to_owned()]);
    let bytes =
        fill.bytes.iter().map(|c| vec![c.name.clone(), words::NONE.to_owned(), words::bytes(c.count as f64)]);
    let table = Grid::new(&["Table or store", "Rows", "Size"], rows.chain(bytes).collect());
    Some((fill_facts(fill), table))
}

/// Facts of a fill; one through an address has no size, users or factors.
fn fill_facts(fill: &Fill) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if !fill.size.is_empty() {
        let admits = match fill.max_users {
            0 => String::new(),
            users => format!(", admits {} users", words::count(users.into())),
        };
        facts.push(("Size".to_owned(), format!("{}{admits}", fill.size)));
    }
    facts.push(("Rows".to_owned(), words::count(fill.rows.iter().map(|c| c.count).sum())));
    if !fill.bytes.is_empty() {
        facts.push(("Bytes".to_owned(), words::bytes(fill.bytes.iter().map(|c| c.count as f64).sum())));
    }
    for factor in &fill.factors {
        facts.push((format!("Factor of {}", factor.name), format!("{} of the published size", factor.value)));
    }
    let took = words::duration(fill.seconds);
    let how = match (fill.reused, fill.seconds > 0.0) {
        (true, true) => format!("reused; filling it took {took}"),
        (true, false) => "found filled".to_owned(),
        (false, _) => format!("filled in {took}"),
    };
    facts.push(("This run".to_owned(), how));
    if !fill.stamp.is_empty() {
        facts.push(("Stamp".to_owned(), fill.stamp.clone()));
    }
    facts
}

/// The disclosure, flat: one group per top-level key.
pub(crate) fn disclosure(run: &Run) -> Vec<(String, Vec<(String, String)>)> {
    let Some(serde_json::Value::Object(top)) = &run.disclosure else { return Vec::new() };
    let (mut plain, mut groups) = (Vec::new(), Vec::new());
    for (name, value) in by_name(top) {
        let mut rows = Vec::new();
        flatten(String::new(), value, &mut rows);
        match value {
            serde_json::Value::Object(_) | serde_json::Value::Array(_) => groups.push((name.clone(), rows)),
            _ => plain.extend(rows.into_iter().map(|(_, text)| (name.clone(), text))),
        }
    }
    if !plain.is_empty() {
        groups.insert(0, ("run".to_owned(), plain));
    }
    groups
}

/// The entries of an object by name: their order in memory depends on how serde_json was built.
fn by_name(
    map: &serde_json::Map<String, serde_json::Value>,
) -> std::collections::BTreeMap<&String, &serde_json::Value> {
    map.iter().collect()
}

/// Flattens a value into names and texts. serde_json reads at most 128 levels, so this always ends.
fn flatten(path: String, value: &serde_json::Value, rows: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} · {name}") };
    match value {
        serde_json::Value::Object(map) => {
            for (name, inner) in by_name(map) {
                flatten(below(name), inner, rows);
            }
        }
        serde_json::Value::Array(items) if items.iter().all(|i| !i.is_object() && !i.is_array()) => {
            rows.push((path, items.iter().map(plain).collect::<Vec<_>>().join(", ")));
        }
        serde_json::Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                match pair(item) {
                    // A list of pairs is already a table: its names stand for themselves.
                    Some((name, text)) => rows.push((below(name), text.to_owned())),
                    None => flatten(below(&(i + 1).to_string()), item, rows),
                }
            }
        }
        value => rows.push((path, plain(value))),
    }
}

/// A name and a text, the form of stored fact lists.
fn pair(item: &serde_json::Value) -> Option<(&str, &str)> {
    match item.as_array()?.as_slice() {
        [name, text] => Some((name.as_str()?, text.as_str()?)),
        _ => None,
    }
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => words::NONE.to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use barograph_record::{Count, Figure};

    use super::*;

    fn told(fill: &Fill) -> Vec<String> {
        fill_facts(fill).into_iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn what_does_not_apply_to_a_fill_is_left_out() {
        let keys = Fill { rows: vec![Count::new("keys", 1_000_000)], seconds: 2.5, ..Fill::default() };
        assert_eq!(told(&keys), ["Rows: 1,000,000", "This run: filled in 2.5 s"]);
        let found = Fill { reused: true, seconds: 0.0, ..keys };
        assert_eq!(told(&found), ["Rows: 1,000,000", "This run: found filled"]);
        let of_data = Fill {
            size: "nano".to_owned(),
            max_users: 60,
            factors: vec![Figure::new("history", 0.1)],
            bytes: vec![Count::new("stores", 2_000)],
            seconds: 38.0,
            stamp: "s".to_owned(),
            ..found
        };
        assert_eq!(
            told(&of_data),
            [
                "Size: nano, admits 60 users",
                "Rows: 1,000,000",
                "Bytes: 1.95 KiB",
                "Factor of history: 0.1 of the published size",
                "This run: reused; filling it took 38 s",
                "Stamp: s",
            ]
        );
    }
}
