//! Choice and notation of keys.

use barograph_engine::Stream;
use rand::RngExt;
use rand_distr::{Distribution as _, Zipf};

use crate::command::Family;

/// Distribution of commands over keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Popularity {
    /// Uniform over all keys.
    Uniform,
    /// The k-th most popular key in proportion to `k^-exponent`.
    Zipf {
        /// The exponent.
        exponent: f64,
    },
    /// A part of the keys gets a part of the commands; uniform within both parts.
    Hot {
        /// The part of hot keys.
        keys: f64,
        /// The part of commands to hot keys.
        commands: f64,
    },
    /// One key after the other: each user from a random key on.
    Sequential,
}

/// The keys of a load.
#[derive(Debug)]
pub(crate) struct Keys {
    count: u64,
    draw: Draw,
    /// Spreads popular keys over all numbers: coprime to `count`.
    stride: u64,
    prefix: String,
    /// Digits of a number in a key.
    digits: usize,
}

#[derive(Debug)]
enum Draw {
    Uniform,
    Zipf(Zipf<f64>),
    Hot { keys: u64, commands: f64 },
    Sequential,
}

/// Position of a user that goes through keys in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position(Option<u64>);

impl Keys {
    /// `count` keys, at least one, of `bytes` bytes each, or more if prefix and number need them.
    pub(crate) fn new(count: u64, popularity: Popularity, prefix: &str, bytes: usize) -> Self {
        let count = count.max(1);
        let draw = match popularity {
            Popularity::Uniform => Draw::Uniform,
            Popularity::Zipf { exponent } => match Zipf::new(count as f64, exponent) {
                Ok(zipf) => Draw::Zipf(zipf),
                // Only a negative exponent or no keys at all would be an error, and plans allow neither.
                Err(_) => Draw::Uniform,
            },
            Popularity::Hot { keys, commands } => {
                let keys = ((count as f64 * keys).round() as u64).clamp(1, count);
                Draw::Hot { keys, commands }
            }
            Popularity::Sequential => Draw::Sequential,
        };
        let digits = bytes.saturating_sub(prefix.len()).max(digits_of(count - 1));
        Keys { count, draw, stride: coprime(count), prefix: prefix.to_owned(), digits }
    }

    /// Number of keys.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The number of the next key, from 0.
    pub(crate) fn draw(&self, rng: &mut Stream, position: &mut Position) -> u64 {
        match &self.draw {
            Draw::Uniform => rng.random_range(0..self.count),
            Draw::Zipf(zipf) => self.spread((zipf.sample(rng) as u64 - 1).min(self.count - 1)),
            Draw::Hot { keys, commands } => {
                let rank = if rng.random::<f64>() < *commands || *keys == self.count {
                    rng.random_range(0..*keys)
                } else {
                    rng.random_range(*keys..self.count)
                };
                self.spread(rank)
            }
            Draw::Sequential => {
                let next = match position.0 {
                    None => rng.random_range(0..self.count),
                    Some(last) if last + 1 < self.count => last + 1,
                    Some(_) => 0,
                };
                position.0 = Some(next);
                next
            }
        }
    }

    /// The key of a rank of popularity. Neighbours in rank are not neighbours among the keys.
    fn spread(&self, rank: u64) -> u64 {
        ((u128::from(rank) * u128::from(self.stride)) % u128::from(self.count)) as u64
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
        let begin = out.len();
        out.resize(begin + self.digits, b'0');
        let mut left = key;
        for digit in out[begin..].iter_mut().rev() {
            if left == 0 {
                break;
            }
            *digit = b'0' + (left % 10) as u8;
            left /= 10;
        }
    }
}

fn digits_of(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// A number coprime to `count`, near its golden section.
fn coprime(count: u64) -> u64 {
    let begin = ((count as f64 * 0.618_033_988_749_894_9) as u64).max(1);
    (begin..).find(|number| gcd(*number, count) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The store, of `stores`, of a key that the driver assigns: by a hash of its number.
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
    use proptest::prelude::*;

    use super::*;

    const DRAWS: u64 = 100_000;

    /// Number of draws of each of `count` keys in `DRAWS`.
    fn counts(count: u64, popularity: Popularity) -> Vec<u64> {
        let keys = Keys::new(count, popularity, "key:", 16);
        let (mut rng, mut position) = (barograph_engine::stream(1, 2, 3), Position::default());
        let mut all = vec![0; count as usize];
        for _ in 0..DRAWS {
            all[keys.draw(&mut rng, &mut position) as usize] += 1;
        }
        all
    }

    #[test]
    fn popularity_is_what_was_asked_for() {
        let uniform = counts(100, Popularity::Uniform);
        assert!(uniform.iter().all(|n| (800..1_200).contains(n)), "{uniform:?}");

        let mut zipf = counts(100, Popularity::Zipf { exponent: 1.0 });
        zipf.sort_unstable_by(|a, b| b.cmp(a));
        // The sum of 1/k up to 100 is 5.187.
        let expected = DRAWS as f64 / 5.187_378;
        assert!((zipf[0] as f64 / expected - 1.0).abs() < 0.03, "{} of {expected}", zipf[0]);
        assert!((zipf[1] as f64 / expected - 0.5).abs() < 0.03);

        let mut hot = counts(100, Popularity::Hot { keys: 0.1, commands: 0.9 });
        hot.sort_unstable_by(|a, b| b.cmp(a));
        let share = hot[..10].iter().sum::<u64>() as f64 / DRAWS as f64;
        assert!((share - 0.9).abs() < 0.01, "{share}");

        let sequential = counts(100, Popularity::Sequential);
        assert!(sequential.iter().all(|n| *n == DRAWS / 100));
    }

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

    proptest! {
        #[test]
        fn every_rank_has_a_key_of_its_own(count in 1_u64..2_000) {
            let keys = Keys::new(count, Popularity::Uniform, "", 0);
            let all: std::collections::BTreeSet<u64> = (0..count).map(|rank| keys.spread(rank)).collect();
            prop_assert_eq!(all.len() as u64, count);
        }
    }
}
