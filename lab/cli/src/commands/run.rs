//! `barograph run`: runs a plan and shows verdict and report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use barograph_harness::{
    CheckedLoad, HarnessError, RunContext, RunResult, Screen, Stop, StopHandle, plan_of_all,
};
use barograph_model::Nanos;
use barograph_model::secret::{MASK, is_secret_header, masked};
use barograph_record::{ExitCode, Follower, Run, RunId};

use super::{CommandFailure, CommandResult, check, rootless, rounds};
use crate::args::WatchedRunArgs;
use crate::catalog;
use crate::disclosure;
use crate::terminal::{self, Terminal};
use crate::watch::Watch;

/// Runs a plan.
pub(crate) fn run(args: &WatchedRunArgs) -> CommandResult {
    let WatchedRunArgs { run: args, watch } = args;
    let mut loads = check::load(args)?;
    let deployed = plan_of_all(&loads);
    rootless::refuse_watching(&deployed.checked, watch)?;
    rootless::enter(&deployed.checked)?;
    rootless::note(&mut loads);
    terminal::say(check::describe(&loads).trim_end());
    if let Some(missing) = check::missing(&loads)?.into_iter().next() {
        return Err(HarnessError::Missing(missing).into());
    }
    warn_of_debug_builds();
    let title = args.plan.as_deref().map_or_else(|| "auction".to_owned(), |plan| plan.display().to_string());
    let watch = Watch::start(watch, &title)?;
    let start = Start::now().watched_by(&watch);
    let mut screen = Terminal::new();
    let finished = start.carry_out(loads.clone(), &mut watch.beside(&mut screen));
    screen.finish();
    let finished = finished?;
    let report = conclude(&finished.dir, finished.error.is_some())?;
    watch.end(report.as_deref(), Some(&finished.dir));
    for reason in loads.iter().flat_map(|load| load.workload.failure_reasons()) {
        terminal::result(&format!("failed  {reason}"));
    }
    for compared in loads.iter().flat_map(|load| rounds::compared(load.workload.as_ref())) {
        terminal::result(&format!("\n{}", barograph_report::comparison::text(&compared)));
    }
    if let Some(why) = finished.error {
        return Err(CommandFailure::new(finished.exit, why));
    }
    Ok(finished.exit)
}

/// Warns of a debug build once, before anything is measured.
pub(crate) fn warn_of_debug_builds() {
    if cfg!(debug_assertions) {
        terminal::say("note      this is a debug build: its figures mean nothing");
    }
}

/// Time since 1970, for values sent to targets; nothing is measured with it.
pub(crate) fn time_of_day() -> Nanos {
    let since = jiff::Timestamp::now().as_nanosecond();
    Nanos(u64::try_from(since).unwrap_or(0))
}

/// A run about to begin: its name, and the means to stop it.
pub(crate) struct Start {
    pub(crate) id: RunId,
    pub(crate) stop: StopHandle,
    heard: Stop,
    at: String,
    followers: Vec<Arc<dyn Follower>>,
    watch: Option<serde_json::Value>,
}

impl Start {
    pub(crate) fn now() -> Self {
        Self::another(0, Stop::new())
    }

    /// One of several runs of this process, which are stopped together.
    pub(crate) fn another(number: u32, (stop, heard): (StopHandle, Stop)) -> Self {
        let now = jiff::Timestamp::now();
        // Runs in the same second differ by their process, or by their number in it.
        let id = RunId::new(now, (std::process::id().wrapping_add(number) & 0xffff) as u16);
        Start { id, stop, heard, at: format!("{now:.0}"), followers: Vec::new(), watch: None }
    }

    /// Adds the followers, which the record discloses.
    pub(crate) fn watched_by(mut self, watch: &Watch) -> Self {
        self.followers = watch.followers();
        self.watch = watch.disclosed();
        self
    }

    /// Runs the checked loads. A signal stops the run.
    pub(crate) fn carry_out(
        self,
        loads: Vec<CheckedLoad>,
        screen: &mut dyn Screen,
    ) -> Result<RunResult, CommandFailure> {
        let stop = self.stop.clone();
        self.carry_out_hearing(move || stop_by_signal(&stop), loads, screen)
    }

    /// As [`Self::carry_out`], with an action for each signal.
    pub(crate) fn carry_out_hearing(
        self,
        signal: impl FnMut() + Send + 'static,
        loads: Vec<CheckedLoad>,
        screen: &mut dyn Screen,
    ) -> Result<RunResult, CommandFailure> {
        let runtime = runtime()?;
        let world = self.world(&loads);
        let finished = runtime.block_on(async {
            tokio::spawn(on_signals(signal));
            barograph_harness::run(loads, &world, screen).await
        });
        Ok(finished?)
    }

