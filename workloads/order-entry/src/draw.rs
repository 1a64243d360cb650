//! Random numbers, names and texts.

use std::ops::RangeInclusive;

use barograph_data::{Stream, Streams};
use barograph_database::text;
use rand::RngExt;

/// Allowed distances between the constants of loaded and of requested last names.
const DISTANCES: RangeInclusive<i64> = 65..=119;

/// Distances of that range that are not allowed.
const NO_DISTANCES: [i64; 2] = [96, 112];

/// Numbers of last names.
const LAST_NAMES: i64 = 1_000;

/// Syllables of last names, one for each digit.
const SYLLABLES: [&str; 10] = ["ba", "dor", "fen", "gil", "hum", "kas", "lin", "mov", "rit", "zu"];

/// The constants of skewed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Constants {
    pub(crate) loaded_name: i64,
    asked_name: i64,
    customer: i64,
    item: i64,
}

impl Constants {
    /// Those of a seed.
    pub(crate) fn of_seed(seed: u64) -> Self {
        let mut rng = Streams::new(seed).stream("order-entry constants", 0);
        let distance = loop {
            let distance = rng.random_range(DISTANCES);
            if !NO_DISTANCES.contains(&distance) {
                break distance;
            }
        };
        let loaded_name = rng.random_range(0..=255 - distance);
        Constants {
            loaded_name,
            asked_name: loaded_name + distance,
            customer: rng.random_range(0..=1_023),
            item: rng.random_range(0..=8_191),
        }
    }

    /// The number of a customer, up to `customers`.
    pub(crate) fn customer(&self, customers: i64, rng: &mut Stream) -> i64 {
        skewed((1_023, self.customer), 1..=customers, rng)
    }

    /// The number of an item, up to `items`.
    pub(crate) fn item(&self, items: i64, rng: &mut Stream) -> i64 {
        skewed((8_191, self.item), 1..=items, rng)
    }

    /// The number of a last name for an input: at least one customer of each district has it.
    pub(crate) fn asked_name(&self, customers: i64, rng: &mut Stream) -> i64 {
        skewed((255, self.asked_name), 0..=names(customers) - 1, rng)
    }

    /// The number of the last name of a loaded customer. The first customers of a district have each name once.
    pub(crate) fn loaded_name(&self, (customer, customers): (i64, i64), rng: &mut Stream) -> i64 {
        match customer <= names(customers) {
            true => customer - 1,
            false => skewed((255, self.loaded_name), 0..=names(customers) - 1, rng),
        }
    }
}

/// Different last names of a district with this number of customers.
fn names(customers: i64) -> i64 {
    customers.min(LAST_NAMES)
}

/// A non-uniform number of `range` (NURand): `mask` sets the skew, `constant` moves it.
fn skewed((mask, constant): (i64, i64), range: RangeInclusive<i64>, rng: &mut Stream) -> i64 {
    let (least, most) = (*range.start(), *range.end());
    let both = rng.random_range(0..=mask) | rng.random_range(range);
    (both + constant) % (most - least + 1) + least
}

/// Appends the last name of a number below 1,000.
pub(crate) fn last_name(number: i64, name: &mut String) {
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        name.push_str(SYLLABLES[digit.unsigned_abs() as usize]);
    }
}

/// The data of an item or of stock. One in ten contains [`ORIGINAL`].
pub(crate) fn data(rng: &mut Stream) -> String {
    let mut data = text(26..=50, rng);
    if rng.random_range(0..10) == 0 {
        let at = rng.random_range(0..=data.len() - ORIGINAL.len());
        data.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
    }
    data
}

/// Marks the data of original goods.
const ORIGINAL: &str = "ORIGINAL";

#[cfg(test)]
mod tests {
    use super::*;

    fn rng() -> Stream {
        Streams::new(1).stream("a test", 0)
    }

    #[test]
    fn constants_of_names_are_as_far_apart_as_allowed() {
        for seed in 0..2_000 {
            let of = Constants::of_seed(seed);
            let distance = of.asked_name - of.loaded_name;
            assert!(DISTANCES.contains(&distance) && !NO_DISTANCES.contains(&distance), "{of:?}");
            assert!(of.loaded_name >= 0 && of.asked_name <= 255, "{of:?}");
        }
        assert_ne!(Constants::of_seed(1), Constants::of_seed(2));
        assert_eq!(Constants::of_seed(1), Constants::of_seed(1));
    }

    /// Counts of 100,000 draws of a range from 0.
    fn counts(mask: i64, constant: i64, most: i64) -> Vec<u32> {
        let (mut rng, mut counts) = (rng(), vec![0; most as usize + 1]);
        for _ in 0..100_000 {
            counts[skewed((mask, constant), 0..=most, &mut rng) as usize] += 1;
        }
        counts
    }

    /// The exact share of each number by counting all pairs of draws.
    #[test]
    fn skewed_numbers_have_the_shares_of_their_definition() {
        let (mask, constant, most) = (255, 17, 999);
        let mut exact = vec![0.0; most as usize + 1];
        let each = 1.0 / ((mask + 1) * (most + 1)) as f64;
        for a in 0..=mask {
            for b in 0..=most {
                exact[(((a | b) + constant) % (most + 1)) as usize] += each;
            }
        }
        let found = counts(mask, constant, most);
        for (number, share) in exact.iter().enumerate() {
            let (found, expected) = (f64::from(found[number]), share * 100_000.0);
            assert!(
                (found - expected).abs() <= 6.0 * expected.sqrt() + 3.0,
                "{number}: {found} of {expected}"
            );
        }
    }

    #[test]
    fn names_are_three_syllables() {
        let name = |number| {
            let mut name = String::new();
            last_name(number, &mut name);
            name
        };
        assert_eq!((name(0), name(371), name(999)), ("bababa".into(), "gilmovdor".into(), "zuzuzu".into()));
    }

    #[test]
    fn one_of_ten_data_is_original() {
        let mut rng = rng();
        let all: Vec<String> = (0..5_000).map(|_| data(&mut rng)).collect();
        assert!(all.iter().all(|data| (26..=50).contains(&data.len())));
        let originals = all.iter().filter(|data| data.contains(ORIGINAL)).count();
        assert!((400..600).contains(&originals), "{originals}");
    }
}
