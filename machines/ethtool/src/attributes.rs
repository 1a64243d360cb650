//! Attributes of netlink: words of a kind, a length and a value, which may be attributes again.

/// Flag of a kind whose value is attributes.
pub(crate) const NESTED: u16 = 1 << 15;

/// A text with its end.
pub(crate) fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// An attribute, with the bytes that complete its last word.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut out = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// The attributes in a value, with their kinds.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head = bytes.first_chunk::<4>()?;
        let (length, kind) = (u16::from_ne_bytes([head[0], head[1]]), u16::from_ne_bytes([head[2], head[3]]));
        let value = bytes.get(4..usize::from(length))?;
        bytes = bytes.get(usize::from(length).next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !NESTED, value))
    })
}

/// The value of the first attribute of a kind.
pub(crate) fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(of, _)| *of == kind).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_words_that_read_back() {
        let inner = [attribute(2, b"rx-gro\0"), attribute(3, &[])].concat();
        assert_eq!(inner.len() % 4, 0);
        let outer = attribute(5 | NESTED, &inner);
        let found = find(&outer, 5).unwrap();
        assert_eq!(find(found, 2), Some(&b"rx-gro\0"[..]));
        assert_eq!(find(found, 3), Some(&[][..]));
        assert_eq!(find(found, 4), None);
        for cut in 0..outer.len() {
            attributes(&outer[..cut]).for_each(drop);
        }
    }
}
