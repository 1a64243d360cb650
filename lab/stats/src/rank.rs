//! Wilcoxon's signed ranks: a test, an estimate and an interval for paired differences, without the
//! assumption of normal noise.
//!
//! The only assumption is that differences scatter symmetrically around their centre. The three belong
//! together: the interval holds exactly the centres that the test does not reject at its level, and the
//! estimate is the centre that the test rejects least (Hodges and Lehmann: the median of the means of all
//! pairs of differences, Walsh averages).
//!
//! Up to [`EXACT_UP_TO`] differences the null distribution is counted out; above, it is taken as normal with
//! a correction for continuity. *Ties*: differences of equal size share their mean rank, and the distribution
//! is counted out for these ranks, so the test stays exact. *Zeros*: a zero difference says nothing about the
//! sign and is left out of the test, as Wilcoxon did; estimate and interval keep it. With ties or zeros the
//! interval, whose bounds are those without ties, is a little wider than the test.

use crate::normal;

/// Most differences for which the null distribution is counted out.
pub const EXACT_UP_TO: usize = 25;

/// Distance below which differences of logarithms are equal: ratios like 11/10 and 22/20 differ in last
/// digits.
const SAME: f64 = 1e-12;

/// Confidence of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    /// 90 %: its ends are two one-sided tests at 5 %, as required for a claim of equivalence.
    P90,
    /// 95 %.
    P95,
}

impl Confidence {
    /// Probability left out at each end.
    #[must_use]
    pub const fn tail(self) -> f64 {
        match self {
            Confidence::P90 => 0.05,
            Confidence::P95 => 0.025,
        }
    }

    /// Standard normal quantile with the tail probability above it.
    pub(crate) const fn z(self) -> f64 {
        match self {
            Confidence::P90 => 1.644_853_626_951_472_2,
            Confidence::P95 => 1.959_963_984_540_054,
        }
    }
}

/// Result of the signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Differences that are not zero.
    pub used: usize,
    /// Sum of the ranks of the positive ones.
    pub positive: f64,
    /// Sum of the ranks of the negative ones.
    pub negative: f64,
    /// Two-sided p-value: the probability of ranks at least as one-sided under no difference; 1 without
    /// differences to test.
    pub p: f64,
}

/// Performs the test. NaN is not allowed and must be left out before; infinite differences are the largest.
#[must_use]
pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let mut sizes: Vec<(f64, bool)> =
        differences.iter().filter(|d| d.abs() > SAME).map(|d| (d.abs(), *d > 0.0)).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let doubled = doubled_ranks(&sizes);
    let total: usize = doubled.iter().sum();
    let positive: usize = doubled.iter().zip(&sizes).filter(|(_, size)| size.1).map(|(rank, _)| rank).sum();
    let smaller = positive.min(total - positive);
    let tail = if sizes.len() <= EXACT_UP_TO {
        let ways = ways_to_sum(&doubled, smaller);
        ways.iter().sum::<f64>() / 2f64.powi(i32::try_from(sizes.len()).unwrap_or(i32::MAX))
    } else {
        // Continuity correction of half a rank, which is one in doubled ranks. The variance of the actual
        // ranks accounts for ties.
        let variance = doubled.iter().map(|rank| (*rank as f64).powi(2)).sum::<f64>() / 4.0;
        normal::above((total as f64 / 2.0 - smaller as f64 - 1.0) / variance.sqrt())
    };
    SignedRank {
        used: sizes.len(),
        positive: positive as f64 / 2.0,
        negative: (total - positive) as f64 / 2.0,
        p: (2.0 * tail).min(1.0),
    }
}

/// Ranks of sorted sizes, times two, so that the mean rank of a tie is a whole number.
fn doubled_ranks(sorted: &[(f64, bool)]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    while ranks.len() < sorted.len() {
        let first = ranks.len();
        let tied = sorted[first..].iter().take_while(|size| size.0 <= sorted[first].0 + SAME).count();
        // Ranks first + 1 to first + tied have twice this mean.
        ranks.extend(std::iter::repeat_n(2 * first + tied + 1, tied));
    }
    ranks
}

