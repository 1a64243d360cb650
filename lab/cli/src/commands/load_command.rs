//! Load commands: load a target with one line, as in `barograph http URL`.
//!
//! The arguments become a plan and, if it does not follow from the plan alone, a workload. Everything else is
//! the same as in `barograph run`: engine, judging, search, record and report.

mod plan;
mod summary;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use barograph_harness::control::{Command, ask};
use barograph_harness::{CheckedLoad, CheckedPlan, HarnessError, Progress, Screen, StopHandle};
use barograph_model::{Nanos, Phase};
use barograph_record::{ComparisonRecord, ExitCode, Run};
use barograph_report::comparison;
use barograph_workload::{Noun, Workload};
use tempfile::TempDir;

use super::run::{Start, warn_of_debug_builds};
use super::{CommandFailure, CommandResult, rounds};
use crate::args::{LoadCommandArgs, ResultFormat, TypedLoadCommand};
use crate::catalog::WORKLOADS;
use crate::live::{self, Display, KeyActions};
use crate::terminal::{self, Terminal};
use crate::watch::Watch;
use crate::{machine, words};
use summary::Summary;

/// Loads a target.
pub(crate) fn run(typed: &TypedLoadCommand) -> CommandResult {
    let args = &typed.args;
    if let Some(answer) = typed.command.answer(&typed.own) {
        terminal::result(&answer?);
        return Ok(ExitCode::Fine);
    }
    let load = typed.command.load(&typed.own, &args.options())?;
    if let Some(file) = report_file(typed) {
        try_to_write(&file).map_err(|why| cannot_write_report(why, &file))?;
    }
    let (runs, _removed_at_the_end) = records(typed)?;
    let text = plan::text(typed.workload, args, &load, &runs.display().to_string());
    let plan = WORKLOADS
        .read(&format!("barograph {}", typed.name), &text, &args.sets)
        .map_err(HarnessError::Refused)?;
    let workload =
        load.workload.map_or_else(|| WORKLOADS.of_plan(&plan), Ok).map_err(HarnessError::Refused)?;
    let title = load.title;
    let machine = machine::facts(&runs);
    let checked =
        barograph_harness::check(&plan, workload.as_ref(), machine).map_err(HarnessError::Refused)?;
    if !args.quiet {
        announce(args, (&title, typed.command.request()), &checked);
    }
    let watch = Watch::start(&args.watch, &title)?;
    let start = Start::now().watched_by(&watch);
    let dir = runs.join(start.id.as_str());
    let interrupt = Interrupt { dir, stop: start.stop.clone(), came: Arc::default() };
    let mut screen = screen(args, title.clone(), &checked, &interrupt);
    let load = CheckedLoad { checked, workload: Arc::clone(&workload) };
    let by_signal = interrupt.clone();
    let hear = move || by_signal.comes();
    let finished = start.carry_out_hearing(hear, vec![load], &mut watch.beside(screen.as_mut()));
    // Restores the terminal before anything else is printed.
    drop(screen);
    let finished = finished?;
    let record = args.keep_record.as_ref().map(|_| finished.dir.as_path());
    if let Some(why) = finished.error {
        watch.end(None, record);
        return Err(CommandFailure::new(finished.exit, why));
    }
    if finished.verdict.is_none() && finished.exit == ExitCode::Interrupted {
        watch.end(None, record);
        return Err(CommandFailure::new(finished.exit, anyhow!("stopped before anything was measured")));
    }
    let interrupted = interrupt.came.load(Ordering::Relaxed);
    let report = conclude(typed, &finished.dir, (&title, workload.as_ref(), interrupted))?;
    watch.end(report.as_deref(), record);
    Ok(if interrupted { ExitCode::Interrupted } else { finished.exit })
}

/// Early end on request: the first signal ends the load in order, so that results are shown; the next one
/// ends the run.
#[derive(Clone)]
struct Interrupt {
    dir: PathBuf,
    stop: StopHandle,
    came: Arc<AtomicBool>,
}

impl Interrupt {
    fn comes(&self) {
        if self.came.swap(true, Ordering::Relaxed) {
            return self.stop.stop();
        }
        terminal::say("stopping: what was measured so far is shown; a second signal ends it at once");
        // The run replies between two intervals, on the thread that receives signals.
        let (dir, stop) = (self.dir.clone(), self.stop.clone());
        std::thread::spawn(move || {
            if ask(&dir, &Command::Stop).is_err() {
                // The load has not begun.
                stop.stop();
            }
        });
    }
}

/// File of the report, if one was asked for.
fn report_file(typed: &TypedLoadCommand) -> Option<PathBuf> {
    let file = typed.args.report.as_ref()?.clone();
    Some(file.unwrap_or_else(|| PathBuf::from(format!("barograph-{}.html", typed.name))))
}

/// Tries whether a file can be written, and leaves everything as it is.
fn try_to_write(file: &Path) -> io::Result<()> {
    let is_new = !file.try_exists()?;
    File::options().append(true).create(true).open(file)?;
    if is_new { fs::remove_file(file) } else { Ok(()) }
}

fn cannot_write_report(why: io::Error, file: &Path) -> CommandFailure {
    let why = anyhow::Error::new(why).context(format!("write the report `{}`", file.display()));
    CommandFailure::new(ExitCode::CannotWrite, why)
}

