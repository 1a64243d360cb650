//! `cargo xtask bench auction`: builds the program and the example that measures the application, and runs it.
//!
//! The measuring itself is `crates/cli/examples/tiers`: it needs real services, which the testkit starts, and the client
//! and the event loop of the product.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::say::say;

/// The example, below the folder of the build.
const EXAMPLE: &str = "target/release/examples/tiers";

/// Builds and runs; true when nothing was in the way.
pub(crate) fn auction(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    say("==> cargo build --release");
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--package", "barograph", "--bin", "barograph", "--example", "tiers"]);
    let built = build.current_dir(root).status().context("start cargo")?;
    if !built.success() {
        bail!("the build ended with {built}");
    }
    let measured = Command::new(root.join(EXAMPLE)).args(words).current_dir(root).status();
    Ok(measured.with_context(|| format!("start {EXAMPLE}"))?.success())
}
