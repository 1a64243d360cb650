//! Where operations go: the size of a block and its place in the target.

use std::sync::atomic::{AtomicU64, Ordering};

use barograph_data::{Numbers, Popularity, Position};
use barograph_engine::Stream;
use rand::RngExt;

/// A size of blocks with its weight among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) bytes: u64,
    pub(crate) weight: u32,
}

/// The order of places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// One after the other, over all users of the load.
    Sequential,
    /// Drawn by popularity.
    Random(Popularity),
}

/// The places of a load.
#[derive(Debug)]
pub(crate) struct Places {
    /// Sizes with their places.
    blocks: Vec<(Block, Numbers)>,
    weights: u32,
    /// Bytes from the beginning of the target.
    span: u64,
    /// Bytes that a sequence has gone through; `None` for random places.
    gone: Option<AtomicU64>,
}

/// A block of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

impl Places {
    /// Blocks of these sizes within the first `span` bytes.
    pub(crate) fn new(blocks: &[Block], pattern: Pattern, span: u64) -> Self {
        let (popularity, gone) = match pattern {
            Pattern::Sequential => (Popularity::Uniform, Some(AtomicU64::new(0))),
            Pattern::Random(popularity) => (popularity, None),
        };
        let numbers = |block: &Block| (*block, Numbers::new(span / block.bytes, popularity));
        let weights = blocks.iter().map(|block| block.weight).sum();
        Places { blocks: blocks.iter().map(numbers).collect(), weights, span, gone }
    }

    /// The next place.
    pub(crate) fn next(&self, rng: &mut Stream) -> Extent {
        let (block, numbers) = self.size(rng);
        let offset = match &self.gone {
            // A block that does not fit at the end goes to the beginning.
            Some(gone) => match gone.fetch_add(block.bytes, Ordering::Relaxed) % self.span {
                offset if offset + block.bytes <= self.span => offset,
                _ => 0,
            },
            None => numbers.draw(rng, &mut Position::default()) * block.bytes,
        };
        Extent { offset, bytes: block.bytes as usize }
    }

    /// The place after another of the same size.
    pub(crate) fn after(&self, place: Extent) -> Extent {
        let bytes = place.bytes as u64;
        let next = place.offset + bytes;
        Extent { offset: if next + bytes <= self.span { next } else { 0 }, ..place }
    }

    fn size(&self, rng: &mut Stream) -> &(Block, Numbers) {
        if let [only] = self.blocks.as_slice() {
            return only;
        }
        let mut left = rng.random_range(0..self.weights);
        let found = self.blocks.iter().find(|(block, _)| match left.checked_sub(block.weight) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        found.expect("the number is below the sum of the weights")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: u64 = 1 << 20;

    fn draws(blocks: &[Block], pattern: Pattern, count: usize) -> Vec<Extent> {
        let places = Places::new(blocks, pattern, SPAN);
        let mut rng = barograph_engine::stream(1, 2, 3);
        std::iter::repeat_with(|| places.next(&mut rng)).take(count).collect()
    }

    fn block(bytes: u64, weight: u32) -> Block {
        Block { bytes, weight }
    }

    #[test]
    fn a_sequence_goes_through_all_blocks_and_begins_again() {
        let all = draws(&[block(65_536, 1)], Pattern::Sequential, 18);
        let expected: Vec<u64> = (0..18).map(|n| n % 16 * 65_536).collect();
        assert_eq!(all.iter().map(|place| place.offset).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn places_are_aligned_to_their_size_and_lie_within_the_span() {
        let sizes = [block(4_096, 3), block(65_536, 1)];
        let all = draws(&sizes, Pattern::Random(Popularity::Uniform), 40_000);
        let mut seen = std::collections::BTreeSet::new();
        for Extent { offset, bytes } in &all {
            assert!(offset % *bytes as u64 == 0 && offset + *bytes as u64 <= SPAN);
            seen.insert((*bytes, *offset));
        }
        assert_eq!(seen.len(), 256 + 16);
        let small = all.iter().filter(|place| place.bytes == 4_096).count() as f64 / all.len() as f64;
        assert!((small - 0.75).abs() < 0.02, "{small}");
    }

    #[test]
    fn a_hot_set_gets_its_share() {
        let hot = Popularity::Hot { numbers: 0.1, draws: 0.9 };
        let mut counts = std::collections::BTreeMap::new();
        for place in draws(&[block(4_096, 1)], Pattern::Random(hot), 40_000) {
            *counts.entry(place.offset).or_insert(0_u32) += 1;
        }
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let share = counts[..26].iter().sum::<u32>() as f64 / 40_000.0;
        assert!((share - 0.9).abs() < 0.02, "{share}");
    }

    #[test]
    fn the_place_after_the_last_is_the_first() {
        let places = Places::new(&[block(4_096, 1)], Pattern::Sequential, 3 * 4_096);
        let at = |offset| Extent { offset, bytes: 4_096 };
        assert_eq!([0, 4_096, 8_192].map(|offset| places.after(at(offset))), [4_096, 8_192, 0].map(at));
    }
}
