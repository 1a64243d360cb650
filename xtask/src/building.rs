//! Cargo commands of the steps of `cargo xtask test`, and a check of the disk space for their results.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use cargo_metadata::{Metadata, MetadataCommand};

use crate::say::say;

/// Size of a complete build from nothing, with tests and documentation, with some to spare. Measured with `du
/// -s target` after `CI=true cargo xtask test` in a fresh clone.
const NEEDED_GIB: u64 = 16;

/// Cargo in this workspace. In CI (`CI` is set) nothing is compiled a second time and nothing is debugged, so
/// incremental caches, more than half of a build's disk space, and debug information are off.
#[expect(clippy::disallowed_methods, reason = "CI says in no other way that it is CI")]
pub(crate) fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_this_package(name)) {
        cargo.env_remove(name);
    }
    if std::env::var_os("CI").is_some() {
        cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "false");
    }
    cargo
}

/// Whether a variable belongs to this program's own package, as set by `cargo run`. Build scripts read such
/// variables: with them that of `ring` runs again whenever cargo was started from a shell in between, and all
/// its dependents are built again.
fn is_of_this_package(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_")
}

/// The packages of this workspace, without third-party ones.
pub(crate) fn metadata(root: &Path) -> anyhow::Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml")).no_deps().exec().context("read cargo metadata")
}

/// Warns if the disk space may not suffice. The results of an earlier build count as space, since the next
/// one overwrites much of them; a full disk makes compilers fail in words that do not name it.
pub(crate) fn look_at_disk(root: &Path) -> anyhow::Result<()> {
    let found = rustix::fs::statvfs(root).context("ask how much of the disk is free")?;
    let free_gib = found.f_bavail * found.f_frsize / (1 << 30);
    if let Some(warning) = warning(free_gib, root.join("target/debug").is_dir()) {
        say(&warning);
    }
    Ok(())
}

fn warning(free_gib: u64, built_before: bool) -> Option<String> {
    let needed = if built_before { NEEDED_GIB / 4 } else { NEEDED_GIB };
    (free_gib < needed).then(|| {
        format!(
            "the disk has {free_gib} GiB free, and this build may take {needed} GiB: free some, for example with \
             `cargo clean` in other clones"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_knows_nothing_of_the_program_that_starts_it() {
        // Cargo sets it for tests, too.
        let folder = OsStr::new("CARGO_MANIFEST_DIR");
        assert!(std::env::vars_os().any(|(name, _)| name == folder));
        assert!(cargo(Path::new("/")).get_envs().any(|(name, value)| name == folder && value.is_none()));
        assert!(!is_of_this_package(OsStr::new("CARGO_HOME")));
    }

    #[test]
    fn little_room_is_told_and_enough_is_not() {
        assert!(warning(NEEDED_GIB - 1, false).unwrap().contains("15 GiB free"));
        assert_eq!(warning(NEEDED_GIB, false), None);
        assert_eq!(warning(NEEDED_GIB - 1, true), None);
        assert!(warning(1, true).is_some());
    }
}
