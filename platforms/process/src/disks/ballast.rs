//! Ballast: one file that fills a file system to its last byte.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Name of the file.
const NAME: &str = ".barograph-ballast";

/// Largest piece in bytes; space is taken in pieces from this size down to [`SMALLEST`].
const LARGEST: u64 = 64 << 20;

/// Smallest piece in bytes.
const SMALLEST: u64 = 4 << 10;

/// Takes all free space of the file system with `bytes` bytes that is mounted at `folder`. Returns the size
/// of the file.
pub(super) fn fill(folder: &Path, bytes: u64) -> io::Result<u64> {
    let above = folder.parent().unwrap_or(folder);
    if fs::metadata(folder)?.dev() == fs::metadata(above)?.dev() {
        // Never fills the machine's own disk.
        return Err(io::Error::other("its file system is not mounted any more"));
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(NAME))?;
    take(&file, bytes)?;
    write(&mut file, bytes)?;
    Ok(file.metadata()?.blocks() * 512)
}

/// Allocates space without writing.
fn take(file: &File, bytes: u64) -> io::Result<()> {
    let mut at = file.metadata()?.len();
    let mut piece = LARGEST;
    while piece >= SMALLEST {
        match fallocate(file, FallocateFlags::empty(), at, piece) {
            Ok(()) => at += piece,
            Err(Errno::NOSPC) => piece /= 2,
            Err(Errno::INTR) => {}
            // Not every file system supports it; then the space is written.
            Err(Errno::OPNOTSUPP) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        within(at, bytes)?;
    }
    Ok(())
}

/// Writes the rest, and space freed by others meanwhile.
fn write(file: &mut File, bytes: u64) -> io::Result<()> {
    let mut at = file.seek(SeekFrom::End(0))?;
    let content = [0_u8; SMALLEST as usize];
    loop {
        match file.write(&content) {
            Ok(written) => at += written as u64,
            Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        within(at, bytes)?;
    }
}

/// Fails if the file exceeds its file system, which means that it is elsewhere.
fn within(at: u64, bytes: u64) -> io::Result<()> {
    if at <= bytes + LARGEST {
        return Ok(());
    }
    Err(io::Error::other("more fits on it than it has: this is not its own file system"))
}

/// Frees the space taken by [`fill`].
pub(super) fn free(folder: &Path) -> io::Result<()> {
    fs::remove_file(folder.join(NAME)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::other("it was not filled"),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_disk_is_never_filled() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("unit");
        fs::create_dir(&folder).unwrap();
        assert_eq!(
            fill(&folder, 1 << 20).unwrap_err().to_string(),
            "its file system is not mounted any more"
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(free(&folder).unwrap_err().to_string(), "it was not filled");
    }

    #[test]
    fn a_ballast_that_does_not_end_is_an_error() {
        assert!(within(LARGEST, 0).is_ok() && within(LARGEST + 1, 0).is_err());
        let mut endless = OpenOptions::new().write(true).open("/dev/null").unwrap();
        assert!(write(&mut endless, 1 << 20).unwrap_err().to_string().contains("not its own file system"));
    }
}
