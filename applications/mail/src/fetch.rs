//! Attributes that FETCH returns.

use crate::command::Argument;
use crate::folders::Message;

/// An attribute of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Uid,
    Flags,
    Size,
    Body(Body),
}

/// A part of the content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    section: Section,
    /// First byte and most bytes.
    range: Option<(usize, usize)>,
    /// The flag `\Seen` stays as it is.
    peek: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Section {
    All,
    Header,
    Text,
    /// Names of fields in lower case.
    Fields(Vec<String>),
}

/// Reads the attributes of a command; `None` for unknown ones.
pub(crate) fn attributes(argument: &Argument) -> Option<Vec<Attribute>> {
    match argument {
        Argument::List(items) => items.iter().map(attribute).collect(),
        single => attribute(single).map(|one| vec![one]),
    }
}

fn attribute(argument: &Argument) -> Option<Attribute> {
    let Argument::Atom(text) = argument else { return None };
    match &text.to_ascii_uppercase()[..] {
        "UID" => Some(Attribute::Uid),
        "FLAGS" => Some(Attribute::Flags),
        "RFC822.SIZE" => Some(Attribute::Size),
        upper => {
            let (peek, rest) = match upper.strip_prefix("BODY.PEEK[") {
                Some(rest) => (true, rest),
                None => (false, upper.strip_prefix("BODY[")?),
            };
            let (section, range) = rest.split_once(']')?;
            Some(Attribute::Body(Body { section: self::section(section)?, range: self::range(range)?, peek }))
        }
    }
}

fn section(text: &str) -> Option<Section> {
    match text {
        "" => Some(Section::All),
        "HEADER" => Some(Section::Header),
        "TEXT" => Some(Section::Text),
        fields => {
            let names = fields.strip_prefix("HEADER.FIELDS (")?.strip_suffix(')')?;
            Some(Section::Fields(names.split_whitespace().map(str::to_ascii_lowercase).collect()))
        }
    }
}

/// `Some(None)` without a range, `None` for an invalid one.
fn range(text: &str) -> Option<Option<(usize, usize)>> {
    if text.is_empty() {
        return Some(None);
    }
    let (from, most) = text.strip_prefix('<')?.strip_suffix('>')?.split_once('.')?;
    Some(Some((from.parse().ok()?, most.parse().ok()?)))
}

impl Attribute {
    /// Whether it needs the content of the message.
    pub(crate) fn needs_content(&self) -> bool {
        matches!(self, Attribute::Body(_))
    }

    /// Whether it sets the flag `\Seen`.
    pub(crate) fn marks_seen(&self) -> bool {
        matches!(self, Attribute::Body(Body { peek: false, .. }))
    }

    /// Appends name and value.
    pub(crate) fn write(&self, message: &Message, content: &[u8], out: &mut Vec<u8>) {
        match self {
            Attribute::Uid => out.extend_from_slice(format!("UID {}", message.uid).as_bytes()),
            Attribute::Flags => out.extend_from_slice(format!("FLAGS ({})", message.flags).as_bytes()),
            Attribute::Size => out.extend_from_slice(format!("RFC822.SIZE {}", message.size).as_bytes()),
            Attribute::Body(body) => body.write(content, out),
        }
    }
}

impl Body {
    fn write(&self, content: &[u8], out: &mut Vec<u8>) {
        let (header, text) = content.split_at(header_length(content));
        let fields;
        let (name, part) = match &self.section {
            Section::All => (String::new(), content),
            Section::Header => ("HEADER".to_owned(), header),
            Section::Text => ("TEXT".to_owned(), text),
            Section::Fields(names) => {
                fields = self::fields(header, names);
                (format!("HEADER.FIELDS ({})", names.join(" ").to_ascii_uppercase()), &fields[..])
            }
        };
        let (origin, part) = match self.range {
            None => (String::new(), part),
            Some((from, most)) => {
                let rest = part.get(from..).unwrap_or_default();
                (format!("<{from}>"), &rest[..most.min(rest.len())])
            }
        };
        out.extend_from_slice(format!("BODY[{name}]{origin} {{{}}}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
    }
}

/// The length of the header with the empty line after it.
pub(crate) fn header_length(content: &[u8]) -> usize {
    memchr::memmem::find(content, b"\r\n\r\n").map_or(content.len(), |at| at + 4)
}

/// The fields of these names with their folded lines, and an empty line.
fn fields(header: &[u8], names: &[String]) -> Vec<u8> {
    let (mut found, mut is_wanted) = (Vec::new(), false);
    for line in header.split_inclusive(|byte| *byte == b'\n') {
        if !matches!(line.first(), Some(b' ' | b'\t')) {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            is_wanted = names.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name));
        }
        if is_wanted {
            found.extend_from_slice(line);
        }
    }
    found.extend_from_slice(b"\r\n");
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(item: &str) -> Option<String> {
        let message = Message { uid: 7, flags: "\\Seen".to_owned(), size: 30, content: 1 };
        let attribute = attribute(&Argument::Atom(item.to_owned()))?;
        let mut out = Vec::new();
        attribute.write(&message, b"A: 1\r\nB: 2\r\n 3\r\nC: 4\r\n\r\ntext\r\n", &mut out);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn parts_are_cut_out_of_the_content() {
        for (item, expected) in [
            ("uid", "UID 7"),
            ("FLAGS", "FLAGS (\\Seen)"),
            ("RFC822.SIZE", "RFC822.SIZE 30"),
            ("BODY[TEXT]", "BODY[TEXT] {6}\r\ntext\r\n"),
            (
                "BODY.PEEK[HEADER.FIELDS (c b)]",
                "BODY[HEADER.FIELDS (C B)] {18}\r\nB: 2\r\n 3\r\nC: 4\r\n\r\n",
            ),
            ("BODY[]<2.3>", "BODY[]<2> {3}\r\n 1\r"),
            ("BODY[]<99.3>", "BODY[]<99> {0}\r\n"),
            ("BODY[TEXT]<0.99>", "BODY[TEXT]<0> {6}\r\ntext\r\n"),
        ] {
            assert_eq!(fetched(item).as_deref(), Some(expected));
        }
        assert_eq!(fetched("BODY[HEADER]").unwrap().len(), "BODY[HEADER] {24}\r\n".len() + 24);
        for item in ["ENVELOPE", "BODY", "BODY[1]", "BODY[]<x>", "BODY[HEADER.FIELDS A]"] {
            assert_eq!(fetched(item), None, "{item}");
        }
    }
}
