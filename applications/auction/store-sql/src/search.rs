//! Words of a text for the search. They are split here, so that all products find the same, and the products'
//! own rules for words, stop words and shortest words have no effect.

use std::fmt::Write as _;

use crate::text::Flavour;

/// Significant letters of a word; a longer one is found by these.
const LETTERS: usize = 24;

/// Bytes of a word for MariaDB: below the 84 beyond which it ignores a word.
const SPELLED: usize = 78;

/// Prefix of MariaDB's words: none is below its shortest length or among its stop words then.
const LEAD: &str = "zq";

/// A text without distinctions of case.
pub(crate) fn fold_case(text: &str) -> String {
    text.to_lowercase()
}

/// The words of a text: runs of letters and digits, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().chars().take(LETTERS).collect())
}

fn spelled(word: &str, flavour: Flavour) -> String {
    if flavour == Flavour::Postgres {
        return word.to_owned();
    }
    // MariaDB decides by its character set what a letter is; ASCII is unambiguous.
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

/// The words of a text in the search column.
pub(crate) fn stored(text: &str, flavour: Flavour) -> String {
    let spelled: Vec<String> = words(text).map(|word| spelled(&word, flavour)).collect();
    spelled.join(" ")
}

/// The condition that finds them; [`wanted`] gives its value.
pub(crate) fn condition(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::Postgres => {
            "array_to_tsvector(string_to_array(search_words, ' ')) @@ CAST(CAST(? AS TEXT) AS tsquery)"
        }
        Flavour::MariaDb | Flavour::MySql => "MATCH (search_words) AGAINST (? IN BOOLEAN MODE)",
    }
}

/// The search value: all words of a text, the last one possibly the beginning of a word. `None` for a text
/// without words. Only letters, digits and underscores of the text are kept, so it contains no operators.
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
