//! Words from outside, made harmless before they become part of something with markup.

/// Safe in text and in attributes of XML and HTML. Control characters and what else has no form in XML 1.0 become blanks.
pub(crate) fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

/// Words in Markdown, on one line: they become neither tables nor markup.
pub(crate) fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '|' | '<' | '>' | '`' | '*' | '_' | '~' | '[' | ']' | '\\' | '#' => {
                safe.extend(['\\', letter]);
            }
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_comes_through() {
        let odd = "\u{1}<&\"'\n\u{9b}\u{ffff}a|`_b";
        assert_eq!(xml(odd), " &lt;&amp;&quot;&#39;   a|`_b");
        assert_eq!(markdown(odd), " \\<\\&\"'  \u{ffff}a\\|\\`\\_b");
    }
}
