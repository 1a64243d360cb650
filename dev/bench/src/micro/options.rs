//! Options of all contests of this module.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Parser};

use crate::say::say;

/// Options of every contest.
#[derive(Debug, Args)]
pub(super) struct CommonOptions {
    /// Turns that each program gets; 0 with --add, to write the page anew
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1_000), value_name = "N")]
    pub(super) rounds: u32,
    /// Add to the readings beside the page, and write it from all of them: for measurements in parts
    #[arg(long)]
    pub(super) add: bool,
    /// Only cases whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(super) case: Option<String>,
    /// The program to measure [default: target/release/barograph]
    #[arg(long, value_name = "FILE")]
    pub(super) program: Option<PathBuf>,
    /// Page to write [default: the page in docs/reference when everything is measured, else none]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl CommonOptions {
    /// Whether a case is wanted.
    pub(super) fn wants(&self, case: &str) -> bool {
        self.case.as_ref().is_none_or(|text| case.contains(text))
    }

    /// The page to write. A partial measurement is added to the complete page, or does not overwrite it.
    pub(super) fn out(&self, contest: &str) -> Option<PathBuf> {
        let page = || crate::root().join(format!("docs/reference/{contest}.md"));
        let named = self.out.as_ref().map(|out| crate::root().join(out));
        named.or_else(|| (self.add || self.case.is_none()).then(page))
    }
}

/// The options of a contest; `None` after help was printed.
pub(super) fn read<O: Parser>(name: &str, words: &[&str]) -> anyhow::Result<Option<O>> {
    match O::try_parse_from(std::iter::once(name).chain(words.iter().copied())) {
        Ok(options) => Ok(Some(options)),
        Err(why) if !why.use_stderr() => {
            say(&why.to_string());
            Ok(None)
        }
        Err(why) => bail!("{why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    struct Of {
        #[command(flatten)]
        common: CommonOptions,
    }

    fn of(words: &[&str]) -> CommonOptions {
        read::<Of>("x", words).unwrap().unwrap().common
    }

    #[test]
    fn a_part_does_not_overwrite_the_page() {
        let whole = of(&[]);
        assert_eq!(
            (whole.rounds, whole.out("disk")),
            (5, Some(crate::root().join("docs/reference/disk.md")))
        );
        assert!(whole.wants("anything"));
        let part = of(&["--case", "depth 1"]);
        assert_eq!(part.out("disk"), None);
        assert!(part.wants("Read, depth 16") && !part.wants("Read, depth 32"));
        assert_eq!(of(&["--case", "x", "--out", "y.md"]).out("disk"), Some(crate::root().join("y.md")));
        assert_eq!(of(&["--case", "x", "--add"]).out("disk"), whole.out("disk"));
    }

    #[test]
    fn mistakes_say_what_is_allowed() {
        let why = read::<Of>("x", &["--rounds", "1001"]).unwrap_err().to_string();
        assert!(why.contains("1001 is not in 0..=1000"), "{why}");
        assert!(read::<Of>("x", &["--help"]).unwrap().is_none());
    }
}
