//! Go, for building programs that are in no package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::say::say;

/// Time limit of a build in seconds: it takes minutes, and longer only without a network.
const LIMIT_S: &str = "600";

/// Conditions of a Go command.
pub(crate) struct Build {
    /// Time limit in seconds.
    pub(crate) limit_s: &'static str,
    /// Variables that are set for it.
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

impl Build {
    /// Runs Go in a module, and returns its output.
    pub(crate) fn go(&self, module: &Path, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new("timeout")
            .args([self.limit_s, "go"])
            .args(arguments)
            .current_dir(module)
            // Neither settings of a user's workspace nor another Go than the installed one.
            .envs([("GOFLAGS", "-mod=mod -buildvcs=false"), ("GOWORK", "off"), ("GOTOOLCHAIN", "local")])
            .envs(self.environment.iter().copied())
            .output()
            .context("start go")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("go {}: {}", arguments.join(" "), said.lines().last().unwrap_or("it ended without a word"));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Runs Go in a module with the usual time limit, and returns its output.
pub(crate) fn go(module: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    Build { limit_s: LIMIT_S, environment: &[] }.go(module, arguments)
}

/// A program for tests that is built from its Go module.
pub(crate) struct Program {
    /// Its file in `target/tools`.
    pub(crate) file: &'static str,
    /// Its name with the version.
    pub(crate) name: &'static str,
    /// The tests that need it.
    pub(crate) tests: &'static str,
    /// The oldest Go that builds it.
    pub(crate) go: &'static str,
    /// Makes it, in the folder of an empty module, as this file.
    pub(crate) make: fn(module: &Path, made: &Path) -> anyhow::Result<()>,
}

/// Builds a program in `target/tools` if it is missing. Returns the number still missing, after a message.
pub(crate) fn build_missing(root: &Path, program: &Program) -> u32 {
    let Program { file, name, tests, go, .. } = program;
    let built = root.join("target/tools").join(file);
    if built.is_file() {
        return 0;
    }
    say(&format!("building {name} for {tests}, once"));
    match build(&built, program) {
        Ok(()) => 0,
        Err(error) => {
            say(&format!(
                "skipped: {tests} need {} ({error:#}); with Go {go} or newer on the path, `cargo xtask tools` builds it",
                built.display()
            ));
            1
        }
    }
}

/// Builds the program at `to`, which appears only when it is whole.
pub(crate) fn build(to: &Path, program: &Program) -> anyhow::Result<()> {
    let tools = to.parent().context("find the folder of tools")?;
    fs::create_dir_all(tools)?;
    let folder = tempfile::Builder::new().prefix(".building-").tempdir_in(tools)?;
    let module = folder.path().join("build");
    fs::create_dir(&module)?;
    go(&module, &["mod", "init", "build"])?;
    let made = folder.path().join(program.file);
    (program.make)(&module, &made)?;
    fs::rename(&made, to).context("move the program to its place")
}

/// Returns the folder in the user's cache for a program that takes minutes to build, for every work tree; `None`
/// for a user without a home.
pub(crate) fn kept(name: &str) -> Option<PathBuf> {
    Some(std::env::home_dir()?.join(".cache/barograph").join(name))
}

/// Returns the description (`go.mod`) of a version of a module, which is downloaded.
pub(crate) fn description(here: &Path, module: &str, version: &str) -> anyhow::Result<String> {
    // In the user's own folder, as a module with its dependencies may have gigabytes.
    let facts = go(here, &["mod", "download", "-json", &format!("{module}@{version}")])?;
    let path = text_of(&facts, "GoMod").context("find the description of the module")?;
    Ok(fs::read_to_string(path)?)
}

/// Returns the text of a key in Go's description of a module.
fn text_of(json: &str, key: &str) -> Option<String> {
    let facts: serde_json::Value = serde_json::from_str(json).ok()?;
    Some(facts.get(key)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_a_description() {
        assert_eq!(text_of(r#"{"GoMod":"/a/b.mod"}"#, "GoMod").as_deref(), Some("/a/b.mod"));
        assert_eq!(text_of("{}", "GoMod"), None);
    }
}
