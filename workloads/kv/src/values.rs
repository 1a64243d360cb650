//! Values: bytes derived from the key, so that a value can be checked without being kept.

use rand::{RngExt, SeedableRng};

use crate::keys::hash;

/// Size of the pool from which values are cut, small enough for the caches of a core. The value of each key
/// begins at its own place.
const POOL: usize = 256 * 1024;

/// Bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// The smallest value.
    pub(crate) least: u32,
    /// The largest value.
    pub(crate) most: u32,
}

/// The values of a load.
pub(crate) struct Values {
    pool: Vec<u8>,
    size: Size,
}

impl Values {
    /// Values of these sizes. `entropy` is their random part; the rest repeats and can be compressed.
    pub(crate) fn new(size: Size, entropy: f64, seed: u64) -> Self {
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut pool = vec![b'.'; POOL + size.most as usize];
        let (mut at, mut owed) = (0, 0.0);
        // In stretches of eight bytes, so that the random part of any value is near the requested one.
        while at < pool.len() {
            owed += entropy;
            let end = (at + 8).min(pool.len());
            if owed >= 1.0 {
                owed -= 1.0;
                rng.fill(&mut pool[at..end]);
            }
            at = end;
        }
        Values { pool, size }
    }

    /// The value of a key. For a field of a hash it is the key of the field, see [`field`].
    pub(crate) fn of(&self, key: u64) -> &[u8] {
        let hash = hash(key ^ 0x5bd1_e995);
        let begin = (hash % POOL as u64) as usize;
        &self.pool[begin..begin + self.length(hash)]
    }

    fn length(&self, hash: u64) -> usize {
        let Size { least, most } = self.size;
        if least == most {
            return least as usize;
        }
        let span = u64::from(most - least) + 1;
        least as usize + ((u128::from(hash.rotate_left(32)) * u128::from(span)) >> 64) as usize
    }
}

/// The key that gives the value of a hash's field.
pub(crate) fn field(key: u64, field: u32) -> u64 {
    hash(key).wrapping_add(u64::from(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_value_and_others_have_others() {
        let values = Values::new(Size { least: 64, most: 64 }, 1.0, 1);
        assert_eq!(values.of(7), values.of(7));
        assert_eq!(values.of(7).len(), 64);
        assert_ne!(values.of(7), values.of(8));
        assert_ne!(values.of(field(7, 0)), values.of(field(7, 1)));
        let others = Values::new(Size { least: 64, most: 64 }, 1.0, 2);
        assert_ne!(values.of(7), others.of(7), "another seed, another value");
    }

    #[test]
    fn sizes_lie_in_their_range_and_fill_it() {
        let values = Values::new(Size { least: 10, most: 19 }, 1.0, 1);
        let mut counts = [0; 10];
        (0..10_000).for_each(|key| counts[values.of(key).len() - 10] += 1);
        assert!(counts.iter().all(|n| (850..1_150).contains(n)), "{counts:?}");
    }

    #[test]
    fn entropy_is_the_random_part() {
        let part = |entropy| {
            let values = Values::new(Size { least: 8_000, most: 8_000 }, entropy, 1);
            values.of(1).iter().filter(|byte| **byte != b'.').count() as f64 / 8_000.0
        };
        assert_eq!(part(0.0), 0.0);
        assert!((part(0.5) - 0.5).abs() < 0.02 && part(1.0) > 0.98);
    }
}
