//! Features of third-party crates, which must not depend on the packages named in a command.
//!
//! Cargo unifies features over the packages of one command. `dev/features` requests the union of all, and
//! every package has it as a dev-dependency.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::building;
use crate::say::say;

/// Manifest of the crate with the shared features.
const MANIFEST: &str = "dev/features/Cargo.toml";

/// Line after which the command writes its output.
const MARK: &str = "# Written by `cargo xtask features`; everything below is its own.\n";

/// The section of dependencies of build scripts and macros.
const BUILD: &str = "[build-dependencies]";

/// Most rounds: a feature can bring in a crate with features of its own, which a few rounds settle.
const ROUNDS: u32 = 6;

/// A third-party crate: name and version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
}

/// The sets of features of each crate, separated by commas: two if build scripts and macros use others than
/// the product.
type FeatureSets = BTreeMap<Crate, BTreeSet<String>>;

/// A crate that a command for one package builds differently than one for all.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    of: Crate,
    package: String,
}

impl Difference {
    fn line(&self) -> String {
        format!("{} {} for `-p {}`", self.of.name, self.of.version, self.package)
    }
}

/// Rewrites the manifest; true if all packages then build the same features.
pub(crate) fn write(root: &Path) -> anyhow::Result<bool> {
    let path = root.join(MANIFEST);
    let mut found = differences(root)?;
    for _ in 0..ROUNDS {
        if found.is_empty() {
            return Ok(true);
        }
        let text = fs::read_to_string(&path).with_context(|| format!("read {MANIFEST}"))?;
        let (head, pinned) = text.split_once(MARK).with_context(|| format!("find the mark in {MANIFEST}"))?;
        let mut crates = pinned_crates(pinned);
        let before = crates.len();
        // A difference in spite of the pin comes from build scripts and macros.
        let mut of_builds = pinned_crates(pinned.split_once(BUILD).map_or("", |(_, section)| section));
        of_builds
            .extend(found.iter().map(|difference| difference.of.clone()).filter(|of| crates.contains(of)));
        crates.extend(found.into_iter().map(|difference| difference.of));
        let sections = sections(root, &crates, &of_builds)?;
        fs::write(&path, format!("{head}{MARK}{sections}")).with_context(|| format!("write {MANIFEST}"))?;
        say(&format!("{MANIFEST}: {} crates, {before} before", crates.len()));
        found = differences(root)?;
    }
    let lines: Vec<String> = found.iter().map(Difference::line).collect();
    ensure!(lines.is_empty(), "crates with other features after {ROUNDS} rounds: {}", lines.join(", "));
    Ok(true)
}

/// The crates in earlier sections.
fn pinned_crates(text: &str) -> BTreeSet<Crate> {
    let quoted = |line: &str, key: &str| {
        let (_, rest) = line.split_once(&format!("{key} = \""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let lines = text.lines();
    lines
        .filter_map(|line| Some(Crate { name: quoted(line, "package")?, version: quoted(line, "version")? }))
        .collect()
}

fn sections(root: &Path, crates: &BTreeSet<Crate>, of_builds: &BTreeSet<Crate>) -> anyhow::Result<String> {
    let all = tree(root, &["--workspace"])?;
    let product = tree(root, &["--workspace", "-e", "no-build,no-proc-macro"])?;
    let mut of_product = String::new();
    let mut of_build = String::new();
    for of in crates {
        let in_product = product.get(of).and_then(BTreeSet::first);
        let differs = all.get(of).and_then(|all| all.iter().find(|features| Some(*features) != in_product));
        let in_builds = differs.or(in_product.filter(|_| of_builds.contains(of)));
        of_product.extend(in_product.map(|features| line(of, features)));
        of_build.extend(in_builds.map(|features| line(of, features)));
    }
    Ok(format!("\n[dependencies]\n{of_product}\n{BUILD}\n{of_build}"))
}

/// A dependency under a unique name, since two versions of a crate may exist.
fn line(of: &Crate, features: &str) -> String {
    let Crate { name, version } = of;
    let number: String = version.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let features = features.split(',').filter(|feature| !feature.is_empty());
    let features = features.map(|feature| format!("\"{feature}\"")).collect::<Vec<_>>().join(", ");
    format!(
        "{name}_{number} = {{ package = \"{name}\", version = \"{version}\", default-features = false, features = \
         [{features}] }}\n"
    )
}

fn differences(root: &Path) -> anyhow::Result<Vec<Difference>> {
    let all = tree(root, &["--workspace"])?;
    let mut found = Vec::new();
    for package in building::metadata(root)?.packages {
        let package = package.name.to_string();
        for (of, built) in tree(root, &["-p", &package])? {
            if all.get(&of).is_none_or(|all| !built.is_subset(all)) {
                found.push(Difference { of, package: package.clone() });
            }
        }
    }
    Ok(found)
}

fn tree(root: &Path, arguments: &[&str]) -> anyhow::Result<FeatureSets> {
    let output = Command::new("cargo")
        .args(["tree", "--prefix", "none", "--format", "{p}|{f}"])
        .args(arguments)
        .current_dir(root)
        .output()
        .context("start cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses lines such as `serde v1.0.229 (proc-macro)|default,std (*)`; crates of the workspace have a path
/// and are left out.
fn read(lines: &str) -> FeatureSets {
    let mut built = FeatureSets::new();
    for line in lines.lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        if words.any(|word| word.starts_with("(/")) {
            continue;
        }
        let of = Crate { name: name.to_owned(), version: version.trim_start_matches('v').to_owned() };
        let features = features.trim_end_matches(" (*)").trim();
        built.entry(of).or_default().insert(features.to_owned());
    }
    built
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, version: &str) -> Crate {
        Crate { name: name.to_owned(), version: version.to_owned() }
    }

    #[test]
    fn every_package_builds_crates_by_others_with_the_same_features() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let found: Vec<String> = differences(root).unwrap().iter().map(Difference::line).collect();
        assert_eq!(found, Vec::<String>::new(), "run `cargo xtask features`, which pins them in {MANIFEST}");
    }

    #[test]
    fn lines_of_cargo_tree_are_read() {
        let built = read(
            "barograph-model v0.1.0 (/w/lab/model)|\nsyn v2.0.1|default,full\nsyn v2.0.1|default (*)\n\
             thiserror-impl v2.0.2 (proc-macro)|\n\nbase v1.0.0+x|std\n",
        );
        let set = |features: &[&str]| features.iter().map(|&f| f.to_owned()).collect::<BTreeSet<_>>();
        let expected = [
            (of("base", "1.0.0+x"), set(&["std"])),
            (of("syn", "2.0.1"), set(&["default", "default,full"])),
            (of("thiserror-impl", "2.0.2"), set(&[""])),
        ];
        assert_eq!(built, FeatureSets::from(expected));
    }

    #[test]
    fn a_line_of_the_manifest_is_found_again() {
        let text = line(&of("syn", "2.0.1"), "default,full");
        let expected = "syn_2_0_1 = { package = \"syn\", version = \"2.0.1\", default-features = false, features = \
                        [\"default\", \"full\"] }\n";
        assert_eq!(text, expected);
        assert_eq!(pinned_crates(&text), BTreeSet::from([of("syn", "2.0.1")]));
        assert!(line(&of("a", "1.0.0"), "").ends_with("features = [] }\n"));
    }
}
