//! Scatter of a figure within one run, by resampling blocks of time.
//!
//! The result is a lower bound of the noise. It contains variation from block to block, and not conditions
//! that are constant within a run and different in the next: the machine's neighbours, the placement of
//! memory.

use barograph_record::{IntervalRow, LogHistogram, Run, WithinRunNoise, tag};
use barograph_stats::compare::resample;
use barograph_stats::warm_up;

use super::figures::{RunFigure, Source, intervals, windows};

/// Length of a block: longer than the resemblance of neighbouring seconds.
const BLOCK_S: f64 = 10.0;
/// Fewest blocks that show their scatter.
const FEWEST_BLOCKS: usize = 5;
/// Half a 95 % interval in standard errors.
const HALF_WIDTH: f64 = 1.96;

/// The noise of a ratio of two runs, as far as it shows within them. `None` if one of them is too short,
/// never settled, or has a single value of the figure.
pub(super) fn within(
    (baseline, one): (&RunBlocks, &RunFigure),
    (candidate, other): (&RunBlocks, &RunFigure),
) -> Option<WithinRunNoise> {
    let (error, blocks) = baseline.error(&one.source)?;
    let (other_error, other_blocks) = candidate.error(&other.source)?;
    let (centre, half) = ((other.value / one.value).ln(), HALF_WIDTH * error.hypot(other_error));
    centre.is_finite().then(|| WithinRunNoise {
        metric: one.label.clone(),
        low: (centre - half).exp(),
        high: (centre + half).exp(),
        blocks: blocks.min(other_blocks),
    })
}

/// The blocks of a run.
pub(super) struct RunBlocks {
    blocks: Vec<Block>,
}

/// One block. Times count from the start of the load.
#[derive(Default)]
struct Block {
    from_s: f64,
    to_s: f64,
    good: u64,
    /// By the name of the operation in the interval log: values in microseconds with their counts, by rising
    /// value.
    times: Vec<(String, Vec<(u64, u64)>)>,
    /// Mean cores used, by subject.
    cores: Vec<(String, f64)>,
}

impl Block {
    fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }
}

impl RunBlocks {
    /// Cuts the windows of a run into blocks, without the warm-up by MSER-5. Without blocks if it never
    /// settled.
    pub(super) fn of(run: &Run) -> Self {
        let windows = windows(run);
        let rows = intervals(run, &windows);
        let rate = |row: &&IntervalRow| row.ops.iter().map(|op| op.count).sum::<u64>() as f64 / row.seconds();
        let rates: Vec<f64> = rows.iter().map(rate).collect();
        let Some(cut) = warm_up::cut(&rates) else { return RunBlocks { blocks: Vec::new() } };
        let mut blocks: Vec<Block> = Vec::new();
        let mut open = false;
        for row in &rows[cut..] {
            // A gap between two windows ends a block, and so does its length; a shortened one is dropped.
            if open && blocks.last().is_some_and(|b| row.from_s > b.to_s + 0.001) {
                blocks.pop();
                open = false;
            }
            if !open {
                blocks.push(Block { from_s: row.from_s, to_s: row.from_s, ..Block::default() });
            }
            let Some(block) = blocks.last_mut() else { continue };
            block.to_s = row.to_s;
            block.good += row.ops.iter().map(|op| op.count - op.failed.min(op.count)).sum::<u64>();
            open = block.seconds() < BLOCK_S - 0.001;
        }
        if open {
            blocks.pop();
        }
        let mut inside = RunBlocks { blocks };
        inside.take_times(run);
        inside.take_cores(run);
        inside
    }

    fn block_at(&mut self, middle_s: f64) -> Option<&mut Block> {
        self.blocks.iter_mut().find(|b| (b.from_s..=b.to_s).contains(&middle_s))
    }

    fn take_times(&mut self, run: &Run) {
        let Ok(log) = run.response_log() else { return };
        // Unreadable lines are skipped: the others scatter as much.
        for LogHistogram { op, from_s, seconds, histogram, .. } in log.histograms().flatten() {
            let Some(block) = self.block_at(from_s + seconds / 2.0) else { continue };
            let place = block.times.iter().position(|(name, _)| *name == op).unwrap_or_else(|| {
                block.times.push((op, Vec::new()));
                block.times.len() - 1
            });
            let counted =
                histogram.iter_recorded().map(|v| (v.value_iterated_to(), u64::from(v.count_at_value())));
            block.times[place].1.extend(counted);
        }
        for (_, times) in self.blocks.iter_mut().flat_map(|b| &mut b.times) {
            times.sort_unstable();
        }
    }

    fn take_cores(&mut self, run: &Run) {
        let Some(zero) = run.load_start_s() else { return };
        for block in &mut self.blocks {
            // A sample describes the time since the previous one, about a second.
            let inside =
                run.probes.iter().filter(|p| p.at_s - zero > block.from_s && p.at_s - zero <= block.to_s);
            let mut sums: Vec<(String, f64, u32)> = Vec::new();
            for (subject, cores) in inside.filter_map(|p| Some((&p.subject, p.cores()?))) {
                match sums.iter_mut().find(|(name, ..)| name == subject) {
                    Some((_, sum, count)) => (*sum, *count) = (*sum + cores, *count + 1),
                    None => sums.push((subject.clone(), cores, 1)),
                }
            }
            block.cores = sums.into_iter().map(|(name, sum, count)| (name, sum / f64::from(count))).collect();
        }
    }

