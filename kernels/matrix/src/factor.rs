//! The factorisation of a matrix by several threads, and the solution of its system.

use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::panel::{Block, Worker};
use crate::product::PackedFactor;
use crate::tile::Instructions;

/// Columns of a block.
const BLOCK: usize = 256;

/// Columns that a thread takes from an update at once.
const SHARE: usize = 128;

/// The matrix is singular in the precision of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular;

impl std::fmt::Display for Singular {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the matrix is singular")
    }
}

impl std::error::Error for Singular {}

/// Rows that were exchanged during a factorisation. The factors are in place of the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factors {
    pivots: Vec<usize>,
}

/// Floating-point operations that count for a system of order `n`, independent of the algorithm: 2/3 n³ + 3/2 n².
#[must_use]
pub fn operations(n: usize) -> f64 {
    let n = n as f64;
    n * n * (2.0 / 3.0 * n + 1.5)
}

/// Factorises a square matrix of order `n`, with columns `ld` numbers apart, in its place.
///
/// # Errors
/// [`Singular`]; the matrix is then in no useful state.
///
/// # Panics
/// When `ld` is smaller than `n`, or the matrix shorter than `n` columns.
pub fn factorise(
    matrix: &mut [f64],
    (n, ld): (usize, usize),
    set: Instructions,
    threads: usize,
) -> Result<Factors, Singular> {
    assert!(ld >= n && matrix.len() >= n * ld, "the matrix is too short");
    let matrix = &mut matrix[..n * ld];
    let mut pivots = vec![0; n];
    let mut workers: Vec<Worker> = (0..threads.max(1)).map(|_| Worker::new(set)).collect();
    let mut below = PackedFactor::default();
    let first = n.min(BLOCK);
    workers[0].factorise(&mut matrix[..first * ld], (ld, n, 0), &mut pivots[..first])?;
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        let next = (n - end).min(BLOCK);
        let (left, right) = matrix.split_at_mut(end * ld);
        let (done, after) = pivots.split_at_mut(end);
        let block = Block { columns: &left[start * ld..], pivots: &done[start..] };
        below.left(set, block.columns, ld, end..n);
        let (columns, rest) = right.split_at_mut(next * ld);
        let step = Step { block, below: &below, ld, start };
        step.carry_out(columns, rest, &mut workers, (n, &mut after[..next]))?;
    }
    Ok(Factors { pivots })
}

/// A step of the factorisation: the update with one block.
struct Step<'a> {
    block: Block<'a>,
    below: &'a PackedFactor,
    ld: usize,
    /// The first row of the block.
    start: usize,
}

impl Step<'_> {
    /// Updates `next` and factorises it with the first worker; all others, and then the first one, update the rest.
    fn carry_out(
        &self,
        next: &mut [f64],
        rest: &mut [f64],
        workers: &mut [Worker],
        (n, pivots): (usize, &mut [usize]),
    ) -> Result<(), Singular> {
        let shares = Mutex::new(rest.chunks_mut(SHARE * self.ld));
        let share = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
        let help = |worker: &mut Worker| {
            while let Some(columns) = share() {
                worker.update(&self.block, self.below, columns, (self.ld, self.start));
            }
        };
        let (main, others) = workers.split_first_mut().expect("there is a worker");
        thread::scope(|scope| {
            for worker in others {
                scope.spawn(|| help(worker));
            }
            main.update(&self.block, self.below, next, (self.ld, self.start));
            let end = self.start + self.block.pivots.len();
            let factorised = main.factorise(next, (self.ld, n, end), pivots);
            help(main);
            factorised
        })
    }
}

impl Factors {
    /// Solves the system for a right side, in its place. `matrix` holds the factors.
    ///
    /// # Panics
    /// When the right side or the matrix is too short.
    pub fn solve(&self, matrix: &[f64], ld: usize, side: &mut [f64]) {
        let n = self.pivots.len();
        let side = &mut side[..n];
        // Rows of a block are in the order of its own exchanges, not of later ones.
        for start in (0..n).step_by(BLOCK) {
            let rows = start..n.min(start + BLOCK);
            rows.clone().for_each(|row| side.swap(row, self.pivots[row]));
            for row in rows {
                let factor = side[row];
                let below = side[row + 1..].iter_mut().zip(&matrix[row * ld + row + 1..][..n - row - 1]);
                below.for_each(|(number, part)| *number -= factor * part);
            }
        }
        for row in (0..n).rev() {
            let column = &matrix[row * ld..][..=row];
            side[row] /= column[row];
            let factor = side[row];
            side[..row].iter_mut().zip(column).for_each(|(number, part)| *number -= factor * part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{fill_column, leading_dimension, residual, right_side};

    fn solved(n: usize, set: Instructions, threads: usize) -> Vec<f64> {
        let ld = leading_dimension(n);
        let mut matrix = vec![0.0; n * ld];
        matrix.chunks_mut(ld).enumerate().for_each(|(at, column)| fill_column(3, at, &mut column[..n]));
        let mut side = right_side(3, n);
        let factors = factorise(&mut matrix, (n, ld), set, threads).unwrap();
        factors.solve(&matrix, ld, &mut side);
        side
    }

    #[test]
    fn systems_of_all_sizes_are_solved_by_all_sets_and_any_number_of_threads() {
        for n in [1, 2, 7, 8, 9, 31, 64, 255, 256, 257, 300, 513, 700] {
            for set in Instructions::ALL.into_iter().filter(|set| set.is_here()) {
                for threads in [1, 3] {
                    let error = residual(3, &solved(n, set, threads));
                    assert!(error < 1.0, "{n} {set} {threads}: {error}");
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_solution() {
        let set = Instructions::widest();
        assert_eq!(solved(600, set, 1), solved(600, set, 4));
    }

    #[test]
    fn a_wrong_solution_has_a_large_residual() {
        let mut solution = solved(100, Instructions::widest(), 1);
        solution[50] *= 1.0 + 1e-9;
        assert!(residual(3, &solution) > 16.0);
    }

    #[test]
    fn a_singular_matrix_is_found() {
        for n in [5, 40, 600] {
            let mut matrix = vec![1.0; n * n];
            assert_eq!(factorise(&mut matrix, (n, n), Instructions::widest(), 2), Err(Singular));
        }
    }

    #[test]
    fn operations_are_counted_by_the_rule() {
        assert_eq!(operations(0), 0.0);
        assert!((operations(1_000) - (2e9 / 3.0 + 1.5e6)).abs() < 1.0);
    }
}
