//! maddy, a mail server in one program, for tests: in no package, and built from its Go modules and the C sources
//! of SQLite, which takes minutes; so it is kept outside of the repository, and linked into `target/tools`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::go::{self, Build, Program};
use crate::packages::present;
use crate::say::say;

/// The Go module.
const MODULE: &str = "github.com/foxcpp/maddy";

/// Its version.
const VERSION: &str = "0.8.1";

/// Time limit of its build in seconds.
const LIMIT_S: &str = "3600";

const MADDY: Program = Program {
    file: "maddy",
    name: "maddy v0.8.1",
    tests: "the tests of the mail workload against maddy",
    go: "1.23",
    make,
};

/// Returns its place in the user's cache; `None` for a user without a home.
fn place() -> Option<PathBuf> {
    Some(go::kept(&format!("maddy-v{VERSION}"))?.join(MADDY.file))
}

/// Links it into `target/tools` if it was built for another work tree; otherwise says that it is missing, if it is.
pub(crate) fn say_if_missing(root: &Path) {
    let is_there = present(MADDY.file) || place().is_some_and(|built| linked(root, &built).is_ok());
    if !is_there {
        let Program { name, tests, go, .. } = MADDY;
        say(&format!(
            "skipped: {tests} need {name}; with Go {go} or newer and a C compiler on the path, `cargo xtask tools \
             --maddy` builds it in some minutes, once"
        ));
    }
}

/// Builds it if it is neither built nor installed. Returns the number of tools still missing, after a message.
pub(crate) fn build_missing(root: &Path) -> u32 {
    if present(MADDY.file) {
        return 0;
    }
    let Program { name, tests, .. } = MADDY;
    let Some(built) = place() else {
        say(&format!("skipped: {tests} need a folder for {name}, and this user has no home"));
        return 1;
    };
    if !built.is_file() {
        say(&format!("building {name} for {tests}, once"));
    }
    let made = if built.is_file() { Ok(()) } else { go::build(&built, &MADDY) };
    match made.and_then(|()| linked(root, &built)) {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("skipped: {tests} need {name} ({error:#})"));
            1
        }
    }
}

/// Makes `target/tools` have it, as a link to the built program.
fn linked(root: &Path, built: &Path) -> anyhow::Result<()> {
    let link = root.join("target/tools").join(MADDY.file);
    built.metadata().context("find the built program")?;
    if link.is_file() {
        return Ok(());
    }
    fs::create_dir_all(root.join("target/tools"))?;
    // A link to what is no more.
    if link.is_symlink() {
        fs::remove_file(&link)?;
    }
    symlink(built, &link).with_context(|| format!("link {}", link.display()))
}

fn make(module: &Path, made: &Path) -> anyhow::Result<()> {
    let original = go::description(module, MODULE, &format!("v{VERSION}"))?;
    fs::write(module.join("go.mod"), module_file(&original))?;
    let flags = format!("-s -w -X {MODULE}.Version={VERSION}");
    let (out, package) = (made.to_string_lossy(), format!("{MODULE}/cmd/maddy"));
    let build = Build { limit_s: LIMIT_S, environment: &[("CGO_ENABLED", "1")] };
    build.go(module, &["build", "-trimpath", "-ldflags", &flags, "-o", &out, &package])?;
    Ok(())
}

/// Returns a module that has the program: Go heeds the replacements of the built module alone, so those of the
/// original one are repeated.
fn module_file(original: &str) -> String {
    let replacements = original.lines().filter(|line| line.starts_with("replace ") && line.contains(" => "));
    let mut text = format!("module build\n\ngo 1.23\n\nrequire {MODULE} v{VERSION}\n");
    for line in replacements {
        text.push_str(&format!("\n{line}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_modules_stay_replaced() {
        let original = "module github.com/foxcpp/maddy\n\ngo 1.23\n\nrequire a.test/b v1.0.0\n\n\
                        replace a.test/b => a.test/c v1.0.1 // as of b\n";
        assert_eq!(
            module_file(original),
            "module build\n\ngo 1.23\n\nrequire github.com/foxcpp/maddy v0.8.1\n\n\
             replace a.test/b => a.test/c v1.0.1 // as of b\n"
        );
    }

    #[test]
    fn a_built_program_is_linked_and_a_stale_link_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (root, built) = (folder.path(), folder.path().join("built"));
        assert!(linked(root, &built).is_err(), "nothing is built");
        let link = root.join("target/tools/maddy");
        assert!(!link.exists());
        fs::write(&built, "program").unwrap();
        linked(root, &built).unwrap();
        linked(root, &built).unwrap();
        assert_eq!(fs::read_to_string(&link).unwrap(), "program");
        let moved = root.join("moved");
        fs::rename(&built, &moved).unwrap();
        linked(root, &moved).unwrap();
        assert_eq!(link.canonicalize().unwrap(), moved.canonicalize().unwrap());
    }
}
