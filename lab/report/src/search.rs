//! Certainty of a search as a table: its interval, confirmation and contradictions.

use barograph_record::{EstimateRecord, Run, SearchSummary};

use crate::html::Grid;
use crate::words;

/// The table; `None` without a search, or with a method that states no certainty.
pub(crate) fn certainty(run: &Run) -> Option<Grid> {
    let search = run.verdict()?.search.as_ref()?;
    let estimate = search.estimate.as_deref()?;
    let unit = run.unit().name();
    let mut rows = vec![
        row("Method", search.method.clone().unwrap_or_default()),
        row("Capacity, median", format!("{} {unit}", words::fixed(estimate.capacity, 0))),
        row("95 % interval", interval(run, estimate)),
        row("Safe level, its lower end", format!("{} {unit}", words::count(estimate.safe.into()))),
        row("Probability that it is above what was allowed", words::percent(estimate.beyond)),
        row("Width of the edge", words::percent(estimate.softness)),
        row("Trials that fail for no reason", words::percent(estimate.spurious)),
        row("Trials", trials(search, estimate)),
    ];
    rows.extend(search.seconds.map(|s| row("Load until the answer", words::duration(s))));
    rows.push(row("Confirmed", confirmed(estimate)));
    rows.extend(estimate.above.map(|a| {
        let says = format!(
            "at {} {unit}, {} of {} valid trials failed: it passes with less than {}",
            words::count(a.level.into()),
            a.failed,
            a.trials,
            words::percent(a.below)
        );
        row("Above the edge", says)
    }));
    rows.extend(estimate.cross_check.map(|c| {
        let agrees = if c.disagrees { "disagrees" } else { "agrees" };
        let (at, low, high) = (words::fixed(c.capacity, 0), words::fixed(c.low, 0), words::fixed(c.high, 0));
        row(
            "By response times alone",
            format!(
                "{at}, 95 % interval {low} to {high}, {}: {agrees}",
                words::counted(c.trials.into(), "trial")
            ),
        )
    }));
    rows.extend(estimate.repeats.map(|r| {
        let says = if r.drifted { "the target changed" } else { "no change shown" };
        let expected = words::fixed(r.expected, 1);
        row(
            "Trials that should have passed",
            format!("{} of {} passed, expected {expected}: {says}", r.passed, r.trials),
        )
    }));
    Some(Grid::new(&["What", "Found"], rows).with_words(&["Found"]))
}

/// The interval; may be open above.
fn interval(run: &Run, estimate: &EstimateRecord) -> String {
    let low = words::fixed(estimate.low, 0);
    if run.believed_capacity().is_some_and(|believed| believed.high.is_infinite()) {
        return format!("at least {low}, with 97.5 % certainty");
    }
    format!("{low} to {}", words::fixed(estimate.high, 0))
}

fn row(name: &str, value: String) -> Vec<String> {
    vec![name.to_owned(), value]
}

fn trials(search: &SearchSummary, estimate: &EstimateRecord) -> String {
    format!(
        "{} valid, {} not valid; {} of them ended early",
        estimate.valid, estimate.invalid, search.aborted
    )
}

fn confirmed(estimate: &EstimateRecord) -> String {
    let Some(c) = estimate.confirmation else { return "no trial was left for it".to_owned() };
    format!(
        "at {}, {} of {} valid trials passed: it passes with at least {}, with 95 % confidence{}",
        words::count(c.level.into()),
        c.passed,
        c.trials,
        words::percent(c.at_least),
        if c.complete { "" } else { ", not enough to call it confirmed" }
    )
}
