//! Data folders of databases that are made once, kept below `target` and copied for each service.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::programs::target;

/// Counts up when what is put into a template changes, so that kept ones are not used any longer.
const LAYOUT: u32 = 1;

/// The template of a program in this version: from `target`, or made there by `fill`, which gets an empty folder.
///
/// A template is made beside its place and moved there when it is whole. When two processes make the same one at a
/// time, the second throws its own away.
pub(super) fn template(program: &Path, fill: impl FnOnce(&Path)) -> PathBuf {
    let kept = target().join("testkit");
    let place = kept.join(format!("{}-{LAYOUT}", version(program)));
    if place.is_dir() {
        return place;
    }
    fs::create_dir_all(&kept).expect("`target` can be written, cargo did so");
    let made = tempfile::Builder::new().prefix(".making-").tempdir_in(&kept).expect("as above");
    let data = made.path().join("data");
    fs::create_dir(&data).expect("the folder is new");
    fill(&data);
    // It fails when another process was quicker; then its template is as good.
    let moved = fs::rename(&data, &place);
    assert!(moved.is_ok() || place.is_dir(), "failed to keep {}: {moved:?}", place.display());
    place
}

/// A copy of the template at `to`, which does not exist yet.
pub(super) fn copy(template: &Path, to: &Path) {
    run(Command::new("cp").arg("-a").arg("--reflink=auto").arg(template).arg(to));
}

/// Runs a program that must succeed, and says what it wrote when it does not.
pub(super) fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("failed to start {command:?}: {error}"));
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "failed to run {command:?}: {said}");
}

/// What the program answers to `--version`, as the name of a folder.
fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let rest = said.rsplit_once(&*name).map_or(said.as_str(), |(_, rest)| rest);
    let plain: String =
        rest.trim().chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    format!("{name}-{plain}")
}
