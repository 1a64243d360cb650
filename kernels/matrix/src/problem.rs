//! The system: random numbers from a seed, and the check of a solution.

/// Relative precision of the numbers: 2⁻⁵³.
const PRECISION: f64 = f64::EPSILON / 2.0;

/// Numbers in a line of the cache.
const LINE: usize = 8;

/// Numbers in a small page. Columns a multiple of it apart would share few sets of a cache.
const PAGE: usize = 512;

/// The distance of columns for a matrix with `n` rows: whole lines of the cache, and no multiple of a page.
#[must_use]
pub fn leading_dimension(n: usize) -> usize {
    let lines = n.next_multiple_of(LINE);
    if lines.is_multiple_of(PAGE) { lines + LINE } else { lines }
}

/// Fills a column of the matrix: independent numbers, uniform from -0.5 to 0.5.
pub fn fill_column(seed: u64, column: usize, numbers: &mut [f64]) {
    let mut state = mixed(seed ^ mixed(column as u64 + 1));
    for number in numbers {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        *number = (mixed(state) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    }
}

/// The right side of a system of order `n`.
#[must_use]
pub fn right_side(seed: u64, n: usize) -> Vec<f64> {
    let mut side = vec![0.0; n];
    fill_column(seed, n, &mut side);
    side
}

/// The scaled residual of a solution, by the formula of HPL 2: max|Ax - b| / (ε (max|x| ‖A‖ + max|b|) n), with the largest sum
/// of a row as norm of A. The system is generated again. A right solution has a residual below 16.
#[must_use]
pub fn residual(seed: u64, solution: &[f64]) -> f64 {
    let n = solution.len();
    let side = right_side(seed, n);
    let mut left: Vec<f64> = side.iter().map(|number| -number).collect();
    let (mut sums, mut column) = (vec![0.0; n], vec![0.0; n]);
    for (at, factor) in solution.iter().enumerate() {
        fill_column(seed, at, &mut column);
        for ((left, sum), number) in left.iter_mut().zip(&mut sums).zip(&column) {
            *left += factor * number;
            *sum += number.abs();
        }
    }
    let scale = largest(solution) * largest(&sums) + largest(&side);
    largest(&left) / (PRECISION * scale * n as f64)
}

/// The largest absolute value; not a number where one of them is none.
fn largest(numbers: &[f64]) -> f64 {
    numbers
        .iter()
        .fold(0.0, |most: f64, number| if number.is_nan() { f64::NAN } else { most.max(number.abs()) })
}

/// The output function of SplitMix64.
const fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_whole_lines_apart_and_no_page() {
        let given = [1, 8, 9, 500, 504, 505, 512, 1_024, 8_000];
        assert_eq!(given.map(leading_dimension), [8, 8, 16, 504, 504, 520, 520, 1_032, 8_000]);
    }

    #[test]
    fn numbers_are_those_of_seed_and_column_and_uniform() {
        let column = |seed, at| {
            let mut numbers = vec![0.0; 10_000];
            fill_column(seed, at, &mut numbers);
            numbers
        };
        assert_eq!(column(1, 2), column(1, 2));
        assert_ne!(column(1, 2), column(1, 3));
        assert_ne!(column(1, 2), column(2, 2));
        let numbers = column(5, 0);
        assert!(numbers.iter().all(|number| (-0.5..0.5).contains(number)));
        let mean = numbers.iter().sum::<f64>() / 1e4;
        let square = numbers.iter().map(|number| number * number).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.01 && (square - 1.0 / 12.0).abs() < 0.003, "{mean} {square}");
    }

    #[test]
    fn the_solution_of_a_system_of_one_has_no_residual() {
        let mut number = [0.0];
        fill_column(9, 0, &mut number);
        let solution = [right_side(9, 1)[0] / number[0]];
        assert!(residual(9, &solution) < 1.0);
        assert!(residual(9, &[f64::NAN]).is_nan());
    }
}
