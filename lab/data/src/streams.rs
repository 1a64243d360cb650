//! Independent random generators from one seed, identified by a purpose and a number.

use rand::SeedableRng;

/// The generator of all made-up values: small, fast and the same on every machine.
pub type Stream = rand_xoshiro::Xoshiro256PlusPlus;

/// A source of generators that depend on the seed, a purpose and a number only, not on order or caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Streams of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The generator for the `index`-th thing of a purpose, such as the items of auction 7.
    #[must_use]
    pub fn stream(&self, purpose: &str, index: u64) -> Stream {
        // FNV-1a turns the purpose into a number; the mixing after it removes the remaining structure.
        let purpose = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Stream::seed_from_u64(mix(mix(self.seed ^ mix(purpose)).wrapping_add(index)))
    }
}

/// Spreads a number over all 64 bits; different numbers give different results.
#[must_use]
pub fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn a_stream_depends_on_seed_purpose_and_number_only() {
        let draw = |seed, purpose, index| Streams::new(seed).stream(purpose, index).random::<u64>();
        assert_eq!(draw(1, "items", 7), draw(1, "items", 7));
        assert_ne!(draw(1, "items", 7), draw(2, "items", 7));
        assert_ne!(draw(1, "items", 7), draw(1, "bids", 7));
        assert_ne!(draw(1, "items", 7), draw(1, "items", 8));
    }
}
