//! The part of the three arrays that one thread has.

use std::io;

use barograph_bandwidth::{Arrays, Instructions, Pass, Stores, pass};
use barograph_pages::{Array, HUGE, PageSize};

/// What every number of the first array is at the start of a cycle.
pub(crate) const START: f64 = 1.0;

/// The factor of scale and triad: the root of 2 less 1, by which a cycle leaves the first array as it was, but for rounding.
/// So numbers neither grow nor vanish, however many cycles there are.
pub(crate) const FACTOR: f64 = std::f64::consts::SQRT_2 - 1.0;

/// Numbers of three arrays.
#[derive(Debug)]
pub(crate) struct ArrayPart {
    a: Array,
    b: Array,
    c: Array,
}

impl ArrayPart {
    /// Maps and touches arrays of `len` numbers.
    pub(crate) fn map(len: usize, pages: PageSize) -> io::Result<Self> {
        let filled = |number| {
            let mut array = Array::map(len, pages)?;
            array.fill(number);
            Ok::<_, io::Error>(array)
        };
        Ok(ArrayPart { a: filled(START)?, b: filled(0.0)?, c: filled(0.0)? })
    }

    /// Makes a pass: `c = a`, `b = factor c`, `c = a + b`, `a = b + factor c`.
    pub(crate) fn pass(&mut self, which: Pass, set: Instructions, stores: Stores) {
        let ArrayPart { a, b, c } = self;
        let (to, from, other): (&mut [f64], &[f64], &[f64]) = match which {
            Pass::Copy => (c, a, b),
            Pass::Scale => (b, c, a),
            Pass::Add => (c, a, b),
            Pass::Triad => (a, b, c),
        };
        pass(which, set, stores, Arrays { to, from, other, factor: FACTOR });
    }

    /// The first number that is not the expected one of its array, with its array.
    pub(crate) fn wrong(&self, expected: &ExpectedValues) -> Option<(char, f64, f64)> {
        let arrays = [('a', &self.a, expected.a), ('b', &self.b, expected.b), ('c', &self.c, expected.c)];
        arrays.into_iter().find_map(|(name, array, expected)| {
            let found = array.iter().find(|number| number.to_bits() != expected.to_bits())?;
            Some((name, *found, expected))
        })
    }

    /// The smallest share of an array in huge pages; `None` where arrays are smaller than one, or the system does not tell.
    pub(crate) fn huge_share(&self) -> Option<f64> {
        if self.a.len() * size_of::<f64>() < HUGE {
            return None;
        }
        let shares = [&self.a, &self.b, &self.c].map(Array::huge_share);
        shares.into_iter().flatten().min_by(f64::total_cmp)
    }

    #[cfg(test)]
    pub(crate) fn damage(&mut self) {
        *self.b.last_mut().unwrap() += 1.0;
    }
}

/// What all numbers of the arrays are after the passes so far. Passes round alike on every processor, so it is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExpectedValues {
    a: f64,
    b: f64,
    c: f64,
}

impl ExpectedValues {
    pub(crate) const START: ExpectedValues = ExpectedValues { a: START, b: 0.0, c: 0.0 };

    /// After another pass.
    pub(crate) fn pass(&mut self, which: Pass) {
        match which {
            Pass::Copy => self.c = self.a,
            Pass::Scale => self.b = FACTOR * self.c,
            Pass::Add => self.c = self.a + self.b,
            Pass::Triad => self.a = self.b + FACTOR * self.c,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_make_what_is_expected_by_every_set_and_kind_of_store() {
        for set in Instructions::ALL.into_iter().filter(|set| set.is_here()) {
            for stores in
                [Stores::Cached, Stores::Streaming].into_iter().filter(|stores| set.can_store(*stores))
            {
                let (mut part, mut expected) =
                    (ArrayPart::map(64, PageSize::Small).unwrap(), ExpectedValues::START);
                for which in Pass::ALL.repeat(50) {
                    part.pass(which, set, stores);
                    expected.pass(which);
                    assert_eq!(part.wrong(&expected), None, "{set} {stores:?} {which:?}");
                }
                part.damage();
                assert_eq!(part.wrong(&expected).unwrap().0, 'b');
            }
        }
    }

    #[test]
    fn numbers_neither_grow_nor_vanish() {
        let mut expected = ExpectedValues::START;
        for which in Pass::ALL.repeat(1_000_000) {
            expected.pass(which);
        }
        assert!((expected.a - START).abs() < 1e-6, "{expected:?}");
    }
}
