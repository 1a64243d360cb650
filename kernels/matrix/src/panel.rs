//! A block of columns: its factorisation, its exchanges of rows, and the triangular solve that goes with it.

use std::ops::Range;

use crate::factor::Singular;
use crate::product::{self, PackedFactor};
use crate::tile::Instructions;

/// Columns that are factorised one by one.
const FEW_COLUMNS: usize = 8;

/// Rows of a triangle that are solved one by one.
const FEW_ROWS: usize = 16;

/// Instructions, and memory for packed factors. One value per thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) set: Instructions,
    left: PackedFactor,
    right: PackedFactor,
}

impl Worker {
    pub(crate) fn new(set: Instructions) -> Self {
        Worker { set, left: PackedFactor::default(), right: PackedFactor::default() }
    }

    /// Factorises the rows from `first` on of columns `ld` apart; the diagonal begins at row `first`. `rows` is the number of
    /// rows of the matrix. The row that was exchanged with each row of the diagonal goes to `pivots`.
    pub(crate) fn factorise(
        &mut self,
        columns: &mut [f64],
        (ld, rows, first): (usize, usize, usize),
        pivots: &mut [usize],
    ) -> Result<(), Singular> {
        if pivots.len() <= FEW_COLUMNS {
            return factorise_few(columns, (ld, rows, first), pivots);
        }
        let half = (pivots.len() / 2).next_multiple_of(FEW_COLUMNS);
        let (left, right) = columns.split_at_mut(half * ld);
        let (left_pivots, right_pivots) = pivots.split_at_mut(half);
        self.factorise(left, (ld, rows, first), left_pivots)?;
        exchange(right, ld, first, left_pivots);
        self.solve(left, right, (ld, first, half));
        self.left.left(self.set, left, ld, first + half..rows);
        self.right.right(self.set, right, ld, first..first + half);
        product::subtract(self.set, (&self.left, &self.right), right, (ld, first + half));
        self.factorise(right, (ld, rows, first + half), right_pivots)?;
        exchange(left, ld, first + half, right_pivots);
        Ok(())
    }

    /// Solves for `right` with the unit lower triangle of `size` rows that begins at row `first` of `left`.
    pub(crate) fn solve(
        &mut self,
        left: &[f64],
        right: &mut [f64],
        (ld, first, size): (usize, usize, usize),
    ) {
        if size <= FEW_ROWS {
            right.chunks_mut(ld).for_each(|column| solve_few(left, column, ld, first..first + size));
            return;
        }
        let half = size / 2;
        self.solve(left, right, (ld, first, half));
        self.left.left(self.set, &left[..half * ld], ld, first + half..first + size);
        self.right.right(self.set, right, ld, first..first + half);
        product::subtract(self.set, (&self.left, &self.right), right, (ld, first + half));
        self.solve(&left[half * ld..], right, (ld, first + half, size - half));
    }

    /// Updates columns with a factorised block on their left: exchanges, triangle, and the product with the rows below, which
    /// are packed already.
    pub(crate) fn update(
        &mut self,
        block: &Block<'_>,
        below: &PackedFactor,
        columns: &mut [f64],
        (ld, first): (usize, usize),
    ) {
        let size = block.pivots.len();
        exchange(columns, ld, first, block.pivots);
        self.solve(block.columns, columns, (ld, first, size));
        self.right.right(self.set, columns, ld, first..first + size);
        product::subtract(self.set, (below, &self.right), columns, (ld, first + size));
    }
}

/// A factorised block of columns.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) columns: &'a [f64],
    pub(crate) pivots: &'a [usize],
}

/// Exchanges rows of columns: row `first` and the following ones, each with its pivot.
pub(crate) fn exchange(columns: &mut [f64], ld: usize, first: usize, pivots: &[usize]) {
    for column in columns.chunks_mut(ld) {
        for (row, pivot) in (first..).zip(pivots) {
            column.swap(row, *pivot);
        }
    }
}

/// Factorises columns one by one.
fn factorise_few(
    columns: &mut [f64],
    (ld, rows, first): (usize, usize, usize),
    pivots: &mut [usize],
) -> Result<(), Singular> {
    for at in 0..pivots.len() {
        let row = first + at;
        let pivot = largest(&columns[at * ld..], row..rows);
        pivots[at] = pivot;
        for column in columns.chunks_mut(ld) {
            column.swap(row, pivot);
        }
        let (done, after) = columns.split_at_mut((at + 1) * ld);
        let column = &mut done[at * ld..];
        let diagonal = column[row];
        if diagonal == 0.0 {
            return Err(Singular);
        }
        let inverse = 1.0 / diagonal;
        column[row + 1..rows].iter_mut().for_each(|number| *number *= inverse);
        for other in after.chunks_mut(ld) {
            let factor = other[row];
            let below = other[row + 1..rows].iter_mut().zip(&column[row + 1..rows]);
            below.for_each(|(number, part)| *number -= factor * part);
        }
    }
    Ok(())
}

/// The row with the largest absolute value.
fn largest(column: &[f64], rows: Range<usize>) -> usize {
    let start = (rows.start, column[rows.start].abs());
    let (row, _) = rows.fold(start, |(best, most), row| {
        let size = column[row].abs();
        if size > most { (row, size) } else { (best, most) }
    });
    row
}

/// Solves for the rows of a column with a unit lower triangle.
fn solve_few(left: &[f64], column: &mut [f64], ld: usize, rows: Range<usize>) {
    for (row, part) in rows.clone().zip(left.chunks(ld)) {
        let factor = column[row];
        let below = column[row + 1..rows.end].iter_mut().zip(&part[row + 1..rows.end]);
        below.for_each(|(number, part)| *number -= factor * part);
    }
}
