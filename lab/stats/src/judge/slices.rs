//! The thirds of a window, each in blocks: differences between thirds are compared with those within.

use barograph_model::{CheckFacts, Share};

use crate::IntervalSummary;
use crate::homogeneity::SliceDifference;

/// Slices of a window.
const SLICES: usize = 3;

/// Least number of blocks of a slice, so that its inside can be compared, and the greatest.
const BLOCKS: (usize, usize) = (2, 8);

/// The figures of a check for thirds that are unlike.
pub(super) fn facts(found: &SliceDifference, kind: Option<String>, most: Share) -> CheckFacts {
    CheckFacts::Shares {
        kind,
        third: found.slice,
        distance: found.distance,
        share: found.share,
        in_rest: found.share_of_others,
        most: most.get(),
    }
}

/// Counts of the blocks of all slices, and the number of blocks per slice; `None` with too few intervals.
/// Every interval is in one block.
pub(super) fn counted(
    parts: &[IntervalSummary],
    counts: impl Fn(&IntervalSummary) -> Vec<u64>,
) -> Option<(Vec<Vec<u64>>, usize)> {
    let per_slice = (parts.len() / SLICES).min(BLOCKS.1);
    if per_slice < BLOCKS.0 {
        return None;
    }
    let count = SLICES * per_slice;
    let edge = |i: usize| i * parts.len() / count;
    let block = |i: usize| {
        let mut sum: Vec<u64> = Vec::new();
        for part in &parts[edge(i)..edge(i + 1)] {
            let more = counts(part);
            sum.resize(more.len(), 0);
            sum.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        }
        sum
    };
    Some(((0..count).map(block).collect(), per_slice))
}

/// The thirds of a window; `None` with too few intervals.
pub(super) fn thirds(parts: &[IntervalSummary]) -> Option<Vec<&[IntervalSummary]>> {
    if parts.len() < SLICES * BLOCKS.0 {
        return None;
    }
    let edge = |i: usize| i * parts.len() / SLICES;
    Some((0..SLICES).map(|i| &parts[edge(i)..edge(i + 1)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interval_is_in_one_block_and_one_third() {
        for length in [6, 7, 23, 24, 25, 60, 3600] {
            let parts: Vec<IntervalSummary> = (0..length)
                .map(|at| IntervalSummary { starts: 1 << (at % 40), ..IntervalSummary::default() })
                .collect();
            let all: u64 = parts.iter().map(|part| part.starts).sum();
            let (blocks, per_slice) = counted(&parts, |part| vec![part.starts]).unwrap();
            assert_eq!((blocks.len(), blocks.iter().map(|b| b[0]).sum::<u64>()), (3 * per_slice, all));
            let thirds = thirds(&parts).unwrap();
            assert_eq!(thirds.iter().map(|t| t.len()).sum::<usize>(), length);
        }
        assert_eq!(counted(&vec![IntervalSummary::default(); 5], |_| vec![1]), None);
        assert_eq!(thirds(&vec![IntervalSummary::default(); 5]), None);
    }
}
