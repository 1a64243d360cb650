//! Go, with which programs are built that are in no package.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

/// A build takes minutes; one that takes so many seconds waits for a network that is not there.
const LIMIT_S: &str = "600";

/// Runs Go in a module, and returns what it wrote.
pub(crate) fn go(module: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("timeout")
        .args([LIMIT_S, "go"])
        .args(arguments)
        .current_dir(module)
        // Neither settings of somebody's workspace nor another Go than the one that is installed.
        .envs([("GOFLAGS", "-mod=mod -buildvcs=false"), ("GOWORK", "off"), ("GOTOOLCHAIN", "local")])
        .output()
        .context("start go")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("go {}: {}", arguments.join(" "), said.lines().last().unwrap_or("it ended without a word"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
