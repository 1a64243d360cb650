//! FerretDB, which serves MongoDB's protocol and is in no package: built from its sources where Go is
//! installed.
//!
//! One line is changed: the index on `_id` in SQLite and the expression in queries are spelled differently,
//! so that SQLite never uses the index and every lookup reads the whole collection. The program therefore
//! reports a version of its own, which appears in records.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::go::{self, Program};
use crate::packages::present;

/// The Go module.
const MODULE: &str = "github.com/FerretDB/FerretDB";

/// The last version with SQLite inside; later ones need a PostgreSQL with an extension.
const VERSION: &str = "v1.24.0";

/// Version reported by the changed program: with a suffix, as its own check of versions requires.
const CALLED: &str = "v1.24.0-barograph-index";

/// The file with the changed line, the original line, and the new one.
const MENDED: [&str; 3] = [
    "internal/backends/sqlite/metadata/metadata.go",
    r#"IDColumn = DefaultColumn + "->'$._id'""#,
    r#"IDColumn = DefaultColumn + `->"_id"`"#,
];

/// FerretDB, built from the changed module.
const FERRETDB: Program = Program {
    file: "ferretdb",
    name: "FerretDB v1.24.0",
    tests: "the tests of stores against FerretDB",
    go: "1.22",
    make,
};

/// Builds it if it is neither built nor installed. Returns the number of tools still missing, after a
/// message.
pub(crate) fn build_missing(root: &Path) -> u32 {
    if present("ferretdb") { 0 } else { go::build_missing(root, &FERRETDB) }
}

fn make(module: &Path, made: &Path) -> anyhow::Result<()> {
    let go = |arguments: &[&str]| go::go(module, arguments);
    let package = format!("{MODULE}/cmd/ferretdb");
    // Not `go install`: that needs a list of all versions, which not every proxy provides.
    go(&["get", &format!("{package}@{VERSION}")])?;
    let sources = go(&["list", "-m", "-f", "{{.Dir}}", MODULE])?;
    // A writable copy: the program stops at its start if its sources do not state their version.
    let copy = module.join("../sources");
    let copied = Command::new("cp").args(["-r", "--no-preserve=mode", sources.trim()]).arg(&copy).status()?;
    ensure!(copied.success(), "failed to copy {}", sources.trim());
    fs::write(copy.join("build/version/version.txt"), CALLED)?;
    mend(&copy)?;
    go(&["mod", "edit", "-replace", &format!("{MODULE}=../sources")])?;
    let (flags, tags) = ("-s -w", "ferretdb_no_postgresql");
    let out = made.to_string_lossy();
    go(&["build", "-trimpath", "-ldflags", flags, "-tags", tags, "-o", &out, &package])?;
    Ok(())
}

/// Changes the one line.
fn mend(sources: &Path) -> anyhow::Result<()> {
    let [file, before, after] = MENDED;
    let path = sources.join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    ensure!(text.contains(before), "{file} does not hold the line that is to be changed");
    fs::write(&path, text.replacen(before, after, 1)).with_context(|| format!("write {}", path.display()))
}
