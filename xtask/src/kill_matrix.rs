//! Sudden death of the program in every phase on every platform, which the test run does in part.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::Context;

use crate::building;
use crate::say::say;

/// Makes the tests try every phase.
const ALL: &str = "BAROGRAPH_KILLS";

/// How lines begin that belong to the matrix.
const LINES: [&str; 3] = ["killed ", "skipped", "test result"];

/// What cargo says where no test has such a name: it succeeds all the same.
const NONE: &str = "test result: ok. 0 passed";

/// Runs the whole matrix, one platform after the other, and shows its lines; true when nothing was left anywhere, and at
/// least one test was run.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    // Of the workspace, not of the one package, so that libraries have the features that `cargo xtask test` built them with.
    let mut child = building::cargo(root)
        .args(["test", "--workspace", "--test", "program", "killed_in::", "--", "--nocapture"])
        .arg("--test-threads=1")
        .env(ALL, "all")
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo test")?;
    let output = child.stdout.take().context("take the output of cargo test")?;
    let mut ran = false;
    for line in BufReader::new(output).lines() {
        let line = line.context("read the output of cargo test")?;
        // The name of a test stands before the first line that it prints.
        let line = line.split_once(" ... ").map_or(line.as_str(), |(_, said)| said);
        if LINES.iter().any(|begin| line.starts_with(begin)) {
            say(line);
            ran |= line.starts_with(LINES[2]) && !line.starts_with(NONE);
        }
    }
    if !ran {
        say("no test of this name was run");
    }
    Ok(child.wait().context("wait for cargo test")?.success() && ran)
}
