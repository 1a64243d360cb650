//! `cargo xtask dist`: all installable files, in `target/dist`: the program, completions, manual pages, check
//! sums, and a container image.

mod image;
mod program;
mod smoke;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

use crate::say::say;

pub(crate) use smoke::{Image, main_job};

/// Shells with completions, each with the name of its file.
const SHELLS: [(&str, &str); 3] =
    [("bash", "barograph.bash"), ("zsh", "_barograph"), ("fish", "barograph.fish")];

/// File of the container image.
const IMAGE: &str = "barograph-oci.tar";

/// File of the check sums.
const SUMS: &str = "SHA256SUMS";

/// Makes everything with the build profile in the arguments, by default that of releases.
pub(crate) fn run(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    let profile = match words {
        [] => "release",
        ["--profile", profile] => profile,
        ["image"] => return main_job(root).map(|_| true),
        _ => bail!("usage: cargo xtask dist [--profile PROFILE | image]"),
    };
    let dist = make(root, profile)?;
    for (name, bytes) in files(&dist)? {
        say(&format!("{:>12} bytes  {}", bytes.len(), dist.join(name).display()));
    }
    Ok(true)
}

/// Makes everything; returns the folder.
fn make(root: &Path, profile: &str) -> anyhow::Result<PathBuf> {
    let dist = root.join("target/dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).context("remove what was in target/dist")?;
    }
    fs::create_dir_all(dist.join("completions")).context("make target/dist")?;
    let program = dist.join("barograph");
    let built = program::build(root, profile)?;
    fs::copy(&built, &program).with_context(|| format!("copy {}", built.display()))?;
    for (shell, file) in SHELLS {
        fs::write(dist.join("completions").join(file), said(&program, &["completions", shell])?)?;
    }
    said(&program, &["manual", &dist.join("man").display().to_string()])?;
    let program = fs::read(&program)?;
    fs::write(dist.join(IMAGE), image::archive(&program, &shipped(root)?)?).context("write the image")?;
    fs::write(dist.join(SUMS), sums(&files(&dist)?)).context("write the check sums")?;
    Ok(dist)
}

/// The output of the program.
fn said(program: &Path, words: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new(program).args(words).output().context("start the program")?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "barograph {} failed: {why}", words.join(" "));
    Ok(output.stdout)
}

/// Plans, studies and scenarios, for the image's working folder.
fn shipped(root: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    for folder in ["plans", "scenarios", "studies"] {
        let found = files(&root.join(folder))?;
        all.extend(found.into_iter().map(|(name, bytes)| (format!("{folder}/{name}"), bytes)));
    }
    Ok(all)
}

/// All files below a folder, by name.
pub(crate) fn files(folder: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read folder {}", folder.display()))? {
        let entry = entry?;
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if path.is_dir() {
            all.extend(files(&path)?.into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            all.push((name, fs::read(&path).with_context(|| format!("read {}", path.display()))?));
        }
    }
    all.sort();
    Ok(all)
}

/// Lines in the format of `sha256sum --check`.
pub(crate) fn sums(files: &[(String, Vec<u8>)]) -> String {
    files.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect()
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_sha256sum() {
        let files = [("a".to_owned(), Vec::new()), ("man/b".to_owned(), b"abc".to_vec())];
        assert_eq!(
            sums(&files),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n\
             ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  man/b\n"
        );
    }
}
