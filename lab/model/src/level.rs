//! A level of load: a number of users, a rate, a scale.

use std::fmt;

use crate::words::count;

/// Thousandths in one.
const PART: u64 = 1_000;

/// A level of load, exact to a thousandth of its unit: 0.5 starts per second, 2,000 users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub(crate) u64);

impl Level {
    /// No load.
    pub const ZERO: Level = Level(0);
    /// Smallest level above zero: a thousandth.
    pub const LEAST: Level = Level(1);

    /// Builds a level from a number; `None` if it has more than three decimals, is negative or too large.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        let parts = value * PART as f64;
        // Parsing a decimal number causes a smaller error than this.
        let is_exact = (parts - parts.round()).abs() <= 1e-6;
        let fits = (0.0..=f64::from(u32::MAX)).contains(&value);
        (fits && is_exact).then(|| Level(parts.round() as u64))
    }

    /// Builds a level from thousandths.
    #[must_use]
    pub const fn of_thousandths(parts: u64) -> Self {
        Level(parts)
    }

    /// Returns the level in thousandths.
    #[must_use]
    pub const fn thousandths(self) -> u64 {
        self.0
    }

    /// Rounds down to an integer.
    #[must_use]
    pub fn whole(self) -> u32 {
        u32::try_from(self.0 / PART).unwrap_or(u32::MAX)
    }

    /// Whether it is an integer.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.0.is_multiple_of(PART)
    }
}

impl From<u32> for Level {
    fn from(whole: u32) -> Self {
        Level(u64::from(whole) * PART)
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> f64 {
        level.0 as f64 / PART as f64
    }
}

impl PartialEq<u32> for Level {
    fn eq(&self, whole: &u32) -> bool {
        *self == Level::from(*whole)
    }
}

impl PartialOrd<u32> for Level {
    fn partial_cmp(&self, whole: &u32) -> Option<std::cmp::Ordering> {
        self.partial_cmp(&Level::from(*whole))
    }
}

impl fmt::Display for Level {
    /// Formats for readers: `0.5`, `12,300`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&count(self.0 / PART))?;
        match self.0 % PART {
            0 => Ok(()),
            parts => write!(f, ".{}", format!("{parts:03}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_exact_to_a_thousandth_and_shown_as_typed() {
        let shown = |value: f64| Level::new(value).map(|level| level.to_string());
        for (value, text) in
            [(0.5, "0.5"), (0.001, "0.001"), (2.25, "2.25"), (12_300.0, "12,300"), (0.0, "0")]
        {
            assert_eq!(shown(value).as_deref(), Some(text));
        }
        assert_eq!(shown(9_999_999.999).as_deref(), Some("9,999,999.999"));
        for wrong in [0.000_5, 1.234_5, -1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn levels_are_numbers() {
        let half = Level::new(0.5).unwrap();
        assert_eq!((f64::from(half), half.whole(), half.is_whole()), (0.5, 0, false));
        assert_eq!((Level::from(7).whole(), Level::from(7).is_whole()), (7, true));
        assert!(half < 1 && half > Level::LEAST && Level::from(7) == 7 && Level::LEAST > Level::ZERO);
        assert_eq!(Level::of_thousandths(half.thousandths()), half);
    }
}
