//! VictoriaMetrics, which receives OpenTelemetry metrics and answers queries about them: Debian's version is
//! too old, so it is built from its sources where Go is installed.

use std::path::Path;

use crate::go::{Program, go};

/// The Go package.
const PACKAGE: &str = "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics";

/// The version: it reads exponential histograms; later ones need a newer Go.
pub(crate) const VICTORIA_METRICS: Program = Program {
    file: "victoria-metrics",
    name: "VictoriaMetrics v1.110.0",
    tests: "the tests of the OpenTelemetry export",
    go: "1.23",
    make,
};

fn make(module: &Path, made: &Path) -> anyhow::Result<()> {
    // Not `go install`: that needs a list of all versions, which not every proxy provides.
    go(module, &["get", &format!("{PACKAGE}@v1.110.0")])?;
    go(module, &["build", "-trimpath", "-ldflags", "-s -w", "-o", &made.to_string_lossy(), PACKAGE])?;
    Ok(())
}
