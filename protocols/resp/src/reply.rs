//! Reading replies in place.

use memchr::memchr;

/// Deepest nesting of aggregates accepted.
const DEEPEST: u32 = 8;

/// Longest line: a simple string, an error, a length.
const LONGEST_LINE: usize = 64 * 1024;

/// Longest bulk string, and most elements of an aggregate; Redis has the same limit on strings.
const LARGEST: u64 = 512 * 1024 * 1024;

/// A reply at the front of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply<'b> {
    /// A line of text, such as `OK`.
    Simple(&'b [u8]),
    /// An error: its code and message, as in `WRONGTYPE Operation against a key ...`.
    Error(&'b [u8]),
    /// A whole number.
    Integer(i64),
    /// Bytes.
    Bulk(&'b [u8]),
    /// Null: the key does not exist.
    Null,
    /// True or false (RESP3).
    Boolean(bool),
    /// A number with a fraction or of any size, as text (RESP3).
    Number(&'b [u8]),
    /// Elements in order: an array, a set, or a map as its keys and values in turn.
    Array(Items<'b>),
    /// An out-of-band message, not a reply to a command (RESP3).
    Push(Items<'b>),
}

/// The elements of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Items<'b> {
    /// Number of remaining elements.
    count: usize,
    /// Their bytes.
    bytes: &'b [u8],
}

impl Items<'_> {
    /// Number of remaining elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no element remains.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'b> Iterator for Items<'b> {
    type Item = Reply<'b>;

    fn next(&mut self) -> Option<Reply<'b>> {
        self.count = self.count.checked_sub(1)?;
        // The aggregate was read as a whole before, so its elements are whole.
        let Ok(ReadResult::Whole { reply, length }) = read(self.bytes, 0) else { return None };
        self.bytes = &self.bytes[length..];
        Some(reply)
    }
}

/// Contents of the front of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadResult<'b> {
    /// A whole reply.
    Whole {
        /// The reply.
        reply: Reply<'b>,
        /// Its bytes in the buffer.
        length: usize,
    },
    /// The beginning of a reply.
    Part {
        /// Least length of the buffer with which it may be whole.
        needed: usize,
    },
}

/// Bytes that are not a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// An unknown type.
    #[error("a reply begins with the byte {0:#04x}, which is no type of RESP")]
    Type(u8),
    /// An invalid length or number.
    #[error("a reply has a length or a number that cannot be read")]
    Number,
    /// A bulk string without its end of line.
    #[error("a bulk string does not end where its length says")]
    End,
    /// A size above the limits.
    #[error("a reply is larger, longer in a line or nested deeper than is read")]
    TooLarge,
}

/// Reads the reply at the front of `bytes`.
///
/// # Errors
/// [`Flaw`] if they are not a reply.
#[inline]
pub fn reply(bytes: &[u8]) -> Result<ReadResult<'_>, Flaw> {
    match short(bytes) {
        Some((reply, length)) => Ok(ReadResult::Whole { reply, length }),
        None => read(bytes, 0),
    }
}

/// The reply at the front of `bytes` with its length, if it is whole and of the most frequent kinds: a string
/// of up to 9,999 bytes, `OK`, and a number of one digit.
#[inline]
fn short(bytes: &[u8]) -> Option<(Reply<'_>, usize)> {
    match bytes {
        [b'$', rest @ ..] => {
            let mut length = 0;
            for (at, byte) in rest.iter().enumerate().take(5) {
                let digit = byte.wrapping_sub(b'0');
                if digit < 10 {
                    length = length * 10 + usize::from(digit);
                    continue;
                }
                let text = rest.get(at..)?.strip_prefix(b"\r\n").filter(|_| at > 0)?;
                let (text, end) = text.split_at_checked(length)?;
                return end.starts_with(b"\r\n").then_some((Reply::Bulk(text), at + length + 5));
            }
            None
        }
        [b'+', b'O', b'K', b'\r', b'\n', ..] => Some((Reply::Simple(&bytes[1..3]), 5)),
        [b':', digit @ b'0'..=b'9', b'\r', b'\n', ..] => Some((Reply::Integer(i64::from(digit - b'0')), 4)),
        _ => None,
    }
}

