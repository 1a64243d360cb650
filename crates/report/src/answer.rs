//! The answer: one sentence, two verdicts kept apart, what gave way first, and the key figures.

use barograph_record::{KeptResult, KeptWindow, ProbeRow, Run, Trial};

use crate::operations::{faults, quantile_name};
use crate::words;

/// Share of the host's cores from which its CPU counts as at its limit. Queueing makes response times bend
/// before the last core is full.
const CPU_AT_LIMIT: f64 = 0.90;

/// Share of CPU time taken by the hypervisor from which it is worth telling.
const STEAL_WORTH_TELLING: f64 = 0.05;

/// Pressure on memory or disks, percent of time some task waited, from which it is worth telling.
const PRESSURE_WORTH_TELLING: f64 = 10.0;

/// A verdict in a box.
pub(crate) struct Badge {
    /// `pass`, `fail` or `quiet`.
    pub(crate) class: &'static str,
    pub(crate) mark: &'static str,
    pub(crate) text: &'static str,
}

/// A key figure.
pub(crate) struct Tile {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) unit: &'static str,
}

/// Everything at the top of the page.
pub(crate) struct Answer {
    pub(crate) sentence: String,
    pub(crate) badges: Vec<Badge>,
    /// What the next section of the top is called, and its points.
    pub(crate) gave_way_title: String,
    pub(crate) gave_way: Vec<String>,
    pub(crate) reasons: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) tiles: Vec<Tile>,
}

/// The top of the page of `run`.
pub(crate) fn answer(run: &Run) -> Answer {
    let edge = first_failure(run);
    let gave_way = edge.map_or_else(Vec::new, |t| gave_way(run, t));
    let verdict = run.verdict();
    // The harness words what gave way too; what the list above says already is not said twice.
    let said = |r: &&String| !gave_way.iter().any(|g| g == *r);
    Answer {
        sentence: sentence(run),
        badges: badges(run),
        gave_way_title: edge.map_or_else(String::new, |t| {
            format!("What gave way first, at {} users", words::count(t.users.into()))
        }),
        reasons: verdict.map_or_else(Vec::new, |v| v.reasons.iter().filter(said).cloned().collect()),
        gave_way,
        warnings: warnings(run),
        tiles: tiles(run),
    }
}

/// The answer in one sentence; for a run without one, how it ended.
pub(crate) fn sentence(run: &Run) -> String {
    match (run.verdict(), run.interrupted()) {
        (Some(verdict), _) => verdict.sentence.clone(),
        (None, Some(stop)) => {
            format!("This run was interrupted in phase {}: {}.", stop.phase, stop.cause.trim_end_matches('.'))
        }
        (None, None) if run.complete => "This run ended without an answer.".to_owned(),
        (None, None) => "This run was cut off: its record ends without an answer.".to_owned(),
    }
}

fn badges(run: &Run) -> Vec<Badge> {
    let mut badges = Vec::new();
    if let Some(verdict) = run.verdict() {
        badges.push(if verdict.passed {
            Badge { class: "pass", mark: "✓", text: "passed" }
        } else {
            Badge { class: "fail", mark: "✕", text: "not passed" }
        });
        badges.push(if verdict.valid {
            Badge { class: "pass", mark: "✓", text: "valid" }
        } else {
            Badge { class: "fail", mark: "✕", text: "not valid" }
        });
    }
    if run.interrupted().is_some() || !run.complete {
        badges.push(Badge { class: "quiet", mark: "◇", text: "interrupted" });
    }
    badges
}

fn warnings(run: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(stop) = run.interrupted() {
        warnings.push(format!(
            "Interrupted {} into the run, in phase {}: {}",
            words::duration(stop.at_s),
            stop.phase,
            stop.cause
        ));
    } else if !run.complete {
        warnings.push("The record was not closed: the run was killed or is still going on. Everything written until then is shown.".to_owned());
    }
    for phase in run.phases() {
        if let Some(error) = phase.error {
            warnings.push(format!("Phase {} failed: {error}", phase.phase));
        }
    }
    warnings
}

/// The failed trial with the fewest users above the capacity: the edge of what is held. Without one, the failed
/// trial with the fewest users.
fn first_failure(run: &Run) -> Option<&Trial> {
    let capacity = run.verdict().and_then(|v| v.capacity).unwrap_or(0);
    let failed = run.trials().filter(|t| t.result == KeptResult::Fail);
    failed.min_by_key(|t| (t.users <= capacity, t.users))
}

