//! Starts the maintainers' programs in `dev`, each a crate of its own, so that xtask depends on no product
//! crate.

use std::path::Path;

use anyhow::Context;

use crate::building;

/// Builds a program with optimisation and runs it in the workspace; true if it succeeded.
pub(crate) fn run(root: &Path, package: &str, words: &[&str]) -> anyhow::Result<bool> {
    let status = building::cargo(root)
        .args(["run", "--release", "--package", package, "--"])
        .args(words)
        .status()
        .with_context(|| format!("start cargo for {package}"))?;
    Ok(status.success())
}
