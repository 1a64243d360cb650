//! Execution of a study to its end: one run after the other, with entries before and after each.

use std::fs::File;

use barograph_record::{Appender, RecordError, RunEnded, RunStarted, StudyEntry};
use barograph_spec::study::Study;
use barograph_stats::compare::NARROW_LOOKS;

use crate::conclude::widest;
use crate::{NextRun, Progress, places};

/// A requested run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Number of the block, from 1.
    pub block: u32,
    /// Index of the configuration in the study; for the control, that of its own configuration.
    pub configuration: usize,
    /// Its name in the study.
    pub name: String,
    /// Number of the try within this block, from 1.
    pub attempt: u32,
    /// Whether it belongs to a block of warm-up, and is not judged.
    pub warm_up: bool,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// It ended, with success or not.
    Ended(Box<RunEnded>),
    /// The study was stopped; a run in progress counts as not made.
    Stopped(Option<Box<RunEnded>>),
}

/// Makes the runs of a study.
pub trait Runner {
    /// Error that ends a study.
    type Error: From<RecordError>;

    /// The name of the next run; it is recorded before the run begins, so that the remains of a killed one
    /// can be found.
    fn name(&mut self) -> String;

    /// Makes a run. `left` are the remaining runs, including this one.
    fn run(&mut self, wanted: &Slot, started: RunStarted, left: &Progress) -> Result<RunEnd, Self::Error>;
}

/// Executes a study to its end, or until it is stopped; returns which.
pub fn carry_out<R: Runner>(
    study: &Study,
    progress: &mut Progress,
    entries: &mut Appender<File>,
    runner: &mut R,
) -> Result<bool, R::Error> {
    loop {
        let next = match progress.next() {
            NextRun::Width { blocks } if !narrow_enough(study, progress) => progress.further(blocks),
            next => next,
        };
        let NextRun::Run { block, place, attempt, warm_up } = next else {
            entries.json(&StudyEntry::Finished {})?;
            entries.sync()?;
            return Ok(true);
        };
        let name = places(study).swap_remove(place);
        let configuration = if place < study.configurations.len() { place } else { study.controlled() };
        let wanted = Slot { block, configuration, name, attempt, warm_up };
        let run = runner.name();
        let started = RunStarted { block, configuration: wanted.name.clone(), attempt, run, warm_up };
        entries.json(&StudyEntry::RunStarted(started.clone()))?;
        match runner.run(&wanted, started, progress)? {
            RunEnd::Ended(ended) => {
                entries.json(&StudyEntry::RunEnded(ended.clone()))?;
                entries.sync()?;
                progress.add(*ended);
            }
            RunEnd::Stopped(ended) => {
                if let Some(ended) = ended {
                    entries.json(&StudyEntry::RunEnded(ended))?;
                }
                entries.json(&StudyEntry::Interrupted {})?;
                entries.sync()?;
                return Ok(false);
            }
        }
    }
}

/// Whether every interval was narrow enough at the last looks, one after each block. True if no width is
/// requested.
fn narrow_enough(study: &Study, progress: &Progress) -> bool {
    let Some(width) = study.repeats.width else { return true };
    let mut runs = progress.ended().to_vec();
    (0..NARROW_LOOKS).all(|_| {
        let is_narrow = widest(study, &runs).is_some_and(|widest| widest <= width);
        let last = runs.iter().map(|run| run.started.block).max();
        runs.retain(|run| Some(run.started.block) != last);
        is_narrow
    })
}
