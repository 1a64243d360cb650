//! An order of numbers that is as good as random and can be undone: loaded rows are made in any order without a table of them.

use barograph_data::mix;

/// A shuffle of the numbers from 0 to `of - 1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    of: i64,
    factor: i64,
    inverse: i64,
}

impl Shuffle {
    /// The shuffle of a seed. `of` is at least 1.
    pub(crate) fn new(of: i64, seed: u64) -> Self {
        // The smallest number from a random one on that has no divisor in common with `of`.
        let mut factor = (mix(seed) % of.unsigned_abs()) as i64;
        loop {
            if let Some(inverse) = inverse(factor, of) {
                return Shuffle { of, factor, inverse };
            }
            factor += 1;
        }
    }

    /// The number at a place.
    pub(crate) fn at(&self, place: i64) -> i64 {
        product(place, self.factor, self.of)
    }

    /// The place of a number.
    pub(crate) fn place(&self, number: i64) -> i64 {
        product(number, self.inverse, self.of)
    }
}

fn product(a: i64, b: i64, of: i64) -> i64 {
    (i128::from(a) * i128::from(b) % i128::from(of)) as i64
}

/// The number whose product with `number` leaves 1 when it is divided by `of`; `None` with a common divisor.
fn inverse(number: i64, of: i64) -> Option<i64> {
    let (mut old, mut rest) = (number, of);
    let (mut old_factor, mut factor) = (1, 0);
    while rest != 0 {
        let times = old / rest;
        (old, rest) = (rest, old - times * rest);
        (old_factor, factor) = (factor, old_factor - times * factor);
    }
    (old == 1).then(|| old_factor.rem_euclid(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_place() {
        for of in [1, 2, 3, 10, 97, 360, 2_000] {
            for seed in 0..50 {
                let shuffle = Shuffle::new(of, seed);
                let mut all: Vec<i64> = (0..of).map(|place| shuffle.at(place)).collect();
                assert!(
                    all.iter().zip(0..).all(|(number, place)| shuffle.place(*number) == place),
                    "{of} {seed}"
                );
                all.sort_unstable();
                assert_eq!(all, (0..of).collect::<Vec<_>>(), "{of} {seed}");
            }
        }
    }

    #[test]
    fn large_numbers_do_not_overflow() {
        let of = 200_000_000_000;
        let shuffle = Shuffle::new(of, 7);
        assert!([0, 1, of / 2, of - 1].into_iter().all(|place| shuffle.place(shuffle.at(place)) == place));
    }
}
