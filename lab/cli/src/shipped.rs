//! Shipped files of `plans`, `scenarios` and `studies`.

use std::io;
use std::path::{Path, PathBuf};

/// Ending of files that only describe how a test makes their neighbour small.
const SMOKE: &str = ".smoke.toml";

/// TOML files of a folder in the order of their names, without those for tests.
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
