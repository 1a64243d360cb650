//! The fields of one message, read from its front.

use crate::flaw::Flaw;

/// The fields of a message that are left.
pub(crate) struct Fields<'b> {
    /// The message by its name in flaws.
    of: &'static str,
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub(crate) fn new(of: &'static str, body: &'b [u8]) -> Self {
        Fields { of, rest: body }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(Flaw::Cut(self.of))?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Flaw> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn int2(&mut self) -> Result<u16, Flaw> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn int4(&mut self) -> Result<u32, Flaw> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'b [u8], Flaw> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Flaw::Cut(self.of))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A number of 1, 3, 4 or 9 bytes. 251 is null and 255 an error; neither is a number.
    pub(crate) fn number(&mut self) -> Result<u64, Flaw> {
        match self.byte()? {
            small @ 0..=250 => Ok(small.into()),
            252 => self.int2().map(u64::from),
            253 => self.array().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]).into()),
            254 => self.array().map(u64::from_le_bytes),
            251 | 255 => Err(Flaw::Null(self.of)),
        }
    }

    /// Bytes after their number.
    pub(crate) fn counted(&mut self) -> Result<&'b [u8], Flaw> {
        let length = self.number()?;
        self.bytes(usize::try_from(length).map_err(|_| Flaw::Cut(self.of))?)
    }

    /// Bytes after their number; `None` is null.
    pub(crate) fn optional(&mut self) -> Result<Option<&'b [u8]>, Flaw> {
        match self.rest.split_first() {
            Some((251, rest)) => {
                self.rest = rest;
                Ok(None)
            }
            _ => self.counted().map(Some),
        }
    }

    /// Bytes before the next zero byte.
    pub(crate) fn terminated(&mut self) -> Result<&'b [u8], Flaw> {
        let length = self.rest.iter().position(|byte| *byte == 0).ok_or(Flaw::Cut(self.of))?;
        let bytes = &self.rest[..length];
        self.rest = &self.rest[length + 1..];
        Ok(bytes)
    }

    /// A text before the next zero byte.
    pub(crate) fn text(&mut self) -> Result<&'b str, Flaw> {
        std::str::from_utf8(self.terminated()?).map_err(|_| Flaw::Text(self.of))
    }

    /// Bytes that are left.
    pub(crate) fn rest(&self) -> &'b [u8] {
        self.rest
    }

    pub(crate) fn end(&self) -> Result<(), Flaw> {
        if self.rest.is_empty() { Ok(()) } else { Err(Flaw::Excess(self.of)) }
    }
}
