//! Made-up words of titles and names: lower-case letters only, so that a search for whole words means the same on every engine.

use std::fmt::{self, Write};

/// Syllables of words.
const SYLLABLES: [&str; 20] = [
    "bam", "cel", "dor", "fin", "gul", "hem", "jas", "kor", "lut", "mip", "nov", "pel", "rud", "sof", "tam",
    "vek", "wil", "yor", "zeb", "qua",
];

/// Words of titles.
pub(crate) const TITLE_WORDS: i64 = 1_000;

/// First names of actors, and last names.
pub(crate) const NAMES: i64 = 200;

/// The number of the first word that is in no title and no name.
const UNUSED: i64 = TITLE_WORDS + 2 * NAMES;

/// A word by its number, below 8,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(i64);

impl Word {
    /// A word of titles.
    pub(crate) const fn of_title(number: i64) -> Self {
        Word(number % TITLE_WORDS)
    }

    /// First and last name of an actor.
    pub(crate) const fn of_actor(number: i64) -> [Self; 2] {
        [Word(TITLE_WORDS + number % NAMES), Word(TITLE_WORDS + NAMES + number / NAMES % NAMES)]
    }

    /// A word that is in no title and no name.
    pub(crate) const fn unused(number: i64) -> Self {
        Word(UNUSED + number % TITLE_WORDS)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for digit in [self.0 / 400, self.0 / 20, self.0] {
            f.write_str(SYLLABLES[(digit % 20).unsigned_abs() as usize])?;
        }
        Ok(())
    }
}

/// Two words to be searched for together. They are written again for each search.
#[derive(Debug, Default)]
pub(crate) struct Pair(String, String);

impl Pair {
    pub(crate) fn set(&mut self, [first, second]: [Word; 2]) {
        for (text, word) in [(&mut self.0, first), (&mut self.1, second)] {
            text.clear();
            // Writing into a text cannot fail.
            let _ = write!(text, "{word}");
        }
    }

    pub(crate) fn words(&self) -> [&str; 2] {
        [&self.0, &self.1]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_words_differ_and_are_long_lower_case_letters() {
        let titles = (0..TITLE_WORDS).map(Word::of_title);
        let names = (0..NAMES * NAMES).step_by(201).flat_map(Word::of_actor);
        let unused = (0..TITLE_WORDS).map(Word::unused);
        let all: BTreeSet<String> = titles.chain(names).chain(unused).map(|word| word.to_string()).collect();
        assert_eq!(all.len() as i64, 2 * TITLE_WORDS + 2 * NAMES);
        assert!(all.iter().all(|word| word.len() == 9 && word.bytes().all(|b| b.is_ascii_lowercase())));
        assert_eq!(Word(421).to_string(), "celcelcel");
    }
}
