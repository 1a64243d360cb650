//! VictoriaMetrics, which receives OpenTelemetry metrics and answers queries about them: Debian's is older than that, so it
//! is built from its sources where Go is installed.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::go::go;
use crate::say::say;

const PROGRAM: &str = "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics";

/// It reads exponential histograms; later ones want a newer Go than others here.
const VERSION: &str = "v1.110.0";

/// Builds `target/tools/victoria-metrics` when it is missing. Returns how many tools are still missing, which was said.
pub(crate) fn build_missing(root: &Path) -> u32 {
    let built = root.join("target/tools/victoria-metrics");
    if built.is_file() {
        return 0;
    }
    say(&format!("building VictoriaMetrics {VERSION} for the test of the OpenTelemetry export, once"));
    match build(&built) {
        Ok(()) => 0,
        Err(error) => {
            say(&format!(
                "skipped: the test of the OpenTelemetry export needs {} ({error:#}); \
                 with Go 1.23 or newer on the path, `cargo xtask tools` builds it",
                built.display()
            ));
            1
        }
    }
}

/// Builds the program at `to`, which appears when it is whole.
fn build(to: &Path) -> anyhow::Result<()> {
    let tools = to.parent().context("find the folder of tools")?;
    fs::create_dir_all(tools)?;
    let folder = tempfile::Builder::new().prefix(".building-").tempdir_in(tools)?;
    let module = folder.path().join("build");
    fs::create_dir(&module)?;
    go(&module, &["mod", "init", "build"])?;
    // Not `go install`: that asks for a list of all versions, which not every proxy gives.
    go(&module, &["get", &format!("{PROGRAM}@{VERSION}")])?;
    let made = folder.path().join("victoria-metrics");
    let out = made.to_string_lossy();
    go(&module, &["build", "-trimpath", "-ldflags", "-s -w", "-o", &out, PROGRAM])?;
    fs::rename(&made, to).context("move the program to its place")
}
