//! Copies of whole folders. If the file system can share blocks between files, a copy shares them until they
//! are written. Hard links do not suit databases, which write into their files.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, ioctl_ficlone, seek};
use rustix::io::Errno;

/// Bytes in a block, as counted by the system.
const BLOCK: u64 = 512;

/// Method of copying files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyMethod {
    /// Copies the content, sharing blocks if possible.
    Copy,
    /// Creates a hard link if possible: for files that are only ever replaced, never written into.
    Link,
}

/// Approximate bytes on disk of all files below a folder; holes take none.
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

/// Copies a folder with its content to a path that does not exist. Permissions are kept, owners are not. Ends
/// with an error soon after `stop` becomes true.
pub(crate) fn copy(from: &Path, to: &Path, how: CopyMethod, stop: &AtomicBool) -> io::Result<()> {
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
            // A file on another disk or of another owner cannot be linked.
            let linked = how == CopyMethod::Link && fs::hard_link(&source, &target).is_ok();
            if !linked {
                copy_file(&source, &target)?;
            }
        }
        // A socket or pipe belongs to a process that has ended, and is created again when needed.
    }
    // Last, as the folder may be read-only.
    fs::set_permissions(to, Permissions::from_mode(mode))
}

/// Copies a file. Preallocated space that was not written yet (as in MariaDB's log) is preallocated in the
/// copy, so both take the same space on disk.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let about = source.metadata()?;
    let target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    if ioctl_ficlone(&target, &source).is_err() {
        copy_data(&source, &target, about.len())?;
        if about.blocks() * BLOCK >= about.len() && about.len() > 0 {
            // A file system without preallocation did not have it in the original either.
            let _ = fallocate(&target, FallocateFlags::empty(), 0, about.len());
        }
    }
    target.set_permissions(about.permissions())
}

/// Copies the data of a file and leaves its holes.
fn copy_data(source: &File, target: &File, length: u64) -> io::Result<()> {
    target.set_len(length)?;
    let mut at = 0;
    while at < length {
        let begin = match seek(source, SeekFrom::Data(at)) {
            Ok(begin) => begin,
            // Only a hole is left.
            Err(Errno::NXIO) => break,
            // The file system does not report holes: everything is data.
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
        copy(&from, &to, CopyMethod::Copy, &AtomicBool::new(false)).unwrap();
        assert_eq!(fs::read(to.join("base/1/rows")).unwrap(), vec![7; 100_000]);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("base/1"));
        assert!(to.join("empty").is_dir() && !to.join("socket").exists());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&to), mode(&to.join("PG_VERSION"))), (0o700, 0o400));
        // Writing to the copy does not change the original.
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
        copy(&from, &to, CopyMethod::Copy, &AtomicBool::new(false)).unwrap();
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
        copy(&from, &to, CopyMethod::Link, &AtomicBool::new(false)).unwrap();
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
            copy(root.path(), &root.path().with_extension("copy"), CopyMethod::Copy, &AtomicBool::new(true));
        assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
        fs::remove_dir_all(root.path().with_extension("copy")).unwrap();
    }
}
