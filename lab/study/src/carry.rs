//! A study from where it is to its end: one run after the other, each entered before it begins and when it has ended.

use std::fs::File;

use barograph_record::{Appender, RecordError, RunEnded, RunStarted, StudyEntry};
use barograph_spec::study::Study;
use barograph_stats::compare::NARROW_LOOKS;

use crate::conclude::widest;
use crate::{Next, Progress, places};

/// A run that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Number of the block, from 1.
    pub block: u32,
    /// Place of the configuration among those of the study; that of the control is its own configuration's.
    pub configuration: usize,
    /// Its name in the study.
    pub name: String,
    /// How often this was tried in this block, from 1.
    pub attempt: u32,
    /// It is of a block of warm-up, and not judged.
    pub warm_up: bool,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// It came to an end, good or bad.
    Ended(Box<RunEnded>),
    /// Somebody stopped the study; if in a run, that run counts as not made.
    Stopped(Option<Box<RunEnded>>),
}

/// Who makes runs.
pub trait Runner {
    /// Why a study cannot go on.
    type Error: From<RecordError>;

    /// The name of the next run; it is entered before the run begins, so that what a kill leaves can be found.
    fn name(&mut self) -> String;

    /// Makes a run. `left` is what is still to do, this run included.
    fn run(&mut self, wanted: &Wanted, started: RunStarted, left: &Progress) -> Result<Made, Self::Error>;
}

/// Carries a study out to its end, or until somebody stops it; says which.
pub fn carry_out<R: Runner>(
    study: &Study,
    progress: &mut Progress,
    entries: &mut Appender<File>,
    runner: &mut R,
) -> Result<bool, R::Error> {
    loop {
        let next = match progress.next() {
            Next::Width { blocks } if !narrow_enough(study, progress) => progress.further(blocks),
            next => next,
        };
        let Next::Run { block, place, attempt, warm_up } = next else {
            entries.json(&StudyEntry::Finished {})?;
            entries.sync()?;
            return Ok(true);
        };
        let name = places(study).swap_remove(place);
        let configuration = if place < study.configurations.len() { place } else { study.controlled() };
        let wanted = Wanted { block, configuration, name, attempt, warm_up };
        let run = runner.name();
        let started = RunStarted { block, configuration: wanted.name.clone(), attempt, run, warm_up };
        entries.json(&StudyEntry::RunStarted(started.clone()))?;
        match runner.run(&wanted, started, progress)? {
            Made::Ended(ended) => {
                entries.json(&StudyEntry::RunEnded(ended.clone()))?;
                entries.sync()?;
                progress.add(*ended);
            }
            Made::Stopped(ended) => {
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

/// Was every interval narrow enough at the last looks, of which there is one after each block? Without a width that is sought
/// it is.
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
