//! The content of streams: random bytes with a period, so that each byte follows from its place.

use barograph_data::mix;

/// Bytes of the period. A prime: no size of messages or reads hides a shift.
const PERIOD: usize = 65_521;

/// The content of all streams of a run.
#[derive(Debug)]
pub(crate) struct Content {
    /// The period, repeated so that a piece of the largest size may begin anywhere in it.
    bytes: Vec<u8>,
}

impl Content {
    /// Content for pieces of at most `largest` bytes.
    pub(crate) fn new(largest: usize) -> Self {
        let words = (0..PERIOD.div_ceil(8) as u64).flat_map(|word| mix(word).to_le_bytes());
        let period: Vec<u8> = words.take(PERIOD).collect();
        let bytes = period.iter().copied().cycle().take(PERIOD + largest).collect();
        Content { bytes }
    }

    /// The piece of `length` bytes at a place of the stream.
    pub(crate) fn at(&self, place: u64, length: usize) -> &[u8] {
        let begin = (place % PERIOD as u64) as usize;
        &self.bytes[begin..begin + length]
    }

    /// Whether a piece at a place of the stream is right.
    pub(crate) fn is_right(&self, place: u64, piece: &[u8]) -> bool {
        self.at(place, piece.len()) == piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_right_only_in_its_place() {
        let content = Content::new(1_000);
        for place in [0, 7, 65_520, 65_521, 200_000] {
            let piece = content.at(place, 1_000).to_vec();
            assert!(content.is_right(place, &piece));
            assert!(!content.is_right(place + 1, &piece) && !content.is_right(place + 1_000, &piece));
            let mut other = piece;
            other[999] ^= 1;
            assert!(!content.is_right(place, &other));
        }
    }
}
