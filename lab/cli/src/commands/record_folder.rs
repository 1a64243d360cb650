//! A record named on the command line: a run or a study, by its name, its folder, or a file of
//! `barograph share`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use barograph_record::{ExitCode, Run, STUDY_FILE};
use barograph_share::{Limits, unpack};
use tempfile::TempDir;

use super::{CommandFailure, show, study};

/// Folder of a record, and folder for results about it.
pub(crate) struct RecordFolder {
    /// Folder of the record.
    pub(crate) folder: PathBuf,
    /// Folder for results: the record itself or, for a shared file, a folder of its name in the working
    /// folder.
    pub(crate) results: PathBuf,
    /// Temporary folder of an unpacked file, removed with this value.
    _unpacked: Option<TempDir>,
}

impl RecordFolder {
    /// Finds the named record, or the latest run.
    pub(crate) fn find(runs: &Path, name: Option<&str>) -> Result<Self, CommandFailure> {
        let Some(name) = name else { return Ok(Self::of(show::latest(runs)?)) };
        let path = Path::new(name);
        if path.is_file() {
            return Self::shared(path);
        }
        let is_run = path.join("run.jsonl").exists();
        let run = || if is_run { path.to_owned() } else { runs.join(name) };
        Ok(Self::of(study::named(runs, name).unwrap_or_else(run)))
    }

    fn of(folder: PathBuf) -> Self {
        RecordFolder { results: folder.clone(), folder, _unpacked: None }
    }

    fn shared(file: &Path) -> Result<Self, CommandFailure> {
        let place = tempfile::Builder::new().prefix("barograph-shared-").tempdir();
        let place = place.context("make a folder for the shared record");
        let place = place.map_err(|why| CommandFailure::new(ExitCode::CannotWrite, why))?;
        let folder = unpack(file, place.path(), &Limits::default());
        let folder = folder.map_err(|why| CommandFailure::new(ExitCode::Refused, why))?;
        let results = folder.file_name().map(PathBuf::from).unwrap_or_default();
        Ok(RecordFolder { folder, results, _unpacked: Some(place) })
    }

    /// Whether it is a study.
    pub(crate) fn is_study(&self) -> bool {
        self.folder.join(STUDY_FILE).is_file()
    }

    /// Reads the record of a run.
    pub(crate) fn run(&self) -> Result<Run, CommandFailure> {
        Ok(Run::open(&self.folder)?)
    }
}
