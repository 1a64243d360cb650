//! Last lines of a unit's log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::LogTail;

/// Bytes at the end of a log that are searched for its last lines.
const TAIL_BYTES: u64 = 32 * 1024;

impl LogTail {
    /// Number of lines shown of a failed unit's log.
    pub const SHOWN: usize = 20;

    /// Returns at most the last `lines` lines of a file; none if it cannot be read.
    #[must_use]
    pub fn of(log: &Path, lines: usize) -> LogTail {
        let Ok((cut, bytes)) = end_of(log) else { return LogTail::default() };
        let text = String::from_utf8_lossy(&bytes);
        // If the beginning was skipped, the first line is incomplete.
        let whole: Vec<&str> = text.lines().skip(usize::from(cut)).collect();
        LogTail(whole[whole.len().saturating_sub(lines)..].iter().map(|&line| line.to_owned()).collect())
    }
}

/// Reads the end of a file, and whether something precedes it.
fn end_of(log: &Path) -> io::Result<(bool, Vec<u8>)> {
    let mut file = File::open(log)?;
    let skipped = file.metadata()?.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok((skipped > 0, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        assert_eq!(LogTail::of(&log, 3), LogTail::default(), "no file, no lines");
        std::fs::write(&log, "a\nb\nc\nd").unwrap();
        assert_eq!(LogTail::of(&log, 2).0, ["c", "d"]);
        assert_eq!(LogTail::of(&log, 9).0.len(), 4);
        std::fs::write(&log, format!("{}\nend\n", "x".repeat(40_000))).unwrap();
        assert_eq!(LogTail::of(&log, 9).0, ["end"], "a piece of a line is not shown");
    }
}
