//! The live screen of a run: current figures, and keys that stop the load or change its level.
//!
//! The harness reports to a [`Display`], which takes no longer than adding histograms. A thread of its own
//! draws at most ten times a second, only if there is something new, and reads the keys; the driver's workers
//! never wait for either.

mod draw;
mod moment;

use std::io::{IsTerminal, Stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use barograph_harness::control::Command;
use barograph_harness::{IntervalContext, Progress, Screen};
use barograph_model::{Level, LoadUnit, Phase};
use barograph_stats::Interval;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::terminal;
use moment::ScreenContent;

/// Interval between readings of keys and drawings of new figures.
const REDRAW: Duration = Duration::from_millis(100);

/// Duration of a level change by key: short enough to look like a step, long enough not to be a burst.
const CHANGE_OVER_S: f64 = 0.5;

/// Sends a command to the load; an error is the reason in words.
pub(crate) type CommandSender = Arc<dyn Fn(&Command) -> Result<(), String> + Send + Sync>;

/// Actions of the keys.
pub(crate) struct KeyActions {
    /// Sends commands to the load.
    pub(crate) ask: CommandSender,
    /// Ends the run at once, as Ctrl-C does without the screen.
    pub(crate) interrupt: Box<dyn Fn() + Send>,
}

/// Screen of a run, on a terminal.
pub(crate) struct Display {
    shared: Arc<DisplayState>,
    drawer: Option<JoinHandle<()>>,
}

struct DisplayState {
    moment: Mutex<ScreenContent>,
    is_new: AtomicBool,
    ended: AtomicBool,
}

impl DisplayState {
    fn moment(&self) -> MutexGuard<'_, ScreenContent> {
        // A panic of the drawing thread leaves the figures intact.
        self.moment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut ScreenContent)) {
        change(&mut self.moment());
        self.is_new.store(true, Ordering::Release);
    }
}

/// Whether there is a terminal for screen and keys.
pub(crate) fn is_possible() -> bool {
    std::io::stderr().is_terminal() && std::io::stdin().is_terminal()
}

impl Display {
    /// Takes over the terminal until [`Self::finish`].
    pub(crate) fn open(title: String, unit: LoadUnit, levers: KeyActions) -> std::io::Result<Self> {
        let shared = Arc::new(DisplayState {
            moment: Mutex::new(ScreenContent::new(title, unit)),
            is_new: AtomicBool::new(true),
            ended: AtomicBool::new(false),
        });
        let taken = TerminalGuard::take()?;
        let theirs = Arc::clone(&shared);
        let drawer = std::thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || Drawer { shared: theirs, levers, taken, asked: None, wished: None }.work())?;
        Ok(Display { shared, drawer: Some(drawer) })
    }

    /// Restores the terminal and prints the lines that stay.
    pub(crate) fn finish(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        if let Some(drawer) = self.drawer.take() {
            // A panic of the drawing thread must not lose the result.
            let _ = drawer.join();
            self.shared.moment().lines.iter().for_each(|line| terminal::say(line));
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Screen for Display {
    fn phase(&mut self, phase: Phase, about: &str) {
        self.shared.change(|moment| moment.begin(phase, about));
    }

    fn progress(&mut self, progress: &Progress) {
        self.shared.change(|moment| moment.remaining = progress.remaining);
    }

    fn say(&mut self, line: &str) {
        self.shared.change(|moment| moment.say(line));
    }

    fn interval(&mut self, interval: &Interval, live: &IntervalContext) {
        self.shared.change(|moment| {
            moment.remaining = live.remaining;
            moment.add(interval, live.offered.level);
        });
    }
}

/// The taken-over terminal. Dropping it restores the terminal, also after a panic of the drawing thread.
struct TerminalGuard(Terminal<CrosstermBackend<Stderr>>);

impl TerminalGuard {
    fn take() -> std::io::Result<Self> {
        enable_raw_mode()?;
        let terminal = execute!(std::io::stderr(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(std::io::stderr())));
        terminal.map(TerminalGuard).inspect_err(|_| give_back())
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // The first drawing hid the cursor.
        let _ = self.0.show_cursor();
        give_back();
    }
}

fn give_back() {
    // A closed terminal needs no restoring.
    let _ = disable_raw_mode();
    let _ = execute!(std::io::stderr(), LeaveAlternateScreen);
}

/// Meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyCommand {
    Stop,
    Interrupt,
    More,
    Fewer,
}

fn wish(key: &KeyEvent) -> Option<KeyCommand> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(KeyCommand::Interrupt),
        KeyCode::Char('q') => Some(KeyCommand::Stop),
        KeyCode::Char('+' | '=') | KeyCode::Up => Some(KeyCommand::More),
        KeyCode::Char('-') | KeyCode::Down => Some(KeyCommand::Fewer),
        _ => None,
    }
}

