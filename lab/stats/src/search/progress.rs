//! Intermediate result of a search.

use barograph_model::LoadUnit;
use barograph_model::words::count;

use super::{OPEN, Search};

/// Knowledge after a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchProgress {
    /// The unit of levels.
    pub unit: LoadUnit,
    /// Trials made, including invalid ones.
    pub trials: u32,
    /// Limit of trials.
    pub most_trials: u32,
    /// Place of the edge.
    pub edge: EdgeProgress,
}

/// Place of the edge, as far as trials tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EdgeProgress {
    /// No valid trial yet.
    Unknown,
    /// 95 % interval of the capacity.
    Interval {
        /// Lower end.
        low: f64,
        /// The median.
        capacity: f64,
        /// Upper end; `None` while the capacity may be above all allowed levels.
        high: Option<f64>,
    },
    /// Bracket of methods that state no certainty.
    Bracket {
        /// Highest level that passed.
        passed: Option<u32>,
        /// Lowest level that failed.
        failed: Option<u32>,
    },
}

impl Search {
    /// The present knowledge, in levels of `unit`, with a limit of `most_trials` trials. Costs much less than
    /// [`Search::answer`].
    #[must_use]
    pub fn so_far(&self, unit: LoadUnit, most_trials: u32) -> SearchProgress {
        let answer = self.method().answer();
        let edge = match &answer.estimate {
            Some(estimate) if estimate.valid > 0 => {
                let high = (estimate.beyond <= OPEN).then_some(estimate.high);
                // Beyond the levels tried only "at least" is known.
                let most = answer.capacity.filter(|_| high.is_none()).map_or(f64::INFINITY, f64::from);
                EdgeProgress::Interval { low: estimate.low.min(most), capacity: estimate.capacity, high }
            }
            None if answer.highest_pass.or(answer.lowest_fail).is_some() => {
                EdgeProgress::Bracket { passed: answer.highest_pass, failed: answer.lowest_fail }
            }
            _ => EdgeProgress::Unknown,
        };
        SearchProgress { unit, trials: answer.trials, most_trials, edge }
    }
}

/// A level with three digits, rounded by `round`: the ends of an interval that still moves are not more
/// exact.
fn three(level: f64, round: fn(f64) -> f64) -> String {
    let step = 10f64.powf((level.max(1.0).log10().floor() - 2.0).max(0.0));
    count((round(level / step) * step) as u64)
}

impl SearchProgress {
    /// The text for people: `so far: capacity 11,200 to 12,900 users (95 %), trial 5 of at most 9`. Ends are
    /// rounded outwards.
    #[must_use]
    pub fn words(&self) -> String {
        let (unit, level) = (self.unit.name(), |level: u32| count(level.into()));
        let edge = match self.edge {
            EdgeProgress::Unknown => "no trial could be believed".to_owned(),
            EdgeProgress::Interval { low, high: Some(high), .. } => {
                format!("capacity {} to {} {unit} (95 %)", three(low, f64::floor), three(high, f64::ceil))
            }
            EdgeProgress::Interval { low, high: None, .. } => {
                format!("capacity {} {unit} or more (97.5 %)", three(low, f64::floor))
            }
            EdgeProgress::Bracket { passed: Some(passed), failed: Some(failed) } => {
                format!("{} {unit} passed, {} failed", level(passed), level(failed))
            }
            EdgeProgress::Bracket { passed: Some(passed), failed: None } => {
                format!("{} {unit} passed, nothing failed", level(passed))
            }
            EdgeProgress::Bracket { passed: None, failed } => {
                format!("nothing passed, {} {unit} failed", failed.map_or_else(String::new, level))
            }
        };
        format!("so far: {edge}, trial {} of at most {}", self.trials, self.most_trials)
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::{SearchBounds, SearchMethod, Share, TrialResult};

    use super::*;
    use crate::search::{RampEnd, Step};

    fn search(method: SearchMethod, max: u32) -> Search {
        Search::new(SearchBounds { min: 100, max, resolution: Share::percent(5.0), max_trials: 9, method })
    }

    fn words(search: &Search) -> String {
        search.so_far(LoadUnit::Users, 9).words()
    }

    #[test]
    fn the_interval_of_a_posterior_narrows_from_trial_to_trial() {
        let mut search = search(SearchMethod::Posterior, 50_000);
        search.ramp_ended(12_500, RampEnd::GaveWay);
        let mut widths = Vec::new();
        while let Step::Trial { level, .. } = search.next() {
            search.tell(level, if level <= 12_000 { TrialResult::Pass } else { TrialResult::Fail });
            let found = search.so_far(LoadUnit::Users, 9);
            let EdgeProgress::Interval { low, capacity, high: Some(high) } = found.edge else {
                panic!("{found:?}")
            };
            assert!(low < capacity && capacity < high, "{found:?}");
            widths.push(high / low);
        }
        assert!(widths.len() >= 4 && widths[widths.len() - 1] < widths[0], "{widths:?}");
        let answer = search.answer().estimate.unwrap();
        let told = search.so_far(LoadUnit::Users, 9);
        assert_eq!(
            (told.trials, told.edge),
            (widths.len() as u32, {
                let (low, capacity) = (answer.low, answer.capacity);
                EdgeProgress::Interval { low, capacity, high: Some(answer.high) }
            })
        );
    }

    #[test]
    fn before_anything_is_believed_and_where_everything_passes() {
        let mut search = search(SearchMethod::Posterior, 5_000);
        search.ramp_ended(5_000, RampEnd::Reached);
        search.tell(5_000, TrialResult::Invalid);
        assert_eq!(words(&search), "so far: no trial could be believed, trial 1 of at most 9");
        search.tell(5_000, TrialResult::Pass);
        search.tell(5_000, TrialResult::Pass);
        let said = words(&search);
        assert!(
            said.starts_with("so far: capacity ") && said.contains(" users or more (97.5 %), trial 3"),
            "{said}"
        );
        let EdgeProgress::Interval { low, .. } = search.so_far(LoadUnit::Users, 9).edge else {
            panic!("{said}")
        };
        assert!((4_000.0..=5_000.0).contains(&low), "no higher level was tried: {said}");
    }

    #[test]
    fn other_methods_have_a_bracket() {
        let mut search = search(SearchMethod::Bisect, 50_000);
        search.ramp_ended(1_000, RampEnd::GaveWay);
        let Step::Trial { level, .. } = search.next() else { panic!("no trial at all") };
        search.tell(level, TrialResult::Pass);
        assert_eq!(
            words(&search),
            format!("so far: {level} users passed, nothing failed, trial 1 of at most 9")
        );
        let Step::Trial { level: second, .. } = search.next() else { panic!("one trial only") };
        search.tell(second, TrialResult::Fail);
        let failed = count(second.into());
        assert_eq!(
            words(&search),
            format!("so far: {level} users passed, {failed} failed, trial 2 of at most 9")
        );
    }

    #[test]
    fn ends_are_rounded_outwards_to_three_digits() {
        let said = |low, high| {
            let edge = EdgeProgress::Interval { low, capacity: low, high: Some(high) };
            SearchProgress { unit: LoadUnit::PerSecond, trials: 5, most_trials: 9, edge }.words()
        };
        assert_eq!(
            said(11_237.0, 12_811.0),
            "so far: capacity 11,200 to 12,900 starts/s (95 %), trial 5 of at most 9"
        );
        assert_eq!(said(0.4, 123.4), "so far: capacity 0 to 124 starts/s (95 %), trial 5 of at most 9");
    }
}
