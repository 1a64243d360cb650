//! go-tpc, which the bench of databases runs beside this program: in no package, built from its sources where Go is installed.

use std::path::Path;

use crate::go::{Program, go};

/// The Go package.
const PACKAGE: &str = "github.com/pingcap/go-tpc/cmd/go-tpc";

/// The first version with PostgreSQL; the proxy names an older one as the latest.
pub(crate) const GO_TPC: Program = Program {
    file: "go-tpc",
    name: "go-tpc v1.0.12",
    tests: "cases of `bench sql` against go-tpc",
    go: "1.21",
    make,
};

fn make(module: &Path, made: &Path) -> anyhow::Result<()> {
    go(module, &["get", &format!("{PACKAGE}@v1.0.12")])?;
    go(module, &["build", "-trimpath", "-ldflags", "-s -w", "-o", &made.to_string_lossy(), PACKAGE])?;
    Ok(())
}
