//! Made-up words and descriptions.

use rand::{Rng, RngExt};

/// Beginnings of syllables.
const STARTS: [&str; 16] =
    ["b", "br", "c", "d", "f", "g", "gr", "l", "m", "n", "p", "r", "s", "st", "t", "v"];
/// Middles of syllables.
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "y"];
/// Ends of syllables.
const ENDS: [&str; 8] = ["", "l", "n", "r", "s", "t", "nd", "sh"];

/// Adds one word of one to three syllables to `text`.
fn word<R: Rng>(rng: &mut R, text: &mut String) {
    // One draw per word: a fill writes tens of millions of them.
    let mut bits = rng.next_u64();
    let mut take = |bound: u64| {
        let digit = bits % bound;
        bits /= bound;
        usize::try_from(digit).expect("digit is below 16")
    };
    for _ in 0..=take(3) {
        text.push_str(STARTS[take(16)]);
        text.push_str(VOWELS[take(8)]);
        text.push_str(ENDS[take(8)]);
    }
}

/// Made-up words of `least` to `most` characters in all, beginning with a capital letter.
///
/// The length is drawn evenly, so that rows differ in size as real ones do. `most` must be at least `least`.
pub fn words<R: Rng>(rng: &mut R, length: std::ops::RangeInclusive<usize>) -> String {
    let wanted = rng.random_range(length);
    let mut text = String::with_capacity(wanted + 16);
    while text.len() < wanted {
        if !text.is_empty() {
            text.push(' ');
        }
        word(rng, &mut text);
    }
    text.truncate(wanted);
    if text.ends_with(' ') {
        text.pop();
        text.push('a');
    }
    if let Some(first) = text.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;
    use std::collections::HashSet;

    #[test]
    fn texts_have_the_asked_length_and_differ() {
        let mut rng = Streams::new(1).stream("text", 0);
        let texts: HashSet<String> = (0..1_000).map(|_| words(&mut rng, 40..=120)).collect();
        assert_eq!(texts.len(), 1_000);
        assert!(
            texts.iter().all(|t| (40..=120).contains(&t.len()) && t.starts_with(|c: char| c.is_uppercase()))
        );
        let longest = texts.iter().map(String::len).max().unwrap();
        let shortest = texts.iter().map(String::len).min().unwrap();
        assert!(longest > 110 && shortest < 50, "{shortest}..{longest}");
    }
}
