//! What blocks hold: bytes of a stated entropy, and for verification a head with number, generation and checksum.

use barograph_data::mix;

/// Bytes of a stretch, each of which has the same part of random bytes.
const STRETCH: usize = 512;

/// Bytes of a word: random ones follow from zero ones within a stretch.
const WORD: usize = 8;

/// Words of a stretch.
const WORDS: usize = STRETCH / WORD;

/// Random words made side by side, so that they do not wait for one another.
const LANES: usize = 8;

/// Bytes of one word of each lane.
const ROW: usize = LANES * WORD;

/// From the seed of a lane to that of the next.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The first word of a block that can be verified.
const HEAD: u64 = u64::from_le_bytes(*b"barograf");

/// Bytes of the head: mark, number, generation, checksum.
const HEAD_BYTES: usize = 4 * WORD;

/// Makes the contents of blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents {
    /// Random words of a stretch; the others are zero.
    random: usize,
}

/// A defect of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// It has no head.
    Foreign,
    /// It is another block of the target, or of an earlier load.
    Number { found: u64 },
    /// Its contents are not those of its head.
    Checksum,
    /// It is an earlier or later state of the block.
    Generation { found: u64, expected: u64 },
}

impl std::fmt::Display for Defect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Defect::Foreign => f.write_str("the block holds nothing that this load wrote"),
            Defect::Number { .. } => f.write_str("the block holds another one"),
            Defect::Checksum => f.write_str("the block is damaged: its checksum is another one"),
            Defect::Generation { found, expected } if found < expected => {
                f.write_str("the block holds an earlier state: a write was lost")
            }
            Defect::Generation { .. } => f.write_str("the block holds a later state than was written"),
        }
    }
}

impl Contents {
    /// Blocks of which a part is random, in steps of 1/64; the rest is zero.
    pub(crate) fn new(entropy: f64) -> Self {
        Contents { random: (entropy.clamp(0.0, 1.0) * WORDS as f64).round() as usize }
    }

    /// The part that is random.
    pub(crate) fn entropy(self) -> f64 {
        self.random as f64 / WORDS as f64
    }

    /// Fills a block; each `key` gives other random words.
    pub(crate) fn fill(self, block: &mut [u8], key: u64) {
        let mut lanes =
            std::array::from_fn(|lane| mix(key.wrapping_add(GAMMA.wrapping_mul(lane as u64))) | 1);
        for stretch in block.chunks_mut(STRETCH) {
            let random = (self.random * WORD).min(stretch.len());
            let (random, zeros) = stretch.split_at_mut(random);
            let mut rows = random.chunks_exact_mut(ROW);
            for row in &mut rows {
                row.copy_from_slice(&next(&mut lanes));
            }
            let rest = rows.into_remainder();
            rest.copy_from_slice(&next(&mut lanes)[..rest.len()]);
            zeros.fill(0);
        }
    }

