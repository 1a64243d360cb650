//! The innermost loop: a tile of the result, held in registers, from a strip of each factor.
#![expect(
    unsafe_code,
    reason = "vector instructions are chosen at run time, and loads and stores take addresses"
)]

use std::fmt;

/// Rows of the tallest tile.
pub(crate) const MOST_ROWS: usize = 24;

/// Columns of the widest tile.
pub(crate) const MOST_COLUMNS: usize = 8;

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// AVX-512F: eight numbers at once.
    Avx512,
    /// AVX2 with FMA: four numbers at once.
    Avx2,
    /// What the compiler makes of plain code for any processor of this architecture.
    Portable,
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Instructions::Avx512 => "AVX-512",
            Instructions::Avx2 => "AVX2 and FMA",
            Instructions::Portable => "portable code",
        })
    }
}

impl Instructions {
    /// All of them, widest first.
    pub const ALL: [Instructions; 3] = [Instructions::Avx512, Instructions::Avx2, Instructions::Portable];

    /// The widest of this processor.
    #[must_use]
    pub fn widest() -> Self {
        Self::ALL.into_iter().find(|set| set.is_here()).unwrap_or(Instructions::Portable)
    }

    /// Whether this processor has them.
    #[must_use]
    pub fn is_here(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Avx512 | Instructions::Avx2 => false,
            Instructions::Portable => true,
        }
    }

    /// Rows and columns of a tile.
    pub(crate) const fn tile(self) -> (usize, usize) {
        match self {
            Instructions::Avx512 => (24, 8),
            Instructions::Avx2 => (12, 4),
            Instructions::Portable => (8, 4),
        }
    }

    /// Subtracts the product of two strips from a tile: `tile -= left * right`.
    ///
    /// `left` has `depth` columns of a tile's rows, one after the other; `right` has `depth` rows of a tile's columns.
    /// `tile` begins at the tile's first number and has columns `ld` numbers apart.
    ///
    /// # Panics
    /// When a slice is too short, or the processor has no such instructions.
    pub(crate) fn subtract(self, depth: usize, (left, right): (&[f64], &[f64]), tile: &mut [f64], ld: usize) {
        let (rows, columns) = self.tile();
        assert!(left.len() >= depth * rows && right.len() >= depth * columns, "strips are too short");
        assert!(ld >= rows && tile.len() >= (columns - 1) * ld + rows, "the tile is too short");
        match self {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => {
                assert!(self.is_here());
                // SAFETY: the processor has AVX-512F; the strips have `depth` rows or columns, and the tile all of its numbers.
                unsafe { x86::subtract_avx512(depth, left.as_ptr(), right.as_ptr(), tile.as_mut_ptr(), ld) }
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => {
                assert!(self.is_here());
                // SAFETY: the processor has AVX2 and FMA; the strips have `depth` rows or columns, and the tile all of its numbers.
                unsafe { x86::subtract_avx2(depth, left.as_ptr(), right.as_ptr(), tile.as_mut_ptr(), ld) }
            }
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Avx512 | Instructions::Avx2 => unreachable!("not on this architecture"),
            Instructions::Portable => portable(depth, left, right, tile, ld),
        }
    }

    /// Multiplies and adds in registers, without memory: `rounds` times a fixed amount of work. Returns the number of floating
    /// point operations, by which the time that it takes gives the peak of a core.
    #[must_use]
    pub fn peak(self, rounds: u64) -> u64 {
        let per_round = match self {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 if self.is_here() => {
                // SAFETY: the processor has AVX-512F.
                std::hint::black_box(unsafe { x86::peak_avx512(rounds) });
                12 * 8 * 2
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 if self.is_here() => {
                // SAFETY: the processor has AVX2 and FMA.
                std::hint::black_box(unsafe { x86::peak_avx2(rounds) });
                12 * 4 * 2
            }
            _ => {
                std::hint::black_box(portable_peak(rounds));
                16 * 2
            }
        };
        rounds * per_round
    }
}

/// A tile without special instructions.
fn portable(depth: usize, left: &[f64], right: &[f64], tile: &mut [f64], ld: usize) {
    let mut sums = [[0.0; 8]; 4];
    for (left, right) in left.chunks_exact(8).zip(right.chunks_exact(4)).take(depth) {
        for (sums, factor) in sums.iter_mut().zip(right) {
            for (sum, number) in sums.iter_mut().zip(left) {
                *sum += number * factor;
            }
        }
    }
    for (column, sums) in sums.iter().enumerate() {
        for (number, sum) in tile[column * ld..][..8].iter_mut().zip(sums) {
            *number -= sum;
        }
    }
}

fn portable_peak(rounds: u64) -> [f64; 16] {
    let (factor, term) = std::hint::black_box((0.999_999, 1e-6));
    let mut sums = [0.0; 16];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = *sum * factor + term;
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256d, __m512d, _MM_HINT_T0, _mm_prefetch, _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_set1_pd,
        _mm256_setzero_pd, _mm256_storeu_pd, _mm256_sub_pd, _mm512_fmadd_pd, _mm512_loadu_pd, _mm512_set1_pd,
        _mm512_setzero_pd, _mm512_storeu_pd, _mm512_sub_pd,
    };

    /// Three vectors of eight rows by eight columns.
    ///
    /// # Safety
    /// AVX-512F is there; `left` has `depth` times 24 numbers, `right` `depth` times 8, and `tile` 24 numbers at each of 8
    /// columns `ld` apart.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn subtract_avx512(
        depth: usize,
        mut left: *const f64,
        mut right: *const f64,
        tile: *mut f64,
        ld: usize,
    ) {
        let mut sums: [[__m512d; 3]; 8] = [[_mm512_setzero_pd(); 3]; 8];
        // SAFETY: all offsets are within the strips and the tile, by the contract of the function.
        unsafe {
            for column in 0..8 {
                for row in 0..3 {
                    _mm_prefetch::<_MM_HINT_T0>(tile.add(column * ld + 8 * row).cast());
                }
            }
            for _ in 0..depth {
                let rows =
                    [_mm512_loadu_pd(left), _mm512_loadu_pd(left.add(8)), _mm512_loadu_pd(left.add(16))];
                _mm_prefetch::<_MM_HINT_T0>(left.wrapping_add(24 * 8).cast());
                _mm_prefetch::<_MM_HINT_T0>(left.wrapping_add(24 * 8 + 8).cast());
                _mm_prefetch::<_MM_HINT_T0>(left.wrapping_add(24 * 8 + 16).cast());
                for (column, sums) in sums.iter_mut().enumerate() {
                    let factor = _mm512_set1_pd(*right.add(column));
                    for (sum, row) in sums.iter_mut().zip(rows) {
                        *sum = _mm512_fmadd_pd(row, factor, *sum);
                    }
                }
                left = left.add(24);
                right = right.add(8);
            }
            for (column, sums) in sums.iter().enumerate() {
                for (row, sum) in sums.iter().enumerate() {
                    let place = tile.add(column * ld + 8 * row);
                    _mm512_storeu_pd(place, _mm512_sub_pd(_mm512_loadu_pd(place), *sum));
                }
            }
        }
    }

    /// Three vectors of four rows by four columns.
    ///
    /// # Safety
    /// AVX2 and FMA are there; `left` has `depth` times 12 numbers, `right` `depth` times 4, and `tile` 12 numbers at each of
    /// 4 columns `ld` apart.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn subtract_avx2(
        depth: usize,
        mut left: *const f64,
        mut right: *const f64,
        tile: *mut f64,
        ld: usize,
    ) {
        let mut sums: [[__m256d; 3]; 4] = [[_mm256_setzero_pd(); 3]; 4];
        // SAFETY: all offsets are within the strips and the tile, by the contract of the function.
        unsafe {
            for _ in 0..depth {
                let rows =
                    [_mm256_loadu_pd(left), _mm256_loadu_pd(left.add(4)), _mm256_loadu_pd(left.add(8))];
                _mm_prefetch::<_MM_HINT_T0>(left.wrapping_add(12 * 16).cast());
                for (column, sums) in sums.iter_mut().enumerate() {
                    let factor = _mm256_set1_pd(*right.add(column));
                    for (sum, row) in sums.iter_mut().zip(rows) {
                        *sum = _mm256_fmadd_pd(row, factor, *sum);
                    }
                }
                left = left.add(12);
                right = right.add(4);
            }
            for (column, sums) in sums.iter().enumerate() {
                for (row, sum) in sums.iter().enumerate() {
                    let place = tile.add(column * ld + 4 * row);
                    _mm256_storeu_pd(place, _mm256_sub_pd(_mm256_loadu_pd(place), *sum));
                }
            }
        }
    }

    /// Twelve independent chains of eight numbers.
    #[target_feature(enable = "avx512f")]
    pub(super) fn peak_avx512(rounds: u64) -> [__m512d; 12] {
        let (factor, term) = std::hint::black_box((_mm512_set1_pd(0.999_999), _mm512_set1_pd(1e-6)));
        let mut sums = [_mm512_setzero_pd(); 12];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = _mm512_fmadd_pd(*sum, factor, term);
            }
        }
        sums
    }

    /// Twelve independent chains of four numbers.
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn peak_avx2(rounds: u64) -> [__m256d; 12] {
        let (factor, term) = std::hint::black_box((_mm256_set1_pd(0.999_999), _mm256_set1_pd(1e-6)));
        let mut sums = [_mm256_setzero_pd(); 12];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = _mm256_fmadd_pd(*sum, factor, term);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_subtracts_the_product_and_touches_nothing_else() {
        for set in Instructions::ALL.into_iter().filter(|set| set.is_here()) {
            let (rows, columns) = set.tile();
            let (depth, ld) = (5, rows + 3);
            let left: Vec<f64> = (0..depth * rows).map(|i| (i % 7) as f64 - 3.0).collect();
            let right: Vec<f64> = (0..depth * columns).map(|i| (i % 5) as f64 - 2.0).collect();
            let mut tile = vec![1.0; ld * columns];
            set.subtract(depth, (&left, &right), &mut tile, ld);
            for column in 0..columns {
                for row in 0..ld {
                    let product: f64 = (0..depth)
                        .map(|d| left[d * rows + row.min(rows - 1)] * right[d * columns + column])
                        .sum();
                    let expected = if row < rows { 1.0 - product } else { 1.0 };
                    assert_eq!(tile[column * ld + row], expected, "{set} {row} {column}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "strips are too short")]
    fn short_strips_are_refused() {
        Instructions::Portable.subtract(2, (&[0.0; 16], &[0.0; 7]), &mut [0.0; 32], 8);
    }

    #[test]
    #[should_panic(expected = "the tile is too short")]
    fn a_short_tile_is_refused() {
        Instructions::Portable.subtract(1, (&[0.0; 8], &[0.0; 4]), &mut [0.0; 31], 8);
    }

    #[test]
    fn the_peak_counts_its_operations() {
        let counts = [12 * 8 * 2 * 10, 12 * 4 * 2 * 10, 16 * 2 * 10];
        for (set, operations) in Instructions::ALL.into_iter().zip(counts).filter(|(set, _)| set.is_here()) {
            assert_eq!(set.peak(10), operations, "{set}");
        }
    }
}
