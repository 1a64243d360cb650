//! Sets of sequence numbers or UIDs, as in `1,4:7,9:*`.

use std::ops::RangeInclusive;

/// A set of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberSet(Vec<RangeInclusive<u32>>);

impl NumberSet {
    /// Parses a set; `last` is the value of `*`.
    pub(crate) fn parse(text: &str, last: u32) -> Option<Self> {
        let number = |text: &str| match text {
            "*" => Some(last),
            digits => digits.parse().ok().filter(|number| *number > 0),
        };
        let range = |part: &str| match part.split_once(':') {
            None => number(part).map(|number| number..=number),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                Some(from.min(to)..=from.max(to))
            }
        };
        text.split(',').map(range).collect::<Option<_>>().map(NumberSet)
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_in_any_order() {
        let has = |text: &str| {
            let set = NumberSet::parse(text, 9).unwrap();
            (1..=10).filter(|number| set.has(*number)).collect::<Vec<_>>()
        };
        assert_eq!(has("2,4:5,*"), [2, 4, 5, 9]);
        assert_eq!(has("*:7"), [7, 8, 9]);
        assert_eq!(has("10:*"), [9, 10], "the last message is always in such a set");
        for text in ["", "0", "1,", "x", "1:", "-1"] {
            assert_eq!(NumberSet::parse(text, 9), None, "{text}");
        }
    }
}
