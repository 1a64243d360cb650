//! Escaping of foreign text before it becomes part of markup.

/// Text for contents and attributes of XML and HTML. Control characters and others that XML 1.0 cannot
/// represent become blanks.
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

/// Text for Markdown, on one line, without effect as table or markup.
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

/// Text as code in Markdown, on one line: between more backquotes than it has in a row.
pub(crate) fn markdown_code(text: &str) -> String {
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let most = text.split(|letter: char| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(most + 1);
    // Backquotes at an end of the text would belong to the fence.
    let room = if most > 0 { " " } else { "" };
    format!("{fence}{room}{text}{room}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_comes_through() {
        let odd = "\u{1}<&\"'\n\u{9b}\u{ffff}a|`_b";
        assert_eq!(xml(odd), " &lt;&amp;&quot;&#39;   a|`_b");
        assert_eq!(markdown(odd), " \\<\\&\"'  \u{ffff}a\\|\\`\\_b");
        assert_eq!(markdown_code("a <b> --set x=1"), "`a <b> --set x=1`");
        assert_eq!(markdown_code("a\n`b` ``"), "``` a `b` `` ```");
    }
}
