//! Ends the program in every phase on every platform, of which the test run does a part: by sudden death or
//! by an interrupt.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};

use crate::building;
use crate::say::say;

pub(crate) const USAGE: &str = "usage: cargo xtask kill-matrix [--interrupt]

  kills the program in every phase on every platform, one after the other, cleans, and compares what there was before with
  what is there afterwards: a line for each case, at last how many of them left nothing. What is compared is said first.
  Everything new that a container engine has which runs already counts as left, so let nobody else use it meanwhile.

  --interrupt   sends SIGINT instead, waits for the program to end by itself with the exit code and the record of an
                interrupted run, and compares without cleaning";

/// Variable that makes the tests try every phase.
const ALL: &str = "BAROGRAPH_KILLS";

/// Text of a case without findings.
const CLEAN: &str = "  nothing left  ";

/// Beginnings of the lines of cases.
const CASES: [&str; 2] = ["killed ", "interrupted "];

/// Beginning of a platform's line about the state compared.
const COMPARED: &str = "compared ";

/// Beginning of a line with the result of a test.
const RESULT: &str = "test result";
/// Beginning of a line about a skipped test.
const SKIPPED: &str = "skipped";

/// Cargo's line if no test has such a name: Cargo still succeeds.
const NONE: &str = "test result: ok. 0 passed";

/// The tests that try one way to end the program.
fn tests(words: &[&str]) -> anyhow::Result<&'static str> {
    match words {
        [] => Ok("killed_in::"),
        ["--interrupt"] => Ok("interrupted_in::"),
        _ => bail!(USAGE),
    }
}

/// The output so far.
#[derive(Debug, Default, PartialEq, Eq)]
struct Matrix {
    cases: u32,
    clean: u32,
    /// Whether a test ran.
    ran: bool,
    compared: String,
}

impl Matrix {
    /// Takes a line; returns the part to be shown.
    fn line<'l>(&mut self, line: &'l str) -> Option<&'l str> {
        // The name of a test stands before the first line that it prints.
        let line = line.split_once(" ... ").map_or(line, |(_, said)| said);
        if CASES.iter().any(|begin| line.starts_with(begin)) {
            self.cases += 1;
            self.clean += u32::from(line.contains(CLEAN));
            return Some(line);
        }
        if line.starts_with(COMPARED) {
            // Printed again only after a change of the engines.
            let is_new = self.compared != line;
            line.clone_into(&mut self.compared);
            return is_new.then_some(line);
        }
        self.ran |= line.starts_with(RESULT) && !line.starts_with(NONE);
        (line.starts_with(SKIPPED) || line.starts_with(RESULT)).then_some(line)
    }

    /// The last line.
    fn closing(&self) -> String {
        match self.ran {
            true => format!("{} of {} \"nothing left\"", self.clean, self.cases),
            false => "no test of this name was run".to_owned(),
        }
    }
}

/// Runs the whole matrix, one platform after the other, and shows its lines; true if nothing was left
/// anywhere, and at least one test was run.
pub(crate) fn run(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    // Of the workspace, not of the one package, so that libraries have the features of `cargo xtask test`.
    let mut child = building::cargo(root)
        .args(["test", "--workspace", "--test", "program", tests(words)?, "--", "--nocapture"])
        .arg("--test-threads=1")
        .env(ALL, "all")
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo test")?;
    let output = child.stdout.take().context("take the output of cargo test")?;
    let mut matrix = Matrix::default();
    for line in BufReader::new(output).lines() {
        let line = line.context("read the output of cargo test")?;
        if let Some(line) = matrix.line(&line) {
            say(line);
        }
    }
    say(&matrix.closing());
    let is_content = child.wait().context("wait for cargo test")?.success();
    Ok(is_content && matrix.ran && matrix.clean == matrix.cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_choose_the_tests() {
        assert_eq!(tests(&[]).unwrap(), "killed_in::");
        assert_eq!(tests(&["--interrupt"]).unwrap(), "interrupted_in::");
        for wrong in [&["--interrupts"][..], &["--interrupt", "vm"]] {
            assert_eq!(tests(wrong).unwrap_err().to_string(), USAGE);
        }
    }

    #[test]
    fn cases_are_shown_and_counted() {
        let mut matrix = Matrix::default();
        let said = "running 2 tests\n\
                    test interrupted_in::interrupted_as_processes ... compared  processes; no engine\n\
                    interrupted  process          check      0.4 s  nothing left  (try 1)\n\
                    interrupted  process          fill       1.2 s  not as it should be\n\
                    ok\n\
                    test interrupted_in::interrupted_in_namespaces ... skipped: missing   something\n\
                    ok\n\
                    compared  processes; no engine\n\
                    compared  processes; an engine\n\
                    killed       vm               deploy    31.0 s  nothing left  (try 2)\n\
                    test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 90 filtered out\n";
        let shown: Vec<&str> = said.lines().filter_map(|line| matrix.line(line)).collect();
        let expected = [
            "compared  processes; no engine",
            "interrupted  process          check      0.4 s  nothing left  (try 1)",
            "interrupted  process          fill       1.2 s  not as it should be",
            "skipped: missing   something",
            "compared  processes; an engine",
            "killed       vm               deploy    31.0 s  nothing left  (try 2)",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 90 filtered out",
        ];
        assert_eq!(shown, expected);
        assert_eq!(matrix.closing(), "2 of 3 \"nothing left\"");
    }

    #[test]
    fn no_test_is_no_success() {
        let mut matrix = Matrix::default();
        matrix.line("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out");
        assert_eq!(matrix.closing(), "no test of this name was run");
    }
}
