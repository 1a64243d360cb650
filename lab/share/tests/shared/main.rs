//! Records as one file: contents, findings, and refusals when one is read.

mod archives;
mod planted;
mod round_trip;

use std::fs;
use std::path::{Path, PathBuf};

/// Name of a run.
const RUN: &str = "20301120-184500-04f2";

/// Writes files below `root`; returns the folder of the run.
fn run(root: &Path, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = root.join(RUN);
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}
