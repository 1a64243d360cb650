//! Options of `cargo xtask bench driver`.

use std::path::PathBuf;

use anyhow::{Context, bail};

use super::sections::{SECTIONS, Section};

pub(super) const USAGE: &str = "usage: cargo xtask bench driver [OPTIONS]

  --rounds N       turns that every tool gets (default 5)
  --seconds N      length of a run in seconds (default 5)
  --only SECTION   closed, rate, idle, many or scenario (may be given often; default all)
  --out FILE       page to write (default docs/reference/driver.md when all sections run)
  --against FILE   another build of the program, which ratios are then taken against
  --k6-users       let k6 run the 10,000 users too: it needs more than 2 GiB

Tools are looked for on PATH and in the folder BAROGRAPH_BENCH_TOOLS. Nothing is installed.";

/// The page of a complete measurement.
const PAGE: &str = "docs/reference/driver.md";

/// Most rounds and most seconds of a run; larger numbers are typing mistakes.
const MOST: u64 = 1_000;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) rounds: u32,
    pub(super) seconds: u64,
    pub(super) sections: Vec<Section>,
    /// The page to write; `None` to print only.
    pub(super) out: Option<PathBuf>,
    /// Another build of the program.
    pub(super) against: Option<PathBuf>,
    pub(super) k6_users: bool,
}

impl Options {
    pub(super) fn read(arguments: &[&str]) -> anyhow::Result<Options> {
        let sections = Vec::new();
        let mut options =
            Options { rounds: 5, seconds: 5, sections, out: None, against: None, k6_users: false };
        let mut words = arguments.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value\n\n{USAGE}"));
            match word {
                "--rounds" => options.rounds = count(word, value()?)? as u32,
                "--seconds" => options.seconds = count(word, value()?)?,
                "--only" => options.sections.push(section(value()?)?),
                "--out" => options.out = Some(PathBuf::from(value()?)),
                "--against" => options.against = Some(PathBuf::from(value()?)),
                "--k6-users" => options.k6_users = true,
                _ => bail!("`{word}` is not an option\n\n{USAGE}"),
            }
        }
        if options.sections.is_empty() {
            options.sections = SECTIONS.to_vec();
            options.out.get_or_insert_with(|| PathBuf::from(PAGE));
        }
        Ok(options)
    }
}

fn count(option: &str, text: &str) -> anyhow::Result<u64> {
    let number = text.parse().ok().filter(|n| (1..=MOST).contains(n));
    number.with_context(|| format!("{option} is `{text}`: a whole number from 1 to {MOST} is allowed"))
}

fn section(name: &str) -> anyhow::Result<Section> {
    Section::named(name).with_context(|| {
        let names = SECTIONS.map(Section::name).join(", ");
        format!("--only is `{name}`: {names} are allowed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_everything_is_measured_and_written() {
        let options = Options::read(&[]).unwrap();
        assert_eq!((options.rounds, options.seconds), (5, 5));
        assert_eq!(options.sections, SECTIONS);
        assert_eq!(options.out, Some(PathBuf::from(PAGE)));
    }

    #[test]
    fn a_part_does_not_overwrite_the_page() {
        let options = Options::read(&["--only", "many", "--only", "idle", "--rounds", "2"]).unwrap();
        assert_eq!(options.sections, [Section::Many, Section::Idle]);
        assert_eq!((options.rounds, options.out), (2, None));
        let options = Options::read(&["--only", "rate", "--against", "old"]).unwrap();
        assert_eq!(options.against, Some(PathBuf::from("old")));
        let options = Options::read(&["--only", "rate", "--out", "x.md", "--k6-users"]).unwrap();
        assert_eq!((options.out, options.k6_users), (Some(PathBuf::from("x.md")), true));
    }

    #[test]
    fn mistakes_say_what_is_allowed() {
        for (arguments, words) in [
            (&["--rounds", "0"][..], "--rounds is `0`: a whole number from 1 to 1000 is allowed"),
            (&["--seconds", "x"], "--seconds is `x`"),
            (&["--seconds"], "--seconds needs a value"),
            (&["--only", "open"], "--only is `open`: closed, rate, idle, many, scenario are allowed"),
            (&["fast"], "`fast` is not an option"),
        ] {
            let said = Options::read(arguments).unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }
}
