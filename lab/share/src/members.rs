//! The files of a record, listed by name: all others in its folder stay on the machine.

use std::fs;
use std::path::{Path, PathBuf};

use barograph_record::{RunId, STUDY_FILE};

use crate::ShareError;

/// Files of a run, and of a load among several.
const OF_RUN: [&str; 8] = [
    "disclosure.json",
    "plan.toml",
    "probe.csv",
    "report.html",
    "response.hlog",
    "run.jsonl",
    "service.hlog",
    "statistics.csv",
];

/// Files of a study, besides its runs.
const OF_STUDY: [&str; 4] = ["study.html", "study.json", STUDY_FILE, "study.toml"];

/// A file of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordFile {
    /// Relative to the folder of the record, with slashes.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
}

/// The files of the record in `folder`, by name.
///
/// # Errors
/// If the folder holds no record or cannot be read.
pub fn members(folder: &Path) -> Result<Vec<RecordFile>, ShareError> {
    let mut found = Vec::new();
    if folder.join(STUDY_FILE).is_file() {
        add(folder, "", &OF_STUDY, &mut found);
        for (name, path) in folders(&folder.join("runs"))? {
            if name.parse::<RunId>().is_ok() {
                of_run(&path, &format!("runs/{name}/"), &mut found)?;
            }
        }
    } else if folder.join("run.jsonl").is_file() {
        of_run(folder, "", &mut found)?;
    } else {
        return Err(ShareError::NoRecord { folder: folder.to_owned() });
    }
    found.sort();
    Ok(found)
}

fn of_run(folder: &Path, prefix: &str, found: &mut Vec<RecordFile>) -> Result<(), ShareError> {
    add(folder, prefix, &OF_RUN, found);
    let services = entries(&folder.join("services"))?;
    let names: Vec<&str> = services.iter().map(|(name, _)| name.as_str()).collect();
    add(&folder.join("services"), &format!("{prefix}services/"), &names, found);
    for (name, path) in folders(&folder.join("loads"))? {
        add(&path, &format!("{prefix}loads/{name}/"), &OF_RUN, found);
    }
    Ok(())
}

/// Adds those of `names` that are plain files, without hidden ones.
fn add(folder: &Path, prefix: &str, names: &[&str], found: &mut Vec<RecordFile>) {
    for name in names.iter().filter(|name| !name.starts_with('.')) {
        let path = folder.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|about| about.is_file()) {
            found.push(RecordFile { name: format!("{prefix}{name}"), path });
        }
    }
}

fn folders(folder: &Path) -> Result<Vec<(String, PathBuf)>, ShareError> {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    Ok(entries(folder)?.into_iter().filter(|(_, path)| is_folder(path)).collect())
}

/// Entries of a folder, by name; none if it does not exist.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, ShareError> {
    let read = match fs::read_dir(folder) {
        Ok(read) => read,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(ShareError::read(folder, why)),
    };
    let mut all = Vec::new();
    for entry in read {
        let entry = entry.map_err(|why| ShareError::read(folder, why))?;
        all.extend(entry.file_name().into_string().ok().map(|name| (name, entry.path())));
    }
    Ok(all)
}
