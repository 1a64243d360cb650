//! FerretDB, which speaks MongoDB's protocol and is in no package: built from its sources where Go is installed.
//!
//! One line is changed: the index it makes on `_id` in SQLite and the expression its queries use are written in two ways,
//! so that SQLite never uses the index and every lookup reads the whole collection. The program calls itself by a version
//! of its own because of that, and records that name it say so.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::go::go;
use crate::packages::present;
use crate::say::say;

const MODULE: &str = "github.com/FerretDB/FerretDB";

/// The last one with SQLite inside; later ones need a PostgreSQL with an extension.
const VERSION: &str = "v1.24.0";

/// What the changed program calls itself: a version with a suffix, as its own check of versions wants it.
const CALLED: &str = "v1.24.0-barograph-index";

/// The file with the changed line, the line as it is, and as it becomes.
const MENDED: [&str; 3] = [
    "internal/backends/sqlite/metadata/metadata.go",
    r#"IDColumn = DefaultColumn + "->'$._id'""#,
    r#"IDColumn = DefaultColumn + `->"_id"`"#,
];

/// Builds `target/tools/ferretdb` when it is missing. Returns how many tools are still missing, which was said.
pub(crate) fn build_missing(root: &Path) -> u32 {
    let built = root.join("target/tools/ferretdb");
    if built.is_file() || present("ferretdb") {
        return 0;
    }
    say(&format!("building FerretDB {VERSION} for the tests of stores, once"));
    match build(&built) {
        Ok(()) => 0,
        Err(error) => {
            say(&format!(
                "skipped: the tests of stores against FerretDB need {} ({error:#}); \
                 with Go 1.22 or newer on the path, `cargo xtask tools` builds it",
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
    let go = |arguments: &[&str]| go(&module, arguments);
    go(&["mod", "init", "build"])?;
    // Not `go install`: that asks for a list of all versions, which not every proxy gives.
    go(&["get", &format!("{MODULE}/cmd/ferretdb@{VERSION}")])?;
    let sources = go(&["list", "-m", "-f", "{{.Dir}}", MODULE])?;
    // A copy that can be written: the program stops at its start when its sources did not tell their version.
    let copy = folder.path().join("sources");
    let copied = Command::new("cp").args(["-r", "--no-preserve=mode", sources.trim()]).arg(&copy).status()?;
    ensure!(copied.success(), "failed to copy {}", sources.trim());
    fs::write(copy.join("build/version/version.txt"), CALLED)?;
    mend(&copy)?;
    go(&["mod", "edit", "-replace", &format!("{MODULE}=../sources")])?;
    let made = folder.path().join("ferretdb");
    let out = made.to_string_lossy();
    let package = format!("{MODULE}/cmd/ferretdb");
    go(&[
        "build",
        "-trimpath",
        "-ldflags",
        "-s -w",
        "-tags",
        "ferretdb_no_postgresql",
        "-o",
        &out,
        &package,
    ])?;
    fs::rename(&made, to).context("move the program to its place")
}

/// Changes the one line.
fn mend(sources: &Path) -> anyhow::Result<()> {
    let [file, before, after] = MENDED;
    let path = sources.join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    ensure!(text.contains(before), "{file} does not hold the line that is to be changed");
    fs::write(&path, text.replacen(before, after, 1)).with_context(|| format!("write {}", path.display()))
}
