//! Whole folders, copied. Where the file system can share blocks between files, a copy shares them until one is written
//! to. Links would not do for databases, which write into their files.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, ioctl_ficlone, seek};
use rustix::io::Errno;

/// Bytes in a block, as the system counts blocks.
const BLOCK: u64 = 512;

/// How files come to their new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// With bytes of their own.
    Copy,
    /// Under a second name, where that can be had: for files that are only ever replaced, never written into.
    Link,
}

/// Bytes that all files below a folder take from the disk, roughly: holes take nothing.
pub(crate) fn bytes_of(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        let taken = about.size().min(about.blocks() * BLOCK);
        sum += if about.is_dir() { bytes_of(&entry.path())? } else { taken };
    }
    Ok(sum)
}

/// Copies a folder with all that is in it to a place where nothing is. Permissions go along, owners do not. Ends early,
/// with an error, soon after `stop` becomes true.
pub(crate) fn copy(from: &Path, to: &Path, how: How, stop: &AtomicBool) -> io::Result<()> {
    let mode = fs::metadata(from)?.permissions().mode() & 0o7777;
    DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let entry = entry?;
        let (source, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            copy(&source, &target, how, stop)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            // Another disk, or somebody else's file, cannot be linked.
            let linked = how == How::Link && fs::hard_link(&source, &target).is_ok();
            if !linked {
                copy_file(&source, &target)?;
            }
        }
        // A socket or a pipe belongs to a process that has ended; whoever needs one makes it anew.
    }
    // Last: a folder may be closed to writing.
    fs::set_permissions(to, Permissions::from_mode(mode))
}

/// A file of which nothing was written yet where space was set aside (MariaDB's log) is one again: no less and no more is
/// on the disk.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let about = source.metadata()?;
    let target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    if ioctl_ficlone(&target, &source).is_err() {
        copy_data(&source, &target, about.len())?;
        if about.blocks() * BLOCK >= about.len() && about.len() > 0 {
            // Where the file system cannot set space aside, it could not for the original either.
            let _ = fallocate(&target, FallocateFlags::empty(), 0, about.len());
        }
    }
    target.set_permissions(about.permissions())
}

/// Copies what is data in a file, and leaves holes where there are some.
fn copy_data(source: &File, target: &File, length: u64) -> io::Result<()> {
    target.set_len(length)?;
    let mut at = 0;
    while at < length {
        let begin = match seek(source, SeekFrom::Data(at)) {
            Ok(begin) => begin,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            // This file system does not tell: everything is data.
            Err(_) => at,
        };
        let end = seek(source, SeekFrom::Hole(begin)).unwrap_or(length);
        let (mut reader, mut writer) = (source, target);
        reader.seek(io::SeekFrom::Start(begin))?;
        writer.seek(io::SeekFrom::Start(begin))?;
        io::copy(&mut reader.take(end - begin), &mut writer)?;
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_everything_and_is_nobody_elses() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir_all(from.join("base/1")).unwrap();
        fs::create_dir(from.join("empty")).unwrap();
        fs::write(from.join("base/1/rows"), vec![7; 100_000]).unwrap();
        fs::write(from.join("PG_VERSION"), "15\n").unwrap();
        fs::set_permissions(from.join("PG_VERSION"), Permissions::from_mode(0o400)).unwrap();
        fs::set_permissions(&from, Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink("base/1", from.join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
        copy(&from, &to, How::Copy, &AtomicBool::new(false)).unwrap();
        assert_eq!(fs::read(to.join("base/1/rows")).unwrap(), vec![7; 100_000]);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("base/1"));
        assert!(to.join("empty").is_dir() && !to.join("socket").exists());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&to), mode(&to.join("PG_VERSION"))), (0o700, 0o400));
        // Writing into the copy does not reach the original.
        fs::write(to.join("base/1/rows"), "worn").unwrap();
        assert_eq!(fs::read(from.join("base/1/rows")).unwrap(), vec![7; 100_000]);
    }

    #[test]
    fn holes_stay_holes_and_data_between_them_is_copied() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir(&from).unwrap();
        let file = File::create(from.join("log")).unwrap();
        file.set_len(64 << 20).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"in the middle", 32 << 20).unwrap();
        File::create(from.join("empty")).unwrap();
        copy(&from, &to, How::Copy, &AtomicBool::new(false)).unwrap();
        let text = fs::read(to.join("log")).unwrap();
        assert_eq!((text.len(), &text[32 << 20..][..13]), (64 << 20, &b"in the middle"[..]));
        assert_eq!(text.iter().filter(|byte| **byte != 0).count(), 13);
        assert_eq!(fs::metadata(to.join("empty")).unwrap().len(), 0);
        // Some file systems have no holes; none takes more than the original.
        assert!(bytes_of(&to).unwrap() <= bytes_of(&from).unwrap() + (1 << 20));
    }

    #[test]
    fn linked_files_are_the_same_until_one_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("1.jpg"), "old").unwrap();
        copy(&from, &to, How::Link, &AtomicBool::new(false)).unwrap();
        let number = |path: &Path| fs::metadata(path).unwrap().ino();
        assert_eq!(number(&from.join("1.jpg")), number(&to.join("1.jpg")));
        fs::write(to.join("new"), "new").unwrap();
        fs::rename(to.join("new"), to.join("1.jpg")).unwrap();
        assert_eq!(fs::read_to_string(from.join("1.jpg")).unwrap(), "old");
    }

    #[test]
    fn a_copy_that_is_told_to_stop_does() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "x").unwrap();
        let stopped =
            copy(root.path(), &root.path().with_extension("copy"), How::Copy, &AtomicBool::new(true));
        assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
        fs::remove_dir_all(root.path().with_extension("copy")).unwrap();
    }
}
