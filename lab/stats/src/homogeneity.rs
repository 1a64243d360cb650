//! Test for equal mixtures in the slices of a window: Pearson's chi-square between slices, relative to the
//! one within slices.
//!
//! Counts of operations are not independent draws: a session does its steps in order, and many users react to
//! the same event. The plain test would therefore find every busy window uneven. Here the dispersion
//! *between* slices has to exceed the dispersion of blocks *within* slices. It also has to be large: with a
//! million operations a difference of a thousandth is certain and irrelevant.

/// Kinds with fewer counts than this in all are pooled.
const FEWEST_OF_A_KIND: u64 = 15;

/// Standard deviations that chance alone exceeds once in two thousand windows.
const CERTAIN: f64 = 3.29;

/// Difference between the slices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceDifference {
    /// The slice that differs most from the others, by its number.
    pub slice: usize,
    /// Part of it that would have to be of another kind to match the others, 0 to 1 (total variation).
    pub distance: f64,
    /// The kind that differs most, by its number among those given; `None` for all rare ones together.
    pub kind: Option<usize>,
    /// Share of that kind in the slice.
    pub share: f64,
    /// Its share in the others.
    pub share_of_others: f64,
    /// The difference between slices in standard deviations of chance, given the unevenness within slices.
    pub deviations: f64,
}

impl SliceDifference {
    /// Whether it exceeds chance.
    #[must_use]
    pub fn certain(&self) -> bool {
        self.deviations > CERTAIN
    }
}

/// Compares slices. `blocks` are counts by kind, in order of time; each slice has `per_slice` of them. `None`
/// if there are fewer than two slices of two blocks, or fewer than two kinds frequent enough to be compared.
#[must_use]
pub fn unlike(blocks: &[Vec<u64>], per_slice: usize) -> Option<SliceDifference> {
    if per_slice < 2 || blocks.len() < 2 * per_slice {
        return None;
    }
    let (names, blocks) = pooled(blocks)?;
    let kinds = names.len();
    let slices: Vec<Vec<u64>> = blocks.chunks_exact(per_slice).map(sum).collect();
    let all = sum(&slices);
    let between = chi_square(&slices, &all);
    let within: f64 =
        blocks.chunks_exact(per_slice).zip(&slices).map(|(blocks, slice)| chi_square(blocks, slice)).sum();
    let freedom = ((slices.len() - 1) * (kinds - 1)) as f64;
    let freedom_within = (slices.len() * (per_slice - 1) * (kinds - 1)) as f64;
    // Less dispersion than by chance counts as chance.
    let dispersion = (within / freedom_within * resemblance(&blocks, &slices)).max(1.0);
    let deviations = deviations(between / freedom / dispersion, freedom, freedom_within);
    Some(SliceDifference { deviations, ..largest(&slices, &all, &names) })
}

/// Numbers of kinds, and their counts by block.
type PooledCounts = (Vec<Option<usize>>, Vec<Vec<u64>>);

/// Pools rare kinds in one last kind, unless it is too rare itself. The numbers identify the kinds; `None` is
/// the pool. `None` if fewer than two kinds are left.
fn pooled(blocks: &[Vec<u64>]) -> Option<PooledCounts> {
    let all = sum(blocks);
    let (often, rare): (Vec<usize>, Vec<usize>) =
        (0..all.len()).partition(|kind| all[*kind] >= FEWEST_OF_A_KIND);
    let enough = rare.iter().map(|kind| all[*kind]).sum::<u64>() >= FEWEST_OF_A_KIND;
    let names: Vec<Option<usize>> = often.iter().copied().map(Some).chain(enough.then_some(None)).collect();
    let count = |block: &Vec<u64>, name: &Option<usize>| match name {
        Some(kind) => block[*kind],
        None => rare.iter().map(|kind| block[*kind]).sum(),
    };
    let pool = |block: &Vec<u64>| names.iter().map(|name| count(block, name)).collect();
    let pooled = blocks.iter().map(pool).collect();
    (names.len() >= 2).then_some((names, pooled))
}

