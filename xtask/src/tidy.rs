//! The house rules that a program can check. Each rule is a pure function of the files, with a test that
//! plants a violation.

mod banned;
mod crates_page;
mod floors;
mod module_docs;
mod private_paths;
mod sizes;
mod titles;
mod tree;

use std::fmt;
use std::path::Path;

use tree::Source;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The rule, by the file that holds it.
    pub(crate) rule: &'static str,
    /// File, line or crate.
    pub(crate) place: String,
    /// The fault and its remedy.
    pub(crate) says: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (rule {})", self.place, self.says, self.rule)
    }
}

/// Checks every rule on the working tree.
pub(crate) fn all(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let sources = tree::rust_files(root)?;
    let markdown = tree::markdown_files(root)?;
    let metadata = crate::building::metadata(root)?;
    let manifest = tree::read(root, "Cargo.toml")?;
    let page = tree::read(root, "docs/crates.md")?;
    let ratchet = tree::read(root, "xtask/ratchet.txt")?;

    let mut findings = floors::check(&floors::edges(&metadata));
    findings.extend(sizes::check(&sources, &ratchet));
    findings.extend(module_docs::check(&sources));
    findings.extend(banned::check(&sources));
    findings.extend(titles::check(&markdown));
    findings.extend(private_paths::check(&tree::published_files(root)?));
    findings.extend(crates_page::check(&page, &crates_page::used(&manifest, &metadata)?));
    Ok(findings)
}
