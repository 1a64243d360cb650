//! The running program: its output as it comes, signals, its end. Every wait has a deadline.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longest wait for anything, far above real durations even on a busy machine: a small study repeats every
/// invalid run, which takes two minutes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Longest wait for runs of containers in an emulated virtual machine: two and a half minutes alone on slow
/// cores, and more than three beside other tests.
pub(crate) const PATIENCE_WITH_EMULATION: Duration = Duration::from_secs(1_200);

/// Interval between polls of a condition without a notification.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Polls `condition` until it returns a value.
pub(crate) fn until<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, condition)
}

fn until_within<T>(patience: Duration, what: &str, condition: impl FnMut() -> Option<T>) -> T {
    let seen = seen_within(patience, condition);
    seen.unwrap_or_else(|| panic!("{what} did not happen within {patience:?}"))
}

/// Polls `condition` until it returns a value, for at most `patience`.
pub(crate) fn seen_within<T>(patience: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        let found = condition();
        if found.is_some() || Instant::now() >= deadline {
            return found;
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
}

/// Sends a signal to a process.
pub(crate) fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// Output and exit code of an ended program; no code if a signal ended it.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Output that grows.
#[derive(Default)]
struct Words {
    text: Mutex<String>,
    more: Condvar,
}

/// A running program. Dropping it kills it.
pub(crate) struct RunningProgram {
    child: Child,
    out: Option<JoinHandle<String>>,
    err: Arc<Words>,
    reader: Option<JoinHandle<()>>,
}

impl RunningProgram {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        Self::start_quiet(command)
    }

    /// As [`Self::start`], without capturing standard output.
    pub(crate) fn start_quiet(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        let words = Arc::new(Words::default());
        let said = Arc::clone(&words);
        let out = child.stdout.take().map(|mut out| {
            std::thread::spawn(move || {
                let mut text = String::new();
                out.read_to_string(&mut text).unwrap();
                text
            })
        });
        let reader = std::thread::spawn(move || {
            for line in err.lines() {
                let mut text = said.text.lock().unwrap();
                text.push_str(&line.unwrap());
                text.push('\n');
                said.more.notify_all();
            }
        });
        RunningProgram { child, out, err: words, reader: Some(reader) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until a line on stderr contains `words`, and returns the line. It fails if stderr ends without one.
    pub(crate) fn says(&self, words: &str) -> String {
        let line = |text: &str| text.lines().find(|l| l.contains(words)).map(str::to_owned);
        let deadline = Instant::now() + PATIENCE;
        let mut text = self.err.text.lock().unwrap();
        loop {
            if let Some(line) = line(&text) {
                return line;
            }
            let has_ended = self.reader.as_ref().is_some_and(JoinHandle::is_finished);
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!has_ended && !left.is_zero(), "it does not say {words:?} but:\n{text}");
            text = self.err.more.wait_timeout(text, left.min(Duration::from_secs(1))).unwrap().0;
        }
    }

    /// Waits until a phase begins, by its line on stderr.
    pub(crate) fn enters(&self, phase: &str) {
        self.says(&format!("  {phase:<8}  "));
    }

    /// Returns the process of the application, once it answers.
    pub(crate) fn application(&self) -> u32 {
        let line = self.says("the application answers at");
        let number = line.rsplit_once("(process ").unwrap().1;
        number.trim_end_matches(')').parse().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> ProgramOutput {
        self.end_within(PATIENCE)
    }

    /// As [`Self::end`], with another time limit.
    pub(crate) fn end_within(self, patience: Duration) -> ProgramOutput {
        self.end_of("the end of the program", patience)
    }

    /// As [`Self::end_within`], with words for a missing end.
    pub(crate) fn end_of(mut self, what: &str, patience: Duration) -> ProgramOutput {
        let status = until_within(patience, what, || self.child.try_wait().unwrap());
        let out = self.out.take().map_or_else(String::new, |out| out.join().unwrap());
        self.reader.take().unwrap().join().unwrap();
        let err = self.err.text.lock().unwrap().clone();
        ProgramOutput { code: status.code(), out, err }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