fn sum<B: AsRef<[u64]>>(blocks: &[B]) -> Vec<u64> {
    let mut all = vec![0; blocks.first().map_or(0, |b| b.as_ref().len())];
    for block in blocks {
        for (sum, n) in all.iter_mut().zip(block.as_ref()) {
            *sum += n;
        }
    }
    all
}

/// Factor by which sums of neighbouring blocks vary more than their differences imply, because activity
/// carries over: in a window of 15 s a block is a second long, and users who act together do so for several.
/// 1 if neighbours are independent. Blocks are compared with their own slice, which hides some of the
/// resemblance: for few blocks about one part in their number, which is added.
fn resemblance(blocks: &[Vec<u64>], slices: &[Vec<u64>]) -> f64 {
    let per_slice = blocks.len() / slices.len();
    let (mut squares, mut neighbours) = (0.0, 0.0);
    for (blocks, slice) in blocks.chunks_exact(per_slice).zip(slices) {
        let whole = total(slice).max(1.0);
        let off = |block: &Vec<u64>| -> Vec<f64> {
            let part = total(block) / whole;
            let expected = slice.iter().map(|of_slice| *of_slice as f64 * part);
            block.iter().zip(expected).map(|(n, e)| (*n as f64 - e) / e.max(1.0).sqrt()).collect()
        };
        let off: Vec<Vec<f64>> = blocks.iter().map(off).collect();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        squares += off.iter().map(|o| product(o, o)).sum::<f64>();
        neighbours += off.windows(2).map(|pair| product(&pair[0], &pair[1])).sum::<f64>();
    }
    if squares <= 0.0 {
        return 1.0;
    }
    let alike = (neighbours / squares + 1.0 / per_slice as f64).clamp(0.0, 0.8);
    (1.0 + alike) / (1.0 - alike)
}

fn total(counts: &[u64]) -> f64 {
    counts.iter().sum::<u64>() as f64
}

/// Pearson's statistic of `rows` against the shares of `all`; kinds and rows without counts add nothing.
fn chi_square<B: AsRef<[u64]>>(rows: &[B], all: &[u64]) -> f64 {
    let whole = total(all);
    let mut statistic = 0.0;
    for row in rows {
        let size = total(row.as_ref());
        for (seen, of_all) in row.as_ref().iter().zip(all) {
            let expected = *of_all as f64 / whole * size;
            if expected > 0.0 {
                statistic += (*seen as f64 - expected).powi(2) / expected;
            }
        }
    }
    statistic
}

/// A value of the F distribution as standard deviations of a normal one (Paulson's approximation: good to a percent of the
/// deviations where the second freedom is 3 or more).
fn deviations(f: f64, first: f64, second: f64) -> f64 {
    let (a, b) = (2.0 / (9.0 * first), 2.0 / (9.0 * second));
    let root = f.max(0.0).cbrt();
    ((1.0 - b) * root - (1.0 - a)) / (b * root * root + a).sqrt()
}

