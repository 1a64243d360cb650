//! The answer: one sentence, two verdicts kept apart, the first limit reached, and the key figures.

use std::borrow::Cow;

use barograph_model::OfferedLoad;
use barograph_record::{
    CPU_AT_LIMIT, ProbeRow, ResultRecord, Run, ScoreRecord, Trial, UnitRecord, WindowRecord,
};

use crate::headroom::{Headroom, headroom};
use crate::operations::{faults, further_faults, quantile_name};
use crate::words;

/// Least share of CPU time taken by the hypervisor that is reported.
const STEAL_WORTH_TELLING: f64 = 0.05;

/// Least pressure on memory or disks that is reported, in percent of time with a waiting task.
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
    /// The unit; for a capacity also its interval.
    pub(crate) unit: Cow<'static, str>,
}

/// The top of the page.
pub(crate) struct Answer {
    pub(crate) sentence: String,
    /// The claim at the begin of the sentence.
    pub(crate) headline: String,
    /// The rest of the sentence; may be empty.
    pub(crate) details: String,
    pub(crate) badges: Vec<Badge>,
    /// Title of the next section, and its points.
    pub(crate) gave_way_title: String,
    pub(crate) gave_way: Vec<String>,
    pub(crate) headroom: Option<Headroom>,
    pub(crate) reasons: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) tiles: Vec<Tile>,
}

/// The top of the page of `run`.
pub(crate) fn answer(run: &Run) -> Answer {
    let edge = first_failure(run);
    let gave_way = edge.map_or_else(Vec::new, |t| gave_way(run, t));
    let verdict = run.verdict();
    let (headline, details) = headline(run);
    Answer {
        sentence: sentence(run),
        headline,
        details: capitalised(&details),
        badges: badges(run),
        gave_way_title: edge
            .map_or_else(String::new, |t| format!("What gave way first, at {}", words::offered(t.offered()))),
        reasons: verdict.map_or_else(Vec::new, |v| v.reasons.clone()),
        gave_way,
        headroom: headroom(run),
        warnings: warnings(run),
        tiles: tiles(run),
    }
}

/// The answer in one sentence; for a run without one, how it ended.
pub(crate) fn sentence(run: &Run) -> String {
    let joined = || {
        let (headline, details) = headline(run);
        format!("{headline} {details}").trim_end().to_owned()
    };
    run.verdict().map_or_else(joined, |verdict| verdict.sentence.clone())
}

/// The claim of the answer and the words after it; for a run without an answer, how it ended.
fn headline(run: &Run) -> (String, String) {
    let (headline, details) = match (run.verdict(), run.interrupted()) {
        (Some(verdict), _) => return verdict.headline(),
        (None, Some(stop)) => {
            let details = format!("{}.", stop.cause.trim_end_matches('.'));
            return (format!("This run was interrupted in phase {}:", stop.phase), details);
        }
        (None, None) if run.complete => ("This run ended without an answer.", ""),
        (None, None) => ("This run was cut off:", "its record ends without an answer."),
    };
    (headline.to_owned(), details.to_owned())
}

pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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

/// The failed trial with the lowest load above the capacity, or else the failed trial with the lowest load.
fn first_failure(run: &Run) -> Option<&Trial> {
    let capacity = run.verdict().and_then(|v| v.capacity).unwrap_or(0);
    let failed = run.trials().filter(|t| t.result == ResultRecord::Fail);
    failed.min_by_key(|t| (t.level <= capacity, t.level))
}

pub(crate) fn gave_way(run: &Run, trial: &Trial) -> Vec<String> {
    let mut points = Vec::new();
    for op in trial.window.ops.iter().filter(|op| !op.passed()) {
        let quantile = quantile_name(run.expected(), &op.op);
        let faults = faults(op, &quantile);
        // Further rules of it are described below.
        if !faults.is_empty() {
            points.push(format!("{}: {}", op.op, faults.join("; ")));
        }
    }
    points.extend(further_faults(&trial.window));
    points.extend(at_limit(run, &trial.window));
    points
}