fn read(bytes: &[u8], depth: u32) -> Result<ReadResult<'_>, Flaw> {
    let Some(kind) = bytes.first().copied() else { return Ok(ReadResult::Part { needed: 1 }) };
    let Some((line, head)) = line(bytes)? else { return Ok(ReadResult::Part { needed: bytes.len() + 1 }) };
    let whole = |reply| Ok(ReadResult::Whole { reply, length: head });
    match kind {
        b'+' => whole(Reply::Simple(line)),
        b'-' => whole(Reply::Error(line)),
        b':' => whole(Reply::Integer(integer(line)?)),
        b'_' => whole(Reply::Null),
        b'#' => whole(Reply::Boolean(line == b"t")),
        b',' | b'(' => whole(Reply::Number(line)),
        b'$' | b'!' | b'=' => bulk(bytes, kind, length(line)?, head),
        b'*' | b'~' | b'%' | b'>' => {
            let Some(count) = length(line)? else { return whole(Reply::Null) };
            let count = if kind == b'%' { count.saturating_mul(2) } else { count };
            items(bytes, (kind, count), head, depth)
        }
        kind => Err(Flaw::Type(kind)),
    }
}

/// The first line without its type and its end, and the bytes of all of it.
fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Flaw> {
    match memchr(b'\r', &bytes[..bytes.len().min(LONGEST_LINE)]) {
        Some(at) if at + 1 < bytes.len() => {
            if bytes[at + 1] != b'\n' {
                return Err(Flaw::End);
            }
            Ok(Some((&bytes[1..at], at + 2)))
        }
        None if bytes.len() >= LONGEST_LINE => Err(Flaw::TooLarge),
        _ => Ok(None),
    }
}

fn bulk(bytes: &[u8], kind: u8, length: Option<usize>, head: usize) -> Result<ReadResult<'_>, Flaw> {
    let Some(length) = length else { return Ok(ReadResult::Whole { reply: Reply::Null, length: head }) };
    let end = head + length + 2;
    if bytes.len() < end {
        return Ok(ReadResult::Part { needed: end });
    }
    if &bytes[end - 2..end] != b"\r\n" {
        return Err(Flaw::End);
    }
    let text = &bytes[head..end - 2];
    let reply = match kind {
        b'!' => Reply::Error(text),
        // Three letters and a colon give the kind of text.
        b'=' => Reply::Bulk(text.get(4..).unwrap_or_default()),
        _ => Reply::Bulk(text),
    };
    Ok(ReadResult::Whole { reply, length: end })
}

fn items(bytes: &[u8], (kind, count): (u8, usize), head: usize, depth: u32) -> Result<ReadResult<'_>, Flaw> {
    if depth >= DEEPEST {
        return Err(Flaw::TooLarge);
    }
    let mut at = head;
    for left in (1..=count).rev() {
        match read(&bytes[at..], depth + 1)? {
            ReadResult::Whole { length, .. } => at += length,
            // Each element after it has three bytes at least.
            ReadResult::Part { needed } => {
                return Ok(ReadResult::Part { needed: at + needed + 3 * (left - 1) });
            }
        }
    }
    let items = Items { count, bytes: &bytes[head..at] };
    let reply = if kind == b'>' { Reply::Push(items) } else { Reply::Array(items) };
    Ok(ReadResult::Whole { reply, length: at })
}

fn integer(line: &[u8]) -> Result<i64, Flaw> {
    let (negative, digits) = match line {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() {
        return Err(Flaw::Number);
    }
    let mut number: i64 = 0;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return Err(Flaw::Number);
        }
        let value = if negative { -i64::from(value) } else { i64::from(value) };
        number = number.checked_mul(10).and_then(|n| n.checked_add(value)).ok_or(Flaw::Number)?;
    }
    Ok(number)
}

