//! Values in responses: atoms, strings, literals, lists.

use crate::flaw::Flaw;

/// Deepest nesting of lists; a body structure of twenty parts has six.
const DEEPEST: u32 = 16;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'b> {
    /// NIL.
    Nil,
    /// An atom, a number, a flag, or the name of a fetched part with its brackets.
    Atom(&'b [u8]),
    /// A quoted string between its quotes, with its backslashes.
    Quoted(&'b [u8]),
    /// A literal.
    Literal(&'b [u8]),
    /// A list.
    List(List<'b>),
}

impl<'b> Value<'b> {
    /// The bytes of an atom, a string or a literal.
    #[must_use]
    pub fn bytes(&self) -> Option<&'b [u8]> {
        match self {
            Value::Atom(bytes) | Value::Quoted(bytes) | Value::Literal(bytes) => Some(bytes),
            Value::Nil | Value::List(_) => None,
        }
    }

    /// The value of a number.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Value::Atom(bytes) => number(bytes).ok(),
            _ => None,
        }
    }
}

/// The values of a list, in order. They were read before, so that reading them again cannot fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List<'b>(&'b [u8]);

impl<'b> Iterator for List<'b> {
    type Item = Value<'b>;

    fn next(&mut self) -> Option<Value<'b>> {
        let mut reader = Reader::new(self.0);
        reader.blanks();
        let value = reader.value().ok();
        self.0 = reader.rest();
        value
    }
}

/// A number without sign.
///
/// # Errors
/// [`Flaw::Number`].
pub(crate) fn number(digits: &[u8]) -> Result<u64, Flaw> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Flaw::Number);
    }
    Ok(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// A number of 32 bits, as counts, sequence numbers and UIDs.
///
/// # Errors
/// [`Flaw::Number`].
pub(crate) fn number32(digits: &[u8]) -> Result<u32, Flaw> {
    u32::try_from(number(digits)?).map_err(|_| Flaw::Number)
}

/// Reads values from the front of bytes.
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'b [u8] {
        &self.bytes[self.at..]
    }

    /// Skips blanks.
    pub(crate) fn blanks(&mut self) {
        while self.rest().first() == Some(&b' ') {
            self.at += 1;
        }
    }

    /// The bytes up to the next blank, which is skipped.
    pub(crate) fn word(&mut self) -> &'b [u8] {
        let rest = self.rest();
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        self.at += (end + 1).min(rest.len());
        &rest[..end]
    }

    /// The next value.
    ///
    /// # Errors
    /// [`Flaw`].
    pub(crate) fn value(&mut self) -> Result<Value<'b>, Flaw> {
        self.nested(0)
    }

    fn nested(&mut self, depth: u32) -> Result<Value<'b>, Flaw> {
        match self.rest().first() {
            None | Some(b')') => Err(Flaw::Value),
            Some(b'"') => self.quoted(),
            Some(b'{') => self.literal(),
            Some(b'(') => self.list(depth),
            Some(_) => self.atom(),
        }
    }

    fn quoted(&mut self) -> Result<Value<'b>, Flaw> {
        let rest = &self.rest()[1..];
        let mut at = 0;
        loop {
            match rest.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(b'\r' | b'\n') | None => return Err(Flaw::Quote),
                Some(_) => at += 1,
            }
        }
        self.at += at + 2;
        Ok(Value::Quoted(&rest[..at]))
    }

    fn literal(&mut self) -> Result<Value<'b>, Flaw> {
        let rest = self.rest();
        let end = rest.iter().position(|byte| *byte == b'}').ok_or(Flaw::Literal)?;
        let length = number32(&rest[1..end]).map_err(|_| Flaw::Literal)? as usize;
        if rest.get(end + 1..end + 3) != Some(b"\r\n") {
            return Err(Flaw::Literal);
        }
        let literal = rest.get(end + 3..end + 3 + length).ok_or(Flaw::Literal)?;
        self.at += end + 3 + length;
        Ok(Value::Literal(literal))
    }

    fn list(&mut self, depth: u32) -> Result<Value<'b>, Flaw> {
        if depth == DEEPEST {
            return Err(Flaw::Nesting);
        }
        self.at += 1;
        let begin = self.at;
        loop {
            self.blanks();
            match self.rest().first() {
                None => return Err(Flaw::List),
                Some(b')') => break,
                Some(_) => self.nested(depth + 1).map(drop)?,
            }
        }
        let list = List(&self.bytes[begin..self.at]);
        self.at += 1;
        Ok(Value::List(list))
    }

    /// An atom; brackets in it may enclose blanks and lists, as in `BODY[HEADER.FIELDS (DATE)]`.
    fn atom(&mut self) -> Result<Value<'b>, Flaw> {
        let rest = self.rest();
        let (mut end, mut in_brackets) = (0, false);
        while let Some(byte) = rest.get(end) {
            match byte {
                b'[' => in_brackets = true,
                b']' => in_brackets = false,
                b' ' | b'(' | b')' | b'"' if in_brackets => {}
                b' ' | b'(' | b')' | b'"' | b'{' => break,
                0..=31 | 127 => return Err(Flaw::Value),
                _ => {}
            }
            end += 1;
        }
        if in_brackets || end == 0 {
            return Err(Flaw::Value);
        }
        self.at += end;
        let atom = &rest[..end];
        Ok(if atom.eq_ignore_ascii_case(b"NIL") { Value::Nil } else { Value::Atom(atom) })
    }
}
