//! Products of matrices that are subtracted from a third, which is nearly all of the work of a factorisation.
//!
//! Both factors are copied ("packed") into strips in the order in which tiles read them, filled up with zeros at the edges.

use std::ops::Range;

use crate::tile::{Instructions, MOST_COLUMNS, MOST_ROWS};

/// Strips of the left factor that are used together: with a depth of 256 they fill half a second-level cache.
const STRIPS: usize = 10;

/// A factor in strips.
#[derive(Debug, Default)]
pub(crate) struct PackedFactor {
    numbers: Vec<f64>,
    /// Rows of a left factor, columns of a right one.
    length: usize,
    /// Columns of a left factor, rows of a right one.
    depth: usize,
}

impl PackedFactor {
    /// Takes rows of columns `ld` apart as left factor.
    pub(crate) fn left(&mut self, set: Instructions, columns: &[f64], ld: usize, rows: Range<usize>) {
        let (height, _) = set.tile();
        (self.length, self.depth) = (rows.len(), columns.len() / ld);
        self.numbers.clear();
        self.numbers.resize(self.length.next_multiple_of(height) * self.depth, 0.0);
        let strips = self.numbers.chunks_exact_mut((height * self.depth).max(1));
        for (strip, first) in strips.zip(rows.clone().step_by(height)) {
            let part = first..rows.end.min(first + height);
            for (into, column) in strip.chunks_exact_mut(height).zip(columns.chunks(ld)) {
                into[..part.len()].copy_from_slice(&column[part.clone()]);
            }
        }
    }

    /// Takes rows of columns `ld` apart as right factor.
    pub(crate) fn right(&mut self, set: Instructions, columns: &[f64], ld: usize, rows: Range<usize>) {
        let (_, width) = set.tile();
        (self.length, self.depth) = (columns.len() / ld, rows.len());
        self.numbers.clear();
        self.numbers.resize(self.length.next_multiple_of(width) * self.depth, 0.0);
        let strips = self.numbers.chunks_exact_mut((width * self.depth).max(1));
        for (strip, columns) in strips.zip(columns.chunks(width * ld)) {
            for (at, column) in columns.chunks(ld).enumerate() {
                for (into, number) in strip.iter_mut().skip(at).step_by(width).zip(&column[rows.clone()]) {
                    *into = *number;
                }
            }
        }
    }
}

/// Subtracts the product of two factors from the rows of `columns` that begin at `first`: `columns -= left * right`.
pub(crate) fn subtract(
    set: Instructions,
    (left, right): (&PackedFactor, &PackedFactor),
    columns: &mut [f64],
    (ld, first): (usize, usize),
) {
    debug_assert_eq!(left.depth, right.depth, "the factors fit");
    let ((height, width), depth) = (set.tile(), left.depth);
    if depth == 0 || left.length == 0 {
        return;
    }
    let several = left.numbers.chunks(STRIPS * height * depth).zip((0..left.length).step_by(STRIPS * height));
    for (lefts, top) in several {
        let rights = right.numbers.chunks_exact(width * depth).zip((0..right.length).step_by(width));
        for (right_strip, column) in rights {
            let wide = right.length - column >= width;
            let mut row = top;
            for left_strip in lefts.chunks_exact(height * depth) {
                let strips = (left_strip, right_strip);
                let tile = &mut columns[column * ld + first + row..];
                match wide && left.length - row >= height {
                    true => set.subtract(depth, strips, tile, ld),
                    false => {
                        let part = (height.min(left.length - row), width.min(right.length - column));
                        subtract_part(set, depth, strips, (tile, ld), part);
                    }
                }
                row += height;
            }
        }
    }
}

/// A tile at an edge, of which only some rows and columns are there.
fn subtract_part(
    set: Instructions,
    depth: usize,
    strips: (&[f64], &[f64]),
    (tile, ld): (&mut [f64], usize),
    (rows, columns): (usize, usize),
) {
    let height = set.tile().0;
    let mut whole = [0.0; MOST_ROWS * MOST_COLUMNS];
    set.subtract(depth, strips, &mut whole, height);
    for (into, from) in tile.chunks_mut(ld).zip(whole.chunks_exact(height)).take(columns) {
        into[..rows].iter_mut().zip(from).for_each(|(number, change)| *number += change);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_set_multiplies_as_the_definition_does(
            rows in 0_usize..60, columns in 1_usize..30, depth in 0_usize..40, first in 0_usize..4,
        ) {
            let ld = first + rows + 3;
            let left: Vec<f64> = (0..depth * ld).map(|i| (i * 7 % 11) as f64 - 5.0).collect();
            let right: Vec<f64> = (0..columns * (depth + 2)).map(|i| (i * 5 % 13) as f64 - 6.0).collect();
            let before: Vec<f64> = (0..columns * ld).map(|i| (i % 3) as f64).collect();
            let mut expected = before.clone();
            for column in 0..columns {
                for row in first..first + rows {
                    let of = |d: usize| left[d * ld + row] * right[column * (depth + 2) + 1 + d];
                    expected[column * ld + row] -= (0..depth).map(of).sum::<f64>();
                }
            }
            for set in Instructions::ALL.into_iter().filter(|set| set.is_here()) {
                let (mut of_left, mut of_right, mut after) = (PackedFactor::default(), PackedFactor::default(), before.clone());
                of_left.left(set, &left, ld, first..first + rows);
                of_right.right(set, &right, depth + 2, 1..1 + depth);
                subtract(set, (&of_left, &of_right), &mut after, (ld, first));
                prop_assert_eq!(&after, &expected, "{}", set);
            }
        }
    }
}
