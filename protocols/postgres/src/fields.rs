//! The fields of one message, read from its front.

use crate::flaw::Flaw;

/// The fields of a message that are left.
pub(crate) struct Fields<'b> {
    tag: char,
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub(crate) fn new(tag: u8, body: &'b [u8]) -> Self {
        Fields { tag: char::from(tag), rest: body }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(Flaw::Cut(self.tag))?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Flaw> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn int4(&mut self) -> Result<i32, Flaw> {
        self.array().map(i32::from_be_bytes)
    }

    /// A count of two bytes.
    pub(crate) fn count(&mut self) -> Result<usize, Flaw> {
        self.array().map(|bytes| u16::from_be_bytes(bytes).into())
    }

    /// The object identifier of a type.
    pub(crate) fn oid(&mut self) -> Result<u32, Flaw> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'b [u8], Flaw> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Flaw::Cut(self.tag))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A value after its length; `None` where the length is -1.
    pub(crate) fn value(&mut self) -> Result<Option<&'b [u8]>, Flaw> {
        match self.int4()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| Flaw::Negative(self.tag))?;
                self.bytes(length).map(Some)
            }
        }
    }

    /// Bytes before the next zero byte.
    pub(crate) fn terminated(&mut self) -> Result<&'b [u8], Flaw> {
        let length = self.rest.iter().position(|byte| *byte == 0).ok_or(Flaw::Cut(self.tag))?;
        let bytes = &self.rest[..length];
        self.rest = &self.rest[length + 1..];
        Ok(bytes)
    }

    /// A text before the next zero byte.
    pub(crate) fn text(&mut self) -> Result<&'b str, Flaw> {
        std::str::from_utf8(self.terminated()?).map_err(|_| Flaw::Text(self.tag))
    }

    /// All that is left.
    pub(crate) fn rest(self) -> &'b [u8] {
        self.rest
    }

    pub(crate) fn end(&self) -> Result<(), Flaw> {
        if self.rest.is_empty() { Ok(()) } else { Err(Flaw::Excess(self.tag)) }
    }
}
