//! The measured program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::say::say;

/// Builds the program alone, as users do, in this program's target folder.
pub(crate) fn built(root: &Path) -> anyhow::Result<PathBuf> {
    say("==> cargo build --release");
    let own = std::env::current_exe().context("find this program")?;
    let target = own.ancestors().nth(2).context("find the folder of the build")?;
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--package", "barograph", "--target-dir"]).arg(target);
    let built = build.current_dir(root).status().context("start cargo")?;
    if !built.success() {
        bail!("the build ended with {built}");
    }
    Ok(target.join("release/barograph"))
}
