//! What load is asked for and for how long.

use crate::{Level, Nanos, Share};

/// What load is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadUnit {
    /// Closed loop: users, each of whom waits for its answers.
    #[default]
    Users,
    /// Open loop: starts per second, whatever answers take.
    PerSecond,
    /// Of several loads: percent of what each has of its own.
    Scale,
}

impl LoadUnit {
    /// The name in plans and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LoadUnit::Users => "users",
            LoadUnit::PerSecond => "starts/s",
            LoadUnit::Scale => "% of each load",
        }
    }
}

/// A load in its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// What is counted.
    pub unit: LoadUnit,
    /// How much of it.
    pub level: Level,
}

impl Offered {
    /// The level at a scale in percent of this load: at least the smallest of its unit, unless the scale is zero.
    #[must_use]
    pub fn scaled(self, scale: Level) -> Level {
        let least = match self.unit {
            LoadUnit::PerSecond => Level::LEAST,
            LoadUnit::Users | LoadUnit::Scale => Level::from(1),
        };
        let level = (u128::from(self.level.0) * u128::from(scale.0) + 50_000) / 100_000;
        let level = u64::try_from(level).unwrap_or(u64::MAX);
        let whole = level.saturating_add(500) / 1_000 * 1_000;
        let level = Level(if self.unit == LoadUnit::PerSecond { level } else { whole });
        if scale == Level::ZERO { Level::ZERO } else { level.max(least) }
    }

    /// The scale in whole percent of this load that has a level.
    #[must_use]
    pub fn scale_of(self, level: u32) -> u32 {
        let whole = u64::max(self.level.0, 1);
        let scale = (u64::from(level) * 100_000 + whole / 2) / whole;
        u32::try_from(scale).unwrap_or(u32::MAX)
    }
}

/// How a run looks for its answer. Levels are in the run's [`LoadUnit`].
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// A constant level, judged in each measured window.
    Fixed {
        /// The level in the measured windows.
        level: Level,
        /// How many measured windows follow each other; all must pass.
        windows: u32,
    },
    /// The highest level that passes.
    Search(SearchBounds),
    /// A level that changes over time; each hold of the path is a measured window.
    Path(LoadPath),
}

impl Strategy {
    /// The highest level.
    #[must_use]
    pub fn most(&self) -> Level {
        match self {
            Strategy::Fixed { level, .. } => *level,
            Strategy::Search(bounds) => bounds.max.into(),
            Strategy::Path(path) => path.most(),
        }
    }
}

/// A load that changes over time: ramps, holds, bursts (a ramp of no length), again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPath {
    /// One after the other.
    pub steps: Vec<LoadStep>,
    /// How many times; at least once.
    pub repeats: u32,
}

impl LoadPath {
    /// The highest level.
    #[must_use]
    pub fn most(&self) -> Level {
        self.steps.iter().map(|step| step.level).max().unwrap_or_default()
    }
}

/// One step of a load path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadStep {
    /// The level it leads to.
    pub level: Level,
    /// In so much time, evenly; zero is at once.
    pub over: Nanos,
    /// How long it is held and measured; zero goes on with the next step.
    pub hold: Nanos,
}

/// When operations start in an open loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// As independent events: exponential distances.
    Poisson,
    /// At these instants, counted from the start of the load; the level has no meaning then.
    Trace(std::sync::Arc<[Nanos]>),
}

/// What an arrival begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartOf {
    /// One operation of a user that is free; its behaviour says which, its pace has no say.
    Operation,
    /// A whole session of a user that is free, at the pace of its behaviour.
    Session,
}

/// An open loop: starts come from outside, whatever answers take.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenLoop {
    /// When they come.
    pub arrivals: Arrivals,
    /// What each begins.
    pub start_of: StartOf,
    /// Users at the most, over all workers: a bound on work in flight. An arrival that finds none free waits, and is
    /// counted as late.
    pub most_users: u32,
    /// Arrivals that may wait for a free user, over all workers. One more is dropped and counted.
    pub most_waiting: u32,
}

/// Where a search looks and when it is content. Its levels are whole numbers of the run's [`LoadUnit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBounds {
    /// Lowest level worth a trial; failing here ends the search.
    pub min: u32,
    /// Highest level; passing here ends the search.
    pub max: u32,
    /// How exact the result shall be, as a share of it: the search ends when its bracket, or its interval, is narrower.
    pub resolution: Share,
    /// How many trials at most, the confirming ones included.
    pub max_trials: u32,
    /// How it looks.
    pub method: SearchMethod,
}

/// How a search looks for the highest level that passes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum SearchMethod {
    /// A probability for every capacity, and each trial where it is expected to tell the most.
    #[default]
    Posterior,
    /// A bracket that is halved.
    Bisect,
    /// The rules of Weathervane's FindMax.
    FindMax {
        /// Levels per step of its initial ramp; 0 leaves it to the method.
        step: u32,
    },
    /// Level by level from below.
    Staircase(Stair),
}

impl SearchMethod {
    /// The name in plans and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SearchMethod::Posterior => "posterior",
            SearchMethod::Bisect => "bisect",
            SearchMethod::FindMax { .. } => "findmax",
            SearchMethod::Staircase(_) => "staircase",
        }
    }

    /// Does it begin with trials of its own from below, instead of a ramp that says where to begin?
    #[must_use]
    pub const fn climbs(&self) -> bool {
        matches!(self, SearchMethod::FindMax { .. } | SearchMethod::Staircase(_))
    }
}

/// The steps of a staircase, and what ends it besides a level that fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stair {
    /// Levels per step; 0 leaves it to the method.
    pub step: u32,
    /// A step that raises throughput by less than this part of it ends the staircase; with 0 none does.
    pub least_gain: Share,
    /// A level at which the host uses this part of its CPU or more ends the staircase.
    pub most_cpu: Share,
}

/// How long the parts of a run take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    /// From nothing to the asked level (fixed), or to the highest (first ramp of a search).
    pub ramp: Nanos,
    /// After the ramp, before the first measured window of a fixed run or of a search's first trial.
    pub warm_up: Nanos,
    /// A measured window.
    pub window: Nanos,
    /// Search: time in which the level changes between two trials.
    pub step: Nanos,
    /// Search: after a step, before its window.
    pub settle: Nanos,
    /// The confirming window at the found capacity.
    pub confirm: Nanos,
    /// How long operations in flight may take to end after the last window.
    pub drain: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_of_thousandths_for_a_rate_and_of_whole_users() {
        let users = Offered { unit: LoadUnit::Users, level: Level::from(15) };
        let rate = Offered { unit: LoadUnit::PerSecond, ..users };
        let at = |of: Offered, scale: u32| of.scaled(Level::from(scale)).to_string();
        assert_eq!((at(users, 50), at(rate, 50)), ("8".to_owned(), "7.5".to_owned()));
        assert_eq!((at(users, 1), at(rate, 1)), ("1".to_owned(), "0.15".to_owned()));
        assert_eq!((at(users, 0), at(rate, 0)), ("0".to_owned(), "0".to_owned()));
        assert_eq!(
            (users.scale_of(30), rate.scale_of(8), Offered::default().scale_of(1)),
            (200, 53, 100_000)
        );
        let most = Offered { unit: LoadUnit::PerSecond, level: Level::from(u32::MAX) };
        assert_eq!((most.scaled(Level::from(u32::MAX)).whole(), most.scale_of(u32::MAX)), (u32::MAX, 100));
    }
}
