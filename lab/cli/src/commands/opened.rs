//! A record as it was named: a run or a study by its name, its folder, or a file that `barograph share` made.

use std::path::{Path, PathBuf};

use anyhow::Context;
use barograph_record::{ExitCode, Run, STUDY_FILE};
use barograph_share::{Limits, unpack};
use tempfile::TempDir;

use super::{Failed, show, study};

/// The folder of a record, and where results about it go.
pub(crate) struct Opened {
    /// The record.
    pub(crate) folder: PathBuf,
    /// The record itself; of a shared file a folder of its name in the working folder.
    pub(crate) results: PathBuf,
    /// A shared file is unpacked into it, and it is removed with this value.
    _unpacked: Option<TempDir>,
}

impl Opened {
    /// The record that is named, or the latest run.
    pub(crate) fn find(runs: &Path, name: Option<&str>) -> Result<Self, Failed> {
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
        Opened { results: folder.clone(), folder, _unpacked: None }
    }

    fn shared(file: &Path) -> Result<Self, Failed> {
        let place = tempfile::Builder::new().prefix("barograph-shared-").tempdir();
        let place = place.context("make a folder for the shared record");
        let place = place.map_err(|why| Failed::new(ExitCode::CannotWrite, why))?;
        let folder = unpack(file, place.path(), &Limits::default());
        let folder = folder.map_err(|why| Failed::new(ExitCode::Refused, why))?;
        let results = folder.file_name().map(PathBuf::from).unwrap_or_default();
        Ok(Opened { folder, results, _unpacked: Some(place) })
    }

    /// Whether it is of a study.
    pub(crate) fn is_study(&self) -> bool {
        self.folder.join(STUDY_FILE).is_file()
    }

    /// The record of a run.
    pub(crate) fn run(&self) -> Result<Run, Failed> {
        Ok(Run::open(&self.folder)?)
    }
}
