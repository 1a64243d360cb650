//! The options of `cargo xtask test` and `cargo xtask t`.

use anyhow::{Context, bail};

use crate::testing::{Group, Selection};

/// Selection and mode of a test run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) selection: Selection,
    /// Whether processors are taken away meanwhile.
    pub(crate) stolen: bool,
    /// Number of repetitions of all tests.
    pub(crate) times: u32,
    /// Whether the tests are listed and not run.
    pub(crate) list: bool,
    /// The revision for comparison with the work tree.
    pub(crate) base: Option<String>,
}

impl Options {
    /// Parses the arguments of `test`.
    pub(crate) fn of_test(words: &[&str]) -> anyhow::Result<Self> {
        let options = Self::read(words)?;
        if options.base.is_some() {
            bail!("--base is an option of `cargo xtask t`");
        }
        Ok(options)
    }

    /// Parses the arguments of `t`, whose default group is `quick`.
    pub(crate) fn of_changed(words: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self::read(words)?;
        if options.selection.groups.is_empty() {
            options.selection.groups.push(Group::Quick);
        }
        Ok(options)
    }

    fn read(words: &[&str]) -> anyhow::Result<Self> {
        let selection = Selection::default();
        let mut options = Options { selection, stolen: false, times: 1, list: false, base: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match *word {
                "--group" => options.selection.groups.push(Group::read(value()?)?),
                "--stolen" => options.stolen = true,
                "--list" => options.list = true,
                "--times" => options.times = times(value()?)?,
                "--base" => options.base = Some((*value()?).to_owned()),
                option if option.starts_with('-') => bail!(
                    "unknown option {option}; allowed: --group, --stolen, --times, --list, and for `t` --base"
                ),
                filter if options.selection.filter.is_empty() => {
                    filter.clone_into(&mut options.selection.filter)
                }
                other => bail!("`{other}` is a second filter; quote words that belong together"),
            }
        }
        Ok(options)
    }
}

fn times(value: &str) -> anyhow::Result<u32> {
    let times = value.parse().ok().filter(|times| (1..=1_000).contains(times));
    times.with_context(|| format!("--times `{value}`: allowed are 1 to 1000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_options() {
        let options = Options::of_test(&["--group", "quick", "--stolen", "--times", "20", "rank"]).unwrap();
        let selection =
            Selection { groups: vec![Group::Quick], filter: "rank".to_owned(), ..Selection::default() };
        assert_eq!(options, Options { selection, stolen: true, times: 20, list: false, base: None });
        let changed = Options::of_changed(&["--base", "main"]).unwrap();
        assert_eq!((changed.selection.groups, changed.base.as_deref()), (vec![Group::Quick], Some("main")));
        assert_eq!(Options::of_changed(&["--group", "program"]).unwrap().selection.groups, [Group::Program]);
    }

    #[test]
    fn wrong_words_are_named() {
        for (words, wrong) in [
            (&["--times", "0"][..], "--times `0`: allowed are 1 to 1000"),
            (&["--group"], "--group needs a value"),
            (&["--group", "slow"], "`slow` is no group of tests; allowed: quick, service, program, emulated"),
            (
                &["--fast"],
                "unknown option --fast; allowed: --group, --stolen, --times, --list, and for `t` --base",
            ),
            (&["a", "b"], "`b` is a second filter; quote words that belong together"),
            (&["--base", "x"], "--base is an option of `cargo xtask t`"),
        ] {
            assert_eq!(Options::of_test(words).unwrap_err().to_string(), wrong);
        }
    }
}
