//! Four passes over arrays that are larger than any cache: copy, scale, add and triad, as STREAM defines them.
//!
//! Stores are *cached*, which read a line of the cache before they write it, or *streaming*, which do not. Both are written with
//! vector instructions chosen at run time: a compiler may turn a loop that copies into a call that streams.
//! Products and sums are rounded one after the other, so that every instruction set computes the same numbers.
#![expect(
    unsafe_code,
    reason = "vector instructions are chosen at run time, and streaming stores take addresses"
)]

use std::fmt;

/// Alignment of arrays, in bytes, and the length of a line of the cache.
pub const LINE: usize = 64;

/// Numbers in a line.
const NUMBERS: usize = LINE / size_of::<f64>();

/// A pass over arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// `to = from`.
    Copy,
    /// `to = factor * from`.
    Scale,
    /// `to = from + other`.
    Add,
    /// `to = from + factor * other`.
    Triad,
}

impl Pass {
    /// All passes, in the order of a cycle.
    pub const ALL: [Pass; 4] = [Pass::Copy, Pass::Scale, Pass::Add, Pass::Triad];

    /// Bytes that count for each number of an array: those that the pass reads and writes. A read of the line before a cached
    /// store is not counted.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Pass::Copy | Pass::Scale => 16,
            Pass::Add | Pass::Triad => 24,
        }
    }

    /// What the pass stores.
    const fn number(self, from: f64, other: f64, factor: f64) -> f64 {
        match self {
            Pass::Copy => from,
            Pass::Scale => factor * from,
            Pass::Add => from + other,
            Pass::Triad => from + factor * other,
        }
    }
}

/// A kind of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Through the caches.
    Cached,
    /// Past the caches.
    Streaming,
}

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// AVX-512F.
    Avx512,
    /// AVX.
    Avx,
    /// What the compiler makes of plain code, which has no streaming stores.
    Portable,
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Instructions::Avx512 => "AVX-512",
            Instructions::Avx => "AVX",
            Instructions::Portable => "portable code",
        })
    }
}

impl Instructions {
    /// All of them, widest first.
    pub const ALL: [Instructions; 3] = [Instructions::Avx512, Instructions::Avx, Instructions::Portable];

    /// The widest of this processor.
    #[must_use]
    pub fn widest() -> Self {
        Self::ALL.into_iter().find(|set| set.is_here()).unwrap_or(Instructions::Portable)
    }

    /// The fastest of this processor for stores of a kind. Streaming stores of whole lines (AVX-512) are slower than those of
    /// halves where a pass has two sources, by a twentieth on Zen 4.
    #[must_use]
    pub fn fastest(stores: Stores) -> Self {
        match stores {
            Stores::Streaming if Instructions::Avx.is_here() => Instructions::Avx,
            _ => Self::widest(),
        }
    }

    /// Whether this processor has them.
    #[must_use]
    pub fn is_here(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx => is_x86_feature_detected!("avx"),
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Avx512 | Instructions::Avx => false,
            Instructions::Portable => true,
        }
    }

    /// Whether they can store in this way.
    #[must_use]
    pub fn can_store(self, stores: Stores) -> bool {
        self != Instructions::Portable || stores == Stores::Cached
    }
}

/// Arrays of a pass.
#[derive(Debug)]
pub struct Arrays<'a> {
    /// Is written.
    pub to: &'a mut [f64],
    /// Is read.
    pub from: &'a [f64],
    /// Is read by passes with two sources.
    pub other: &'a [f64],
    /// The factor of passes that have one.
    pub factor: f64,
}