    /// Standard error of the logarithm of a figure, and its number of blocks.
    fn error(&self, source: &Source) -> Option<(f64, usize)> {
        if self.blocks.len() < FEWEST_BLOCKS {
            return None;
        }
        let count = self.blocks.len();
        let found = match source {
            Source::Once => None,
            Source::Throughput => resample(count, |drawn| {
                ratio(drawn, |b| (self.blocks[b].good as f64, self.blocks[b].seconds()))
            }),
            Source::Cpu { subject } => {
                let used: Vec<(f64, f64)> =
                    self.blocks.iter().map(|b| cpu(b, subject)).collect::<Option<_>>()?;
                resample(count, |drawn| ratio(drawn, |b| used[b]))
            }
            Source::Quantile { op, quantile } => {
                let counts = Counts::of(&self.blocks, &tag(op))?;
                resample(count, |drawn| counts.quantile(drawn, *quantile))
            }
        };
        found.map(|found| (found.error, count))
    }
}

/// CPU seconds of a block, and the operations that ended well in it.
fn cpu(block: &Block, subject: &str) -> Option<(f64, f64)> {
    let (_, cores) = block.cores.iter().find(|(name, _)| name == subject)?;
    Some((cores * block.seconds(), block.good as f64))
}

/// Logarithm of the ratio of two sums over the drawn blocks.
fn ratio(drawn: &[usize], of: impl Fn(usize) -> (f64, f64)) -> Option<f64> {
    let (above, below) = drawn.iter().map(|b| of(*b)).fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    (above > 0.0 && below > 0.0).then(|| (above / below).ln())
}

/// Counts of each value by block.
struct Counts {
    /// By falling value: relevant quantiles are near the top, and are found after few steps.
    values: Vec<u64>,
    /// Per value, per block.
    counts: Vec<Vec<u64>>,
    totals: Vec<u64>,
}

impl Counts {
    fn of(blocks: &[Block], op: &str) -> Option<Self> {
        let times: Vec<&[(u64, u64)]> = blocks
            .iter()
            .map(|b| b.times.iter().find(|(name, _)| name == op).map_or(&[][..], |(_, times)| times))
            .collect();
        let mut values: Vec<u64> = times.iter().flat_map(|t| t.iter().map(|(value, _)| *value)).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values.dedup();
        let mut counts = vec![vec![0; blocks.len()]; values.len()];
        for (block, times) in times.iter().enumerate() {
            for (value, count) in *times {
                let place = values.binary_search_by(|probe| value.cmp(probe)).ok()?;
                counts[place][block] += count;
            }
        }
        let totals = times.iter().map(|t| t.iter().map(|(_, count)| count).sum()).collect();
        (!values.is_empty()).then_some(Counts { values, counts, totals })
    }

    /// Logarithm of the quantile of all values in the drawn blocks.
    fn quantile(&self, drawn: &[usize], quantile: f64) -> Option<f64> {
        let total: u64 = drawn.iter().map(|b| self.totals[*b]).sum();
        // Number of values above it.
        let above = total - ((quantile * total as f64).ceil() as u64).clamp(1.min(total), total);
        let mut seen = 0;
        for (value, counts) in self.values.iter().zip(&self.counts) {
            seen += drawn.iter().map(|b| counts[*b]).sum::<u64>();
            if seen > above {
                return (*value > 0).then(|| (*value as f64).ln());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(times: &[(u64, u64)]) -> Block {
        Block { to_s: 10.0, times: vec![("A".to_owned(), times.to_vec())], ..Block::default() }
    }

    #[test]
    fn quantiles_of_drawn_blocks_are_those_of_all_their_values() {
        let blocks = [block(&[(1, 98), (50, 2)]), block(&[(1, 90), (2, 10)])];
        let counts = Counts::of(&blocks, "A").unwrap();
        let at = |drawn: &[usize], q: f64| counts.quantile(drawn, q).unwrap().exp().round() as u64;
        assert_eq!((at(&[0], 0.98), at(&[0], 0.99), at(&[0], 1.0)), (1, 50, 50));
        assert_eq!((at(&[1, 1], 0.9), at(&[1, 1], 0.91), at(&[0, 1], 0.995)), (1, 2, 50));
        assert!(Counts::of(&blocks, "B").is_none());
    }

    #[test]
    fn few_blocks_say_nothing_and_equal_ones_have_no_error() {
        let inside = |n: usize| RunBlocks { blocks: (0..n).map(|_| block(&[(10, 100)])).collect() };
        let source = Source::Quantile { op: "A".to_owned(), quantile: 0.99 };
        assert_eq!(inside(4).error(&source), None);
        let (error, blocks) = inside(5).error(&source).unwrap();
        assert!(error < 1e-9 && blocks == 5, "{error} of {blocks}");
        assert_eq!(inside(5).error(&Source::Once), None);
    }
}
