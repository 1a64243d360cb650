//! Load: its unit, level and durations.

use crate::{Level, Nanos, Share};

/// Unit of load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadUnit {
    /// Closed loop: users, each of whom waits for its answers.
    #[default]
    Users,
    /// Open loop: starts per second, independent of answers.
    PerSecond,
    /// For several loads: percent of each load's own level.
    Scale,
    /// For tiles loaded one after another: percent of a tile.
    Tiles,
}

impl LoadUnit {
    /// Returns the name in plans and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LoadUnit::Users => "users",
            LoadUnit::PerSecond => "starts/s",
            LoadUnit::Scale => "% of each load",
            LoadUnit::Tiles => "% of a tile",
        }
    }
}

/// A load in its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfferedLoad {
    /// Unit of the level.
    pub unit: LoadUnit,
    /// The level.
    pub level: Level,
}

impl OfferedLoad {
    /// Returns the name of the unit beside the level: `user` for one.
    #[must_use]
    pub fn noun(self) -> &'static str {
        let is_one = self.unit == LoadUnit::Users && self.level == Level::from(1_u32);
        if is_one { "user" } else { self.unit.name() }
    }

    /// Returns the level at a scale in percent of this load; at least the smallest of its unit, unless the
    /// scale is zero.
    #[must_use]
    pub fn scaled(self, scale: Level) -> Level {
        let least = match self.unit {
            LoadUnit::PerSecond => Level::LEAST,
            LoadUnit::Users | LoadUnit::Scale | LoadUnit::Tiles => Level::from(1),
        };
        let level = (u128::from(self.level.0) * u128::from(scale.0) + 50_000) / 100_000;
        let level = u64::try_from(level).unwrap_or(u64::MAX);
        let whole = level.saturating_add(500) / 1_000 * 1_000;
        let level = Level(if self.unit == LoadUnit::PerSecond { level } else { whole });
        if scale == Level::ZERO { Level::ZERO } else { level.max(least) }
    }

    /// Returns the scale in whole percent of this load that has this level.
    #[must_use]
    pub fn scale_of(self, level: u32) -> u32 {
        let whole = u64::max(self.level.0, 1);
        let scale = (u64::from(level) * 100_000 + whole / 2) / whole;
        u32::try_from(scale).unwrap_or(u32::MAX)
    }
}

/// Strategy of a run. Levels are in the run's [`LoadUnit`].
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// A constant level, judged in each measured window.
    Fixed {
        /// Level in the measured windows.
        level: Level,
        /// Number of consecutive measured windows; all must pass.
        windows: u32,
    },
    /// Searches for the highest level that passes.
    Search(SearchBounds),
    /// A level that changes over time; each hold of the path is a measured window.
    Path(LoadPath),
}

impl Strategy {
    /// Returns the highest level.
    #[must_use]
    pub fn most(&self) -> Level {
        match self {
            Strategy::Fixed { level, .. } => *level,
            Strategy::Search(bounds) => bounds.max.into(),
            Strategy::Path(path) => path.most(),
        }
    }
}

/// A load that changes over time: ramps, holds, bursts (ramps of length zero), repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPath {
    /// Steps, one after another.
    pub steps: Vec<LoadStep>,
    /// Number of passes; at least one.
    pub repeats: u32,
}

impl LoadPath {
    /// Returns the highest level.
    #[must_use]
    pub fn most(&self) -> Level {
        self.steps.iter().map(|step| step.level).max().unwrap_or_default()
    }
}

/// One step of a load path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadStep {
    /// Level at the end of the step.
    pub level: Level,
    /// Duration of the even change; zero is at once.
    pub over: Nanos,
    /// Duration of the hold, which is measured; zero continues with the next step.
    pub hold: Nanos,
}

/// Times of arrivals in an open loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// Independent events: exponential distances.
    Poisson,
    /// At these instants, counted from the start of the load; the level does not apply.
    Trace(std::sync::Arc<[Nanos]>),
}

/// Effect of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartOf {
    /// One operation of a free user; its behaviour chooses the operation, and its pace does not apply.
    Operation,
    /// A whole session of a free user, at the pace of its behaviour.
    Session,
}

