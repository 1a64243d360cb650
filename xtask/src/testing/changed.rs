//! The packages concerned by a change: those whose files are changed according to git, and all that depend on
//! them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use cargo_metadata::Metadata;

use super::binaries::folder;
use crate::building;

/// Names of the packages concerned by the change since `base`; by default the uncommitted changes, or if
/// there are none, the last commit.
pub(crate) fn packages(root: &Path, base: Option<&str>) -> anyhow::Result<Vec<String>> {
    let mut files = match base {
        Some(base) => changed_since(root, base)?,
        None => changed_since(root, "HEAD")?,
    };
    if files.is_empty() && base.is_none() {
        files = changed_since(root, "HEAD~1")?;
    }
    concerned(root, &files, &building::metadata(root)?)
}

fn changed_since(root: &Path, base: &str) -> anyhow::Result<Vec<String>> {
    let mut files = git(root, &["diff", "--name-only", base, "--"])?;
    files.extend(git(root, &["ls-files", "--others", "--exclude-standard"])?);
    Ok(files)
}

fn git(root: &Path, arguments: &[&str]) -> anyhow::Result<Vec<String>> {
    let output = Command::new("git").args(arguments).current_dir(root).output().context("start git")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// The packages of these files and their dependents. Markdown is read only by tests of xtask; any other file
/// outside of all packages, such as a plan or the root manifest, concerns all of them.
fn concerned(root: &Path, files: &[String], metadata: &Metadata) -> anyhow::Result<Vec<String>> {
    let mut found = BTreeSet::new();
    for file in files {
        let path = root.join(file);
        let owner = metadata.packages.iter().find(|package| path.starts_with(folder(package)));
        match owner {
            Some(package) => drop(found.insert(package.name.to_string())),
            None if file.ends_with(".md") => drop(found.insert("xtask".to_owned())),
            None => return Ok(metadata.packages.iter().map(|package| package.name.to_string()).collect()),
        }
    }
    loop {
        let more = metadata.packages.iter().filter(|package| {
            !found.contains(package.name.as_str())
                && package.dependencies.iter().any(|dependency| found.contains(&dependency.name))
        });
        let more: Vec<String> = more.map(|package| package.name.to_string()).collect();
        if more.is_empty() {
            return Ok(found.into_iter().collect());
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[&str]) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        concerned(root, &files, &building::metadata(root).unwrap()).unwrap()
    }

    #[test]
    fn a_change_concerns_its_package_and_those_above() {
        assert_eq!(of(&["lab/cli/src/main.rs"]), ["barograph"]);
        let of_record = of(&["lab/record/src/lib.rs"]);
        assert!(
            ["barograph-record", "barograph-report", "barograph"]
                .iter()
                .all(|name| of_record.contains(&(*name).to_owned()))
        );
        assert!(!of_record.contains(&"barograph-model".to_owned()), "{of_record:?}");
    }

    #[test]
    fn pages_concern_the_house_rules_and_other_files_everything() {
        assert_eq!(of(&["docs/plan.md"]), ["xtask"]);
        let all = of(&["docs/plan.md", "Cargo.lock"]);
        assert!(all.len() > 20 && all.contains(&"barograph-model".to_owned()), "{all:?}");
        assert_eq!(of(&[]), Vec::<String>::new());
    }
}
