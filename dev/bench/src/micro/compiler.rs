//! Programs in C for comparison, written for these benches and built when they run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// The C compiler, and the command that installs it.
pub(super) const COMPILER: (&str, &str) = ("gcc", "apt-get install gcc");

/// A program in C.
pub(super) struct Source {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    pub(super) flags: &'static [&'static str],
}

impl Source {
    /// Compiles the program into a folder.
    pub(super) fn build(&self, compiler: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
        let (file, program) = (folder.join(format!("{}.c", self.name)), folder.join(self.name));
        fs::write(&file, self.text)?;
        // Libraries stand after the files that need them.
        let built = Command::new(compiler).arg("-o").arg(&program).arg(&file).args(self.flags).output();
        let built = built.with_context(|| format!("run {}", compiler.display()))?;
        if !built.status.success() {
            let said = String::from_utf8_lossy(&built.stderr).into_owned();
            bail!(
                "{} is not built: {}",
                self.name,
                said.lines().next().unwrap_or("the compiler says nothing")
            );
        }
        Ok(program)
    }
}
