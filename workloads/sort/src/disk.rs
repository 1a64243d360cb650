//! The disk of the files: their folder, and its free space.

use std::fs::File;
use std::io;
use std::path::Path;

/// Free bytes at a folder that may not exist yet.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let there = folder.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let disk = rustix::fs::statvfs(there)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Files of a sort, without names.
#[derive(Debug)]
pub(crate) struct SortFiles {
    pub(crate) input: File,
    pub(crate) scratch: File,
    pub(crate) output: File,
}

impl SortFiles {
    /// Makes empty files in a folder, which is made if it is missing.
    pub(crate) fn make(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let make = || tempfile::tempfile_in(folder);
        Ok(SortFiles { input: make()?, scratch: make()?, output: make()? })
    }
}
