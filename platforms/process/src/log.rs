//! The log of a unit: its last lines.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use barograph_platform::LogTail;

/// Lines shown of the log of a unit that failed.
pub(crate) const SHOWN_LINES: usize = 20;

/// The part of a log that is looked at for its last lines.
const TAIL_BYTES: u64 = 32 * 1024;

/// The last `lines` lines of the file; a log that cannot be read has none.
pub(crate) fn log_tail(log: &Path, lines: usize) -> LogTail {
    let read = || -> io::Result<(bool, Vec<u8>)> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        let skipped = length.saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(skipped))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok((skipped > 0, bytes))
    };
    let Ok((cut, bytes)) = read() else { return LogTail::default() };
    let text = String::from_utf8_lossy(&bytes);
    // When the beginning was skipped, the first line is a piece of one.
    let whole: Vec<&str> = text.lines().skip(usize::from(cut)).collect();
    LogTail(whole[whole.len().saturating_sub(lines)..].iter().map(|&l| l.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        assert_eq!(log_tail(&log, 3), LogTail::default(), "no file, no lines");
        std::fs::write(&log, "a\nb\nc\nd").unwrap();
        assert_eq!(log_tail(&log, 2).0, ["c", "d"]);
        assert_eq!(log_tail(&log, 9).0.len(), 4);
        std::fs::write(&log, format!("{}\nend\n", "x".repeat(40_000))).unwrap();
        assert_eq!(log_tail(&log, 9).0, ["end"], "a piece of a line is not shown");
    }
}
