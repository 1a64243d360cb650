//! Splits of a byte string, for tests of parsers.

/// Pieces of `size` bytes each (the last may be shorter). `size` is at least 1.
#[must_use]
pub fn each(size: usize, bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.chunks(size).map(<[u8]>::to_vec).collect()
}

/// Pieces that end at these positions, which rise and lie inside.
#[must_use]
pub fn at(places: &[usize], bytes: &[u8]) -> Vec<Vec<u8>> {
    let starts = std::iter::once(0).chain(places.iter().copied());
    let ends = places.iter().copied().chain(std::iter::once(bytes.len()));
    starts.zip(ends).map(|(start, end)| bytes[start..end].to_vec()).collect()
}

/// Every split into two pieces, neither of them empty.
pub fn pairs(bytes: &[u8]) -> impl Iterator<Item = Vec<Vec<u8>>> {
    (1..bytes.len()).map(|place| at(&[place], bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_where_they_were_asked_for() {
        assert_eq!(each(2, b"abcde"), [&b"ab"[..], b"cd", b"e"]);
        assert_eq!(at(&[1, 3], b"abcde"), [&b"a"[..], b"bc", b"de"]);
        assert_eq!(at(&[], b"abc"), [b"abc"]);
        assert_eq!(pairs(b"abc").collect::<Vec<_>>(), [[&b"a"[..], b"bc"], [&b"ab"[..], b"c"]]);
        assert_eq!(pairs(b"a").count(), 0);
    }
}
