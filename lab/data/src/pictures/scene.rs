//! The subject of a picture: a sky of two colours, a few shapes before it, and grain.

use crate::{Stream, Streams};
use rand::{Rng, RngExt};

#[derive(Debug, Clone, Copy)]
enum Edge {
    Round,
    /// Nearly a box, with rounded corners.
    Square,
}

impl Edge {
    /// Whether the shape covers a point, in units of the radius from the centre.
    fn holds(self, dx: f32, dy: f32) -> bool {
        let (x2, y2) = (dx * dx, dy * dy);
        match self {
            Self::Round => x2 + y2 < 1.0,
            Self::Square => x2 * x2 * x2 * x2 + y2 * y2 * y2 * y2 < 1.0,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    centre: (f32, f32),
    radius: (f32, f32),
    colour: [f32; 3],
    edge: Edge,
}

/// A scene in coordinates from 0 to 1, drawable at every size.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// The scene's number; even ones are upright.
    pub(super) number: usize,
    top: [f32; 3],
    bottom: [f32; 3],
    shapes: Vec<Shape>,
    /// Strength of this scene's grain relative to the usual one: it spreads the bytes of files.
    pub(super) grain: f32,
    seed: u64,
}

fn colour(rng: &mut Stream, range: std::ops::Range<f32>) -> [f32; 3] {
    [rng.random_range(range.clone()), rng.random_range(range.clone()), rng.random_range(range)]
}

impl Scene {
    /// The scene of a number.
    pub(super) fn new(seed: u64, number: usize) -> Self {
        let mut rng = Streams::new(seed).stream("scene", number as u64);
        let (top, bottom) = (colour(&mut rng, 90.0..220.0), colour(&mut rng, 40.0..180.0));
        let shapes = (0..rng.random_range(4..8))
            .map(|_| Shape {
                centre: (rng.random_range(0.1..0.9), rng.random_range(0.2..0.9)),
                radius: (rng.random_range(0.06..0.3), rng.random_range(0.06..0.3)),
                colour: colour(&mut rng, 20.0..235.0),
                edge: if rng.random_bool(0.5) { Edge::Round } else { Edge::Square },
            })
            .collect();
        // Evenly spread over the scenes of an orientation, so that their mean is known.
        let grain = 0.85 + 0.3 * ((number / 2) as f32 + 0.5) / super::SCENES as f32;
        Self { number, top, bottom, shapes, grain, seed: rng.next_u64() }
    }

    /// Width and height by orientation, from the longer and the shorter side.
    pub(super) fn turned(&self, long: u16, short: u16) -> (u16, u16) {
        if self.number.is_multiple_of(2) { (short, long) } else { (long, short) }
    }

    /// The scene without grain: red, green and blue of each pixel, row by row.
    pub(super) fn draw(&self, width: u16, height: u16) -> Vec<u8> {
        let mut pixels = Vec::with_capacity(usize::from(width) * usize::from(height) * 3);
        for y in 0..height {
            let v = (f32::from(y) + 0.5) / f32::from(height);
            let sky: [f32; 3] = std::array::from_fn(|c| self.top[c] + (self.bottom[c] - self.top[c]) * v);
            for x in 0..width {
                let u = (f32::from(x) + 0.5) / f32::from(width);
                let mut pixel = sky;
                for shape in &self.shapes {
                    let (dx, dy) =
                        ((u - shape.centre.0) / shape.radius.0, (v - shape.centre.1) / shape.radius.1);
                    if shape.edge.holds(dx, dy) {
                        // Light from the upper left makes the shapes look solid.
                        let light = 1.0 - 0.25 * (dx + dy);
                        pixel = shape.colour.map(|c| c * light);
                    }
                }
                // A float to integer cast saturates, which is what a colour should do.
                pixels.extend(pixel.map(|c| c as u8));
            }
        }
        pixels
    }

    /// Adds grain of a strength (in levels of brightness) to a drawn scene.
    pub(super) fn add_grain(&self, drawn: &[u8], variant: usize, strength: f32) -> Vec<u8> {
        let mut rng = Streams::new(self.seed).stream("grain", variant as u64);
        // Each pixel takes a byte, -128..127, times the strength in 1/128 levels; strengths stay below 255.
        let scale = (strength.clamp(0.0, 255.0) * 256.0) as i32;
        let mut grained = Vec::with_capacity(drawn.len());
        for eight in drawn.chunks(24) {
            let bytes = rng.next_u64().to_le_bytes();
            for (pixel, byte) in eight.chunks(3).zip(bytes) {
                let grain = (i32::from(byte) - 128) * scale / (128 * 256);
                grained.extend(pixel.iter().map(|&c| (i32::from(c) + grain).clamp(0, 255) as u8));
            }
        }
        grained
    }
}