/// Samples of `subject` in a window.
pub(crate) fn samples<'a>(
    run: &'a Run,
    subject: &'a str,
    window: &WindowRecord,
) -> impl Iterator<Item = &'a ProbeRow> {
    let start = run.load_start_s().unwrap_or(0.0);
    let (from, to) = (window.from_s + start, window.to_s + start);
    run.probes.iter().filter(move |p| p.subject == subject && p.at_s > from && p.at_s <= to)
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), x| (sum + x, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// Mean cores of `subject` in a window.
pub(crate) fn mean_cores(run: &Run, subject: &str, window: &WindowRecord) -> Option<f64> {
    mean(samples(run, subject, window).filter_map(ProbeRow::cores))
}

/// Resources at their limit in a window, in words.
fn at_limit(run: &Run, window: &WindowRecord) -> Vec<String> {
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

/// Time from the beginning of the run to the last known event, in seconds.
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
    let trial = run.deciding_trial();
    let capacity = verdict.and_then(|v| v.capacity).map(|level| run.unit().offered(level));
    let load = capacity.or_else(|| trial.map(Trial::offered));
    let label = if capacity.is_some() { "Capacity" } else { "Load" };
    let level = load.map_or_else(|| words::NONE.to_owned(), |load| load.level.to_string());
    let per_window = |of: fn(&WindowRecord) -> f64| words::maybe(trial.map(|t| of(&t.window)));
    if trial.is_none() && !run.loads.is_empty() {
        let length = words::duration(run_seconds(run));
        let capacity = verdict.and_then(|v| v.capacity);
        let one_by_one = run.tiles().is_some_and(|tiles| tiles.one_by_one);
        let unit = if one_by_one { "% of a tile" } else { "% of each load" };
        let scale =
            capacity.map(|scale| Tile { label, value: words::count(scale.into()), unit: unit.into() });
        let score = verdict.and_then(|verdict| verdict.score.as_deref());
        let score =
            score.map(|score| Tile { label: "Score", value: score.name(), unit: interval(score).into() });
        let length = Tile { label: "Run length", value: length, unit: "start to end".into() };
        return score.into_iter().chain(scale).chain([length]).collect();
    }
    let mut tiles = vec![
        Tile { label, value: level, unit: how_sure(run, load) },
        Tile { label: "Throughput", value: per_window(|w| w.throughput), unit: "operations/s".into() },
        Tile { label: "Requests", value: per_window(|w| w.requests_s), unit: "requests/s".into() },
    ];
    // A figure that was not measured has no tile: a target that is not a process of the run has no figures of
    // its own. Users at work in an open loop are not a load, so their number per core means nothing.
    let per_core = |users: Option<f64>| users.filter(|_| run.unit() == UnitRecord::Users).map(words::figure);
    let known = [
        ("Application", per_core(used.users_per_app_core), "users per core"),
        ("Driver", per_core(used.users_per_driver_core), "users per core"),
        ("Driver CPU", used.driver_cpu_us_per_request.map(words::figure), "µs per request"),
        ("Driver memory", used.driver_bytes_per_user.map(|b| words::figure(b / 1024.0)), "KiB per user"),
        ("Connections", used.driver_connections.map(words::count), "open at the end"),
    ];
    tiles.extend(
        known
            .into_iter()
            .filter_map(|(label, value, unit)| Some(Tile { label, value: value?, unit: unit.into() })),
    );
    tiles.extend(trial.map(|t| &t.window).map_or_else(Vec::new, arrivals));
    let length = words::duration(run_seconds(run));
    tiles.push(Tile { label: "Run length", value: length, unit: "start to end".into() });
    tiles
}

/// The interval of a score.
fn interval(score: &ScoreRecord) -> String {
    match score.low.zip(score.high) {
        Some((low, high)) => format!("95 % interval {low:.2} to {high:.2}"),
        None => "one window, no interval".to_owned(),
    }
}

/// The unit of the load, with the interval of a searched capacity: after a search that lost many trials the
/// figure alone would claim too much.
fn how_sure(run: &Run, load: Option<OfferedLoad>) -> Cow<'static, str> {
    let unit = load.map_or_else(|| run.unit().name(), OfferedLoad::noun);
    let whole = |level: f64| words::fixed(level, 0);
    match run.believed_capacity() {
        Some(believed) if believed.high.is_finite() => {
            format!("{unit}, 95 % interval {} to {}", whole(believed.low), whole(believed.high)).into()
        }
        Some(believed) if believed.low > 0.0 => {
            format!("{unit}, at least {} with 97.5 % certainty", whole(believed.low)).into()
        }
        _ => unit.into(),
    }
}

/// Tiles for late, dropped and skipped starts, if there are any.
fn arrivals(window: &WindowRecord) -> Vec<Tile> {
    let counts = [
        ("Late", window.late, "arrivals waited for a user"),
        ("Dropped", window.dropped, "arrivals never started"),
        ("Skipped", window.skipped, "beats left out"),
    ];
    let some = counts.into_iter().filter(|(_, n, _)| *n > 0);
    some.map(|(label, n, unit)| Tile { label, value: words::count(n), unit: unit.into() }).collect()
}
