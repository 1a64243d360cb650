//! Runs of a study: ordinary runs with ordinary records, one after another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_export::Receiver;
use barograph_harness::{RunResult, Stop, StopHandle};
use barograph_live::{Page, StudyPosition};
use barograph_model::words::{figure, in_one_line, span};
use barograph_model::{Metric, Nanos};
use barograph_record::{
    ExitCode, Figure, MissingFigure, RecordError, Run, RunEnded, RunStarted, TimesRecord,
};
use barograph_spec::study::{MetricPlan, Study, of_load};
use barograph_study::{Progress, RunEnd, Runner, Slot};
use tokio::runtime::Runtime;

use super::prepare::{PreparedStudy, ends_the_study, into};
use crate::commands::run::{Start, listen_for_signals, runtime};
use crate::commands::{CommandFailure, show};
use crate::terminal::{self, Terminal};
use crate::watch::{Watch, place};

/// A failure that ends a study.
pub(super) struct StudyFailed(pub(super) CommandFailure);

impl From<RecordError> for StudyFailed {
    fn from(why: RecordError) -> Self {
        StudyFailed(CommandFailure::new(ExitCode::CannotWrite, why))
    }
}

impl From<CommandFailure> for StudyFailed {
    fn from(why: CommandFailure) -> Self {
        StudyFailed(why)
    }
}

/// Followers of all runs of a study.
pub(super) struct StudyObservers {
    /// One page for all runs.
    pub(super) page: Option<Arc<Page>>,
    /// Receivers of their figures.
    pub(super) export_to: Vec<Receiver>,
}

impl StudyObservers {
    /// Shows a line on the page.
    fn say(&self, line: &str) {
        if let Some(page) = &self.page {
            page.say(line);
        }
    }
}

/// Runs of a study.
pub(super) struct Runs<'p> {
    prepared: &'p PreparedStudy,
    folder: PathBuf,
    expected: Vec<f64>,
    runtime: Runtime,
    stop: StopHandle,
    heard: Stop,
    /// Number of runs begun by this process.
    begun: u32,
    watched: StudyObservers,
    next: Option<Start>,
}

impl<'p> Runs<'p> {
    /// Prepares runs with their records in this folder. From here on an interrupt stops the study in order.
    pub(super) fn new(
        prepared: &'p PreparedStudy,
        folder: &Path,
        watched: StudyObservers,
    ) -> Result<Self, CommandFailure> {
        let (stop, heard) = Stop::new();
        let runtime = runtime()?;
        let listening = {
            let _within = runtime.enter();
            listen_for_signals(stop.clone())
        };
        runtime.spawn(listening);
        let (folder, expected) = (folder.to_owned(), prepared.expected());
        Ok(Runs { prepared, folder, expected, runtime, stop, heard, begun: 0, watched, next: None })
    }

    /// Whether the user has stopped the study since the last run.
    fn is_stopped(&self) -> bool {
        let heard = self.heard.or(tokio::task::yield_now());
        self.runtime.block_on(heard).is_err()
    }

    /// Announces the next run and the remaining time.
    fn announce(&self, wanted: &Slot, left: &Progress) {
        let Study { repeats, warm_up_blocks, .. } = &self.prepared.study;
        let again = if wanted.attempt > 1 { ", once more because it could not be used" } else { "" };
        let blocks = match repeats.width {
            Some(_) => format!("{} to {}", repeats.blocks, repeats.most),
            None => repeats.blocks.to_string(),
        };
        let block = match wanted.warm_up {
            true => format!("{} of {warm_up_blocks}, not judged", block(wanted)),
            false => format!("{} of {blocks}", block(wanted)),
        };
        let seconds = left.seconds_left(&self.expected);
        // The number of further blocks is unknown; this run remains in any case.
        let this = self.expected.get(wanted.configuration).copied().filter(|_| repeats.width.is_some());
        let time = span(Nanos::from_secs_f64(seconds.max(this.unwrap_or(0.0))));
        let more = if this.is_some() { ", and more while intervals are too wide" } else { "" };
        let line = format!("run {}: {block}, {}{again}; about {time} left{more}", number(left), wanted.name);
        terminal::say(&line);
        self.watched.say(&line);
    }

    /// Position of this run in the study.
    fn turn(&self, wanted: &Slot, left: &Progress) -> StudyPosition {
        let number = number(left);
        // Blocks may follow until the intervals are narrow enough.
        let least = if self.prepared.study.repeats.width.is_some() { "at least " } else { "" };
        StudyPosition {
            words: format!("run {number} of {least}{}", left.runs().max(number)),
            after: Nanos::from_secs_f64(left.seconds_after(&wanted.name, &self.expected)),
        }
    }
}

/// Number of the next run.
fn number(left: &Progress) -> usize {
    left.warmed_up().len() + left.ended().len() + 1
}

impl Runs<'_> {
    /// Starts the requested followers. After the first run, receivers that fail are left out: they are not
    /// worth the rest of a study.
    fn watch(&self, wanted: &Slot, left: &Progress) -> Result<Watch, CommandFailure> {
        let page = &self.watched.page;
        if let Some(page) = page {
            page.next(&format!("{}, {}", block(wanted), wanted.name), self.turn(wanted, left));
        }
        match Watch::with(page.clone(), &self.watched.export_to) {
            Err(failed) if self.begun > 1 => {
                terminal::complain(&failed.why);
                Watch::with(page.clone(), &[])
            }
            watch => watch,
        }
    }
}

