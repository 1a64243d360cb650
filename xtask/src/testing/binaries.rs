//! Builds the test binaries with cargo, which reports their paths.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::Context;
use cargo_metadata::{Message, Metadata, Package, TargetKind};

use super::job::Binary;
use super::selection::Selection;
use crate::building;

/// Builds the binaries of a selection. `None` if the compiler found errors, which it has shown.
pub(super) fn build(root: &Path, selection: &Selection) -> anyhow::Result<Option<Vec<Arc<Binary>>>> {
    let metadata = building::metadata(root)?;
    let mut child = building::cargo(root)
        .args(["test", "--no-run", "--message-format=json-render-diagnostics"])
        .args(arguments(&metadata, selection))
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo to build the tests")?;
    let messages = child.stdout.take().context("take the messages of cargo")?;
    let mut binaries = Vec::new();
    for message in Message::parse_stream(BufReader::new(messages)) {
        if let Message::CompilerArtifact(artifact) = message.context("read the messages of cargo")?
            && let (true, Some(path)) = (artifact.profile.test, artifact.executable)
        {
            let package = metadata.packages.iter().find(|package| package.id == artifact.package_id);
            let package = package.context("find the package of a test binary")?;
            binaries.push(Arc::new(Binary {
                package: package.name.to_string(),
                target: artifact.target.is_test().then(|| artifact.target.name.clone()),
                path: path.into_std_path_buf(),
                folder: folder(package).to_owned(),
            }));
        }
    }
    let status = child.wait().context("wait for cargo")?;
    Ok(status.success().then_some(binaries))
}

/// The folder of a package.
pub(super) fn folder(package: &Package) -> &Path {
    package.manifest_path.parent().expect("a manifest is in a folder").as_std_path()
}

/// Cargo's arguments: all packages, or those of the selection, with the targets that may hold a wanted test.
fn arguments(metadata: &Metadata, selection: &Selection) -> Vec<String> {
    let wanted = |package: &&Package| {
        selection.packages.as_ref().is_none_or(|names| names.contains(&package.name.to_string()))
    };
    let packages: Vec<&Package> = metadata.packages.iter().filter(wanted).collect();
    let mut arguments = Vec::new();
    match &selection.packages {
        None => arguments.push("--workspace".to_owned()),
        Some(names) => arguments.extend(names.iter().flat_map(|name| ["-p".to_owned(), name.clone()])),
    }
    let targets = || packages.iter().flat_map(|package| &package.targets);
    let tests: BTreeSet<&str> =
        targets().filter(|target| target.is_test()).map(|target| target.name.as_str()).collect();
    if tests.iter().all(|name| selection.may_be_in(name)) {
        return arguments;
    }
    // For cargo a kind of target that no package has is an error.
    let has = |kind: TargetKind| targets().any(|target| target.kind.contains(&kind) && target.test);
    arguments.extend(has(TargetKind::Lib).then(|| "--lib".to_owned()));
    arguments.extend(has(TargetKind::Bin).then(|| "--bins".to_owned()));
    let tests = tests.into_iter().filter(|name| selection.may_be_in(name));
    arguments.extend(tests.flat_map(|name| ["--test".to_owned(), name.to_owned()]));
    arguments
}

#[cfg(test)]
mod tests {
    use super::super::group::Group;
    use super::*;

    #[test]
    fn quick_tests_need_no_binaries_of_costlier_groups() {
        let metadata = building::metadata(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()).unwrap();
        assert_eq!(arguments(&metadata, &Selection::default()), ["--workspace"]);
        let quick = Selection {
            packages: Some(vec!["barograph".to_owned(), "barograph-engine".to_owned()]),
            groups: vec![Group::Quick],
            ..Selection::default()
        };
        let found = arguments(&metadata, &quick);
        assert_eq!(
            found[..6],
            ["-p", "barograph", "-p", "barograph-engine", "--lib", "--bins"].map(str::to_owned)
        );
        assert!(
            found.contains(&"simulated".to_owned()) && !found.contains(&"program".to_owned()),
            "{found:?}"
        );
    }
}
