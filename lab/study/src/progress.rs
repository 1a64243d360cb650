//! Progress of a study: finished runs and the next one, both from its entries alone.

use std::collections::BTreeMap;

use barograph_record::{RunEnded, StudyEntry};
use barograph_spec::study::{Repeats, Study};

use crate::{Schedule, places};

/// Progress of a study.
#[derive(Clone, Debug)]
pub struct Progress {
    schedule: Schedule,
    places: Vec<String>,
    warm_up_blocks: u32,
    repeats: Repeats,
    again: u32,
    warmed_up: Vec<RunEnded>,
    ended: Vec<RunEnded>,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRun {
    /// A run.
    Run {
        /// Number of the block, from 1.
        block: u32,
        /// Index of the configuration in [`places`].
        place: usize,
        /// Number of the try within this block, from 1.
        attempt: u32,
        /// Whether it belongs to a block of warm-up, which have numbers of their own.
        warm_up: bool,
    },
    /// All requested blocks are whole, and a width is requested: check the intervals.
    Width {
        /// Whole blocks.
        blocks: u32,
    },
    /// Nothing is left.
    Done,
}

impl Progress {
    /// The progress of a study with these entries.
    #[must_use]
    pub fn new(study: &Study, entries: &[StudyEntry]) -> Self {
        let places = places(study);
        let mut progress = Progress {
            schedule: Schedule::new(study.seed, places.len()),
            places,
            warm_up_blocks: study.warm_up_blocks,
            repeats: study.repeats,
            again: study.again,
            warmed_up: Vec::new(),
            ended: Vec::new(),
        };
        for entry in entries {
            if let StudyEntry::RunEnded(ended) = entry {
                progress.add((**ended).clone());
            }
        }
        progress
    }

    /// Adds a run that ended. One that was stopped from outside counts as not made.
    pub fn add(&mut self, ended: RunEnded) {
        if !ended.interrupted {
            let of_its_kind = if ended.started.warm_up { &mut self.warmed_up } else { &mut self.ended };
            of_its_kind.push(ended);
        }
    }

    /// Runs that ended, without those of the warm-up.
    #[must_use]
    pub fn ended(&self) -> &[RunEnded] {
        &self.ended
    }

    /// Runs of the warm-up that ended; they are not used in conclusions.
    #[must_use]
    pub fn warmed_up(&self) -> &[RunEnded] {
        &self.warmed_up
    }

    /// The next step. First the warm-up, whose runs are made once, with any result. After it, an unusable run
    /// is repeated after the others of its block, so that a disturbance may pass, and within its block.
    #[must_use]
    pub fn next(&self) -> NextRun {
        if let Some((block, place)) = self.next_of_warm_up() {
            return NextRun::Run { block, place, attempt: 1, warm_up: true };
        }
        let mut block = 1;
        loop {
            if let Some((place, attempt)) = self.next_of(block) {
                return NextRun::Run { block, place, attempt, warm_up: false };
            }
            if block >= self.repeats.most {
                return NextRun::Done;
            }
            let begun = self.ended.iter().any(|run| run.started.block > block);
            if block >= self.repeats.blocks && !begun {
                return NextRun::Width { blocks: block };
            }
            block += 1;
        }
    }

    /// The next step if the intervals are not narrow enough after `blocks` blocks.
    #[must_use]
    pub fn further(&self, blocks: u32) -> NextRun {
        match self.next_of(blocks + 1) {
            Some((place, attempt)) => NextRun::Run { block: blocks + 1, place, attempt, warm_up: false },
            None => NextRun::Done,
        }
    }

    /// Blocks without remaining runs.
    #[must_use]
    pub fn whole_blocks(&self) -> u32 {
        (1..=self.repeats.most).take_while(|block| self.next_of(*block).is_none()).count() as u32
    }

    fn next_of_warm_up(&self) -> Option<(u32, usize)> {
        (1..=self.warm_up_blocks).find_map(|block| {
            let made = self.warmed_up.iter().filter(|run| run.started.block == block);
            let made: Vec<&str> = made.map(|run| run.started.configuration.as_str()).collect();
            let is_left = |place: &usize| !made.contains(&self.places[*place].as_str());
            self.schedule.warm_up(block).into_iter().find(is_left).map(|place| (block, place))
        })
    }

    fn next_of(&self, block: u32) -> Option<(usize, u32)> {
        let order = self.schedule.block(block);
        let tries: BTreeMap<usize, (u32, bool)> =
            order.iter().map(|place| (*place, self.tries(block, &self.places[*place]))).collect();
        let untried = order.iter().find(|place| tries[place].0 == 0);
        let failed = || {
            let again = |place: &&usize| !tries[place].1 && tries[place].0 <= self.again;
            // Fewest tries first, so that nothing is tried twice in a row while others wait.
            order.iter().filter(again).min_by_key(|place| tries[place].0)
        };
        untried.or_else(failed).map(|place| (*place, tries[place].0 + 1))
    }

    /// Number of tries of a configuration in a block, and whether one of them is usable.
    fn tries(&self, block: u32, name: &str) -> (u32, bool) {
        let of_it = self.ended.iter().filter(|r| r.started.block == block && r.started.configuration == name);
        of_it.fold((0, false), |(tried, valid), run| (tried + 1, valid || run.valid))
    }

    /// Longest remaining time in seconds without further failures: each remaining run takes as long as those
    /// of its configuration, or `expected` (by index) before the first.
    #[must_use]
    pub fn seconds_left(&self, expected: &[f64]) -> f64 {
        (0..self.places.len()).map(|place| self.left(place) as f64 * self.took(place, expected)).sum()
    }

    /// The same without one run of the configuration of this name: the time after it.
    #[must_use]
    pub fn seconds_after(&self, name: &str, expected: &[f64]) -> f64 {
        let this = self.places.iter().position(|place| place == name);
        let this = this.filter(|place| self.left(*place) > 0);
        (self.seconds_left(expected) - this.map_or(0.0, |place| self.took(place, expected))).max(0.0)
    }

    /// Total number of runs, including those made, without further failures.
    #[must_use]
    pub fn runs(&self) -> usize {
        let left: usize = (0..self.places.len()).map(|place| self.left(place)).sum();
        self.warmed_up.len() + self.ended.len() + left
    }

    /// Remaining runs of the configuration at this index, without further failures.
    fn left(&self, place: usize) -> usize {
        let warmed_up = self.made(place).filter(|run| run.started.warm_up).count();
        let made = (1..=self.repeats.blocks).filter(|block| {
            let (tried, valid) = self.tries(*block, &self.places[place]);
            valid || tried > self.again
        });
        let all = self.repeats.blocks as usize + self.warm_up_blocks as usize;
        all.saturating_sub(made.count() + warmed_up)
    }

    /// Seconds per run of the configuration at this index.
    fn took(&self, place: usize, expected: &[f64]) -> f64 {
        let seconds: Vec<f64> = self.made(place).map(|run| run.seconds).filter(|s| s.is_finite()).collect();
        match seconds.len() {
            0 => expected.get(place).copied().unwrap_or(0.0),
            made => seconds.iter().sum::<f64>() / made as f64,
        }
    }

    /// Runs made of the configuration at this index, including the warm-up.
    fn made(&self, place: usize) -> impl Iterator<Item = &RunEnded> {
        let all = self.warmed_up.iter().chain(&self.ended);
        all.filter(move |run| run.started.configuration == self.places[place])
    }
}
