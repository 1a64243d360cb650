//! Failed operations: those that a fault of the plan is meant to cause, those that a busy machine explains,
//! from the record alone, and what is said about all others.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use barograph_model::Outcome;
use barograph_record::{IntervalRow, Run, StatisticRow};
use serde_json::json;

use crate::going::ProgramOutput;

/// Start lag from which a driver, or its whole machine, has stood still. A node that beats twice a second may
/// lose its lease of two seconds after such a stall.
const STOOD_STILL_MS: f64 = 1e3;

/// Lines in the log of a node that a busy machine never causes. A request that met a bug is answered
/// with status 500.
const BUGS: [&str; 2] = ["a request met a bug", "a bug ended a part of the node"];

/// Number of lines shown of the end of a log.
const LAST_LINES: usize = 20;

/// Checks that before the first fault of the plan nothing failed, or only what a busy machine explains; then
/// returns the failures and the evidence in the record. After the fault operations may be refused, late or
/// broken, as when a part is lost. Panics on other failures.
pub(crate) fn excused(run: &Run) -> Option<String> {
    assert_eq!(bugs(run), Vec::<String>::new(), "{}", run.dir.display());
    let (meant, failed) = meant_and_not(run);
    let held_up = held_up(run);
    let unexplained = [unexplained(&meant, true), unexplained(&failed, !held_up.is_empty())].concat();
    assert!(
        unexplained.is_empty(),
        "nothing in the record explains {unexplained:?} (of {failed:?}, {held_up:?}, with faults {meant:?}): {:?}",
        run.notes().collect::<Vec<_>>()
    );
    (!failed.is_empty()).then(|| format!("{failed:?}, {held_up:?}"))
}

/// Failures since the first fault that took place, and failures before it; without a fault, all are before.
fn meant_and_not(run: &Run) -> (BTreeMap<Outcome, u64>, BTreeMap<Outcome, u64>) {
    let done = run.actions().filter(|fault| fault.failed.is_none());
    since_and_before(run.intervals(), done.map(|fault| fault.at_s).fold(f64::INFINITY, f64::min))
}

/// Failures in intervals that end after this moment, and in those before.
fn since_and_before<'r>(
    intervals: impl Iterator<Item = &'r IntervalRow>,
    at_s: f64,
) -> (BTreeMap<Outcome, u64>, BTreeMap<Outcome, u64>) {
    let (since, before): (Vec<&IntervalRow>, Vec<&IntervalRow>) =
        intervals.partition(|interval| interval.to_s > at_s);
    (failed(since.into_iter()), failed(before.into_iter()))
}

/// Failed operations, by outcome.
fn failed<'r>(intervals: impl Iterator<Item = &'r IntervalRow>) -> BTreeMap<Outcome, u64> {
    let mut failed: BTreeMap<Outcome, u64> = BTreeMap::new();
    for op in intervals.flat_map(|interval| &interval.ops) {
        for end in &op.outcomes {
            let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.name() == end.name).unwrap();
            if outcome.is_failure() && end.count > 0 {
                *failed.entry(outcome).or_default() += end.count;
            }
        }
    }
    failed
}

/// Failures that a busy machine does not explain. It always explains late answers. It explains refusals and
/// broken connections if something was held up: an auction that moves between nodes has no owner for a
/// moment, and a balancer cuts the connections to a node that it takes for dead. It never explains wrong
/// answers.
fn unexplained(failed: &BTreeMap<Outcome, u64>, was_held_up: bool) -> Vec<Outcome> {
    let is_explained = |outcome: &Outcome| match outcome {
        Outcome::TimedOut => true,
        Outcome::Refused | Outcome::Broken => was_held_up,
        _ => false,
    };
    failed.keys().copied().filter(|outcome| !is_explained(outcome)).collect()
}

/// Evidence in the record for a driver, a node or a store that stood still under the load.
fn held_up(run: &Run) -> Vec<String> {
    let lag = run.intervals().map(|interval| interval.lag_p99_ms).fold(0.0, f64::max);
    let mut told = Vec::new();
    if lag >= STOOD_STILL_MS {
        told.push(format!("operations began {lag:.0} ms late"));
    }
    told.extend(silence(run).map(str::to_owned));
    let began = run.load_start_s().unwrap_or(0.0);
    let ended = began + run.intervals().map(|interval| interval.to_s).fold(0.0, f64::max);
    let under_load = run.statistics.iter().filter(|row| (began..=ended).contains(&row.at_s));
    told.extend(under_load.filter_map(moved));
    told
}

/// Note of a part with statistics that did not answer in time.
pub(crate) fn silence(run: &Run) -> Option<&str> {
    run.notes().map(|(_, note)| note).find(|note| is_silence(note))
}

/// Whether a note reports a part with statistics that did not answer in time.
fn is_silence(note: &str) -> bool {
    note.contains("has no statistics as long as this lasts") && note.contains("within 1 s")
}

/// Evidence in a statistic for a node that others took for dead. It also counts auctions that begin; the two
/// cannot be told apart.
fn moved(row: &StatisticRow) -> Option<String> {
    let words = match row.statistic.as_str() {
        "claims" => "took auctions",
        "servers_down" => "held a server for dead",
        // Includes servers that were back before the question.
        "servers_lost" => "took a server for dead",
        _ => return None,
    };
    (row.value > 0.0).then(|| format!("{} {words} at {:.1} s", row.part, row.at_s))
}

