//! Pictures: JPEG files made by the program, no two alike, in three sizes, at the speed of copying memory.
//!
//! Encoding hundreds of thousands of files one by one would take the better part of an hour. A baseline JPEG with
//! one restart interval per row of blocks is a header and a list of *bands* that can be decoded independently of
//! each other. So a library of [`SCENES`] scenes in two orientations is encoded once, each band in [`VARIANTS`]
//! variants that differ in their grain, and the picture of an id is composed by choosing a scene by the id and a
//! variant per band by the digits of the id: [`DISTINCT_IDS`] different pictures per size by construction, each
//! a valid file of its own.
//!
//! | size | fits in | at factor 1.0 | mean bytes at factor 1.0 |
//! |---|---|---|---|
//! | thumbnail | 100 x 100 | 75 x 100 or 100 x 75 | 3,000 |
//! | preview | 350 x 350 | 262 x 350 or 350 x 262 | 24,000 |
//! | full | 1024 x 1024 | 768 x 1024 or 1024 x 768 | 741,000 (each between 458,000 and 899,000) |
//!
//! A smaller *factor* f makes lighter files: bytes fall in proportion to f, down to 1,500 for a thumbnail, 2,500
//! for a preview and 6,000 for a full picture. Half of that comes from smaller pictures (width and height of
//! previews and full pictures shrink by the fourth root of f, to 0.375 at the least), half from more
//! compression. Thumbnails keep their width and height.

mod bands;
mod scene;

use bands::{Bands, Recipe};
use scene::Scene;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Scenes per orientation.
pub const SCENES: usize = 12;
/// Variants of each band of a scene.
pub const VARIANTS: usize = 4;
/// Bands whose variant is a digit of the id: as many as the lowest picture, a thumbnail of 100 x 75, has.
const DIGITS: u32 = 10;
/// Ids below this have pictures that differ from each other in every size.
pub const DISTINCT_IDS: u64 = (2 * SCENES as u64) << (2 * DIGITS);

/// Reason why a library of pictures cannot be made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PicturesError {
    /// The factor is outside (0, 1].
    #[error("image factor {0} is not above 0 and at most 1")]
    Factor(f64),
    /// Two variants of a band were equal even with the coarsest grain.
    #[error("bands of scene {scene} stay alike at {size:?} size")]
    Alike {
        /// The scene's number.
        scene: usize,
        /// The picture size.
        size: PictureSize,
    },
}

/// The sizes of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureSize {
    /// Fits in 100 x 100.
    Thumbnail,
    /// Fits in 350 x 350.
    Preview,
    /// Original size.
    Full,
}

impl PictureSize {
    /// All sizes, smallest first.
    pub const ALL: [Self; 3] = [Self::Thumbnail, Self::Preview, Self::Full];

    /// Longer side in pixels, shorter side in pixels and mean bytes at an image factor in (0, 1].
    #[must_use]
    pub fn shape(self, factor: f64) -> (u16, u16, f64) {
        let scale = factor.sqrt().sqrt().max(0.375);
        let (long, short, scale, bytes, least) = match self {
            Self::Thumbnail => (100.0, 75.0, 1.0, 3_000.0, 1_500.0),
            Self::Preview => (350.0, 262.5, scale, 24_000.0, 2_500.0),
            Self::Full => (1024.0, 768.0, scale, 741_000.0, 6_000.0),
        };
        // A float to integer cast saturates; the values are between 75 and 1024.
        ((long * scale) as u16, (short * scale) as u16, (bytes * factor).max(least))
    }
}

/// A library of bands from which the picture of any id is composed.
#[derive(Debug)]
pub struct Pictures {
    /// By size, then by orientation (upright first).
    bands: [[Bands; 2]; 3],
}

