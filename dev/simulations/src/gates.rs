//! The validity checks on windows with a known truth: the rate of clean ones that are invalid, and of planted
//! faults that are found.

mod counted;
mod page;
mod plants;
mod shop;
mod window;

use std::path::Path;

use barograph_model::WindowVerdict;
use counted::WindowCounts;
use plants::Fault;
use shop::CLEAN;
use window::{Load, Window, of_auction, of_scenario};

use crate::say::say;

/// Extent of the simulation.
#[derive(Clone, Copy)]
struct Size {
    /// Runs of each kind of clean load.
    runs: u64,
    /// Windows of each length in a run.
    windows: u32,
    /// Windows of each fault in each size.
    faults: u64,
}

/// Extent of the page.
const FULL: Size = Size { runs: 60, windows: 5, faults: 40 };

/// Lengths of windows in seconds: those of a search by posterior with `quick`, `standard` and `full` durations
/// (`lab/spec/src/durations.rs`).
const SPANS: [u32; 3] = [15, 60, 180];

/// Largest share of invalid clean windows: of each load as counted, of all of them with 95 % confidence.
const MOST_DISBELIEVED: f64 = 0.02;

/// A kind of clean load.
struct CleanLoad {
    name: &'static str,
    windows: fn(seed: u64, (u32, u32)) -> Vec<Window>,
}

/// Clean loads.
const KINDS: [CleanLoad; 3] = [
    CleanLoad { name: "auction, 600 users", windows: of_auction },
    CleanLoad {
        name: "scenario, 400 users",
        windows: |seed, shape| of_scenario(seed, Load::Closed, CLEAN, shape, |_| {}),
    },
    CleanLoad {
        name: "scenario, 400 starts/s",
        windows: |seed, shape| of_scenario(seed, Load::Open(window::LEVEL), CLEAN, shape, |_| {}),
    },
];

/// Results of the windows of one kind and length.
struct CleanRow {
    kind: &'static str,
    span: u32,
    counted: WindowCounts,
}

/// Results of one fault in one size.
struct FaultRow {
    fault: &'static Fault,
    size: f64,
    counted: WindowCounts,
    /// Windows that kept every rule, and in which the check of the fault held.
    unseen: u64,
}

fn clean(size: Size) -> Vec<CleanRow> {
    let mut rows = Vec::new();
    for kind in &KINDS {
        for (at, span) in SPANS.into_iter().enumerate() {
            // The long ones cost the most.
            let windows = if span > 100 { size.windows.div_ceil(5) } else { size.windows };
            let mut counted = WindowCounts::default();
            for run in 0..size.runs {
                let seed = 1_000 * (at as u64 + 1) + run;
                (kind.windows)(seed, (span, windows)).iter().for_each(|w| counted.add(&w.judge()));
            }
            rows.push(CleanRow { kind: kind.name, span, counted });
        }
    }
    rows
}

fn faults(size: Size) -> Vec<FaultRow> {
    let of = |fault: &'static Fault, by: f64| {
        let mut row = FaultRow { fault, size: by, counted: WindowCounts::default(), unseen: 0 };
        (0..size.faults).for_each(|seed| row.add(&(fault.window)(seed, by).judge()));
        row
    };
    plants::ALL.iter().flat_map(|fault| fault.sizes.iter().map(move |by| of(fault, *by))).collect()
}

/// Simulates everything, prints the result, and writes the page.
pub(super) fn gates(root: &Path) -> anyhow::Result<bool> {
    let (clean, faults) = (clean(FULL), faults(FULL));
    let page = page::written(&clean, &faults);
    say(&page);
    std::fs::write(root.join("docs/reference/gates.md"), page)?;
    let mut all = WindowCounts::default();
    clean.iter().for_each(|row| all.append(&row.counted));
    // Each load separately, too: many windows of an easy one would hide the results of another.
    let trusted = counted::at_most(all.wrongly_disbelieved(), all.windows) < MOST_DISBELIEVED
        && page::by_load(&clean).iter().all(|(_, load)| load.share_disbelieved() < MOST_DISBELIEVED);
    Ok(trusted && faults.iter().filter(|row| row.is_largest()).all(FaultRow::is_found))
}

impl FaultRow {
    fn found(&self) -> u64 {
        self.counted.failed(self.fault.check)
    }

    /// Whether the fault's own check found it, in every window that did not fail its rules, of which there
    /// must be some. A window that fails its rules while things get worse is failed and not invalid.
    fn is_found(&self) -> bool {
        self.unseen == 0 && self.found() > 0
    }

    fn add(&mut self, verdict: &WindowVerdict) {
        let held = verdict.checks.iter().any(|check| check.id == self.fault.check && check.ok);
        self.unseen += u64::from(verdict.passed() && held);
        self.counted.add(verdict);
    }

    fn is_largest(&self) -> bool {
        self.fault.sizes.last() == Some(&self.size)
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::CheckId;

    use super::*;

    const SMALL: Size = Size { runs: 4, windows: 5, faults: 4 };

    /// So few windows only exclude gross faults: of 132 with 2 %, more than two come every second time.
    #[test]
    fn few_clean_windows_of_any_load_are_disbelieved() {
        let rows = clean(SMALL);
        let loads = page::by_load(&rows);
        assert_eq!(loads.len(), KINDS.len());
        let mut disbelieved = 0;
        for (load, all) in loads {
            assert_eq!(all.windows, 20 + 20 + 4, "{load}");
            disbelieved += all.wrongly_disbelieved();
            assert!(disbelieved <= 2, "{load}: {disbelieved} so far: {:?}", all.checks);
        }
    }

    #[test]
    fn every_fault_is_found_by_its_own_check() {
        for row in faults(SMALL).iter().filter(|row| row.is_largest()) {
            let what = row.fault.what;
            assert!(row.is_found(), "{what} {}: {:?}", row.size, row.counted.checks);
            assert_eq!(row.counted.passed, 0, "{what} {}", row.size);
        }
    }

    /// Some windows of the largest stretch are too slow in any case: the check still reports its finding.
    #[test]
    fn a_window_that_failed_names_what_was_found() {
        let fault = plants::ALL.iter().find(|fault| fault.check == CheckId::SteadyState).unwrap();
        let mut counted = WindowCounts::default();
        let by = *fault.sizes.last().unwrap();
        (0..20).for_each(|seed| counted.add(&(fault.window)(seed, by).judge()));
        let (found, named) = (counted.failed(fault.check), counted.excused(fault.check));
        assert!(found > 0 && named > 0 && counted.disbelieved + named <= counted.windows, "{found} {named}");
    }

    #[test]
    fn what_is_small_is_left_alone() {
        let small = [(CheckId::StolenCpu, 0.05), (CheckId::OutsideCpu, 0.05), (CheckId::Clock, 0.05)];
        for (check, size) in small {
            let fault = plants::ALL.iter().find(|fault| fault.check == check).unwrap();
            assert!((fault.window)(1, size).judge().valid(), "{check:?} {size}");
        }
    }
}