impl Runner for Runs<'_> {
    type Error = StudyFailed;

    fn name(&mut self) -> String {
        let start = Start::another(self.begun, (self.stop.clone(), self.heard.clone()));
        self.begun += 1;
        let name = start.id.to_string();
        self.next = Some(start);
        name
    }

    fn run(&mut self, wanted: &Slot, started: RunStarted, left: &Progress) -> Result<RunEnd, StudyFailed> {
        let start = self.next.take();
        let Some(start) = start.filter(|_| !self.is_stopped()) else { return Ok(RunEnd::Stopped(None)) };
        let watch = self.watch(wanted, left)?;
        self.announce(wanted, left);
        let loads = self.prepared.check(wanted.configuration, &[into(&self.folder)])?;
        let mut screen = Terminal::new();
        let world = start.watched_by(&watch).world(&loads);
        let mut beside = watch.beside(&mut screen);
        let finished = self.runtime.block_on(barograph_harness::run(loads, &world, &mut beside));
        screen.finish();
        let finished = finished.map_err(CommandFailure::from)?;
        let ended = Box::new(self.ended(&finished, wanted.configuration, started));
        // The page shows it too, and continues with the next run.
        let line = told(&ended);
        terminal::say(&line);
        self.watched.say(line.trim_start());
        self.watched.say(&place("record", &finished.dir));
        match finished.error {
            Some(_) if ended.interrupted => Ok(RunEnd::Stopped(Some(ended))),
            Some(why) if ends_the_study(finished.exit) => Err(CommandFailure::new(finished.exit, why).into()),
            _ => Ok(RunEnd::Ended(ended)),
        }
    }
}

impl Runs<'_> {
    /// Result of a run of the configuration at this index, from its record.
    fn ended(&self, finished: &RunResult, configuration: usize, started: RunStarted) -> RunEnded {
        let mut ended = RunEnded {
            started,
            seconds: f64::NAN,
            valid: false,
            passed: false,
            interrupted: finished.exit == ExitCode::Interrupted,
            reasons: Vec::new(),
            figures: Vec::new(),
            at_least: None,
            stolen: None,
            scores: Vec::new(),
            missing: Vec::new(),
            times: Vec::new(),
        };
        if let Some(why) = &finished.error {
            ended.reasons.push(in_one_line(why));
        }
        let run = match Run::open(&finished.dir) {
            Ok(run) => run,
            Err(why) => {
                ended.reasons.push(why.in_one_line());
                return ended;
            }
        };
        // The study continues without the page; `barograph report` writes it later.
        if let Err(failed) = show::write_report(&run, &run.dir) {
            terminal::complain(&failed.why);
        }
        ended.seconds = run.phases().iter().filter_map(|phase| phase.to_s).fold(0.0, f64::max);
        if let Some(verdict) = run.verdict() {
            ended.valid = verdict.valid && finished.error.is_none();
            ended.passed = verdict.passed;
            let bound = verdict.search.as_ref().filter(|search| search.at_least);
            ended.at_least = bound.map(|search| search.bounded_by.clone());
            if !verdict.valid {
                // Rules that did not hold are not a reason to drop a run.
                ended.reasons.extend(verdict.doubts.iter().cloned());
                if verdict.doubts.is_empty() {
                    ended.reasons.push(verdict.sentence.clone());
                }
            }
        }
        let study = &self.prepared.study;
        let is_measured = |metric: &&MetricPlan| metric.is_of(&study.configurations[configuration]);
        for metric in study.metrics.iter().filter(is_measured) {
            let of = run.of(metric.load.as_deref());
            let window = metric.window;
            let measured = |metric: Metric, operation: Option<&str>| of?.metric_in(window, metric, operation);
            let planned = |key: &str| self.prepared.number(configuration, metric.load.as_deref(), key);
            match barograph_study::figure(metric, measured, planned) {
                Ok(value) => ended.figures.push(Figure::new(&metric.label, value)),
                Err(why) => ended.missing.push(MissingFigure { metric: metric.label.clone(), why }),
            }
        }
        for (load, operation) in study.operations() {
            let times = run.of(load).map_or_else(Vec::new, |of| of.response_times(&[operation]));
            let named = |times: TimesRecord| TimesRecord { op: of_load(load, operation), ..times };
            ended.times.extend(times.into_iter().map(named));
        }
        ended.stolen = run.stolen();
        ended.scores = run.window_scores();
        ended
    }
}

/// Name of a run's block.
fn block(wanted: &Slot) -> String {
    let kind = if wanted.warm_up { "warm-up block" } else { "block" };
    format!("{kind} {}", wanted.block)
}

/// A run in one line.
fn told(ended: &RunEnded) -> String {
    let word = match (ended.valid, ended.passed) {
        _ if ended.started.warm_up => "warm-up, not judged",
        (false, _) => "not used",
        (true, true) => "valid, passed",
        (true, false) => "valid, not passed",
    };
    let figures = ended.figures.iter().map(|of| format!("{} {}", of.name, figure(of.value)));
    let rest: Vec<String> = match ended.valid {
        true => figures.chain(ended.missing.iter().map(|missing| missing.why.clone())).collect(),
        false => ended.reasons.iter().take(2).cloned().collect(),
    };
    format!("    {}: {word}; {}", ended.started.configuration, rest.join("; "))
}
