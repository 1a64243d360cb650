//! Draws of values.

use barograph_data::{Numbers, Position, Stream};
use barograph_database::Value;
use rand::RngExt;

use crate::script::{DrawSpec, Range};

/// A draw whose range is known.
#[derive(Debug)]
pub(crate) enum Draw {
    Row(u64),
    Number { least: i64, numbers: Numbers },
    Text(String),
    Like(String),
}

impl Draw {
    /// The draw of a specification. `rows` are those of each table.
    pub(crate) fn new(spec: &DrawSpec, rows: &[u64]) -> Self {
        match spec {
            DrawSpec::Row(block) => Draw::Row(*block),
            DrawSpec::Number { least, range, popularity } => {
                let count = match range {
                    Range::Fixed(count) => *count,
                    Range::Table(at) => rows.get(*at).copied().unwrap_or(1),
                };
                Draw::Number { least: *least, numbers: Numbers::new(count, *popularity) }
            }
            DrawSpec::Text(text) => Draw::Text(text.clone()),
            DrawSpec::Like(pattern) => Draw::Like(pattern.clone()),
        }
    }

    /// Draws a value into its slot. `row` is the number of a row that is filled, from 1.
    pub(crate) fn draw(&self, row: u64, rng: &mut Stream, slot: &mut Value) {
        match self {
            Draw::Row(block) => *slot = Value::Int(((row - 1) / block + 1) as i64),
            Draw::Number { least, numbers } => {
                let number = numbers.draw(rng, &mut Position::default());
                *slot = Value::Int(least.saturating_add_unsigned(number));
            }
            Draw::Text(text) => room(slot).push_str(text),
            Draw::Like(pattern) => like(pattern, rng, room(slot)),
        }
    }
}

/// The empty text of a slot, in the room of an earlier one.
pub(crate) fn room(slot: &mut Value) -> &mut String {
    if !matches!(slot, Value::Text(_)) {
        *slot = Value::Text(String::new());
    }
    let Value::Text(text) = slot else { unreachable!("it was made a text above") };
    text.clear();
    text
}

/// Appends a pattern with random digits and letters. A number has bits for six of them.
fn like(pattern: &str, rng: &mut Stream, text: &mut String) {
    let mut bits = 0_u64;
    for (at, c) in pattern.chars().enumerate() {
        if at % 6 == 0 {
            bits = rng.random();
        }
        let mut below = |count: u64| {
            let number = ((bits & 0x3ff) * count) >> 10;
            bits >>= 10;
            number as u8
        };
        text.push(match c {
            '#' => char::from(b'0' + below(10)),
            '@' => char::from(b'a' + below(26)),
            c => c,
        });
    }
}

#[cfg(test)]
mod tests {
    use barograph_data::{Popularity, Streams};

    use super::*;

    fn drawn(spec: &DrawSpec, row: u64, rng: &mut Stream) -> Value {
        let mut slot = Value::Null;
        Draw::new(spec, &[7]).draw(row, rng, &mut slot);
        slot
    }

    #[test]
    fn values_are_of_their_draw() {
        let mut rng = Streams::new(1).stream("a test", 0);
        for (row, block) in [(1, 1), (10, 1), (11, 2), (20, 2)] {
            assert_eq!(drawn(&DrawSpec::Row(10), row, &mut rng), Value::Int(block));
        }
        assert_eq!(drawn(&DrawSpec::Text("a b".to_owned()), 1, &mut rng), Value::from("a b"));
        let popularity = Popularity::Uniform;
        for (least, range, right) in [(-5, Range::Fixed(11), -5..=5), (1, Range::Table(0), 1..=7)] {
            let spec = DrawSpec::Number { least, range, popularity };
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..1_000 {
                let Value::Int(number) = drawn(&spec, 1, &mut rng) else { panic!("a number") };
                seen.insert(number);
            }
            assert_eq!(seen, right.collect());
        }
    }

    #[test]
    fn texts_are_like_their_pattern_and_their_room_is_used_again() {
        let mut rng = Streams::new(1).stream("a test", 0);
        let pattern = DrawSpec::Like("###-@@ x".to_owned());
        let draw = Draw::new(&pattern, &[]);
        let mut slot = Value::Null;
        let (mut digits, mut letters) =
            (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        for _ in 0..2_000 {
            draw.draw(1, &mut rng, &mut slot);
            let Value::Text(text) = &slot else { panic!("a text") };
            let [d1, d2, d3, b'-', l1, l2, b' ', b'x'] = *text.as_bytes() else { panic!("{text}") };
            digits.extend([d1, d2, d3]);
            letters.extend([l1, l2]);
        }
        assert_eq!((digits, letters), ((b'0'..=b'9').collect(), (b'a'..=b'z').collect()));
        let before = barograph_testkit::allocations();
        draw.draw(1, &mut rng, &mut slot);
        assert_eq!(barograph_testkit::allocations(), before);
    }
}
