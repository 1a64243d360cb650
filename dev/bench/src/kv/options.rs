//! Options of `cargo xtask bench kv`.

use std::path::PathBuf;

use clap::Parser;

use super::sections::{SECTIONS, Section};

/// The page of a complete measurement.
const PAGE: &str = "docs/reference/kv.md";

/// Measures the key-value driver beside other load drivers of Redis. It installs nothing: a tool is looked for by
/// --tool, on PATH and in the folder BAROGRAPH_BENCH_TOOLS
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench kv")]
pub(super) struct Options {
    /// Turns that each tool gets
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000), value_name = "N")]
    pub(super) rounds: u32,
    /// Length of a run in seconds; a run of `stall` has 20
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1_000), value_name = "N")]
    pub(super) seconds: u64,
    /// Only this section (may be given often)
    #[arg(long, value_enum, value_name = "SECTION")]
    only: Vec<Section>,
    /// Only cases whose name contains this, as in 'GET, 100 bytes, 50x30'
    #[arg(long, value_name = "TEXT")]
    pub(super) case: Option<String>,
    /// The program to measure [default: target/release/barograph]
    #[arg(long, value_name = "FILE")]
    pub(super) program: Option<PathBuf>,
    /// Another build of the program, in turn with it; ratios are then taken against it
    #[arg(long, value_name = "FILE")]
    pub(super) against: Option<PathBuf>,
    /// Where a tool is, as in memtier_benchmark=/opt/memtier/memtier_benchmark (may be given often)
    #[arg(long = "tool", value_parser = named, value_name = "NAME=FILE")]
    pub(super) tools: Vec<(String, PathBuf)>,
    /// Page to write [default: docs/reference/kv.md when everything is measured, else none]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Options {
    pub(super) fn read(words: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from(std::iter::once("kv").chain(words.iter().copied()))
    }

    /// The sections to measure, in the order of the page.
    pub(super) fn sections(&self) -> Vec<Section> {
        SECTIONS.into_iter().filter(|s| self.only.is_empty() || self.only.contains(s)).collect()
    }

    /// The page to write. A partial measurement does not overwrite the complete page.
    pub(super) fn out(&self) -> Option<PathBuf> {
        let whole = self.only.is_empty() && self.case.is_none();
        self.out.clone().or_else(|| whole.then(|| PathBuf::from(PAGE)))
    }
}

fn named(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("it is written NAME=FILE")?;
    let file = PathBuf::from(file);
    if file.is_file() { Ok((name.to_owned(), file)) } else { Err(format!("{} is no file", file.display())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_everything_is_measured_and_written() {
        let options = Options::read(&[]).unwrap();
        assert_eq!((options.rounds, options.seconds), (5, 3));
        assert_eq!(options.sections(), SECTIONS);
        assert_eq!(options.out(), Some(PathBuf::from(PAGE)));
    }

    #[test]
    fn a_part_does_not_overwrite_the_page() {
        let options = Options::read(&["--only", "stall", "--only", "rate", "--rounds", "2"]).unwrap();
        assert_eq!(options.sections(), [Section::Rate, Section::Stall]);
        assert_eq!((options.rounds, options.out()), (2, None));
        assert_eq!(Options::read(&["--case", "1x1"]).unwrap().out(), None);
        let options = Options::read(&["--only", "rate", "--out", "x.md", "--against", "old"]).unwrap();
        assert_eq!(options.out(), Some(PathBuf::from("x.md")));
        assert_eq!(options.against, Some(PathBuf::from("old")));
    }

    #[test]
    fn mistakes_say_what_is_allowed() {
        for (words, said) in [
            (&["--rounds", "0"][..], "0 is not in 1..=1000"),
            (&["--only", "open"], "possible values: direct, rate, stall, verify, proxies"),
            (&["--tool", "memtier_benchmark"], "it is written NAME=FILE"),
            (&["--tool", "memtier_benchmark=/nowhere"], "/nowhere is no file"),
        ] {
            let why = Options::read(words).unwrap_err().to_string();
            assert!(why.contains(said), "{why}");
        }
    }
}