    /// Parameters of the run.
    pub(crate) fn world(self, loads: &[CheckedLoad]) -> RunContext<'static> {
        let command = command();
        let mut disclosure = disclosure::disclosure(loads, &command);
        if let Some(watch) = self.watch {
            disclosure["watched_by"] = watch;
        }
        RunContext {
            platforms: catalog::platforms(),
            stop: self.heard,
            id: self.id,
            started_at: self.at,
            tool: super::drive::tool(),
            disclosure,
            command,
            followers: self.followers,
        }
    }

    /// Start of the run, as RFC 3339 in UTC.
    pub(crate) fn at(&self) -> &str {
        &self.at
    }
}

/// The command line as typed, without the folder of the program, which would reveal this machine to readers
/// of the record.
pub(crate) fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(program) = words.first_mut() {
        let name = Path::new(&*program).file_name().map(|name| name.to_string_lossy().into_owned());
        *program = name.unwrap_or_default();
    }
    mask_headers(&mut words);
    masked(&words.join(" ")).into_owned()
}

/// Masks credentials in headers: the values of `-H NAME:VALUE`, `-HNAME:VALUE` and `--header=NAME:VALUE`.
fn mask_headers(words: &mut [String]) {
    let mut is_header = false;
    for word in words {
        let begin = match () {
            () if is_header => 0,
            () if word.starts_with("--header=") => "--header=".len(),
            () if word.starts_with("-H") => "-H".len(),
            () => word.len(),
        };
        is_header = word == "-H" || word == "--header";
        if let Some((name, _)) = word[begin..].split_once(':').filter(|(name, _)| is_secret_header(name)) {
            *word = format!("{}{name}: {MASK}", &word[..begin]);
        }
    }
}

/// Runtime of harness, driver and ledgers: one thread.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CommandFailure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start a runtime")
        .map_err(|why| CommandFailure::new(ExitCode::PlatformFault, why))
}

/// Stops the run in order on Ctrl-C or SIGTERM.
pub(crate) fn listen_for_signals(stop: StopHandle) -> impl Future<Output = ()> + Send {
    on_signals(move || stop_by_signal(&stop))
}

fn stop_by_signal(stop: &StopHandle) {
    terminal::say("stopping: results so far are kept, what was created is being removed");
    stop.stop();
}

/// Calls `act` on each SIGINT and SIGTERM, which no longer end the program from this call on. Must be called
/// within the runtime that runs the returned future: a signal between the start of a record and the first
/// wait would leave record and ledger open.
fn on_signals(mut act: impl FnMut() + Send) -> impl Future<Output = ()> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    let heard = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    async move {
        let [Ok(mut interrupt), Ok(mut terminate)] = heard else { return };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            act();
        }
    }
}

/// Prints the result of the record and writes the report. Returns the path of the report.
fn conclude(dir: &Path, failed: bool) -> Result<Option<PathBuf>, CommandFailure> {
    let read = Run::open(dir);
    let run = match read {
        Ok(run) => run,
        // The run's own error is more important than a record that cannot be read.
        Err(_) if failed => return Ok(None),
        Err(why) => return Err(CommandFailure::new(ExitCode::CannotWrite, why)),
    };
    terminal::result(&barograph_report::terminal_summary(&run));
    match super::show::write_report(&run, dir) {
        Ok(path) => {
            terminal::result(&format!("report  {}", path.display()));
            terminal::result(&format!("record  {}", dir.display()));
            let record = dir.display();
            terminal::say(&format!("next    barograph compare OTHER {record}    the ratio to another run"));
            terminal::say(&format!("        barograph export {record}           tables of every second"));
            terminal::say(&format!("        barograph share {record}            one file to pass on"));
            Ok(Some(path))
        }
        Err(_) if failed => Ok(None),
        Err(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::mask_headers;

    #[test]
    fn headers_with_credentials_are_masked_in_commands() {
        let mut words =
            ["http", "-H", "authorization: Bearer t", "--header=Cookie: a=b", "-Hx-api-key:k", "-H", "a: b"]
                .map(str::to_owned);
        mask_headers(&mut words);
        let expected =
            ["http", "-H", "authorization: ***", "--header=Cookie: ***", "-Hx-api-key: ***", "-H", "a: b"];
        assert_eq!(words, expected);
    }
}