/// Folder of records: the named one, or a temporary one that is removed at the end.
fn records(typed: &TypedLoadCommand) -> Result<(PathBuf, Option<TempDir>), CommandFailure> {
    if let Some(folder) = &typed.args.keep_record {
        return Ok((folder.clone(), None));
    }
    let folder = tempfile::Builder::new().prefix(&format!("barograph-{}-", typed.name)).tempdir();
    let folder = folder
        .context("make a folder for the record")
        .map_err(|why| CommandFailure::new(ExitCode::CannotWrite, why))?;
    Ok((folder.path().to_owned(), Some(folder)))
}

fn announce(args: &LoadCommandArgs, (title, noun): (&str, Noun), checked: &CheckedPlan) {
    warn_of_debug_builds();
    let window = words::span(checked.plan.durations.window.0);
    let load = |users: &str| match args.rate {
        Some(rate) => format!("{rate} starts/s"),
        None => users.to_owned(),
    };
    if args.search {
        let rules: Vec<String> = args.rules().iter().map(ToString::to_string).collect();
        let by_default = if args.qos.is_empty() { ", as no --qos names another" } else { "" };
        terminal::say(&format!(
            "searching the most {} of {title} with {} and failures < {}{by_default}",
            if args.rate.is_some() { "starts/s" } else { "users" },
            rules.join(", "),
            words::percent(args.errors.get()),
        ));
    } else {
        let users = match checked.plan.strategy {
            barograph_model::Strategy::Fixed { level, .. } => barograph_model::words::users(level.whole()),
            _ => String::new(),
        };
        let length = match (args.operations, args.duration) {
            (None | Some(barograph_spec::MOST_OPERATIONS), _) => format!("measured for {window}"),
            (Some(n), None) => format!("{} {}", words::count(n), noun.several),
            (Some(n), Some(_)) => format!("{} {} or {window}", words::count(n), noun.several),
        };
        terminal::say(&format!("{title}: {}, {length}", load(&users)));
    }
    for note in &checked.notes {
        terminal::say(&format!("note      {note}"));
    }
}

/// A screen that shows nothing.
struct SilentScreen;

impl Screen for SilentScreen {
    fn phase(&mut self, _: Phase, _: &str) {}
    fn progress(&mut self, _: &Progress) {}
    fn say(&mut self, _: &str) {}
}

/// Screen of the run: figures and keys on a terminal, plain lines elsewhere, nothing if quiet.
fn screen(
    args: &LoadCommandArgs,
    title: String,
    checked: &CheckedPlan,
    interrupt: &Interrupt,
) -> Box<dyn Screen> {
    if args.quiet {
        return Box::new(SilentScreen);
    }
    if !live::is_possible() {
        return Box::new(Terminal::new());
    }
    let (dir, interrupt) = (interrupt.dir.clone(), interrupt.clone());
    let levers = KeyActions {
        ask: Arc::new(move |command: &Command| {
            let reply = ask(&dir, command).map_err(|why| format!("{:#}", anyhow!(why)))?;
            if reply.ok { Ok(()) } else { Err(reply.error.unwrap_or_default()) }
        }),
        interrupt: Box::new(move || interrupt.comes()),
    };
    match Display::open(title, checked.plan.unit, levers) {
        Ok(display) => Box::new(display),
        // If the screen cannot be taken over, plain lines are still possible.
        Err(_) => Box::new(Terminal::new()),
    }
}

/// Prints the result and writes the report. Returns the path of the report.
fn conclude(
    typed: &TypedLoadCommand,
    dir: &Path,
    (title, workload, interrupted): (&str, &dyn Workload, bool),
) -> Result<Option<PathBuf>, CommandFailure> {
    let cannot = |why: anyhow::Error| CommandFailure::new(ExitCode::CannotWrite, why);
    let args = &typed.args;
    let run = Run::open(dir)?;
    let mut summary = Summary::of(&run, title, workload.failure_reasons()).ok_or_else(|| {
        CommandFailure::new(
            ExitCode::Bug,
            anyhow!("find a measured window in the record `{}`", dir.display()),
        )
    })?;
    summary.interrupted = interrupted;
    summary.ended_by_time &= !interrupted;
    summary.failure_pause_s = args.pause().map(Nanos::as_secs_f64);
    let compared = rounds::compared(workload);
    summary.comparisons = compared.iter().map(comparison::json).collect();
    let noun = typed.command.request();
    let with = |first: String, of: fn(&ComparisonRecord) -> String| {
        [first].into_iter().chain(compared.iter().map(of)).collect::<Vec<_>>().join("\n\n")
    };
    let result = match if args.json { ResultFormat::Json } else { args.format } {
        ResultFormat::Text => with(summary.text(noun), comparison::text),
        ResultFormat::Markdown => with(summary.markdown(noun), comparison::markdown),
        ResultFormat::Json => {
            serde_json::to_string_pretty(&summary).context("write the result as JSON").map_err(cannot)?
        }
    };
    terminal::result(&result);
    let report = report_file(typed);
    if let Some(file) = &report {
        let page =
            barograph_report::render_html(&run).map_err(|why| CommandFailure::new(ExitCode::Bug, why))?;
        fs::write(file, page).map_err(|why| cannot_write_report(why, file))?;
        terminal::say(&format!("report  {}", file.display()));
    }
    if args.keep_record.is_some() {
        terminal::say(&format!("record  {}", dir.display()));
    }
    Ok(report)
}
