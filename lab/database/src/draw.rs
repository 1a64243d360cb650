//! Random texts, and numbers by place.

use std::ops::RangeInclusive;

use barograph_data::{Stream, mix};
use rand::RngExt;

/// A random text of letters and digits.
#[must_use]
pub fn text(length: RangeInclusive<usize>, rng: &mut Stream) -> String {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -";
    let length = rng.random_range(length);
    let mut text = String::with_capacity(length);
    // A draw has bits for ten letters.
    while text.len() < length {
        let mut bits: u64 = rng.random();
        for _ in 0..10.min(length - text.len()) {
            text.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
    }
    text
}

/// Random digits.
#[must_use]
pub fn digits(count: usize, rng: &mut Stream) -> String {
    (0..count).map(|_| char::from(b'0' + rng.random_range(0..10_u8))).collect()
}

/// A number of a range as a function of seed, purpose and place: checks compute it again without the other rows.
#[must_use]
pub fn number_at(seed: u64, what: &str, place: [i64; 3], (least, most): (i64, i64)) -> i64 {
    let what = what.bytes().fold(0, |all, byte| mix(all ^ u64::from(byte)));
    let place = place.into_iter().fold(mix(seed) ^ what, |all, part| mix(all ^ part.unsigned_abs()));
    least + (place % (most - least + 1).unsigned_abs()) as i64
}

#[cfg(test)]
mod tests {
    use barograph_data::Streams;

    use super::*;

    #[test]
    fn texts_have_their_length() {
        let mut rng = Streams::new(1).stream("a test", 0);
        assert_eq!((text(24..=24, &mut rng).len(), digits(16, &mut rng).len()), (24, 16));
        assert!((0..1_000).all(|_| (5..=11).contains(&text(5..=11, &mut rng).len())));
    }

    #[test]
    fn numbers_depend_on_seed_purpose_and_place_and_fill_their_range() {
        let at = |seed, what, place| number_at(seed, what, [place, 0, 0], (10, 13));
        let all: Vec<i64> = (0..1_000).map(|place| at(1, "stock", place)).collect();
        for number in 10..=13 {
            let count = all.iter().filter(|found| **found == number).count();
            assert!((180..320).contains(&count), "{number}: {count} times");
        }
        for (seed, what) in [(2, "stock"), (1, "price")] {
            let same =
                all.iter().zip(0..).filter(|(number, place)| **number == at(seed, what, *place)).count();
            assert!((180..320).contains(&same), "{seed} {what}: {same} equal");
        }
    }
}
