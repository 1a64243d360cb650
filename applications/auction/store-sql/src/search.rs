//! Words of a text, so that all products find the same: they are cut here, and the products' own rules for words, stop
//! words and shortest words have nothing left to decide.

use std::fmt::Write as _;

use crate::text::Flavour;

/// Letters of a word that count; a longer one is found by these.
const LETTERS: usize = 24;

/// Bytes of a word as MariaDB gets it: below the 84 above which it does not take a word at all.
const SPELLED: usize = 78;

/// What MariaDB's words begin with: none is below its shortest length or among its stop words then.
const LEAD: &str = "zq";

/// A text in which case does not matter.
pub(crate) fn fold_case(text: &str) -> String {
    text.to_lowercase()
}

/// The words of a text: runs of letters and digits, in small letters.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().chars().take(LETTERS).collect())
}

fn spelled(word: &str, flavour: Flavour) -> String {
    if flavour == Flavour::Postgres {
        return word.to_owned();
    }
    // MariaDB decides by its character set what a letter is; of ASCII it cannot have two minds.
    let mut out = LEAD.to_owned();
    for letter in word.chars() {
        if out.len() >= SPELLED {
            break;
        }
        if letter.is_ascii_alphanumeric() {
            out.push(letter);
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "_{:x}", u32::from(letter));
        }
    }
    out
}

/// The words of a text as the search column keeps them.
pub(crate) fn stored(text: &str, flavour: Flavour) -> String {
    let spelled: Vec<String> = words(text).map(|word| spelled(&word, flavour)).collect();
    spelled.join(" ")
}

/// The condition that finds them; its value is given by [`wanted`].
pub(crate) fn condition(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::Postgres => {
            "array_to_tsvector(string_to_array(search_words, ' ')) @@ CAST(CAST(? AS TEXT) AS tsquery)"
        }
        Flavour::MariaDb | Flavour::MySql => "MATCH (search_words) AGAINST (? IN BOOLEAN MODE)",
    }
}

/// What to look for: all words of a text, the last one being the beginning of a word perhaps. `None` when the text has no
/// word. Only letters, digits and underscores of the text are left, so nothing in it can be an operator.
pub(crate) fn wanted(text: &str, flavour: Flavour) -> Option<String> {
    let words: Vec<String> = words(text).map(|word| spelled(&word, flavour)).collect();
    let (last, before) = words.split_last()?;
    let mut out = String::new();
    for word in before {
        match flavour {
            Flavour::Postgres => out.push_str(&format!("'{word}' & ")),
            Flavour::MariaDb | Flavour::MySql => out.push_str(&format!("+{word} ")),
        }
    }
    match flavour {
        Flavour::Postgres => out.push_str(&format!("'{last}':*")),
        Flavour::MariaDb | Flavour::MySql => out.push_str(&format!("+{last}*")),
    }
    Some(out)
}
