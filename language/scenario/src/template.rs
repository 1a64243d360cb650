//! Texts with `{name}`, compiled to segments and rendered without an allocation beyond the outgoing buffer.

use std::io::Write as _;

use crate::{Source, Values, View};

/// Escaping of a value for its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// No escaping.
    Raw,
    /// Part of a complete address, such as a link from an answer: only characters that cannot occur in a
    /// request line are percent-encoded, so that no value can begin another request.
    Link,
    /// Segment of a path: everything but unreserved characters percent-encoded.
    Path,
    /// Name or value of a query or a form: like a path, with a plus sign for a space.
    Query,
    /// Content of a JSON string.
    Json,
    /// Value of a header: control characters become spaces, so that no value can begin another header.
    Header,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment {
    /// Bytes to copy.
    Literal(Box<[u8]>),
    /// A value to write.
    Value(Source, Escape),
}

/// A compiled text. Neighbouring literals are one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template(Vec<Segment>);

impl Template {
    /// A text without placeholders.
    #[must_use]
    pub fn literal(bytes: &[u8]) -> Self {
        let mut builder = Builder::default();
        builder.push(bytes);
        builder.finish()
    }

    /// The segments, for joining with others into a prepared request.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The whole text, if it is constant.
    #[must_use]
    pub fn fixed(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(&[]),
            [Segment::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends the text. `Err` names the first value that is absent or a list; text appended before it stays.
    pub fn render(&self, values: &impl Values, out: &mut Vec<u8>) -> Result<(), Source> {
        for segment in &self.0 {
            match segment {
                Segment::Literal(bytes) => out.extend_from_slice(bytes),
                Segment::Value(source, escape) => write(values.view(*source), *escape, out).ok_or(*source)?,
            }
        }
        Ok(())
    }
}

fn write(view: View<'_>, escape: Escape, out: &mut Vec<u8>) -> Option<()> {
    match view {
        View::Text(text) => escape.write(text, out),
        View::Integer(n) => write!(out, "{n}").expect("writing to memory cannot fail"),
        View::Number(x) => write!(out, "{x}").expect("writing to memory cannot fail"),
        View::Absent | View::List(_) => return None,
    }
    Some(())
}

impl Escape {
    /// The escaping of `{name:raw}` in these surroundings.
    fn raw(self) -> Self {
        match self {
            Escape::Path | Escape::Query | Escape::Link => Escape::Link,
            Escape::Header => Escape::Header,
            Escape::Raw | Escape::Json => Escape::Raw,
        }
    }

    /// Appends `text` with this escaping.
    pub fn write(self, text: &str, out: &mut Vec<u8>) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        if self == Escape::Raw {
            return out.extend_from_slice(text.as_bytes());
        }
        for &byte in text.as_bytes() {
            let hex = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            match (self, byte) {
                (Escape::Header, 0..=31 | 127) => out.push(b' '),
                (Escape::Json, b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
                (Escape::Json, 0..=31) => {
                    out.extend_from_slice(b"\\u00");
                    out.extend_from_slice(&hex);
                }
                (Escape::Raw | Escape::Header | Escape::Json, _) | (Escape::Link, 33..=126) => out.push(byte),
                (_, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~') => out.push(byte),
                (Escape::Query, b' ') => out.push(b'+'),
                (Escape::Path | Escape::Query | Escape::Link, _) => {
                    out.extend_from_slice(&[b'%', hex[0], hex[1]])
                }
            }
        }
    }
}

/// Escaping of the parts of a text.
#[derive(Clone, Copy)]
pub(crate) struct Escaping {
    literals: Escape,
    values: Escape,
}

impl Escaping {
    /// Literal parts unchanged, values escaped: paths and headers are written as sent.
    pub(crate) fn values(values: Escape) -> Self {
        Escaping { literals: Escape::Raw, values }
    }

    /// Both escaped: a query's value or a JSON text is written unescaped.
    pub(crate) fn whole(escape: Escape) -> Self {
        Escaping { literals: escape, values: escape }
    }
}

/// Builds a template.
#[derive(Default)]
pub(crate) struct Builder {
    done: Vec<Segment>,
    literal: Vec<u8>,
}

impl Builder {
    /// Appends bytes unchanged.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.literal.extend_from_slice(bytes);
    }

    /// Appends a value.
    pub(crate) fn value(&mut self, source: Source, escape: Escape) {
        if !self.literal.is_empty() {
            self.done.push(Segment::Literal(std::mem::take(&mut self.literal).into()));
        }
        self.done.push(Segment::Value(source, escape));
    }

    /// Appends a compiled text.
    pub(crate) fn join(&mut self, template: &Template) {
        for segment in &template.0 {
            match segment {
                Segment::Literal(bytes) => self.push(bytes),
                Segment::Value(source, escape) => self.value(*source, *escape),
            }
        }
    }

    /// Appends a text with placeholders.
    pub(crate) fn text(
        &mut self,
        text: &str,
        how: Escaping,
        find: &mut dyn FnMut(&str) -> Option<Source>,
    ) -> Result<(), String> {
        for part in parts(text)? {
            match part {
                TextPiece::Literal(literal) => how.literals.write(literal, &mut self.literal),
                // Unknown names have been refused by `find`.
                TextPiece::Name { name, raw } => {
                    let escape = if raw { how.values.raw() } else { how.values };
                    find(name).into_iter().for_each(|source| self.value(source, escape));
                }
            }
        }
        Ok(())
    }

    /// The template.
    pub(crate) fn finish(mut self) -> Template {
        if !self.literal.is_empty() {
            self.done.push(Segment::Literal(self.literal.into()));
        }
        Template(self.done)
    }
}

/// A piece of a text as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TextPiece<'a> {
    Literal(&'a str),
    Name { name: &'a str, raw: bool },
}

/// Splits a text with placeholders. `{{` and `}}` stand for braces.
pub(crate) fn parts(text: &str) -> Result<Vec<TextPiece<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = (&rest[..at], &rest[at..=at]);
        let after = &rest[at + 1..];
        if after.starts_with(brace) {
            found.push(TextPiece::Literal(&rest[..=at]));
            rest = &after[1..];
            continue;
        }
        found.extend((!before.is_empty()).then_some(TextPiece::Literal(before)));
        if brace == "}" {
            return Err("a `}` without its `{`; a brace itself is written `}}`".to_owned());
        }
        let Some(end) = after.find('}') else {
            return Err("a `{` without its `}`; a brace itself is written `{{`".to_owned());
        };
        let inside = &after[..end];
        let (name, raw) = inside.strip_suffix(":raw").map_or((inside, false), |name| (name, true));
        if !is_reference(name) {
            return Err(format!("`{{{inside}}}` is not a name; a brace itself is written `{{{{`"));
        }
        found.push(TextPiece::Name { name, raw });
        rest = &after[end + 1..];
    }
    found.extend((!rest.is_empty()).then_some(TextPiece::Literal(rest)));
    Ok(found)
}

/// Whether this is a name, or a name and a column.
fn is_reference(text: &str) -> bool {
    let word = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    text.split_once('.').map_or(word(text), |(name, column)| word(name) && word(column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuiltIn;

    struct FixedValues(View<'static>);
    impl Values for FixedValues {
        fn view(&self, _: Source) -> View<'_> {
            self.0
        }
    }

    fn rendered(text: &str, escape: Escape, view: View<'static>) -> Result<String, String> {
        let mut builder = Builder::default();
        builder.text(text, Escaping::values(escape), &mut |_| Some(Source::BuiltIn(BuiltIn::User)))?;
        let mut out = Vec::new();
        builder.finish().render(&FixedValues(view), &mut out).map_err(|_| "absent".to_owned())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn values_are_written_for_their_surroundings() {
        let nasty = View::Text("a b/\"\n\u{e9}");
        let with = |escape| rendered("<{x}>", escape, nasty).unwrap();
        assert_eq!(with(Escape::Raw), "<a b/\"\n\u{e9}>");
        assert_eq!(with(Escape::Path), "<a%20b%2F%22%0A%C3%A9>");
        assert_eq!(with(Escape::Query), "<a+b%2F%22%0A%C3%A9>");
        assert_eq!(with(Escape::Json), "<a b/\\\"\\u000A\u{e9}>");
        assert_eq!(with(Escape::Header), "<a b/\" \u{e9}>");
        assert_eq!(rendered("{x:raw}", Escape::Json, nasty).unwrap(), "a b/\"\n\u{e9}");
        assert_eq!(rendered("{x:raw}", Escape::Path, nasty).unwrap(), "a%20b/\"%0A%C3%A9");
        assert_eq!(rendered("{x:raw}", Escape::Header, nasty).unwrap(), "a b/\" \u{e9}");
        assert_eq!(rendered("{x}", Escape::Path, View::Integer(-7)).unwrap(), "-7");
        assert_eq!(rendered("{x}", Escape::Path, View::Number(1.5)).unwrap(), "1.5");
        assert_eq!(rendered("{x}", Escape::Path, View::Absent).unwrap_err(), "absent");
    }

    #[test]
    fn braces_are_doubled_or_refused() {
        assert_eq!(rendered("{{{x}}}", Escape::Raw, View::Integer(1)).unwrap(), "{1}");
        for (text, why) in [
            ("a}b", "a `}` without its `{`; a brace itself is written `}}`"),
            ("a{b", "a `{` without its `}`; a brace itself is written `{{`"),
            ("{}", "`{}` is not a name; a brace itself is written `{{`"),
            ("{a b}", "`{a b}` is not a name; a brace itself is written `{{`"),
            ("{a.b.c}", "`{a.b.c}` is not a name; a brace itself is written `{{`"),
        ] {
            assert_eq!(parts(text).unwrap_err(), why, "{text}");
        }
    }

    #[test]
    fn a_constant_text_is_known_to_be_one() {
        assert_eq!(Template::literal(b"abc").fixed(), Some(&b"abc"[..]));
        assert_eq!(Template::literal(b"").fixed(), Some(&b""[..]));
    }
}
