//! Search of a record for private data that should not leave the machine.

use std::fs::File;
use std::io::{BufRead, BufReader};

use crate::patterns::Patterns;
use crate::{Machine, PatternKind, RecordFile, ShareError};

/// Most findings kept; the rest is counted.
const MOST_KEPT: usize = 200;

/// Most characters of a text shown.
const MOST_SHOWN: usize = 80;

/// Private data in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the file in the record.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Its kind.
    pub kind: PatternKind,
    /// The text; empty for secrets, which are not shown.
    pub text: String,
}

/// Result of an inspection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Findings in the order of files and lines, up to a limit.
    pub findings: Vec<Finding>,
    /// Number of findings.
    pub count: usize,
}

/// Searches all files; kinds in `allowed` are left out.
///
/// # Errors
/// If a file cannot be read.
pub fn inspect(
    members: &[RecordFile],
    machine: &Machine,
    allowed: &[PatternKind],
) -> Result<Inspection, ShareError> {
    let patterns = Patterns::of(machine);
    let mut inspection = Inspection::default();
    for member in members {
        let read = |why| ShareError::read(&member.path, why);
        let mut file = BufReader::new(File::open(&member.path).map_err(read)?);
        let (mut bytes, mut line) = (Vec::new(), 0);
        while file.read_until(b'\n', &mut bytes).map_err(read)? > 0 {
            line += 1;
            let found = patterns.find(&String::from_utf8_lossy(&bytes));
            for (kind, text) in found.into_iter().filter(|(kind, _)| !allowed.contains(kind)) {
                inspection.add(Finding { file: member.name.clone(), line, kind, text: shown(kind, &text) });
            }
            bytes.clear();
        }
    }
    Ok(inspection)
}

impl Inspection {
    fn add(&mut self, finding: Finding) {
        self.count += 1;
        if self.findings.len() < MOST_KEPT {
            self.findings.push(finding);
        }
    }
}

fn shown(kind: PatternKind, text: &str) -> String {
    if kind.is_secret() { String::new() } else { text.chars().take(MOST_SHOWN).collect() }
}