/// A tenth more or less; at least one for whole levels, and never zero.
fn changed(level: Level, wish: KeyCommand) -> Level {
    let parts = level.thousandths();
    let one = if level.is_whole() { Level::from(1).thousandths() } else { 1 };
    let step = (parts / 10 / one).max(1) * one;
    Level::of_thousandths(match wish {
        KeyCommand::More => parts.saturating_add(step),
        _ => parts.saturating_sub(step).max(one),
    })
}

/// The thread that draws and reads keys.
struct Drawer {
    shared: Arc<DisplayState>,
    levers: KeyActions,
    taken: TerminalGuard,
    /// Command in progress: a reply may take until the next interval.
    asked: Option<JoinHandle<Result<(), String>>>,
    /// Next request from the keys; a stop is never replaced by a change of the level.
    wished: Option<KeyCommand>,
}

impl Drawer {
    fn work(mut self) {
        while !self.shared.ended.load(Ordering::Acquire) {
            if self.shared.is_new.swap(false, Ordering::AcqRel) {
                let moment = self.shared.moment().clone();
                if self.taken.0.draw(|frame| draw::draw(frame, &moment)).is_err() {
                    return;
                }
            }
            // Also the pause between two drawings.
            match event::poll(REDRAW).and_then(|is_there| is_there.then(event::read).transpose()) {
                Ok(Some(Event::Key(key))) => wish(&key).into_iter().for_each(|wish| self.obey(wish)),
                Ok(Some(Event::Resize(..))) => self.shared.is_new.store(true, Ordering::Release),
                Ok(_) => {}
                Err(_) => return,
            }
            self.hear();
        }
    }

    fn obey(&mut self, wish: KeyCommand) {
        if wish == KeyCommand::Interrupt {
            self.shared.change(|moment| moment.stopping = true);
            return (self.levers.interrupt)();
        }
        if self.asked.is_some() {
            self.wished = self.wished.filter(|earlier| *earlier == KeyCommand::Stop).or(Some(wish));
            return;
        }
        let command = match wish {
            KeyCommand::Stop => Command::Stop,
            wish => {
                let level = changed(self.shared.moment().level, wish);
                Command::Level { level, unit: None, over_s: CHANGE_OVER_S }
            }
        };
        let ask = Arc::clone(&self.levers.ask);
        self.shared.change(|moment| match command {
            Command::Level { level, .. } => moment.level = level,
            _ => moment.stopping = true,
        });
        self.asked = std::thread::Builder::new().name("ask".to_owned()).spawn(move || ask(&command)).ok();
    }

    /// Shows why a command failed, and sends the next request.
    fn hear(&mut self) {
        let Some(asked) = self.asked.take_if(|asked| asked.is_finished()) else { return };
        if let Ok(Err(why)) = asked.join() {
            self.shared.change(|moment| {
                moment.stopping = false;
                moment.say(&why);
            });
        }
        if let Some(wish) = self.wished.take() {
            self.obey(wish);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_screen_says() {
        let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
        let keys = [
            (plain(KeyCode::Char('q')), Some(KeyCommand::Stop)),
            (plain(KeyCode::Char('+')), Some(KeyCommand::More)),
            (plain(KeyCode::Char('=')), Some(KeyCommand::More)),
            (plain(KeyCode::Down), Some(KeyCommand::Fewer)),
            (plain(KeyCode::Char('c')), None),
            (KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(KeyCommand::Interrupt)),
            (KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release), None),
        ];
        for (key, expected) in keys {
            assert_eq!(wish(&key), expected, "{key:?}");
        }
    }

    #[test]
    fn a_level_changes_by_a_tenth_and_never_to_nothing() {
        let more: Vec<u32> =
            [1, 5, 50, 5_000, 9_999_999].map(|level| changed(level.into(), KeyCommand::More).whole()).into();
        assert_eq!(more, [2, 6, 55, 5_500, 10_999_998]);
        assert_eq!(
            [1, 5, 50, 5_000].map(|level| changed(level.into(), KeyCommand::Fewer).whole()),
            [1, 4, 45, 4_500]
        );
        let half = Level::new(0.5).unwrap();
        let both = [KeyCommand::More, KeyCommand::Fewer].map(|wish| changed(half, wish).to_string());
        assert_eq!(
            (both, changed(Level::LEAST, KeyCommand::Fewer)),
            (["0.55", "0.45"].map(str::to_owned), Level::LEAST)
        );
    }
}
