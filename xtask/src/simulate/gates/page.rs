//! The page with what was found.

use super::counted::{Counted, at_most};
use super::{CleanRow, FaultRow};

pub(super) fn together(rows: &[CleanRow]) -> Counted {
    let mut all = Counted::default();
    rows.iter().for_each(|row| all.append(&row.counted));
    all
}

fn share(some: u64, all: u64) -> String {
    format!("{:.1} %", some as f64 / all.max(1) as f64 * 100.0)
}

fn bound(some: u64, all: u64) -> String {
    format!("{:.1} %", at_most(some, all) * 100.0)
}

/// The whole page.
pub(super) fn written(clean: &[CleanRow], faults: &[FaultRow]) -> String {
    let all = together(clean);
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
         Of {} clean windows {} were disbelieved: {}, at most {} with 95 % confidence.\n\n\
         | load | window | windows | disbelieved | share | at most (95 %) |\n|---|---|---|---|---|---|\n",
        all.windows,
        all.disbelieved,
        share(all.disbelieved, all.windows),
        bound(all.disbelieved, all.windows)
    );
    for CleanRow { kind, span, counted } in clean {
        let (some, all) = (counted.disbelieved, counted.windows);
        let line =
            format!("| {kind} | {span} s | {all} | {some} | {} | {} |\n", share(some, all), bound(some, all));
        page.push_str(&line);
    }
    page.push_str("\n## Clean windows by check\n\n| check | windows | flagged | share | at most (95 %) |\n|---|---|---|---|---|\n");
    for (name, (looked, failed)) in &all.checks {
        let line = format!(
            "| {name} | {looked} | {failed} | {} | {} |\n",
            share(*failed, *looked),
            bound(*failed, *looked)
        );
        page.push_str(&line);
    }
    page.push_str(
        "\n## Planted faults\n\n\
         Windows of 45 s.\n\
         \"Flagged\" is the share in which the named check did not hold, \"disbelieved\" the share in which any did not.\n\n\
         | check | what was planted | windows | flagged | disbelieved |\n|---|---|---|---|---|\n",
    );
    for row in faults {
        let what = row.fault.what.replace("{}", &row.fault.unit.words(row.size));
        let (windows, any) = (row.counted.windows, row.counted.disbelieved);
        let line = format!(
            "| {} | {what} | {windows} | {} | {} |\n",
            row.fault.check,
            share(row.found(), windows),
            share(any, windows)
        );
        page.push_str(&line);
    }
    page
}