/// An open loop: starts come from outside, independent of answers.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenLoop {
    /// Times of arrivals.
    pub arrivals: Arrivals,
    /// Effect of each arrival.
    pub start_of: StartOf,
    /// Largest number of users over all workers: a bound on work in flight. An arrival that finds none free
    /// waits and is counted as late.
    pub most_users: u32,
    /// Largest number of waiting arrivals over all workers. Further ones are dropped and counted.
    pub most_waiting: u32,
}

/// Bounds and precision of a search. Its levels are integers of the run's [`LoadUnit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBounds {
    /// Lowest level worth a trial; a failure here ends the search.
    pub min: u32,
    /// Highest level; a pass here ends the search.
    pub max: u32,
    /// Relative precision: the search ends when its bracket, or its interval, is narrower.
    pub resolution: Share,
    /// Largest number of trials, including confirming ones.
    pub max_trials: u32,
    /// Method of the search.
    pub method: SearchMethod,
}

/// Method of searching for the highest level that passes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum SearchMethod {
    /// A posterior over capacities, with each trial where it is expected to be most informative.
    #[default]
    Posterior,
    /// Bisection of a bracket.
    Bisect,
    /// The rules of Weathervane's FindMax.
    FindMax {
        /// Levels per step of its initial ramp; 0 for the method's default.
        step: u32,
    },
    /// Level by level from below.
    Staircase(Stair),
}

impl SearchMethod {
    /// Returns the name in plans and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SearchMethod::Posterior => "posterior",
            SearchMethod::Bisect => "bisect",
            SearchMethod::FindMax { .. } => "findmax",
            SearchMethod::Staircase(_) => "staircase",
        }
    }

    /// Whether it begins with trials from below instead of a ramp that finds the starting level.
    #[must_use]
    pub const fn climbs(&self) -> bool {
        matches!(self, SearchMethod::FindMax { .. } | SearchMethod::Staircase(_))
    }
}

/// Steps of a staircase, and its ends other than a level that fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stair {
    /// Levels per step; 0 for the method's default.
    pub step: u32,
    /// Relative gain of throughput below which a step ends the staircase; 0 for no such end.
    pub least_gain: Share,
    /// Share of the host's CPU from which a level ends the staircase.
    pub most_cpu: Share,
}

/// Durations of the parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    /// Ramp from zero to the level (fixed), or to the highest level (first ramp of a search).
    pub ramp: Nanos,
    /// Warm-up after the ramp, before the first measured window of a fixed run or of a search.
    pub warm_up: Nanos,
    /// A measured window.
    pub window: Nanos,
    /// Search: change of the level between two trials.
    pub step: Nanos,
    /// Search: wait after a step, before its window.
    pub settle: Nanos,
    /// Confirming window at the capacity.
    pub confirm: Nanos,
    /// Longest time for operations in flight to end after the last window.
    pub drain: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_of_thousandths_for_a_rate_and_of_whole_users() {
        let users = OfferedLoad { unit: LoadUnit::Users, level: Level::from(15) };
        let rate = OfferedLoad { unit: LoadUnit::PerSecond, ..users };
        let at = |of: OfferedLoad, scale: u32| of.scaled(Level::from(scale)).to_string();
        assert_eq!((at(users, 50), at(rate, 50)), ("8".to_owned(), "7.5".to_owned()));
        assert_eq!((at(users, 1), at(rate, 1)), ("1".to_owned(), "0.15".to_owned()));
        assert_eq!((at(users, 0), at(rate, 0)), ("0".to_owned(), "0".to_owned()));
        assert_eq!(
            (users.scale_of(30), rate.scale_of(8), OfferedLoad::default().scale_of(1)),
            (200, 53, 100_000)
        );
        let most = OfferedLoad { unit: LoadUnit::PerSecond, level: Level::from(u32::MAX) };
        assert_eq!((most.scaled(Level::from(u32::MAX)).whole(), most.scale_of(u32::MAX)), (u32::MAX, 100));
    }
}
