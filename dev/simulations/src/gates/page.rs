//! The page with the results.

use std::collections::BTreeMap;

use barograph_model::CheckId;

use super::counted::{WindowCounts, at_most};
use super::plants::SPAN;
use super::{CleanRow, FaultRow, MOST_DISBELIEVED};

/// Checks of things absent in simulated time, so that a clean window cannot fail them: a host, a clock that
/// jumps, and a driver that is late, busy or short of something.
const NOT_SIMULATED: [CheckId; 8] = [
    CheckId::StartLag,
    CheckId::BusiestWorker,
    CheckId::DriverFailures,
    CheckId::StolenCpu,
    CheckId::OutsideCpu,
    CheckId::OutsideMemory,
    CheckId::OutsideDisks,
    CheckId::Clock,
];

/// All windows of each load, in order.
pub(super) fn by_load(rows: &[CleanRow]) -> Vec<(&'static str, WindowCounts)> {
    let mut loads: Vec<(&'static str, WindowCounts)> = Vec::new();
    for row in rows {
        let at = loads.iter().position(|(load, _)| *load == row.kind).unwrap_or_else(|| {
            loads.push((row.kind, WindowCounts::default()));
            loads.len() - 1
        });
        loads[at].1.append(&row.counted);
    }
    loads
}

fn share(some: u64, all: u64) -> String {
    format!("{:.1} %", some as f64 / all.max(1) as f64 * 100.0)
}

fn bound(some: u64, all: u64) -> String {
    format!("{:.1} %", at_most(some, all) * 100.0)
}

/// The whole page.
pub(super) fn written(clean: &[CleanRow], faults: &[FaultRow]) -> String {
    let loads = by_load(clean);
    let mut page = format!(
        "# Validity checks in simulation\n\n\
         Written by `cargo xtask simulate gates`.\n\
         What the checks mean is in [the method](../method.md).\n\n\
         The engine runs in simulated time, so the truth is known: a clean window is clean, and what is wrong with another was \
         planted.\n\
         The auction runs on its own rules with answers after 2 ms; the service of the scenario has 32 servers with a queue, \
         and service times that scatter and swing.\n\
         Faults that driver or host would have are planted into the figures that the harness measures; the program's tests \
         make processor time of others and a lack of local ports really happen.\n\n\
         ## Clean windows\n\n\
         Fewer than {:.0} % of the windows of each load may be disbelieved, and fewer of all with 95 % confidence.\n\
         Those of the auction really swing: with 600 users a few auctions that are bid on at the same moment change load and \
         mix for many seconds.\n\
         So some break the mix rule. Within a mean session (103 s) of the ramp a search calls such a window not valid and \
         makes it again, where it would have failed: a mix after a step. These are not counted as disbelieved, but as windows \
         that broke a rule.\n\n\
         | load | window | windows | disbelieved | share | at most (95 %) | broke a rule | of them after a step |\n\
         |---|---|---|---|---|---|---|---|\n",
        MOST_DISBELIEVED * 100.0
    );
    for CleanRow { kind, span, counted } in clean {
        line(&mut page, kind, &format!("{span} s"), counted);
    }
    let mut all = WindowCounts::default();
    for (load, counted) in &loads {
        line(&mut page, load, "all", counted);
        all.append(counted);
    }
    line(&mut page, "all", "all", &all);
    page.push_str(&by_check(&loads));
    page.push_str(&planted(faults));
    page
}

fn line(page: &mut String, load: &str, span: &str, counted: &WindowCounts) {
    let (some, all) = (counted.wrongly_disbelieved(), counted.windows);
    let (broken, unsettled) = (counted.broken, counted.unsettled);
    let line = format!(
        "| {load} | {span} | {all} | {some} | {} | {} | {broken} | {unsettled} |\n",
        share(some, all),
        bound(some, all)
    );
    page.push_str(&line);
}

/// Number of clean windows in which each check failed, by load.
fn by_check(loads: &[(&'static str, WindowCounts)]) -> String {
    let heads: Vec<&str> = loads.iter().map(|(load, _)| *load).collect();
    let mut text = format!(
        "\n## Clean windows by check\n\n\
         How many windows were flagged of those in which the check was looked at, and the share that this is at most (95 %).\n\
         \"Not simulated\" is what simulated time does not have.\n\n\
         | check | {} |\n|---|{}\n",
        heads.join(" | "),
        "---|".repeat(heads.len())
    );
    let checks = loads.iter().flat_map(|(_, counted)| counted.checks.keys());
    let checks: BTreeMap<&str, CheckId> = checks.map(|check| (check.name(), *check)).collect();
    for (name, check) in checks {
        let cells: Vec<String> = loads.iter().map(|(_, counted)| cell(check, counted)).collect();
        text.push_str(&format!("| {name} | {} |\n", cells.join(" | ")));
    }
    text
}

fn cell(check: CheckId, counted: &WindowCounts) -> String {
    let (looked, failed) = counted.looked(check);
    match looked {
        0 => "–".to_owned(),
        _ if NOT_SIMULATED.contains(&check) => "not simulated".to_owned(),
        _ => format!("{failed} of {looked}, at most {}", bound(failed, looked)),
    }
}

/// Results of windows with faults.
fn planted(faults: &[FaultRow]) -> String {
    let mut text = format!(
        "\n## Planted faults\n\n\
         Windows of {SPAN} s.\n\
         \"Flagged\" is the share in which the named check did not hold, \"disbelieved\" the share in which any did not, and \
         \"passed\" the share that was believed and kept every rule: of those nobody would have known.\n\
         The rest failed: a window that breaks a rule while things get worse stays failed, since a queue that grows without \
         bound is no fault of the measurement. \"Failed, named\" is the share in which the check said what it found all the same.\n\
         In every window that has the largest size of a fault and keeps the rules, its check must not hold.\n\n\
         | check | what was planted | windows | flagged | disbelieved | failed, named | passed |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for row in faults {
        let what = row.fault.what.replace("{}", &row.fault.unit.words(row.size));
        let windows = row.counted.windows;
        let line = format!(
            "| {} | {what} | {windows} | {} | {} | {} | {} |\n",
            row.fault.check.name(),
            share(row.found(), windows),
            share(row.counted.disbelieved, windows),
            share(row.counted.excused(row.fault.check), windows),
            share(row.counted.passed, windows)
        );
        text.push_str(&line);
    }
    text
}
