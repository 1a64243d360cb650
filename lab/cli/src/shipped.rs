//! Which files of `plans`, `scenarios` and `studies` are things of their own.

use std::io;
use std::path::{Path, PathBuf};

/// How the name of a file ends that only says how a test makes the file beside it small.
const SMOKE: &str = ".smoke.toml";

/// The TOML files of a folder in the order of their names, without those of tests.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".toml") && !name.ends_with(SMOKE) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
