//! The terminal: progress with the time that is left, lines that stay, and complaints.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use barograph_harness::{Progress, Screen};
use barograph_model::Phase;
use barograph_model::secret::masked;
use indicatif::{ProgressBar, ProgressStyle};

/// Without a terminal, a line of progress comes this often.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Writes a line for people, without the passwords of URLs in it. A reader that has gone away is no reason to stop measuring.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", masked(line));
}

/// Why a result could not be written, the first time.
static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// Writes a result, without the passwords of URLs in it. A reader that has gone away has read what it wanted; any other failure is kept for [`unwritten`].
pub(crate) fn result(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(why) = writeln!(out, "{}", masked(text)).and_then(|()| out.flush())
        && why.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = UNWRITTEN.set(why);
    }
}

/// Why a result could not be written.
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

/// The screen of a run.
pub(crate) struct Terminal {
    bar: Option<ProgressBar>,
    began: Instant,
    phase: &'static str,
    shown_at: Option<Instant>,
}

impl Terminal {
    /// A progress bar on a terminal, plain lines elsewhere.
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

    /// Takes the progress bar away.
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
