//! Terminal output: progress with the remaining time, lines that stay, and errors.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use barograph_harness::{Progress, Screen};
use barograph_model::Phase;
use barograph_model::secret::masked;
use indicatif::{ProgressBar, ProgressStyle};

/// Interval between progress lines without a terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Writes a line for the user, with the passwords of URLs removed. A closed output does not stop the
/// measurement.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", masked(line));
}

/// First failure to write a result.
static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// Writes a result, with the passwords of URLs removed. A closed pipe is not an error; any other failure is
/// kept for [`unwritten`].
pub(crate) fn result(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(why) = writeln!(out, "{}", masked(text)).and_then(|()| out.flush())
        && why.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = UNWRITTEN.set(why);
    }
}

/// Returns the first failure to write a result.
pub(crate) fn unwritten() -> Option<&'static io::Error> {
    UNWRITTEN.get()
}

/// Prints an error with its causes, once.
pub(crate) fn complain(why: &anyhow::Error) {
    let mut causes = why.chain();
    if let Some(first) = causes.next() {
        say(&format!("barograph: {first}"));
    }
    for cause in causes {
        say(&format!("  because: {cause}"));
    }
}

/// Screen of a run.
pub(crate) struct Terminal {
    bar: Option<ProgressBar>,
    began: Instant,
    phase: &'static str,
    shown_at: Option<Instant>,
}

impl Terminal {
    /// Starts a progress bar on a terminal, plain lines elsewhere.
    pub(crate) fn new() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(1_000);
            let style = "{prefix:>8.bold} {bar:16.cyan/dim} {wide_msg}";
            bar.set_style(
                ProgressStyle::with_template(style).expect("a constant template").progress_chars("━━─"),
            );
            bar
        });
        Terminal { bar, began: Instant::now(), phase: "", shown_at: None }
    }

    fn line(&self, text: &str) {
        let t = self.began.elapsed().as_secs();
        let line = format!("{:>3}:{:02}  {:<8}  {text}", t / 60, t % 60, self.phase);
        match &self.bar {
            Some(bar) => bar.println(masked(&line)),
            None => say(&line),
        }
    }

    /// Removes the progress bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Screen for Terminal {
    fn phase(&mut self, phase: Phase, about: &str) {
        self.phase = phase.name();
        self.shown_at = Some(Instant::now());
        self.line(about);
        if let Some(bar) = &self.bar {
            bar.set_prefix(self.phase);
            bar.set_position(0);
            bar.set_message("");
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let left = progress.remaining.map_or_else(String::new, |r| {
            let s = r.0 / 1_000_000_000;
            format!("at most {}:{:02} left  ", s / 60, s % 60)
        });
        let text = format!("{:3.0} %  {left}{}", progress.done * 100.0, progress.line);
        match &self.bar {
            Some(bar) => {
                bar.set_position((progress.done * 1_000.0) as u64);
                bar.set_message(text);
            }
            None if self.shown_at.is_none_or(|at| at.elapsed() >= PLAIN_EVERY) => {
                self.shown_at = Some(Instant::now());
                self.line(&text);
            }
            None => {}
        }
    }

    fn say(&mut self, line: &str) {
        self.line(line);
    }
}
