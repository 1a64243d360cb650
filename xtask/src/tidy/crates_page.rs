//! docs/crates.md lists every third-party crate with its reason, and nothing else.

use std::collections::BTreeSet;

use anyhow::Context;
use cargo_metadata::Metadata;

use super::Finding;

/// The page of crates.
const PAGE: &str = "docs/crates.md";
/// Name of the rule in findings.
const RULE: &str = "crates-page";

/// Names of all third-party crates in the root manifest or any manifest of the workspace.
pub(super) fn used(root_manifest: &str, metadata: &Metadata) -> anyhow::Result<BTreeSet<String>> {
    let manifest: toml::Table = root_manifest.parse().context("read the root manifest")?;
    let listed = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(toml::Value::as_table)
        .context("find [workspace.dependencies] in the root manifest")?;
    let ours = |value: &toml::Value| value.get("path").is_some();
    let mut used: BTreeSet<String> =
        listed.iter().filter(|(_, value)| !ours(value)).map(|(name, _)| name.clone()).collect();
    // One crate pins features of crates required by others.
    for package in metadata.packages.iter().filter(|package| package.name.as_str() != "barograph-features") {
        used.extend(package.dependencies.iter().filter(|d| d.path.is_none()).map(|d| d.name.clone()));
    }
    Ok(used)
}

/// Compares the page with the used names, in both directions.
pub(super) fn check(page: &str, used: &BTreeSet<String>) -> Vec<Finding> {
    let rows: Vec<(String, String)> = page.lines().filter_map(row).collect();
    let listed: BTreeSet<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    let finding = |says: String| Finding { rule: RULE, place: PAGE.to_owned(), says };
    let mut findings = Vec::new();
    for name in used.iter().filter(|name| !listed.contains(name.as_str())) {
        findings.push(finding(format!("`{name}` is used but has no row")));
    }
    for (name, reason) in &rows {
        if !used.contains(name) {
            findings.push(finding(format!("`{name}` has a row but is not used")));
        }
        if reason.len() < 10 {
            findings.push(finding(format!("`{name}` has no reason")));
        }
    }
    findings
}

/// Name and reason of a table row such as "| `name` | reason | ... |".
fn row(line: &str) -> Option<(String, String)> {
    let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
    let name = cells.next()?.strip_suffix('`')?;
    Some((name.to_owned(), cells.next().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_and_missing_reasons_are_found() {
        let page = "# Crates\n\n| crate | why |\n|---|---|\n| `serde` | reads and writes plans |\n| `gone` | was \
                    needed once |\n| `toml` | |\n";
        let used = ["serde", "toml", "tokio"].map(str::to_owned).into();
        let says: Vec<String> = check(page, &used).into_iter().map(|f| f.says).collect();
        assert_eq!(
            says,
            ["`tokio` is used but has no row", "`gone` has a row but is not used", "`toml` has no reason"]
        );
    }
}