/// Lines in which nodes report bugs.
fn bugs(run: &Run) -> Vec<String> {
    let lines = logs(run).into_iter().flat_map(|(_, lines)| lines);
    lines.filter(|line| BUGS.iter().any(|bug| line.contains(bug))).collect()
}

/// Logs of the parts: name and lines. A target that the run did not deploy has none.
fn logs(run: &Run) -> Vec<(String, Vec<String>)> {
    // Logs of one of several loads are in the record of the run.
    let record = if run.load.is_some() { run.dir.ancestors().nth(2).unwrap() } else { run.dir.as_path() };
    let files = fs::read_dir(record.join("services")).into_iter().flatten();
    let logs = files.map(|file| file.unwrap().path());
    let logs = logs.filter(|path| path.extension().is_some_and(|kind| kind == "log"));
    logs.map(|path| {
        let text = fs::read(&path).unwrap();
        let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
        (path.file_name().unwrap().to_string_lossy().into_owned(), lines)
    })
    .collect()
}

/// Failed operations with their outcomes, the program's output with the reasons, and the ends of all logs.
pub(crate) fn told(run: &Run, ended: &ProgramOutput) -> String {
    let mut text = String::new();
    for interval in std::iter::once(run).chain(&run.loads).flat_map(Run::intervals) {
        for op in interval.ops.iter().filter(|op| op.failed > 0) {
            let outcomes = &op.outcomes;
            writeln!(text, "{} until {:.1} s: {outcomes:?}", op.op, interval.to_s).unwrap();
        }
    }
    write!(text, "{}{}", ended.out, ended.err).unwrap();
    for (name, lines) in logs(run) {
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        writeln!(text, "--- {name}\n{last}").unwrap();
    }
    text
}

#[test]
fn a_busy_machine_explains_what_comes_late_and_nothing_that_is_wrong() {
    use Outcome::{Broken, DriverFault, Refused, TimedOut, WrongAnswer};
    let all = [Refused, WrongAnswer, TimedOut, Broken, DriverFault];
    for (outcome, usual, held_up) in [
        (TimedOut, true, true),
        (Refused, false, true),
        (Broken, false, true),
        (WrongAnswer, false, false),
        (DriverFault, false, false),
    ] {
        let failed = BTreeMap::from([(outcome, 1)]);
        let explained = [false, true].map(|was_held_up| unexplained(&failed, was_held_up).is_empty());
        assert_eq!(explained, [usual, held_up], "{outcome:?}");
    }
    let failed = all.map(|outcome| (outcome, 1)).into_iter().collect();
    assert_eq!(unexplained(&failed, true), [WrongAnswer, DriverFault]);
    assert_eq!(unexplained(&BTreeMap::new(), false), []);
}

#[test]
fn what_fails_before_a_fault_is_not_meant() {
    let interval = |to_s: f64, outcome: Outcome, count: u64| -> IntervalRow {
        let op = json!({
            "op": "PlaceBid", "count": 9, "failed": count, "p50_ms": 1.0, "p99_ms": 1.0, "max_ms": 1.0,
            "over_limit": 0, "requests": 9, "outcomes": [{ "name": outcome.name(), "count": count }],
        });
        let row = json!({
            "from_s": to_s - 1.0, "to_s": to_s, "users": 9, "starts": 9, "lag_p50_ms": 0.0,
            "lag_p99_ms": 0.0, "in_flight": 1.0, "worker_cpu": 0.1, "busiest_worker": 0.1, "ops": [op],
        });
        serde_json::from_value(row).unwrap()
    };
    let rows = [
        interval(1.0, Outcome::Good, 9),
        interval(2.0, Outcome::Refused, 3),
        interval(3.0, Outcome::Broken, 2),
        interval(4.0, Outcome::Broken, 1),
    ];
    let (refused, broken) = (BTreeMap::from([(Outcome::Refused, 3)]), BTreeMap::from([(Outcome::Broken, 3)]));
    assert_eq!(since_and_before(rows.iter(), 2.5), (broken.clone(), refused.clone()));
    let all: BTreeMap<Outcome, u64> = refused.into_iter().chain(broken).collect();
    assert_eq!(since_and_before(rows.iter(), f64::INFINITY), (BTreeMap::new(), all));
}

#[test]
fn nodes_that_were_taken_for_dead_are_told_by_their_statistics() {
    let row = |part: &str, statistic: &str, value: f64| StatisticRow {
        at_s: 12.5,
        part: part.to_owned(),
        statistic: statistic.to_owned(),
        kind: "rate".to_owned(),
        unit: "auctions".to_owned(),
        value,
    };
    assert_eq!(moved(&row("bids-1", "claims", 3.5)).unwrap(), "bids-1 took auctions at 12.5 s");
    assert_eq!(
        moved(&row("balancer-1", "servers_down", 1.0)).unwrap(),
        "balancer-1 held a server for dead at 12.5 s"
    );
    assert_eq!(
        moved(&row("balancer-1", "servers_lost", 0.5)).unwrap(),
        "balancer-1 took a server for dead at 12.5 s"
    );
    assert_eq!(moved(&row("bids-1", "claims", 0.0)), None);
    assert_eq!(moved(&row("balancer-1", "servers_lost", 0.0)), None);
    assert_eq!(moved(&row("bids-1", "owned", 2.0)), None);
    assert!(is_silence(
        "bids-1 has no statistics as long as this lasts: no statistics from 127.0.0.1:1 within 1 s"
    ));
    assert!(!is_silence("bids-1 has no statistics as long as this lasts: the answer is not text"));
}
