//! Paths of programs, and their versions.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Variable of a folder with more tools, besides `PATH`.
const FOLDER_VARIABLE: &str = "BAROGRAPH_BENCH_TOOLS";

/// The command that builds this product. It is printed, never run: an earlier build is measured.
pub(crate) const BUILD: &str = "cargo build --release";

/// Its result.
const PROGRAM: &str = "target/release/barograph";

/// Folders searched for programs: `PATH`, one more folder, and where Debian puts servers.
#[expect(
    clippy::disallowed_methods,
    reason = "where programs are is no setting: it belongs to the maintainer's shell"
)]
pub(crate) fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
    std::env::split_paths(&path).chain(more).chain([PathBuf::from("/usr/sbin")]).collect()
}

/// The program, if it exists.
pub(crate) fn find(program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// This product's program, if it was built.
pub(crate) fn ours(root: &Path) -> Option<PathBuf> {
    Some(root.join(PROGRAM)).filter(|file| file.is_file())
}

/// The first line of a program's version. Some print an error after it.
pub(crate) fn version(program: &Path, argument: &str) -> String {
    version_by(program, &[argument])
}

/// The same of a program that takes several arguments for it.
pub(crate) fn version_by(program: &Path, arguments: &[&str]) -> String {
    let Ok(said) = Command::new(program).args(arguments).output() else { return "unknown".to_owned() };
    let text = if said.stdout.is_empty() { said.stderr } else { said.stdout };
    String::from_utf8_lossy(&text).lines().next().unwrap_or("unknown").trim().to_owned()
}

/// The words of a line without quotes.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_first_folder_that_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wrk");
        std::fs::write(&file, "").unwrap();
        let folders = [PathBuf::from("/nowhere"), folder.path().to_path_buf()];
        assert_eq!(find("wrk", &folders), Some(file));
        assert_eq!(find("oha", &folders), None);
    }
}
