//! The program as one static file.
//!
//! It is linked against the static glibc of this machine: its C code is built by the same compiler as in any
//! other build, and copies of memory are as fast as in one. Only the program itself gets the flag, so crates
//! are not built a second time.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use cargo_metadata::Message;

use crate::building;

/// Flags of the last step of the build.
const FLAGS: [&str; 4] = ["-C", "target-feature=+crt-static", "-C", "strip=symbols"];

/// Builds the program; returns its path.
pub(super) fn build(root: &Path, profile: &str) -> anyhow::Result<PathBuf> {
    let mut child = building::cargo(root)
        .args(["rustc", "-p", "barograph", "--bin", "barograph", "--profile", profile])
        .arg("--message-format=json-render-diagnostics")
        .arg("--")
        .args(FLAGS)
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo to build the program")?;
    let messages = child.stdout.take().context("take the messages of cargo")?;
    let mut program = None;
    for message in Message::parse_stream(BufReader::new(messages)) {
        if let Message::CompilerArtifact(artifact) = message.context("read the messages of cargo")? {
            program = artifact.executable.or(program);
        }
    }
    ensure!(child.wait().context("wait for cargo")?.success(), "the program was not built");
    let program = program.context("find the program in the messages of cargo")?.into_std_path_buf();
    if !is_static(&std::fs::read(&program)?).context("read the head of the program")? {
        bail!(
            "{} needs shared libraries; install the static C library (Debian: libc6-dev)",
            program.display()
        );
    }
    Ok(program)
}

/// Whether a 64-bit ELF program names no interpreter, which would load shared libraries.
fn is_static(elf: &[u8]) -> Option<bool> {
    const INTERPRETER: u32 = 3;
    let short = |at: usize| Some(usize::from(u16::from_le_bytes(elf.get(at..at + 2)?.try_into().ok()?)));
    elf.starts_with(b"\x7fELF\x02\x01").then_some(())?;
    let table = usize::try_from(u64::from_le_bytes(elf.get(32..40)?.try_into().ok()?)).ok()?;
    let (size, count) = (short(54)?, short(56)?);
    for at in (0..count).map(|n| table + n * size) {
        if u32::from_le_bytes(elf.get(at..at + 4)?.try_into().ok()?) == INTERPRETER {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(is_static(&this), Some(false));
        let mut head = this[..64].to_vec();
        // Without program headers.
        head[56..58].fill(0);
        assert_eq!(is_static(&head), Some(true));
        assert_eq!(is_static(b"#!/bin/sh"), None);
        assert_eq!(is_static(&this[..60]), None);
    }
}
