//! Whole folders, copied. Where the file system can share blocks between files, the copy shares them until one is
//! written to; links would not do, since databases write into their files.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of all files below a folder.
pub(crate) fn bytes_of(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        sum += if about.is_dir() { bytes_of(&entry.path())? } else { about.size() };
    }
    Ok(sum)
}

/// Copies a folder with all that is in it to a place where nothing is; gives the bytes of its files. Permissions go
/// along, owners do not. Ends early, with an error, soon after `stop` becomes true.
pub(crate) fn copy(from: &Path, to: &Path, stop: &AtomicBool) -> io::Result<u64> {
    let mode = fs::metadata(from)?.permissions().mode() & 0o7777;
    DirBuilder::new().mode(0o700).create(to)?;
    let mut sum = 0;
    for entry in fs::read_dir(from)? {
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let entry = entry?;
        let (source, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            sum += copy(&source, &target, stop)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            sum += fs::copy(&source, &target)?;
        }
        // A socket or a pipe belongs to a process that has ended; whoever needs one makes it anew.
    }
    // Last: a folder may be closed to writing.
    fs::set_permissions(to, Permissions::from_mode(mode))?;
    Ok(sum)
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
        let copied = copy(&from, &to, &AtomicBool::new(false)).unwrap();
        assert_eq!(copied, 100_003);
        assert_eq!(fs::read(to.join("base/1/rows")).unwrap(), vec![7; 100_000]);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("base/1"));
        assert!(to.join("empty").is_dir() && !to.join("socket").exists());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&to), mode(&to.join("PG_VERSION"))), (0o700, 0o400));
        // Writing into the copy does not reach the original.
        fs::write(to.join("base/1/rows"), "worn").unwrap();
        assert_eq!(bytes_of(&from.join("base")).unwrap(), 100_000);
    }

    #[test]
    fn a_copy_that_is_told_to_stop_does() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "x").unwrap();
        let stopped = copy(root.path(), &root.path().with_extension("copy"), &AtomicBool::new(true));
        assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
        fs::remove_dir_all(root.path().with_extension("copy")).unwrap();
    }
}
