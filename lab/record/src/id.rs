//! Names of runs: sortable by time, and safe as directory names.

use std::fmt;
use std::str::FromStr;

/// Name of a run, like `20301120-184500-04f2`: UTC date and time of its start, then four hexadecimal digits
/// that distinguish runs begun in the same second. Names sort in the order of the runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

/// The text is not the name of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a run: expected YYYYMMDD-HHMMSS-xxxx")]
pub struct InvalidRunId(pub String);

impl RunId {
    /// Names a run begun at `at`; `salt` distinguishes runs begun in the same second.
    #[must_use]
    pub fn new(at: jiff::Timestamp, salt: u16) -> Self {
        RunId(format!("{}-{salt:04x}", at.strftime("%Y%m%d-%H%M%S")))
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        let bytes = text.as_bytes();
        let fits = bytes.len() == 20
            && bytes.iter().enumerate().all(|(i, b)| match i {
                8 | 15 => *b == b'-',
                16.. => b.is_ascii_digit() || (b'a'..=b'f').contains(b),
                _ => b.is_ascii_digit(),
            });
        if fits { Ok(RunId(text.to_owned())) } else { Err(InvalidRunId(text.to_owned())) }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_the_runs_began_and_read_back() {
        let at = |s: &str| s.parse::<jiff::Timestamp>().unwrap();
        let early = RunId::new(at("2030-11-20T18:45:00Z"), 0xffff);
        let late = RunId::new(at("2030-11-20T18:45:01Z"), 3);
        assert_eq!(early.as_str(), "20301120-184500-ffff");
        assert!(early < late);
        assert_eq!(late.as_str().parse::<RunId>().unwrap(), late);
    }

    #[test]
    fn a_path_is_not_a_name() {
        for text in
            ["", "../../etc/passwd", "20301120-184500-ffff/", "20301120_184500-ffff", "x0301120-184500-ffff"]
        {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }
}
