//! Counts of failed checks, with bounds by the number of windows.

use std::collections::BTreeMap;

use barograph_model::{CheckId, Excuse, TrialResult, WindowVerdict};
use barograph_stats::binomial;

/// Verdicts on windows of one kind.
#[derive(Default)]
pub(super) struct WindowCounts {
    pub(super) windows: u64,
    /// Windows with at least one failed check.
    pub(super) disbelieved: u64,
    /// Those of them with only the check of the mix after a step failed: they broke the mix rule, so they
    /// would not have passed in any case, and a search repeats them instead of calling them failed.
    pub(super) unsettled: u64,
    /// Windows that broke a rule, valid or not.
    pub(super) broken: u64,
    /// Valid windows that kept every rule.
    pub(super) passed: u64,
    /// By check: windows in which it was made, and in which it failed.
    pub(super) checks: BTreeMap<CheckId, (u64, u64)>,
    /// By check: valid failed windows in which it held but reported a finding.
    excused: BTreeMap<CheckId, u64>,
}

impl WindowCounts {
    pub(super) fn add(&mut self, verdict: &WindowVerdict) {
        self.windows += 1;
        self.disbelieved += u64::from(!verdict.valid());
        let against = verdict.checks.iter().filter(|check| !check.ok);
        let is_unsettled = !verdict.valid() && against.clone().all(|check| check.id == CheckId::MixAfterStep);
        self.unsettled += u64::from(is_unsettled);
        self.broken += u64::from(!verdict.passed());
        self.passed += u64::from(verdict.result() == TrialResult::Pass);
        for check in &verdict.checks {
            let (looked, failed) = self.checks.entry(check.id).or_default();
            *looked += 1;
            *failed += u64::from(!check.ok);
            if verdict.valid() && matches!(check.excuse, Some(Excuse::GetsWorse | Excuse::Overload)) {
                *self.excused.entry(check.id).or_default() += 1;
            }
        }
    }

    /// Windows with a failed check that is not just another name for a broken rule.
    pub(super) fn wrongly_disbelieved(&self) -> u64 {
        self.disbelieved - self.unsettled
    }

    pub(super) fn share_disbelieved(&self) -> f64 {
        self.wrongly_disbelieved() as f64 / self.windows.max(1) as f64
    }

    pub(super) fn append(&mut self, other: &WindowCounts) {
        self.windows += other.windows;
        self.disbelieved += other.disbelieved;
        self.unsettled += other.unsettled;
        self.broken += other.broken;
        self.passed += other.passed;
        for (id, (looked, failed)) in &other.checks {
            let mine = self.checks.entry(*id).or_default();
            *mine = (mine.0 + looked, mine.1 + failed);
        }
        for (id, excused) in &other.excused {
            *self.excused.entry(*id).or_default() += excused;
        }
    }

    /// Number of failed windows in which a check held but reported a finding.
    pub(super) fn excused(&self, check: CheckId) -> u64 {
        self.excused.get(&check).copied().unwrap_or_default()
    }

    pub(super) fn failed(&self, check: CheckId) -> u64 {
        self.looked(check).1
    }

    /// Number of windows in which a check was made, and in which it failed.
    pub(super) fn looked(&self, check: CheckId) -> (u64, u64) {
        self.checks.get(&check).copied().unwrap_or_default()
    }
}

/// Upper bound of the share `some` of `all`, with 95 % confidence (Clopper and Pearson).
pub(super) fn at_most(some: u64, all: u64) -> f64 {
    let windows = |n: u64| u32::try_from(n).expect("nobody simulates billions of windows");
    binomial::below(windows(some), windows(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_tables() {
        // None of n: 1 - 0.05^(1/n); 299 is the least number that shows less than 1 %.
        assert!((at_most(0, 299) - 0.009_969_1).abs() < 1e-6, "{}", at_most(0, 299));
        assert!((at_most(1, 10) - 0.3942).abs() < 1e-3, "{}", at_most(1, 10));
        assert!((at_most(5, 100) - 0.1022).abs() < 1e-3, "{}", at_most(5, 100));
        assert_eq!(at_most(3, 3), 1.0);
    }
}