/// Makes a pass.
///
/// # Panics
/// When arrays are not of one length, in whole lines and aligned at [`LINE`], or the processor has no such instructions or
/// stores.
pub fn pass(pass: Pass, set: Instructions, stores: Stores, arrays: Arrays<'_>) {
    let Arrays { to, from, other, factor } = arrays;
    let len = to.len();
    assert!(from.len() == len && other.len() == len, "arrays have one length");
    let is_aligned = |array: &[f64]| (array.as_ptr() as usize).is_multiple_of(LINE);
    assert!(
        len.is_multiple_of(NUMBERS) && is_aligned(to) && is_aligned(from) && is_aligned(other),
        "arrays are whole lines"
    );
    assert!(set.is_here() && set.can_store(stores), "{set} cannot do this here");
    match set {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX-512F; the arrays have `len` numbers, in whole lines, and are aligned.
        Instructions::Avx512 => unsafe { x86::by_avx512(pass, stores, to, from, other, factor) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX; the arrays have `len` numbers, in whole lines, and are aligned.
        Instructions::Avx => unsafe { x86::by_avx(pass, stores, to, from, other, factor) },
        #[cfg(not(target_arch = "x86_64"))]
        Instructions::Avx512 | Instructions::Avx => unreachable!("not on this architecture"),
        Instructions::Portable => {
            for ((to, from), other) in to.iter_mut().zip(from).zip(other) {
                *to = pass.number(*from, *other, factor);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256d, __m512d, _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm256_add_pd, _mm256_load_pd,
        _mm256_mul_pd, _mm256_set1_pd, _mm256_stream_pd, _mm512_add_pd, _mm512_load_pd, _mm512_mul_pd,
        _mm512_set1_pd, _mm512_stream_pd,
    };

    use super::{NUMBERS, Pass, Stores};

    /// Numbers by which the source of streaming stores is fetched ahead: without it a copy is a tenth slower (Zen 4). Passes
    /// with two sources are a tenth slower with it.
    const AHEAD: usize = 256;

    /// Passes with vectors of `$count` numbers, a line at a time.
    macro_rules! passes {
        ($name:ident, $features:literal, $vector:ty, $count:literal,
         $load:ident, $stream:ident, $set:ident, $add:ident, $multiply:ident) => {
            /// # Safety
            /// The processor has the instructions; arrays have one length, in whole lines, and are aligned at lines.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $name(
                pass: Pass,
                stores: Stores,
                to: &mut [f64],
                from: &[f64],
                other: &[f64],
                factor: f64,
            ) {
                let factor = $set(factor);
                let (into, from, other, len) = (to.as_mut_ptr(), from.as_ptr(), other.as_ptr(), to.len());
                // The formatter moves it to the right each time.
    #[rustfmt::skip]
                macro_rules! walk {
                    ($put:ident, $at:ident, $number:expr) => {
                        for line in (0..len).step_by(NUMBERS) {
                            $put!(fetch line);
                            for part in (0..NUMBERS).step_by($count) {
                                let $at = line + part;
                                // SAFETY: `at` and the numbers of a vector behind it are within the arrays, and aligned.
                                unsafe { $put!(store into.add($at), $number) }
                            }
                        }
                    };
                }
                // Volatile: a copy by plain stores becomes a call of memcpy, which may stream.
                macro_rules! cached {
                    (fetch $line:expr) => {};
                    (store $to:expr, $number:expr) => {
                        $to.cast::<$vector>().write_volatile($number)
                    };
                }
                macro_rules! streaming {
                    (fetch $line:expr) => {};
                    (store $to:expr, $number:expr) => {
                        $stream($to, $number)
                    };
                }
                macro_rules! fetched {
                    (fetch $line:expr) => {
                        // It may lie behind the array: a fetch of any address changes nothing but caches.
                        _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add($line + AHEAD).cast())
                    };
                    (store $to:expr, $number:expr) => {
                        $stream($to, $number)
                    };
                }
                macro_rules! by_pass {
                    ($one:ident, $two:ident) => {
                        match pass {
                            // SAFETY of loads: as for the store.
                            Pass::Copy => walk!($one, at, $load(from.add(at))),
                            Pass::Scale => walk!($one, at, $multiply(factor, $load(from.add(at)))),
                            Pass::Add => walk!($two, at, $add($load(from.add(at)), $load(other.add(at)))),
                            Pass::Triad => {
                                walk!($two, at, {
                                    let product: $vector = $multiply(factor, $load(other.add(at)));
                                    $add($load(from.add(at)), product)
                                });
                            }
                        }
                    };
                }
                match stores {
                    Stores::Cached => by_pass!(cached, cached),
                    Stores::Streaming => {
                        by_pass!(fetched, streaming);
                        // Streaming stores are ordered with nothing until here.
                        _mm_sfence();
                    }
                }
            }
        };
    }

    passes!(
        by_avx512,
        "avx512f",
        __m512d,
        8,
        _mm512_load_pd,
        _mm512_stream_pd,
        _mm512_set1_pd,
        _mm512_add_pd,
        _mm512_mul_pd
    );
    passes!(
        by_avx,
        "avx",
        __m256d,
        4,
        _mm256_load_pd,
        _mm256_stream_pd,
        _mm256_set1_pd,
        _mm256_add_pd,
        _mm256_mul_pd
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of numbers, aligned.
    #[repr(align(64))]
    struct Lines([f64; 5 * NUMBERS]);

    fn lines(of: impl Fn(usize) -> f64) -> Lines {
        Lines(std::array::from_fn(of))
    }

    #[test]
    fn every_set_and_kind_of_store_makes_the_same_numbers() {
        let (from, other) = (lines(|i| (i as f64).sqrt()), lines(|i| 1.0 / (i as f64 + 3.0)));
        let factor = 0.4142;
        for which in Pass::ALL {
            let expected = lines(|i| which.number(from.0[i], other.0[i], factor));
            for set in Instructions::ALL.into_iter().filter(|set| set.is_here()) {
                for stores in
                    [Stores::Cached, Stores::Streaming].into_iter().filter(|stores| set.can_store(*stores))
                {
                    let mut to = lines(|_| f64::NAN);
                    let arrays = Arrays { to: &mut to.0, from: &from.0, other: &other.0, factor };
                    pass(which, set, stores, arrays);
                    assert_eq!(to.0, expected.0, "{which:?} {set} {stores:?}");
                }
            }
        }
    }

    #[test]
    fn only_what_is_written_changes() {
        let (from, other) = (lines(|_| 1.0), lines(|_| 2.0));
        for set in Instructions::ALL.into_iter().filter(|set| set.is_here()) {
            let mut to = lines(|i| i as f64);
            let middle = NUMBERS..3 * NUMBERS;
            let arrays = Arrays {
                to: &mut to.0[middle.clone()],
                from: &from.0[middle.clone()],
                other: &other.0[middle.clone()],
                factor: 3.0,
            };
            pass(Pass::Triad, set, Stores::Cached, arrays);
            let expected = lines(|i| if middle.contains(&i) { 7.0 } else { i as f64 });
            assert_eq!(to.0, expected.0, "{set}");
        }
    }

    #[test]
    #[should_panic(expected = "arrays are whole lines")]
    fn arrays_that_are_not_aligned_are_refused() {
        let (mut to, from) = (lines(|_| 0.0), lines(|_| 0.0));
        let arrays = Arrays {
            to: &mut to.0[1..=NUMBERS],
            from: &from.0[..NUMBERS],
            other: &from.0[..NUMBERS],
            factor: 1.0,
        };
        pass(Pass::Copy, Instructions::Portable, Stores::Cached, arrays);
    }

    #[test]
    #[should_panic(expected = "arrays have one length")]
    fn arrays_of_several_lengths_are_refused() {
        let (mut to, from) = (lines(|_| 0.0), lines(|_| 0.0));
        let arrays = Arrays { to: &mut to.0, from: &from.0[..NUMBERS], other: &from.0, factor: 1.0 };
        pass(Pass::Copy, Instructions::Portable, Stores::Cached, arrays);
    }

    #[test]
    fn bytes_are_counted_by_the_rules() {
        assert_eq!(Pass::ALL.map(Pass::bytes), [16, 16, 24, 24]);
    }
}
