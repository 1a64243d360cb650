//! Files of units: as an archive for an engine that does not see ours, owned by another user, and logs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::lchown;
use std::path::Path;

use barograph_platform::{LogTail, Unit};

use crate::tar::Archive;

/// Lines shown of the log of a unit that failed.
pub(crate) const SHOWN_LINES: usize = 20;

/// The part of a log that is looked at for its last lines.
const TAIL_BYTES: u64 = 32 * 1024;

/// All files of a unit, by their whole paths.
pub(crate) fn archive(unit: &Unit) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for file in &unit.files {
        let path = unit.workdir.join(&file.path);
        let text = path.to_str().ok_or_else(|| io::Error::other("the path is no text"))?;
        archive.file(text.trim_start_matches('/'), &file.bytes, file.mode)?;
    }
    Ok(archive.finish())
}

/// Gives a folder with all that is in it to a user.
pub(crate) fn give(folder: &Path, user: u32) -> io::Result<()> {
    lchown(folder, Some(user), Some(user))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            give(&entry.path(), user)?;
        } else {
            lchown(entry.path(), Some(user), Some(user))?;
        }
    }
    Ok(())
}

/// Adds a line of ours to a log. A log that cannot be written has lost more than that.
pub(crate) fn append(log: &Path, text: &str) {
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(log) {
        let _ = file.write_all(text.as_bytes());
    }
}

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
    LogTail(whole[whole.len().saturating_sub(lines)..].iter().map(|&line| line.to_owned()).collect())
}