/// A length; `None` is -1, the null of RESP2.
fn length(line: &[u8]) -> Result<Option<usize>, Flaw> {
    match integer(line)? {
        -1 => Ok(None),
        length => match u64::try_from(length) {
            Ok(length) if length <= LARGEST => Ok(Some(length as usize)),
            Ok(_) => Err(Flaw::TooLarge),
            Err(_) => Err(Flaw::Number),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(text: &str) -> Reply<'_> {
        match reply(text.as_bytes()) {
            Ok(ReadResult::Whole { reply, length }) if length == text.len() => reply,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn every_type_of_both_versions() {
        assert_eq!(whole("+OK\r\n"), Reply::Simple(b"OK"));
        assert_eq!(whole("-ERR no\r\n"), Reply::Error(b"ERR no"));
        assert_eq!(whole(":-42\r\n"), Reply::Integer(-42));
        assert_eq!(whole(":+7\r\n"), Reply::Integer(7));
        assert_eq!(whole(":-9223372036854775808\r\n"), Reply::Integer(i64::MIN));
        assert_eq!(whole("$0\r\n\r\n"), Reply::Bulk(b""));
        assert_eq!(whole("$4\r\na\r\nb\r\n"), Reply::Bulk(b"a\r\nb"));
        assert_eq!(whole("$-1\r\n"), Reply::Null);
        assert_eq!(whole("*-1\r\n"), Reply::Null);
        assert_eq!(whole("_\r\n"), Reply::Null);
        assert_eq!(whole("#t\r\n"), Reply::Boolean(true));
        assert_eq!(whole(",1.5\r\n"), Reply::Number(b"1.5"));
        assert_eq!(whole("=8\r\ntxt:text\r\n"), Reply::Bulk(b"text"));
        assert_eq!(whole("!5\r\nERR x\r\n"), Reply::Error(b"ERR x"));
    }

    #[test]
    fn elements_of_aggregates_come_in_order() {
        let Reply::Array(items) = whole("*3\r\n$1\r\na\r\n$-1\r\n*1\r\n:1\r\n") else { panic!("an array") };
        assert_eq!(items.len(), 3);
        let all: Vec<Reply<'_>> = items.collect();
        assert_eq!(all[..2], [Reply::Bulk(b"a"), Reply::Null]);
        let Reply::Array(inner) = all[2] else { panic!("an array") };
        assert_eq!(inner.collect::<Vec<_>>(), [Reply::Integer(1)]);
        let Reply::Array(map) = whole("%1\r\n+k\r\n+v\r\n") else { panic!("a map") };
        assert_eq!(map.count(), 2);
        assert!(matches!(whole(">2\r\n+a\r\n+b\r\n"), Reply::Push(_)));
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for (text, flaw) in [
            ("x\r\n", Flaw::Type(b'x')),
            ("$x\r\n", Flaw::Number),
            ("$\r\n\r\n", Flaw::Number),
            ("$1\r\nab\r\n", Flaw::End),
            ("$-2\r\n", Flaw::Number),
            (":\r\n", Flaw::Number),
            (":9223372036854775808\r\n", Flaw::Number),
            ("$1\r\nabc", Flaw::End),
            ("+a\rb", Flaw::End),
            ("$9999999999\r\n", Flaw::TooLarge),
            ("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", Flaw::TooLarge),
        ] {
            assert_eq!(reply(text.as_bytes()), Err(flaw), "{text:?}");
        }
        let endless = vec![b'+'; LONGEST_LINE];
        assert_eq!(reply(&endless), Err(Flaw::TooLarge));
    }

    /// One reply of any shape.
    fn any_reply() -> impl Strategy<Value = Vec<u8>> {
        let text = proptest::collection::vec(any::<u8>(), 0..40);
        let leaf = prop_oneof![
            Just(b"+OK\r\n".to_vec()),
            Just(b"$-1\r\n".to_vec()),
            any::<i64>().prop_map(|n| format!(":{n}\r\n").into_bytes()),
            text.prop_map(|text| {
                let mut all = format!("${}\r\n", text.len()).into_bytes();
                all.extend(text);
                all.extend(b"\r\n");
                all
            }),
        ];
        leaf.prop_recursive(3, 20, 5, |inner| {
            proptest::collection::vec(inner, 0..5).prop_map(|items| {
                let mut all = format!("*{}\r\n", items.len()).into_bytes();
                all.extend(items.concat());
                all
            })
        })
    }

    proptest! {
        #[test]
        fn a_beginning_is_never_whole_and_asks_for_no_more_than_there_is(bytes in any_reply(), more in any_reply()) {
            for end in 0..bytes.len() {
                let Ok(ReadResult::Part { needed }) = reply(&bytes[..end]) else {
                    return Err(TestCaseError::fail(format!("{end} bytes of {bytes:?}")));
                };
                prop_assert!(needed > end && needed <= bytes.len());
            }
            let both = [&bytes[..], &more[..]].concat();
            let Ok(ReadResult::Whole { length, .. }) = reply(&both) else { return Err(TestCaseError::fail("whole")) };
            prop_assert_eq!(length, bytes.len());
            if let Some((reply, length)) = short(&both) {
                prop_assert_eq!(read(&both, 0), Ok(ReadResult::Whole { reply, length }));
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(ReadResult::Whole { length, .. }) = reply(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }
    }
}
