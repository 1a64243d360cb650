//! Choices of a measured window of a run.

/// A measured window of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChosenWindow {
    /// The one that the run's answer rests on.
    #[default]
    Deciding,
    /// The first.
    First,
    /// The last.
    Last,
}

impl ChosenWindow {
    /// All choices.
    pub const ALL: [ChosenWindow; 3] = [ChosenWindow::Deciding, ChosenWindow::First, ChosenWindow::Last];

    /// Returns the name in study files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ChosenWindow::Deciding => "deciding",
            ChosenWindow::First => "first",
            ChosenWindow::Last => "last",
        }
    }
}
