//! Sets of cores in the notation of kernels: `0-3,6`.

use std::fmt;

/// The highest number of a core; no present machine has more.
const HIGHEST: usize = 1_023;

/// Notation of a set, for refusals.
pub(crate) const ALLOWED: &str = "numbers and ranges of cores, ascending, each core at most once, up to 1023, as in \
    \"0-3,6\"; empty for all";

/// Cores by number, ascending. The empty set stands for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

impl Cores {
    /// Parses a list of numbers and ranges that ascend and name each core at most once, up to 1023. An empty
    /// list is all.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut cores: Vec<usize> = Vec::new();
        if text.is_empty() {
            return Some(Cores(cores));
        }
        for piece in text.split(',') {
            let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
            let (first, last) = (number(first)?, number(last)?);
            if first > last || cores.last().is_some_and(|before| *before >= first) {
                return None;
            }
            cores.extend(first..=last);
        }
        Some(Cores(cores))
    }

    /// The numbers; empty for all.
    #[must_use]
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }

    /// Whether the set stands for all.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }
}

/// Parses digits only: the usual parser of numbers accepts a sign, too.
fn number(text: &str) -> Option<usize> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= HIGHEST)
}

impl FromIterator<usize> for Cores {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut cores: Vec<usize> = numbers.into_iter().collect();
        cores.sort_unstable();
        cores.dedup();
        Cores(cores)
    }
}

/// Prints the canonical form of a set: neighbours are a range.
impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.chunk_by(|one, next| one + 1 == *next).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match range {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [only] => write!(f, "{comma}{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Cores;

    #[test]
    fn every_set_has_one_form() {
        for (text, form) in [
            ("", ""),
            ("0", "0"),
            ("0-3,6", "0-3,6"),
            ("0,1,2,5", "0-2,5"),
            ("4-4", "4"),
            ("007", "7"),
            ("0-1,2-3", "0-3"),
            ("1023", "1023"),
        ] {
            let cores = Cores::read(text).unwrap();
            assert_eq!(cores.to_string(), form, "{text}");
            assert_eq!(Cores::read(form), Some(cores), "{text}");
        }
        assert_eq!(Cores::read("0-2,6").unwrap().numbers(), [0, 1, 2, 6]);
        assert_eq!([3, 0, 1, 3].into_iter().collect::<Cores>().to_string(), "0-1,3");
        assert!(Cores::default().is_all() && !Cores::read("0").unwrap().is_all());
    }

    #[test]
    fn what_is_no_set_is_none() {
        for wrong in [
            "all", "3-1", "1,0", "0,0", "0-3,3", "1024", "0-1024", "-1", "+1", "0,", ",0", "0-", "0 1", " 0",
            "0--2",
        ] {
            assert_eq!(Cores::read(wrong), None, "{wrong:?}");
        }
    }
}