impl Pictures {
    /// Encodes the library for a seed and an image factor in (0, 1], on `threads` threads (at least one).
    ///
    /// # Errors
    /// If the factor is out of range, or if the grain of a scene gets lost in compression.
    pub fn build(seed: u64, factor: f64, threads: usize) -> Result<Self, PicturesError> {
        if !(factor > 0.0 && factor <= 1.0) {
            return Err(PicturesError::Factor(factor));
        }
        let recipes: Vec<Recipe> =
            PictureSize::ALL.iter().map(|&size| Recipe::find(seed, size, factor)).collect();
        let jobs = 3 * 2 * SCENES;
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                // The largest pictures come first, so that no thread is left with one at the end.
                let job = next.fetch_add(1, Ordering::Relaxed);
                if job >= jobs {
                    return done;
                }
                let (size, scene) = (2 - job / (2 * SCENES), job % (2 * SCENES));
                done.push((job, recipes[size].encode(&Scene::new(seed, scene))));
            }
        };
        let mut done = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads.max(1)).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                done.extend(other.join().expect("encoding in memory does not panic"));
            }
            done
        });
        done.sort_by_key(|(job, _)| *job);
        let mut bands: [[Bands; 2]; 3] = Default::default();
        for (job, encoded) in done {
            let (size, scene) = (2 - job / (2 * SCENES), job % (2 * SCENES));
            bands[size][scene % 2].add(encoded?);
        }
        Ok(Self { bands })
    }

    /// Writes the JPEG file of picture `id` in a size into `file`, replacing what it held.
    pub fn compose(&self, id: u64, size: PictureSize, file: &mut Vec<u8>) {
        // Neighbouring ids, which are the pictures of one item, get different scenes and orientations.
        let scene = usize::try_from(id % (2 * SCENES as u64)).expect("a small remainder fits");
        let number = id / (2 * SCENES as u64);
        // Multiplying by an odd number permutes the numbers below a power of two: digits stay distinct together.
        let digits = number.wrapping_mul(0x9e37_79b1) & ((1 << (2 * DIGITS)) - 1);
        let more = crate::mix(id);
        self.bands[size as usize][scene % 2].compose(scene / 2, file, |row| {
            let digit = if row < DIGITS { digits >> (2 * row) } else { more >> (2 * (row % 32)) };
            usize::from(digit as u8 & 3)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn decode(file: &[u8]) -> (u16, u16, Vec<u8>) {
        let mut decoder = jpeg_decoder::Decoder::new(file);
        let pixels = decoder.decode().unwrap();
        let info = decoder.info().unwrap();
        assert_eq!(pixels.len(), usize::from(info.width) * usize::from(info.height) * 3);
        (info.width, info.height, pixels)
    }

    /// Composes `count` pictures of a size, decodes each, and returns the mean bytes.
    fn check(pictures: &Pictures, size: PictureSize, factor: f64, count: u64) -> f64 {
        let (long, short, _) = size.shape(factor);
        let mut seen = HashSet::new();
        let (mut file, mut bytes) = (Vec::new(), 0);
        for id in (1..=count / 2).chain(5_000_000..5_000_000 + count / 2) {
            pictures.compose(id, size, &mut file);
            let (width, height, pixels) = decode(&file);
            assert_eq!((width.max(height), width.min(height)), (long, short));
            assert_eq!(width < height, id % 2 == 0, "orientations alternate");
            // Hashing keeps the memory of the test small; equal pixels would give equal hashes.
            let hash = pixels.chunks(7).fold(0u64, |hash, chunk| {
                chunk.iter().fold(hash, |hash, &byte| crate::mix(hash ^ u64::from(byte)))
            });
            assert!(seen.insert(hash), "picture {id} repeats another one");
            bytes += file.len();
        }
        bytes as f64 / count as f64
    }

    #[test]
    fn light_pictures_decode_differ_and_have_the_stated_bytes() {
        let pictures = Pictures::build(11, 0.02, 2).unwrap();
        for (size, count) in PictureSize::ALL.into_iter().zip([3_000, 1_000, 400]) {
            let mean = check(&pictures, size, 0.02, count);
            let (_, _, target) = size.shape(0.02);
            assert!((mean / target - 1.0).abs() < 0.05, "{size:?}: {mean} bytes, wanted {target}");
        }
    }

    #[test]
    fn pictures_at_factor_one_have_the_published_size() {
        let pictures = Pictures::build(11, 1.0, 2).unwrap();
        for (size, count) in PictureSize::ALL.into_iter().zip([400, 200, 24]) {
            let mean = check(&pictures, size, 1.0, count);
            let (_, _, target) = size.shape(1.0);
            assert!((mean / target - 1.0).abs() < 0.03, "{size:?}: {mean} bytes, wanted {target}");
        }
        let mut file = Vec::new();
        for id in 0..2_000 {
            pictures.compose(id, PictureSize::Full, &mut file);
            assert!((458_000..=899_000).contains(&file.len()), "picture {id} has {} bytes", file.len());
        }
    }

    #[test]
    fn the_lightest_factor_still_makes_different_pictures() {
        let pictures = Pictures::build(5, 1e-6, 1).unwrap();
        check(&pictures, PictureSize::Full, 1e-6, 100);
        check(&pictures, PictureSize::Thumbnail, 1e-6, 500);
    }

    #[test]
    fn composing_depends_on_seed_and_id_but_not_on_threads() {
        let (one, two) = (Pictures::build(7, 0.001, 1).unwrap(), Pictures::build(7, 0.001, 2).unwrap());
        let other = Pictures::build(8, 0.001, 2).unwrap();
        let file = |from: &Pictures, id| {
            let mut file = Vec::new();
            from.compose(id, PictureSize::Preview, &mut file);
            file
        };
        assert_eq!(file(&one, 99), file(&two, 99));
        assert_ne!(file(&one, 99), file(&other, 99));
    }

    #[test]
    fn impossible_factors_are_refused() {
        for factor in [0.0, -1.0, 1.5, f64::NAN] {
            assert!(matches!(Pictures::build(1, factor, 1), Err(PicturesError::Factor(_))));
        }
    }
}
