//! Frames of the control connection: length, kind, body.
//!
//! The length has four bytes, little-endian, the kind one byte. The input comes from another machine, so
//! every defect is an error, and no memory is reserved for bytes that have not arrived.

use barograph_stats::DecodeError;

/// Longest frame after the greeting, in bytes: an interval of two hundred operations with no two counts in
/// one bin.
pub(super) const LONGEST: usize = 64 << 20;

/// Longest frame in bytes before the token was presented.
pub(super) const LONGEST_GREETING: usize = 16 << 10;

/// Bytes of a file in one frame.
pub(super) const PIECE: usize = 256 << 10;

/// Bytes before the body.
const HEAD: usize = 5;

/// Kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// A command or reply in JSON.
    Message,
    /// An interval with figures of the driver's process.
    Interval,
    /// The next bytes of the announced files.
    Piece,
}

impl FrameKind {
    const ALL: [FrameKind; 3] = [FrameKind::Message, FrameKind::Interval, FrameKind::Piece];

    fn byte(self) -> u8 {
        match self {
            FrameKind::Message => b'm',
            FrameKind::Interval => b'i',
            FrameKind::Piece => b'p',
        }
    }
}

/// A complete frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    pub(super) body: Vec<u8>,
}

/// Invalid bytes, or a frame with an invalid body.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The frame exceeds the limit.
    #[error("a frame of {length} bytes, where at most {most} are allowed")]
    TooLong {
        /// Length in its head.
        length: usize,
        /// Longest length allowed.
        most: usize,
    },
    /// Unknown kind.
    #[error("a frame of the unknown kind {0}")]
    Kind(u8),
    /// Invalid message for this version.
    #[error("a message that cannot be read")]
    Message(#[source] serde_json::Error),
    /// Invalid interval.
    #[error("an interval that cannot be read")]
    Interval(#[source] DecodeError),
    /// A frame that is not allowed in this state.
    #[error("{0}")]
    OutOfPlace(&'static str),
}

/// Splits received bytes into frames.
#[derive(Debug)]
pub(super) struct Frames {
    /// Received bytes that were not taken yet.
    pub(super) bytes: Vec<u8>,
    /// Longest body allowed.
    pub(super) most: usize,
}

impl Frames {
    pub(super) fn new(most: usize) -> Self {
        Frames { bytes: Vec::new(), most }
    }

    /// Takes the next frame if it is complete.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some((head, rest)) = self.bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
        let [a, b, c, d, kind] = *head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > self.most {
            return Err(FrameError::TooLong { length, most: self.most });
        }
        let kind =
            FrameKind::ALL.into_iter().find(|known| known.byte() == kind).ok_or(FrameError::Kind(kind))?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let body = body.to_vec();
        self.bytes.drain(..HEAD + length);
        Ok(Some(Frame { kind, body }))
    }
}

/// Encodes a frame.
pub(super) fn framed(kind: FrameKind, body: &[u8]) -> Vec<u8> {
    // Bodies come from this program and stay below four gigabytes; the receiver's limit is far lower.
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.push(kind.byte());
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], pieces: usize, most: usize) -> Result<Vec<Frame>, FrameError> {
        let (mut frames, mut found) = (Frames::new(most), Vec::new());
        for piece in bytes.chunks(pieces) {
            frames.bytes.extend_from_slice(piece);
            while let Some(frame) = frames.next()? {
                found.push(frame);
            }
        }
        Ok(found)
    }

    fn frames() -> impl Strategy<Value = Vec<Frame>> {
        let body = prop::collection::vec(any::<u8>(), 0..40);
        let frame = (prop::sample::select(FrameKind::ALL.to_vec()), body)
            .prop_map(|(kind, body)| Frame { kind, body });
        prop::collection::vec(frame, 0..6)
    }

    #[test]
    fn what_cannot_be_a_frame_is_refused_before_it_is_there() {
        let long = framed(FrameKind::Message, &[7; 100]);
        assert!(matches!(all(&long[..5], 5, 99), Err(FrameError::TooLong { length: 100, most: 99 })));
        assert_eq!(all(&long, 1, 100).unwrap().len(), 1);
        assert!(matches!(all(&[0, 0, 0, 0, b'?'], 5, 99), Err(FrameError::Kind(b'?'))));
        let claims = u32::MAX.to_le_bytes();
        assert!(all(&[claims[0], claims[1], claims[2], claims[3], b'm'], 5, LONGEST).is_err());
    }

    proptest! {
        #[test]
        fn frames_come_back_however_their_bytes_are_cut(frames in frames(), pieces in 1_usize..50) {
            let bytes: Vec<u8> = frames.iter().flat_map(|f| framed(f.kind, &f.body)).collect();
            prop_assert_eq!(all(&bytes, pieces, 40).unwrap(), frames);
        }

        #[test]
        fn damage_is_an_error_or_other_frames_and_never_a_panic(
            frames in frames(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        ) {
            let mut bytes: Vec<u8> = frames.iter().flat_map(|f| framed(f.kind, &f.body)).collect();
            bytes.extend_from_slice(&framed(FrameKind::Piece, b"last"));
            for (at, to) in changes {
                let at = at.index(bytes.len());
                bytes[at] = to;
            }
            if let Ok(found) = all(&bytes, 7, 40) {
                let taken: usize = found.iter().map(|f| HEAD + f.body.len()).sum();
                prop_assert!(taken <= bytes.len());
            }
        }
    }
}