    /// Fills a block that can be verified. `salt` is the same for all blocks of a load.
    pub(crate) fn fill_verifiable(self, block: &mut [u8], number: u64, (generation, salt): (u64, u64)) {
        self.fill(block, mix(number ^ salt).wrapping_add(generation));
        for (at, word) in [HEAD, number ^ salt, generation, 0].into_iter().enumerate() {
            block[at * WORD..][..WORD].copy_from_slice(&word.to_le_bytes());
        }
        let checksum = checksum(block);
        block[3 * WORD..HEAD_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// The next word of each lane, by Marsaglia's xorshift of 64 bits.
#[inline]
fn next(lanes: &mut [u64; LANES]) -> [u8; ROW] {
    let mut row = [0; ROW];
    for (lane, word) in lanes.iter_mut().zip(row.chunks_exact_mut(WORD)) {
        *lane ^= *lane << 13;
        *lane ^= *lane >> 7;
        *lane ^= *lane << 17;
        word.copy_from_slice(&lane.to_le_bytes());
    }
    row
}

/// Compares a block with what was written to it.
pub(crate) fn verify(block: &[u8], number: u64, (generation, salt): (u64, u64)) -> Result<(), Defect> {
    if block.len() < HEAD_BYTES || word(block, 0) != HEAD {
        return Err(Defect::Foreign);
    }
    let found = word(block, 1) ^ salt;
    if checksum(block) != word(block, 3) {
        return Err(Defect::Checksum);
    }
    if found != number {
        return Err(Defect::Number { found });
    }
    match word(block, 2) {
        found if found == generation => Ok(()),
        found => Err(Defect::Generation { found, expected: generation }),
    }
}

/// The part of the words of a block that is not zero: an estimate of its entropy.
pub(crate) fn random_part(block: &[u8]) -> f64 {
    let words = block.chunks_exact(WORD);
    let all = words.len().max(1);
    words.filter(|word| word.iter().any(|byte| *byte != 0)).count() as f64 / all as f64
}

fn word(block: &[u8], at: usize) -> u64 {
    let bytes = block[at * WORD..][..WORD].try_into();
    u64::from_le_bytes(bytes.expect("a word has eight bytes"))
}

/// Over all words but that of the checksum, in four lanes so that words do not wait for one another.
fn checksum(block: &[u8]) -> u64 {
    const FACTOR: u64 = 0xff51_afd7_ed55_8ccd;
    let mut lanes = [1_u64, 2, 3, 4];
    let step = |lane: &mut u64, word: u64| *lane = (lane.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    for (lane, at) in lanes.iter_mut().zip([0, 1, 2]) {
        step(lane, word(block, at));
    }
    let mut groups = block[HEAD_BYTES..].chunks_exact(HEAD_BYTES);
    for group in &mut groups {
        for (at, lane) in lanes.iter_mut().enumerate() {
            step(lane, word(group, at));
        }
    }
    for byte in groups.remainder() {
        step(&mut lanes[0], u64::from(*byte));
    }
    lanes.into_iter().fold(block.len() as u64, |sum, lane| mix(sum ^ lane))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: u64 = 77;

    #[test]
    fn entropy_is_the_random_part_of_every_stretch() {
        for entropy in [0.0, 0.25, 0.5, 1.0] {
            let contents = Contents::new(entropy);
            let mut block = vec![0xaa; 64 * 1024];
            contents.fill(&mut block, 5);
            assert!((contents.entropy() - entropy).abs() < 1e-9);
            for stretch in block.chunks(STRETCH) {
                assert!((random_part(stretch) - entropy).abs() < 0.02, "{entropy}");
            }
        }
        assert!((Contents::new(0.6).entropy() - 0.6).abs() <= 1.0 / 128.0);
    }

    #[test]
    fn no_two_stretches_are_alike() {
        let mut all = std::collections::BTreeSet::new();
        for key in 0..256 {
            let mut block = vec![0; 4_096];
            Contents::new(0.5).fill(&mut block, key);
            all.extend(block.chunks(STRETCH).map(<[u8]>::to_vec));
        }
        assert_eq!(all.len(), 256 * 8);
    }

    /// A block with its state.
    fn written(number: u64, generation: u64) -> Vec<u8> {
        let mut block = vec![0; 4_096];
        Contents::new(1.0).fill_verifiable(&mut block, number, (generation, SALT));
        block
    }

    #[test]
    fn a_block_is_what_was_written() {
        assert_eq!(verify(&written(3, 9), 3, (9, SALT)), Ok(()));
    }

    #[test]
    fn every_defect_is_named() {
        let good = written(3, 9);
        let of = |block: &[u8]| verify(block, 3, (9, SALT)).unwrap_err();
        assert_eq!(of(&written(4, 9)), Defect::Number { found: 4 });
        assert_eq!(of(&written(3, 8)), Defect::Generation { found: 8, expected: 9 });
        assert!(of(&written(3, 8)).to_string().contains("a write was lost"));
        assert_eq!(of(&vec![0; 4_096]), Defect::Foreign);
        let other_load = verify(&good, 3, (9, SALT + 1)).unwrap_err();
        assert!(matches!(other_load, Defect::Number { .. }));
        for at in WORD..good.len() {
            let mut damaged = good.clone();
            damaged[at] ^= 0x10;
            assert_eq!(of(&damaged), Defect::Checksum, "byte {at}");
        }
        let mut torn = good.clone();
        torn[2_048..].copy_from_slice(&written(3, 8)[2_048..]);
        assert_eq!(of(&torn), Defect::Checksum);
    }
}
