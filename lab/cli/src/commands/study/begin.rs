//! State at the start of a study that `--resume` needs and that its shared record omits.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use barograph_model::secret::masked;
use barograph_record::{STUDY_BEGIN, read_study};
use serde::{Deserialize, Serialize};

use super::prepare::StudyOptions;
use super::{header, refused, write};
use crate::commands::CommandFailure;

/// Working folder and arguments.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StudyArguments {
    /// Base of relative paths in plans and overrides.
    pub(super) folder: String,
    file: String,
    sets: Vec<String>,
    repeats: Option<u32>,
    only: Vec<String>,
}

impl StudyArguments {
    /// Returns the state of a study that begins in this folder.
    pub(super) fn of(asked: &StudyOptions) -> Self {
        StudyArguments {
            folder: std::env::current_dir().unwrap_or_default().display().to_string(),
            file: asked.file.display().to_string(),
            sets: asked.sets.iter().map(|set| masked(set).into_owned()).collect(),
            repeats: asked.repeats,
            only: asked.only.clone(),
        }
    }

    pub(super) fn write(&self, study: &Path) -> Result<(), CommandFailure> {
        let text = serde_json::to_string_pretty(self).context("write the begin of a study as JSON");
        write(study, STUDY_BEGIN, &(text.map_err(refused)? + "\n"))
    }

    /// Reads the state of the study in this folder; older versions have it in the header.
    pub(super) fn read(study: &Path) -> Result<Self, CommandFailure> {
        let path = study.join(STUDY_BEGIN);
        let read = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(anyhow::Error::from),
            Err(why) if why.kind() == ErrorKind::NotFound => return Self::of_header(study),
            Err(why) => Err(why.into()),
        };
        read.with_context(|| format!("read `{}`", path.display())).map_err(refused)
    }

    fn of_header(study: &Path) -> Result<Self, CommandFailure> {
        let read = read_study(study)?;
        let header = header(study, &read)?;
        if header.folder.is_empty() {
            let why = format!(
                "go on with the study in `{}`: it was begun on another machine, and `{}` begins a new one",
                study.display(),
                header.command
            );
            return Err(refused(anyhow::anyhow!(why)));
        }
        Ok(StudyArguments {
            folder: header.folder.clone(),
            file: header.file.clone(),
            sets: header.sets.clone(),
            repeats: header.repeats,
            only: header.only.clone(),
        })
    }

    pub(super) fn into_asked(self) -> StudyOptions {
        StudyOptions {
            file: PathBuf::from(self.file),
            sets: self.sets,
            repeats: self.repeats,
            only: self.only,
        }
    }
}
