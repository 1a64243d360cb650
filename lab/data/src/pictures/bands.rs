//! Encodes scenes and cuts the files into bands; puts bands together into files.

use super::scene::Scene;
use super::{PictureSize, PicturesError, SCENES, VARIANTS};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use std::collections::HashSet;

/// Blocks are 8 x 8 pixels, and a band is one row of them.
const BLOCK: u16 = 8;
/// Scenes encoded as samples to find quality and grain: the ends and the middle of the range of grain.
const WEIGHED: [usize; 3] = [0, SCENES, 2 * SCENES - 2];

/// Settings for one picture size that give files of the wanted mean bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    size: PictureSize,
    sides: (u16, u16),
    quality: u8,
    grain: f32,
}

impl Recipe {
    /// Finds the best quality for a usual grain, then the grain that gives the bytes more exactly, because
    /// quality comes in coarse steps.
    pub(super) fn find(seed: u64, size: PictureSize, factor: f64) -> Self {
        let (long, short, target) = size.shape(factor);
        let drawn: Vec<(Scene, Vec<u8>)> = WEIGHED
            .iter()
            .map(|&number| {
                // Samples are even, so they are upright; the other orientation gives the same bytes.
                let scene = Scene::new(seed, number);
                let (width, height) = scene.turned(long, short);
                let pixels = scene.draw(width, height);
                (scene, pixels)
            })
            .collect();
        let mean = |recipe: &Self| {
            let bytes =
                drawn.iter().map(|(scene, pixels)| recipe.file(scene, pixels, 0).len()).sum::<usize>();
            bytes as f64 / drawn.len() as f64
        };
        let mut recipe = Self { size, sides: (long, short), quality: 1, grain: 26.0 };
        let (mut low, mut high) = (1_u8, 98_u8);
        while low < high {
            recipe.quality = (low + high).div_ceil(2);
            if mean(&recipe) <= target {
                low = recipe.quality;
            } else {
                high = recipe.quality - 1;
            }
        }
        recipe.quality = low;
        let (mut low, mut high) = (4.0, 60.0);
        for _ in 0..7 {
            recipe.grain = (low + high) / 2.0;
            if mean(&recipe) <= target {
                low = recipe.grain;
            } else {
                high = recipe.grain;
            }
        }
        recipe
    }

    fn file(&self, scene: &Scene, drawn: &[u8], variant: usize) -> Vec<u8> {
        let (width, height) = scene.turned(self.sides.0, self.sides.1);
        let pixels = scene.add_grain(drawn, variant, self.grain * scene.grain);
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, self.quality);
        // Fixed code tables and one block per unit make bands of different pictures fit each other.
        encoder.set_sampling_factor(SamplingFactor::R_4_4_4);
        encoder.set_optimized_huffman_tables(false);
        encoder.set_restart_interval(width.div_ceil(BLOCK));
        encoder.encode(&pixels, width, height, ColorType::Rgb).expect("writing to memory, sides are above 0");
        file
    }

    /// All variants of a scene, cut into bands.
    pub(super) fn encode(&self, scene: &Scene) -> Result<EncodedScene, PicturesError> {
        let (width, height) = scene.turned(self.sides.0, self.sides.1);
        let rows = usize::from(height.div_ceil(BLOCK));
        let drawn = scene.draw(width, height);
        let mut recipe = *self;
        // Strong compression can remove fine grain, which would make variants equal: then it must be coarser.
        for _ in 0..8 {
            let files: Vec<Vec<u8>> =
                (0..VARIANTS).map(|variant| recipe.file(scene, &drawn, variant)).collect();
            let cut: Vec<(&[u8], Vec<&[u8]>)> = files.iter().map(|file| cut(file)).collect();
            let distinct = (0..rows)
                .all(|row| cut.iter().map(|(_, bands)| bands[row]).collect::<HashSet<_>>().len() == VARIANTS);
            if distinct {
                let bands = cut.iter().flat_map(|(_, bands)| bands.iter().map(|&band| band.into())).collect();
                return Ok(EncodedScene { header: cut[0].0.into(), rows, bands });
            }
            recipe.grain *= 1.5;
        }
        Err(PicturesError::Alike { scene: scene.number, size: self.size })
    }
}

/// The header and the bands of one scene: variant by variant, row by row.
#[derive(Debug)]
pub(super) struct EncodedScene {
    header: Box<[u8]>,
    rows: usize,
    bands: Vec<Box<[u8]>>,
}

/// Splits a baseline file of one scan at its restart markers: everything up to the scan's data, and the bands.
fn cut(file: &[u8]) -> (&[u8], Vec<&[u8]>) {
    // Segments are skipped by their length until the start of the scan (marker DA).
    let mut at = 2;
    loop {
        let length = usize::from(u16::from_be_bytes([file[at + 2], file[at + 3]]));
        let marker = file[at + 1];
        at += 2 + length;
        if marker == 0xDA {
            break;
        }
    }
    let (header, data) = file.split_at(at);
    let mut bands = Vec::new();
    let mut start = 0;
    let mut i = 0;
    while i + 1 < data.len() {
        // In a scan's data FF is always followed by 00, by a restart marker (D0 to D7) or by the end (D9).
        if data[i] == 0xFF && data[i + 1] != 0 {
            bands.push(&data[start..i]);
            start = i + 2;
            i += 1;
        }
        i += 1;
    }
    (header, bands)
}

/// All bands of one size and orientation.
#[derive(Debug, Default)]
pub(super) struct Bands {
    header: Box<[u8]>,
    rows: usize,
    bands: Vec<Box<[u8]>>,
}

impl Bands {
    /// Adds the next scene; all scenes share one header, because size, quality and code tables are the same.
    pub(super) fn add(&mut self, scene: EncodedScene) {
        debug_assert!(self.header.is_empty() || self.header == scene.header, "headers differ between scenes");
        self.header = scene.header;
        self.rows = scene.rows;
        self.bands.extend(scene.bands);
    }

    /// Composes a file of the variants chosen by `choose` for the rows of a scene.
    pub(super) fn compose(&self, scene: usize, file: &mut Vec<u8>, choose: impl Fn(u32) -> usize) {
        file.clear();
        file.extend_from_slice(&self.header);
        for row in 0..self.rows {
            if row > 0 {
                // Restart markers count from 0 to 7 and round again.
                let count = ((row - 1) % 8) as u8;
                file.extend_from_slice(&[0xFF, 0xD0 + count]);
            }
            let variant = choose(row as u32);
            file.extend_from_slice(&self.bands[(scene * VARIANTS + variant) * self.rows + row]);
        }
        file.extend_from_slice(&[0xFF, 0xD9]);
    }
}
