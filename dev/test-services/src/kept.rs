//! Data folders of databases, made once, kept below `target` and copied for each service.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the contents of kept folders; it rises with changes, so that older ones are not used.
const LAYOUT: u32 = 1;

/// The kept folder of this name, made by `fill` if missing; `fill` receives the folder to make.
///
/// It is made beside its place and moved there when it is whole. If two processes make the same one at a
/// time, the second discards its own.
pub(crate) fn kept(name: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-services");
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let place = all.join(format!("{plain}-{LAYOUT}"));
    if place.is_dir() {
        return place;
    }
    fs::create_dir_all(&all).expect("`target` can be written, cargo did so");
    let made = tempfile::Builder::new().prefix(".making-").tempdir_in(&all).expect("as above");
    let data = made.path().join("data");
    fill(&data);
    // It fails if another process was quicker; then its folder is as good.
    let moved = fs::rename(&data, &place);
    assert!(moved.is_ok() || place.is_dir(), "failed to keep {}: {moved:?}", place.display());
    place
}

/// A copy of the folder at `to`, which does not exist yet.
pub(crate) fn copy(from: &Path, to: &Path) {
    let parent = to.parent().expect("it is in a folder");
    fs::create_dir_all(parent).expect("the folder is ours");
    let mut command = Command::new("cp");
    let output = command.arg("-a").arg("--reflink=auto").arg(from).arg(to).output();
    let output = output.expect("every machine has cp");
    assert!(output.status.success(), "failed to copy {}: {output:?}", from.display());
}
