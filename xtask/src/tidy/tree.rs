//! Reads the files for the rules. Generated and fetched folders are left out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A text file of the working tree.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Relative to the workspace, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// Whether it is code only for tests, by its path: integration tests, and the test modules of `src`.
    pub(crate) fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.contains("/tests/")
            || self.path.contains("/examples/")
            || self.path.starts_with("dev/testkit/")
            || self.path.starts_with("dev/simulated-auction/")
            || self.path.starts_with("dev/test-browser/")
            || self.path.starts_with("dev/test-services/")
            || matches!(name, "tests.rs" | "testing.rs" | "simulation.rs")
    }
}

/// Generated folders.
const LEFT_OUT: &[&str] = &["target", "runs", "data", "node_modules"];
/// Source folders with the name of a generated one.
const KEPT: &[&str] = &["lab/data"];
/// Greatest depth; a deeper walk has met a loop of links.
const DEEPEST: usize = 16;

/// All Rust files of our crates.
pub(crate) fn rust_files(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut found = Vec::new();
    for top in [
        "lab",
        "protocols",
        "language",
        "machines",
        "applications",
        "kernels",
        "workloads",
        "platforms",
        "dev",
        "xtask",
    ] {
        walk(&Walk { root, extension: "rs" }, &root.join(top), &mut found)?;
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// All Markdown files.
pub(crate) fn markdown_files(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut found = Vec::new();
    walk(&Walk { root, extension: "md" }, root, &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Published texts beside the code: documentation, initial plans and scenarios, and stored records.
pub(crate) fn published_files(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut found = Vec::new();
    for top in ["docs", "plans", "studies", "scenarios", "lab/record/tests/corpus/first-version"] {
        for extension in ["csv", "html", "json", "jsonl", "md", "svg", "toml"] {
            walk(&Walk { root, extension }, &root.join(top), &mut found)?;
        }
    }
    for page in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md"] {
        found.push(Source { path: page.to_owned(), text: read(root, page)? });
    }
    Ok(found)
}

/// One file that must exist.
pub(crate) fn read(root: &Path, path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"))
}

struct Walk<'a> {
    root: &'a Path,
    extension: &'static str,
}

fn walk(what: &Walk<'_>, folder: &Path, found: &mut Vec<Source>) -> anyhow::Result<()> {
    let relative =
        |path: &Path| path.strip_prefix(what.root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    if Path::new(&relative(folder)).components().count() > DEEPEST {
        return Ok(());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("read folder {}", folder.display()))?;
    for entry in entries {
        let path: PathBuf = entry.with_context(|| format!("read folder {}", folder.display()))?.path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let place = relative(&path);
        if path.is_dir() {
            let left_out = LEFT_OUT.contains(&name.as_str()) && !KEPT.contains(&place.as_str());
            if !name.starts_with('.') && !left_out {
                walk(what, &path, found)?;
            }
        } else if path.extension().is_some_and(|e| e == what.extension) {
            let text = fs::read_to_string(&path).with_context(|| format!("read {place}"))?;
            found.push(Source { path: place, text });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_finds_this_file_and_no_made_ones() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let files = rust_files(root).unwrap();
        assert!(files.iter().any(|f| f.path == "xtask/src/tidy/tree.rs"));
        assert!(files.iter().any(|f| f.path.starts_with("lab/data/")));
        assert!(files.iter().all(|f| !f.path.starts_with("target/")));
    }

    #[test]
    fn test_code_is_known_by_its_place() {
        let source = |path: &str| Source { path: path.to_owned(), text: String::new() };
        assert!(source("lab/a/tests/b.rs").is_test());
        assert!(source("lab/a/src/b/tests.rs").is_test());
        assert!(!source("lab/a/src/b.rs").is_test());
    }
}
