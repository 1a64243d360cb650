//! The conditions at the top of a page, and writing of pages.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::machine;
use crate::say::say;

/// The machine, and the programs that took part or are missing.
pub(crate) struct Head {
    machine: Vec<String>,
    /// Name and version of each program that took part.
    versions: Vec<(String, String)>,
    /// Missing programs, with the command that installs them.
    missing: Vec<(String, String)>,
}

impl Head {
    /// The head for this machine. Prints missing programs on the terminal, too.
    pub(crate) fn new(versions: Vec<(String, String)>, missing: Vec<(String, String)>) -> Head {
        for (name, install) in &missing {
            say(&format!("{name} is not here; to install it: {install}"));
        }
        Head { machine: machine::lines(), versions, missing }
    }

    /// The part of the page below its introduction.
    pub(crate) fn text(&self) -> String {
        let machine = self.machine.iter().map(|line| format!("- {line}\n"));
        let versions = self.versions.iter().map(|(name, version)| format!("- {name}: {version}\n"));
        let missing = self.missing.iter().map(|(name, install)| {
            format!("- {name} was not found, and is not in the tables; to install it: `{install}`.\n")
        });
        format!("## Conditions\n\n{}", machine.chain(versions).chain(missing).collect::<String>())
    }
}

/// Writes a page, and all readings into a CSV file of the same name beside it. `page` takes the name of that
/// file.
pub(crate) fn write(out: &Path, page: impl FnOnce(&str) -> String, raw: &str) -> anyhow::Result<()> {
    let beside = out.with_extension("csv");
    let name = beside.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(folder) = out.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(out, page(&name)).with_context(|| format!("write {}", out.display()))?;
    fs::write(&beside, raw).with_context(|| format!("write {}", beside.display()))?;
    say(&format!("wrote {} and {}", out.display(), beside.display()));
    Ok(())
}

/// The readings beside a page: the cells of each line, without the titles. There are none beside a page that is not written yet.
pub(crate) fn readings(out: &Path) -> anyhow::Result<Vec<Vec<String>>> {
    let beside = out.with_extension("csv");
    if !beside.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&beside).with_context(|| format!("read {}", beside.display()))?;
    Ok(text.lines().skip(1).map(cells).collect())
}

/// The cells of a line; a cell with a comma stands in quotation marks.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            letter => cells.last_mut().expect("there is one").push(letter),
        }
    }
    cells
}

/// Message after a partial measurement.
pub(crate) const NOT_WRITTEN: &str = "nothing was written: a part of the measurements is not the page; say --add to add them to it, or --out FILE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_versions_and_what_is_missing_are_listed() {
        let head = Head {
            machine: vec!["Kernel: Linux 6.".to_owned()],
            versions: vec![("h2load".to_owned(), "h2load 1.52".to_owned())],
            missing: vec![("oha".to_owned(), "cargo install oha".to_owned())],
        };
        let expected = "## Conditions\n\n- Kernel: Linux 6.\n- h2load: h2load 1.52\n\
                        - oha was not found, and is not in the tables; to install it: `cargo install oha`.\n";
        assert_eq!(head.text(), expected);
    }

    #[test]
    fn readings_stand_beside_the_page() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("new/page.md");
        write(&out, |raw| format!("see {raw}"), "a,b").unwrap();
        assert_eq!(fs::read_to_string(&out).unwrap(), "see page.csv");
        assert_eq!(fs::read_to_string(folder.path().join("new/page.csv")).unwrap(), "a,b");
        write(&out, |_| String::new(), "case,tool,x\n\"Read, depth 1\",fio,\n").unwrap();
        assert_eq!(readings(&out).unwrap(), [["Read, depth 1", "fio", ""]]);
        assert!(readings(&folder.path().join("other.md")).unwrap().is_empty());
    }
}
