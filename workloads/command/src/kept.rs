//! Files of the commands in the record: `runs.csv` with a line for each run, and output.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use barograph_model::Nanos;
use barograph_supervisor::Report;
use barograph_workload::{Round, RoundMetric, Rounds};

/// Most runs that are compared, a bound on memory: about 100 MB.
const MOST_ROUNDS: usize = 1_000_000;

/// Files with the output of failed runs, at most, for each command.
const MOST_FAILED: u32 = 3;

/// Head of `runs.csv`.
const HEAD: &str = "user,round,command,elapsed_s,user_s,system_s,peak_mib,end,output_bytes,left_behind\n";

/// A run of a command.
#[derive(Clone, Debug)]
pub(crate) struct CommandRun {
    pub(crate) user: u32,
    pub(crate) round: u64,
    /// Name of the command.
    pub(crate) name: &'static str,
    pub(crate) elapsed: Nanos,
    pub(crate) succeeded: bool,
    pub(crate) report: Report,
}

impl CommandRun {
    /// Elapsed time and CPU time in seconds, peak memory in MiB.
    fn figures(&self) -> [f64; 4] {
        let usage = &self.report.usage;
        let seconds = |micros: u64| micros as f64 / 1e6;
        let peak_mib = usage.peak_kib as f64 / 1024.0;
        [self.elapsed.as_secs_f64(), seconds(usage.user_us), seconds(usage.system_us), peak_mib]
    }

    fn line(&self) -> String {
        let [elapsed, user, system, peak] = self.figures();
        let Report { end, output_bytes, left_behind, .. } = &self.report;
        let (of, round, name) = (self.user, self.round, self.name);
        let end = end.to_string().replace([',', '\n', '"'], " ");
        format!(
            "{of},{round},{name},{elapsed:.9},{user:.6},{system:.6},{peak:.3},{end},{output_bytes},{left_behind}\n"
        )
    }
}

/// Runs of a load, in its record and for comparison.
#[derive(Debug, Default)]
pub(crate) struct RunTable(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    folder: Option<PathBuf>,
    /// Output files so far, by name of command: of successes, and of failures.
    outputs: Vec<(&'static str, [u32; 2])>,
    rounds: Vec<Round>,
}

impl RunTable {
    /// Keeps files in a folder of the record from now on. A folder that cannot be written leaves the run without them, as its
    /// record tells by their absence.
    pub(crate) fn begin(&self, folder: &Path) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.folder = Some(folder.to_owned());
        state.append(HEAD);
    }

    /// Keeps a run: its line, the output of a first success and of the first failures, its figures for comparison.
    pub(crate) fn keep(&self, run: &CommandRun) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.append(&run.line());
        state.keep_output(run);
        if state.rounds.len() < MOST_ROUNDS {
            let figures = if run.succeeded { run.figures().to_vec() } else { Vec::new() };
            state.rounds.push(Round { user: run.user, round: run.round, operation: run.name, figures });
        }
    }

    /// The runs, for comparison.
    pub(crate) fn rounds(&self) -> Rounds {
        let metric = |label, title, unit| RoundMetric { label, title, unit };
        let metrics = vec![
            metric("elapsed", "elapsed time", "s"),
            metric("user", "CPU time in user mode", "s"),
            metric("system", "CPU time in the kernel", "s"),
            metric("peak", "peak memory", "MiB"),
        ];
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Rounds { metrics, rounds: state.rounds.clone() }
    }
}

impl State {
    /// Appends to the table. It is opened each time, as workers have open files of their own.
    fn append(&self, line: &str) {
        let Some(folder) = &self.folder else { return };
        let table = OpenOptions::new().create(true).append(true).open(folder.join("runs.csv"));
        let _ = table.and_then(|mut table| table.write_all(line.as_bytes()));
    }

    fn keep_output(&mut self, run: &CommandRun) {
        let Some(folder) = &self.folder else { return };
        let place = self.outputs.iter().position(|(name, _)| *name == run.name).unwrap_or_else(|| {
            self.outputs.push((run.name, [0, 0]));
            self.outputs.len() - 1
        });
        let [succeeded, failed] = &mut self.outputs[place].1;
        let name = match run.succeeded {
            true if *succeeded == 0 => {
                *succeeded += 1;
                format!("{}.output.txt", run.name)
            }
            false if *failed < MOST_FAILED => {
                *failed += 1;
                format!("{}.failed-{failed}.txt", run.name)
            }
            _ => return,
        };
        // The figures are kept elsewhere; a full disk takes only the text.
        let _ = fs::write(folder.join(name), &run.report.output);
    }
}
