//! Criteria of SEARCH: a conjunction of a few kinds.

use crate::command::Argument;
use crate::fetch::header_length;
use crate::folders::Message;
use crate::sets::NumberSet;

/// A criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// The message has this flag, or lacks it.
    Flag(&'static str, bool),
    Uids(NumberSet),
    /// A field of the header has this text.
    Field(String, Vec<u8>),
    /// The text after the header has this text.
    Body(Vec<u8>),
    /// The content has this text.
    Text(Vec<u8>),
}

/// Reads criteria, all of which must hold; `None` for unknown ones.
pub(crate) fn criteria(arguments: &[Argument], last_uid: u32) -> Option<Vec<Criterion>> {
    let (mut all, mut rest) = (Vec::new(), arguments.iter());
    while let Some(word) = rest.next() {
        let word = word.text()?.to_ascii_uppercase();
        let mut text = || Some(rest.next()?.text()?.to_ascii_lowercase().into_bytes());
        all.push(match &word[..] {
            "ALL" => continue,
            "SEEN" => Criterion::Flag("\\Seen", true),
            "UNSEEN" => Criterion::Flag("\\Seen", false),
            "DELETED" => Criterion::Flag("\\Deleted", true),
            "UNDELETED" => Criterion::Flag("\\Deleted", false),
            "FLAGGED" => Criterion::Flag("\\Flagged", true),
            "UID" => Criterion::Uids(NumberSet::parse(str::from_utf8(&text()?).ok()?, last_uid)?),
            "SUBJECT" | "FROM" | "TO" => Criterion::Field(word.to_ascii_lowercase(), text()?),
            "HEADER" => Criterion::Field(String::from_utf8(text()?).ok()?, text()?),
            "BODY" => Criterion::Body(text()?),
            "TEXT" => Criterion::Text(text()?),
            _ => return None,
        });
    }
    Some(all)
}

impl Criterion {
    /// Whether it needs the content of the message.
    pub(crate) fn needs_content(&self) -> bool {
        matches!(self, Criterion::Field(..) | Criterion::Body(_) | Criterion::Text(_))
    }

    /// Whether it holds. `content` is in lower case.
    pub(crate) fn holds(&self, message: &Message, content: &[u8]) -> bool {
        let has = |bytes: &[u8], text: &[u8]| memchr::memmem::find(bytes, text).is_some();
        match self {
            Criterion::Flag(flag, wanted) => message.flags.split(' ').any(|known| known == *flag) == *wanted,
            Criterion::Uids(set) => set.has(message.uid),
            Criterion::Field(name, text) => {
                let header = &content[..header_length(content)];
                let lines = header.split(|byte| *byte == b'\n');
                let values = lines.filter_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b":"));
                values.into_iter().any(|value| has(value, text))
            }
            Criterion::Body(text) => has(&content[header_length(content)..], text),
            Criterion::Text(text) => has(content, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_criteria_must_hold() {
        let message = Message { uid: 4, flags: "\\Seen".to_owned(), size: 1, content: 1 };
        let finds = |line: &str| {
            let arguments: Vec<Argument> = line.split(' ').map(|w| Argument::Atom(w.to_owned())).collect();
            let all = criteria(&arguments, 9)?;
            Some(all.iter().all(|one| one.holds(&message, b"subject: a word\r\n\r\nsome text\r\n")))
        };
        for (line, found) in [
            ("ALL", true),
            ("SEEN UNDELETED", true),
            ("UNSEEN", false),
            ("UID 1:4 subject Word", true),
            ("UID 5:*", false),
            ("FROM word", false),
            ("HEADER subject word", true),
            ("BODY text", true),
            ("BODY word", false),
            ("TEXT word", true),
            ("TEXT word DELETED", false),
        ] {
            assert_eq!(finds(line), Some(found), "{line}");
        }
        assert_eq!((finds("OR SEEN SEEN"), finds("BODY"), finds("UID x")), (None, None, None));
    }
}
