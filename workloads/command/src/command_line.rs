//! Command lines: words, with quotes as in a shell, and nothing else of a shell.

/// Splits a line into words at spaces outside of quotes. A backslash takes the next character as it is, except between single
/// quotes.
///
/// # Errors
/// A quote without its end, a backslash at the end, or no word.
pub(crate) fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                let next = chars.next().ok_or("a line with a character after its last backslash")?;
                word.get_or_insert_default().push(next);
            }
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match quote {
        Some(_) => Err("a line with an end to every quote"),
        None if words.is_empty() => Err("a line with a program"),
        None => Ok(words),
    }
}

/// Joins words to a line that [`split`] takes apart again.
pub(crate) fn join(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    match word {
        word if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_spaces_outside_of_quotes() {
        for (line, words) in [
            ("sort  -u file", vec!["sort", "-u", "file"]),
            ("sh -c 'echo \"a  b\"'", vec!["sh", "-c", "echo \"a  b\""]),
            (r#"a"b c"d \" '' "\"""#, vec!["ab cd", "\"", "", "\""]),
            (r"'\'x", vec![r"\x"]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        for line in ["", "  ", "a 'b", "a \"b", "a\\"] {
            assert!(split(line).is_err(), "{line}");
        }
    }

    #[test]
    fn joined_words_are_the_same_when_split() {
        let words = ["sh", "-c", "a 'b' \"c\" \\ $d", "", "x=1", "\n"].map(str::to_owned);
        assert_eq!(split(&join(&words)).unwrap(), words);
        assert_eq!(join(&words[..2]), "sh -c");
    }
}