/// Number of sign assignments in which the positive `ranks` sum to 0, 1, ... `most`.
fn ways_to_sum(ranks: &[usize], most: usize) -> Vec<f64> {
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for rank in ranks {
        for sum in (*rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

/// Walsh averages: the means of all pairs of differences, each with itself too, in rising order. Their number
/// is n (n + 1) / 2, so a thousand differences make half a million.
#[must_use]
pub fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (i, one) in differences.iter().enumerate() {
        averages.extend(differences[i..].iter().map(|other| middle(*one, *other)));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// The median of values in rising order; NaN without values. Of Walsh averages it is the estimate of Hodges
/// and Lehmann.
#[must_use]
pub fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[half],
        _ => middle(sorted[half - 1], sorted[half]),
    }
}

/// The mean of two values; opposite infinities give zero.
fn middle(one: f64, other: f64) -> f64 {
    if one == -other { 0.0 } else { f64::midpoint(one, other) }
}

/// The median of values in any order; NaN without values.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The interval for the centre of `n` differences from their Walsh averages in rising order: the k-th from
/// either end. `None` with too few differences: below 5 for 90 %, below 6 for 95 %.
#[must_use]
pub fn interval(walsh: &[f64], n: usize, confidence: Confidence) -> Option<(f64, f64)> {
    let k = place(n, confidence)?;
    Some((*walsh.get(k - 1)?, *walsh.get(walsh.len().checked_sub(k)?)?))
}

/// The 95 % interval of a median, from values in rising order that need not scatter evenly: the k-th from
/// either end, by the sign test. `None` below six values.
#[must_use]
pub fn median_interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let n = sorted.len();
    let k = if n <= COINS { coins(n) } else { normal_coins(n as f64) };
    (k > 0).then(|| (sorted[k - 1], sorted[n - k]))
}

/// Most coins for which probabilities are counted out; the number of outcomes of many more overflows.
const COINS: usize = 1_000;

/// The largest k for which k - 1 heads or fewer of `n` coins are at most as likely as a tail of the interval.
fn coins(n: usize) -> usize {
    let mut way = 0.5f64.powi(n as i32);
    let mut sum = 0.0;
    let likely = (0..n).take_while(|heads| {
        sum += way;
        way *= (n - heads) as f64 / (heads + 1) as f64;
        sum <= Confidence::P95.tail()
    });
    likely.count()
}

/// The same by the normal form with a correction for continuity.
fn normal_coins(n: f64) -> usize {
    ((n + 1.0 - Confidence::P95.z() * n.sqrt()) / 2.0).floor() as usize
}

/// Position of the Walsh average, from either end and counted from one, that bounds the interval: the largest
/// k for which a rank sum of k - 1 or less has at most the probability of a tail.
fn place(n: usize, confidence: Confidence) -> Option<usize> {
    if n <= EXACT_UP_TO {
        let ranks: Vec<usize> = (1..=n).collect();
        let ways = ways_to_sum(&ranks, n * (n + 1) / 4);
        let allowed = confidence.tail() * 2f64.powi(i32::try_from(n).ok()?);
        let mut sum = 0.0;
        let k = ways.iter().take_while(|way| {
            sum += **way;
            sum <= allowed
        });
        return Some(k.count()).filter(|k| *k > 0);
    }
    let (mean, variance) = moments(n as f64);
    let k = (mean + 0.5 - confidence.z() * variance.sqrt()).floor();
    Some(k as usize).filter(|k| *k > 0)
}

/// Mean and variance of the rank sum of `n` differences under no difference.
fn moments(n: f64) -> (f64, f64) {
    (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0)
}

#[cfg(test)]
mod tests;