fn gave_way(run: &Run, trial: &Trial) -> Vec<String> {
    let mut points = Vec::new();
    for op in trial.window.ops.iter().filter(|op| !op.passed()) {
        let quantile = quantile_name(run.expected(), &op.op);
        points.push(format!("{}: {}", op.op, faults(op, &quantile).join("; ")));
    }
    points.extend(at_limit(run, &trial.window));
    points
}

/// Samples of `subject` in a window.
pub(crate) fn samples<'a>(
    run: &'a Run,
    subject: &'a str,
    window: &KeptWindow,
) -> impl Iterator<Item = &'a ProbeRow> {
    let start = run.load_start_s().unwrap_or(0.0);
    let (from, to) = (window.from_s + start, window.to_s + start);
    run.probes.iter().filter(move |p| p.subject == subject && p.at_s > from && p.at_s <= to)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), x| (sum + x, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// Mean cores of `subject` in a window.
pub(crate) fn mean_cores(run: &Run, subject: &str, window: &KeptWindow) -> Option<f64> {
    mean(samples(run, subject, window).filter_map(ProbeRow::cores))
}

/// Resources at their limit in a window, in words.
fn at_limit(run: &Run, window: &KeptWindow) -> Vec<String> {
    let mut found = Vec::new();
    let cores = run.verdict().and_then(|v| v.resources.host_cores);
    if let (Some(busy), Some(cores)) = (mean_cores(run, "host", window), cores)
        && busy >= cores * CPU_AT_LIMIT
    {
        let part = |subject: &str| {
            mean_cores(run, subject, window).map_or_else(|| words::NONE.to_owned(), |c| words::fixed(c, 2))
        };
        found.push(format!(
            "CPU of the host: {} of {} cores busy (application {}, driver {})",
            words::fixed(busy, 2),
            words::fixed(cores, 0),
            part("app"),
            part("driver")
        ));
    }
    let host = |of: fn(&ProbeRow) -> Option<f64>| mean(samples(run, "host", window).filter_map(of));
    if let Some(steal) = host(|p| p.steal_share).filter(|s| *s >= STEAL_WORTH_TELLING) {
        found.push(format!("The hypervisor took {} of the CPU time away", words::percent(steal)));
    }
    for (name, of) in
        [("memory", (|p| p.psi_memory) as fn(&ProbeRow) -> Option<f64>), ("disks", |p| p.psi_io)]
    {
        if let Some(pressure) = host(of).filter(|p| *p >= PRESSURE_WORTH_TELLING) {
            found.push(format!("Some task waited for {name} {} % of the time", words::figure(pressure)));
        }
    }
    found
}

/// From the beginning of the run to the last thing known of it, seconds.
pub(crate) fn run_seconds(run: &Run) -> f64 {
    let phases = run.phases();
    let ends = phases.iter().map(|p| p.to_s.unwrap_or(p.from_s));
    let load_start = run.load_start_s().unwrap_or(0.0);
    let load_end = run.intervals().last().map(|i| i.to_s + load_start);
    ends.chain(load_end).filter(|s| s.is_finite()).fold(0.0, f64::max)
}

fn tiles(run: &Run) -> Vec<Tile> {
    let verdict = run.verdict();
    let used = verdict.map(|v| v.resources).unwrap_or_default();
    let window = run.deciding_trial().map(|t| &t.window);
    let users = match (verdict.and_then(|v| v.capacity), window) {
        (Some(users), _) => Tile { label: "Capacity", value: words::count(users.into()), unit: "users" },
        (None, Some(w)) => Tile { label: "Users tried", value: words::count(w.users.into()), unit: "users" },
        (None, None) => Tile { label: "Capacity", value: words::NONE.to_owned(), unit: "users" },
    };
    let per_window = |of: fn(&KeptWindow) -> f64| words::maybe(window.map(of));
    let memory =
        used.driver_bytes_per_user.map_or_else(|| words::NONE.to_owned(), |b| words::figure(b / 1024.0));
    vec![
        users,
        Tile { label: "Throughput", value: per_window(|w| w.throughput), unit: "operations/s" },
        Tile { label: "Requests", value: per_window(|w| w.requests_s), unit: "requests/s" },
        Tile { label: "Application", value: words::maybe(used.users_per_app_core), unit: "users per core" },
        Tile { label: "Driver", value: words::maybe(used.users_per_driver_core), unit: "users per core" },
        Tile { label: "Driver memory", value: memory, unit: "KiB per user" },
        Tile { label: "Run length", value: words::duration(run_seconds(run)), unit: "start to end" },
    ]
}
