//! Files of units: archives for an engine that does not see this machine's files, ownership, and logs.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::lchown;
use std::path::Path;

use barograph_platform::Unit;

use crate::tar::Archive;

/// Archives all files of a unit, by their absolute paths.
pub(crate) fn archive(unit: &Unit) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for file in &unit.files {
        let path = unit.workdir.join(&file.path);
        let text = path.to_str().ok_or_else(|| io::Error::other("the path is no text"))?;
        archive.file(text.trim_start_matches('/'), &file.bytes, file.mode)?;
    }
    Ok(archive.finish())
}

/// Gives a folder with its content to a user.
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

/// Appends a line to a log. A failure is ignored, as such a log has lost more.
pub(crate) fn append(log: &Path, text: &str) {
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(log) {
        let _ = file.write_all(text.as_bytes());
    }
}
