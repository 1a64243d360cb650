//! The files of a sort: their folder, and its free space.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Free bytes at a folder that may not exist yet.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let there = folder.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let disk = rustix::fs::statvfs(there)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Files of the sort of this program, without names.
#[derive(Debug)]
pub(crate) struct SortFiles {
    pub(crate) input: File,
    pub(crate) scratch: File,
    pub(crate) output: File,
}

impl SortFiles {
    /// Makes empty files in a folder, which is made if it is missing.
    fn make(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let make = || tempfile::tempfile_in(folder);
        Ok(SortFiles { input: make()?, scratch: make()?, output: make()? })
    }
}

/// Files of a job, with names in a folder of their own, which is removed at the end.
#[derive(Debug)]
pub(crate) struct JobFiles {
    folder: TempDir,
    input: File,
}

impl JobFiles {
    fn make(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = tempfile::Builder::new().prefix("sort-").tempdir_in(folder)?;
        let input = File::create_new(folder.path().join("input"))?;
        Ok(JobFiles { folder, input })
    }

    /// File with the records.
    pub(crate) fn input(&self) -> PathBuf {
        self.folder.path().join("input")
    }

    /// Folder of the result; the job makes it.
    pub(crate) fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// Folder for other files of the job.
    pub(crate) fn other(&self) -> PathBuf {
        self.folder.path().join("other")
    }

    /// Files of the result in the order of their names, which is that of their keys.
    pub(crate) fn results(&self) -> io::Result<Vec<File>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(self.output())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("part-") {
                paths.push(entry.path());
            }
        }
        paths.sort();
        paths.iter().map(File::open).collect()
    }
}

/// The files of a set of records.
#[derive(Debug)]
pub(crate) enum DataFiles {
    Own(SortFiles),
    Job(JobFiles),
}

impl DataFiles {
    /// Makes the files for a sort of this program, or for a job.
    pub(crate) fn make(folder: &Path, are_of_job: bool) -> io::Result<Self> {
        Ok(if are_of_job {
            DataFiles::Job(JobFiles::make(folder)?)
        } else {
            DataFiles::Own(SortFiles::make(folder)?)
        })
    }

    /// File with the records.
    pub(crate) fn input(&self) -> &File {
        match self {
            DataFiles::Own(files) => &files.input,
            DataFiles::Job(files) => &files.input,
        }
    }

    /// Files with the sorted records.
    pub(crate) fn results(&self) -> io::Result<Vec<File>> {
        match self {
            DataFiles::Own(files) => Ok(vec![files.output.try_clone()?]),
            DataFiles::Job(files) => files.results(),
        }
    }
}
