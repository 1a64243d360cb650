//! How the target is opened. What was asked for is read back: a flag that a file system ignores is no direct access.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, OFlags, StatxFlags};

use crate::error::DiskError;

/// Alignment of buffers in memory.
const BUFFERS: u32 = 4096;

/// How the target is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) writes: bool,
    /// Past the page cache (`O_DIRECT`).
    pub(crate) direct: bool,
    /// Each write is on the disk before it is done (`O_DSYNC`).
    pub(crate) durable: bool,
}

/// A file or device, and how it is opened.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
}

impl Opening {
    /// Opens it.
    ///
    /// # Errors
    /// Those of [`Access::open`].
    pub(crate) fn open(&self) -> Result<OpenTarget, DiskError> {
        self.access.open(&self.path)
    }
}

/// An open target.
#[derive(Debug)]
pub(crate) struct OpenTarget {
    pub(crate) file: File,
    /// What the system asks of offsets and sizes, in bytes.
    pub(crate) alignment: u64,
}

impl Access {
    /// Opens the target.
    ///
    /// # Errors
    /// [`DiskError::NotDirect`], also where the system does not say that access is direct; [`DiskError::File`].
    pub(crate) fn open(self, path: &Path) -> Result<OpenTarget, DiskError> {
        let not_direct = |why: String| DiskError::NotDirect { path: path.to_owned(), why };
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::DSYNC, self.durable);
        let mut options = OpenOptions::new();
        options.read(true).write(self.writes).custom_flags(flags.bits().cast_signed());
        let file = options.open(path).map_err(|why| match rustix::io::Errno::from_io_error(&why) {
            Some(rustix::io::Errno::INVAL) if self.direct => {
                not_direct("its file system does not open files directly (O_DIRECT)".to_owned())
            }
            _ => DiskError::file("open", path)(why),
        })?;
        let granted = rustix::fs::fcntl_getfl(&file);
        let granted = granted.map_err(|why| DiskError::file("read the flags of", path)(why.into()))?;
        if self.durable && !granted.contains(OFlags::DSYNC) {
            let why = "does not write synchronously (O_DSYNC)".to_owned();
            return Err(DiskError::Unfit { path: path.to_owned(), why });
        }
        if !self.direct {
            return Ok(OpenTarget { file, alignment: 1 });
        }
        if !granted.contains(OFlags::DIRECT) {
            return Err(not_direct("the system has dropped the flag (O_DIRECT)".to_owned()));
        }
        let alignment = alignment(&file).map_err(not_direct)?;
        Ok(OpenTarget { file, alignment })
    }
}

/// What the system asks of direct access to a file.
fn alignment(file: &File) -> Result<u64, String> {
    let asked = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    let facts = asked.map_err(|why| format!("the system does not say what it asks for ({why})"))?;
    if facts.stx_mask & StatxFlags::DIOALIGN.bits() == 0 || facts.stx_dio_offset_align == 0 {
        return Err("its file system does not say that it does so (STATX_DIOALIGN)".to_owned());
    }
    if facts.stx_dio_mem_align > BUFFERS {
        return Err(format!("it asks for memory at multiples of {} bytes", facts.stx_dio_mem_align));
    }
    Ok(facts.stx_dio_offset_align.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{direct_folder, skip};

    const DIRECT: Access = Access { writes: true, direct: true, durable: false };

    #[test]
    fn direct_access_is_what_the_system_says() {
        let Some(folder) = direct_folder() else { return skip("no folder with direct access") };
        let path = folder.path().join("file");
        std::fs::write(&path, [0; 4_096]).unwrap();
        let opened = DIRECT.open(&path).unwrap();
        assert!(opened.alignment.is_power_of_two() && opened.alignment <= 4_096, "{opened:?}");
        assert!(rustix::fs::fcntl_getfl(&opened.file).unwrap().contains(OFlags::DIRECT));
        let plain = Access { direct: false, ..DIRECT }.open(&path).unwrap();
        assert_eq!(plain.alignment, 1);
        assert!(!rustix::fs::fcntl_getfl(&plain.file).unwrap().contains(OFlags::DIRECT));
    }

    #[test]
    fn a_file_in_memory_is_not_direct() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return skip("no /dev/shm") };
        let path = folder.path().join("file");
        std::fs::write(&path, [0; 4_096]).unwrap();
        let why = DIRECT.open(&path).unwrap_err();
        assert!(matches!(why, DiskError::NotDirect { .. }), "{why}");
        assert_eq!(why.blame().unwrap().0, "disk.direct");
    }

    #[test]
    fn synchronous_writes_are_what_the_system_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let durable = Access { writes: true, direct: false, durable: true }.open(&path).unwrap();
        assert!(rustix::fs::fcntl_getfl(&durable.file).unwrap().contains(OFlags::DSYNC));
    }
}
