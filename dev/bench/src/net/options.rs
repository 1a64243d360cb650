//! Options of `cargo xtask bench net`.

use std::path::PathBuf;

use clap::Parser;

/// The page of a complete measurement.
const PAGE: &str = "docs/reference/net.md";

/// Measures the network workload beside iperf3 and netperf over loopback. It installs nothing: a tool is looked for on
/// PATH and in the folder BAROGRAPH_BENCH_TOOLS
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench net")]
pub(super) struct Options {
    /// Turns that each tool gets; 0 with --add, to write the page anew
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1_000), value_name = "N")]
    pub(super) rounds: u32,
    /// Add to the readings beside the page, and write it from all of them: for measurements in parts
    #[arg(long)]
    pub(super) add: bool,
    /// Length of a run in seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1_000), value_name = "N")]
    pub(super) seconds: u64,
    /// Only cases whose name contains this, as in '256 bytes'
    #[arg(long, value_name = "TEXT")]
    pub(super) case: Option<String>,
    /// The program to measure [default: target/release/barograph]
    #[arg(long, value_name = "FILE")]
    pub(super) program: Option<PathBuf>,
    /// Page to write [default: docs/reference/net.md when everything is measured, else none]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Options {
    pub(super) fn read(words: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from(std::iter::once("net").chain(words.iter().copied()))
    }

    /// The page to write. A partial measurement is added to the complete page, or does not overwrite it.
    pub(super) fn out(&self) -> Option<PathBuf> {
        let whole = || (self.add || self.case.is_none()).then(|| PathBuf::from(PAGE));
        self.out.clone().or_else(whole).map(|out| crate::root().join(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_does_not_overwrite_the_page() {
        let all = Options::read(&[]).unwrap();
        assert_eq!((all.rounds, all.seconds, all.out()), (5, 5, Some(crate::root().join(PAGE))));
        assert_eq!(Options::read(&["--case", "256"]).unwrap().out(), None);
        let named = Options::read(&["--case", "256", "--out", "x.md"]).unwrap();
        assert_eq!(named.out(), Some(crate::root().join("x.md")));
        assert_eq!(Options::read(&["--case", "256", "--add"]).unwrap().out(), all.out());
        assert!(Options::read(&["--rounds", "1001"]).is_err());
    }
}