fn largest(slices: &[Vec<u64>], all: &[u64], names: &[Option<usize>]) -> SliceDifference {
    let mut worst = SliceDifference {
        slice: 0,
        distance: 0.0,
        kind: None,
        share: 0.0,
        share_of_others: 0.0,
        deviations: 0.0,
    };
    for (number, slice) in slices.iter().enumerate() {
        let others: Vec<u64> = all.iter().zip(slice).map(|(all, here)| all - here).collect();
        let (size, rest) = (total(slice), total(&others));
        if size == 0.0 || rest == 0.0 {
            continue;
        }
        let shares: Vec<(f64, f64)> =
            slice.iter().zip(&others).map(|(a, b)| (*a as f64 / size, *b as f64 / rest)).collect();
        let distance = shares.iter().map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0;
        if distance > worst.distance {
            let apart = |kind: &usize| (shares[*kind].0 - shares[*kind].1).abs();
            let kind = (0..shares.len()).max_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(0);
            let (share, share_of_others) = shares[kind];
            worst = SliceDifference {
                slice: number,
                distance,
                kind: names[kind],
                share,
                share_of_others,
                ..worst
            };
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Blocks of 300 draws with the given shares; each draw is made `clump` times over.
    fn blocks(seed: u64, clump: u64, shares: impl Fn(usize) -> [f64; 4]) -> Vec<Vec<u64>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let block = |at: usize, rng: &mut Xoshiro256PlusPlus| {
            let mut counts = vec![0; 4];
            for _ in 0..300 / clump {
                let mut draw = rng.random::<f64>();
                let pick = shares(at).iter().position(|s| {
                    draw -= s;
                    draw < 0.0
                });
                counts[pick.unwrap_or(3)] += clump;
            }
            counts
        };
        (0..24).map(|at| block(at, &mut rng)).collect()
    }

    fn certain(clump: u64, shares: fn(usize) -> [f64; 4]) -> usize {
        (0..1000).filter(|seed| unlike(&blocks(*seed, clump, shares), 8).unwrap().certain()).count()
    }

    #[test]
    fn chance_is_called_certain_once_in_two_thousand() {
        for clump in [1, 5, 20] {
            let found = certain(clump, |_| [0.4, 0.3, 0.2, 0.1]);
            assert!(found <= 4, "{found} of 1000 with clumps of {clump}");
        }
    }

    #[test]
    fn a_change_is_found_and_told() {
        let changes = |at| if at < 16 { [0.4, 0.3, 0.2, 0.1] } else { [0.5, 0.2, 0.2, 0.1] };
        assert!(certain(1, changes) > 990);
        let found = unlike(&blocks(1, 1, changes), 8).unwrap();
        assert_eq!(found.slice, 2);
        assert!(matches!(found.kind, Some(0 | 1)), "{found:?}");
        assert!((found.distance - 0.1).abs() < 0.03, "{found:?}");
        assert!((found.share - found.share_of_others).abs() > 0.07, "{found:?}");
    }

    #[test]
    fn rare_kinds_are_put_together_and_one_kind_is_no_mixture() {
        let one = vec![vec![100, 0, 1]; 6];
        assert_eq!(unlike(&one, 2), None);
        let two = vec![vec![100, 2, 1]; 6];
        assert!(unlike(&two, 2).is_some_and(|found| !found.certain() && found.distance < 1e-12));
        assert_eq!(unlike(&two[..3], 2), None, "one slice and a half");
        assert_eq!(unlike(&two, 1), None, "nothing within a slice to compare with");
    }

    /// Upper 0.1 % points of F from published tables.
    #[test]
    fn deviations_agree_with_tables_of_f() {
        for (first, second, f) in
            [(2.0, 30.0, 8.77), (6.0, 60.0, 4.37), (10.0, 120.0, 3.24), (2.0, 9.0, 16.39)]
        {
            let found = deviations(f, first, second);
            assert!((found - 3.09).abs() < 0.06, "F({first}, {second}) = {f}: {found}");
        }
    }

    proptest! {
        #[test]
        fn the_order_of_kinds_does_not_matter(seed in 0u64..500) {
            let blocks = blocks(seed, 1, |at| [0.4, 0.3, 0.2 - at as f64 / 200.0, 0.1 + at as f64 / 200.0]);
            let turned: Vec<Vec<u64>> = blocks.iter().map(|b| b.iter().rev().copied().collect()).collect();
            let (one, other) = (unlike(&blocks, 8).unwrap(), unlike(&turned, 8).unwrap());
            prop_assert!((one.deviations - other.deviations).abs() < 1e-9);
            prop_assert!((one.distance - other.distance).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&one.distance));
        }
    }
}
