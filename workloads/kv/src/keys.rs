//! Choice and notation of keys.

use barograph_data::{Numbers, Popularity, Position};
use barograph_engine::Stream;
use barograph_resp::write_decimal;

use crate::command::Family;

/// The keys of a load.
#[derive(Debug)]
pub(crate) struct Keys {
    numbers: Numbers,
    prefix: String,
    /// Digits of a number in a key.
    digits: usize,
}

impl Keys {
    /// `count` keys, at least one, of `bytes` bytes each, or more if prefix and number need them.
    pub(crate) fn new(count: u64, popularity: Popularity, prefix: &str, bytes: usize) -> Self {
        let numbers = Numbers::new(count, popularity);
        let digits = bytes.saturating_sub(prefix.len()).max(digits_of(numbers.count() - 1));
        Keys { numbers, prefix: prefix.to_owned(), digits }
    }

    /// Number of keys.
    pub(crate) fn count(&self) -> u64 {
        self.numbers.count()
    }

    /// The number of the next key, from 0.
    pub(crate) fn draw(&self, rng: &mut Stream, position: &mut Position) -> u64 {
        self.numbers.draw(rng, position)
    }

    /// Bytes of a key.
    pub(crate) fn length(&self, family: Family) -> usize {
        self.prefix.len() + family.infix().len() + self.digits
    }

    /// The beginning of a key, before its number.
    pub(crate) fn begin(&self, family: Family) -> String {
        format!("{}{}", self.prefix, family.infix())
    }

    /// Appends the number of a key with leading zeros.
    pub(crate) fn write_number(&self, key: u64, out: &mut Vec<u8>) {
        out.resize(out.len() + self.digits, b'0');
        write_decimal(key, out);
    }
}

fn digits_of(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The store, of `stores`, that a key is in when the driver spreads them: by a hash of its number.
pub(crate) fn store_of(key: u64, stores: usize) -> usize {
    if stores == 1 {
        return 0;
    }
    ((u128::from(hash(key)) * stores as u128) >> 64) as usize
}

/// A number unlike `key`: the finaliser of SplitMix64.
pub(crate) fn hash(key: u64) -> u64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_long_as_asked_or_as_they_must_be() {
        let text = |count, prefix: &str, bytes, key| {
            let keys = Keys::new(count, Popularity::Uniform, prefix, bytes);
            let mut out = keys.begin(Family::Strings).into_bytes();
            keys.write_number(key, &mut out);
            assert_eq!(out.len(), keys.length(Family::Strings));
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(100_000, "key:", 16, 42), "key:000000000042");
        assert_eq!(text(100_000, "key:", 0, 99_999), "key:99999");
        assert_eq!(text(1, "k", 0, 0), "k0");
        assert_eq!(text(10, "", 3, 7), "007");
    }

    #[test]
    fn keys_spread_evenly_over_stores() {
        let mut all = [0; 8];
        (0..80_000).for_each(|key| all[store_of(key, 8)] += 1);
        assert!(all.iter().all(|n| (9_700..10_300).contains(n)), "{all:?}");
        assert_eq!(store_of(u64::MAX, 1), 0);
    }
}
