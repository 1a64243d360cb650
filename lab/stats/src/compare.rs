//! Comparison of a candidate with a baseline: direction, size and certainty of the difference.
//!
//! The unit is the *pair*: both figures come from one block, in which baseline and candidate ran one shortly
//! after the other. Effects of a machine's neighbours on both cancel in their ratio; figures taken far apart
//! in time differ even in a comparison of a thing with itself. `docs/reference/comparison.md` has the rate of
//! such differences, without and with pairs.
//!
//! Four findings: better, worse, equivalent within a margin stated before, and undecided. "No significant
//! difference" is not among them: it does not say whether there is one.

mod bootstrap;
mod bounded;
mod interval_estimate;

pub(crate) use bootstrap::summary;
pub use bootstrap::{BootstrapInterval, resample, resampled_interval};
pub use bounded::weaken;
pub use interval_estimate::{IntervalEstimate, compare_believed};

use crate::normal;
use crate::rank::{self, Confidence};

/// Fewest pairs that can give a 95 % interval.
pub const FEWEST_PAIRS: usize = 6;
/// Largest p-value, after Holm's correction, for "better" or "worse", and below which a control differs from
/// itself.
pub const SIGNIFICANCE: f64 = 0.05;
/// Looks in a row at which an interval is narrow enough before no more pairs are made. At one look it may be
/// narrow by luck: then 92.4 % of the intervals hold the truth in the worst case instead of 95 %, after two
/// in a row 93.1 % (`cargo xtask simulate compare`).
pub const NARROW_LOOKS: usize = 2;
/// Fewest pairs whose scatter is used to plan the number of pairs.
const FEWEST_TO_PLAN: usize = 5;
/// Standard normal quantile of the power used in planning: 80 %.
const POWER: f64 = 0.84;

/// The better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// More is better: throughput, capacity.
    Higher,
    /// Less is better: response times, CPU per operation.
    Lower,
}

/// Finding of a comparison. "Better" and "worse" are the candidate's, by the direction of the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    /// Better by more than the margin, and not by chance.
    Better,
    /// Worse by more than the margin, and not by chance.
    Worse,
    /// Certainly different by less than the margin.
    Equivalent,
    /// None of these is certain yet.
    Undecided,
}

impl Finding {
    /// All findings, worst first.
    pub const ALL: [Finding; 4] = [Finding::Worse, Finding::Undecided, Finding::Equivalent, Finding::Better];

    /// The word in texts and files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Finding::Better => "better",
            Finding::Worse => "worse",
            Finding::Equivalent => "equivalent",
            Finding::Undecided => "undecided",
        }
    }

    /// The same finding with baseline and candidate exchanged.
    #[must_use]
    pub const fn turned(self) -> Self {
        match self {
            Finding::Better => Finding::Worse,
            Finding::Worse => Finding::Better,
            same => same,
        }
    }
}

/// The two figures of one block, in the same unit. A missing figure is NaN. Pairs with a missing or negative
/// figure are not used. Zero is a valid figure: zero against a positive figure is the largest difference
/// there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Of the baseline.
    pub baseline: f64,
    /// Of the candidate.
    pub candidate: f64,
}

impl Pair {
    /// A pair of figures.
    #[must_use]
    pub const fn new(baseline: f64, candidate: f64) -> Self {
        Pair { baseline, candidate }
    }

    /// Candidate over baseline, if both figures are usable: infinite over a baseline of zero, and one if both
    /// are zero.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.log_ratio().map(f64::exp)
    }

    /// `ln(candidate / baseline)`, if both figures are usable.
    fn log_ratio(&self) -> Option<f64> {
        let usable = |figure: f64| figure.is_finite() && figure >= 0.0;
        if !(usable(self.baseline) && usable(self.candidate)) {
            return None;
        }
        // A difference of logarithms changes exactly its sign when the two are exchanged; that of a ratio does not.
        let both_zero = self.baseline == 0.0 && self.candidate == 0.0;
        Some(if both_zero { 0.0 } else { self.candidate.ln() - self.baseline.ln() })
    }
}

/// Comparison of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Pairs used.
    pub pairs: usize,
    /// Pairs left out because a figure was missing or negative.
    pub excluded: usize,
    /// Candidate over baseline: the Hodges-Lehmann estimate of the log ratios, as a ratio. NaN without pairs.
    pub ratio: f64,
    /// The plain median of the ratios.
    pub median_ratio: f64,
    /// Lower end of the 95 % interval of the ratio; NaN below [`FEWEST_PAIRS`].
    pub low: f64,
    /// Upper end of the 95 % interval of the ratio; NaN below [`FEWEST_PAIRS`].
    pub high: f64,
    /// Lower end of the 90 % interval, by which equivalence is judged; NaN below 5 pairs.
    pub low_90: f64,
    /// Upper end of the 90 % interval.
    pub high_90: f64,
    /// p-value of Wilcoxon's signed-rank test, two-sided; 1 without pairs.
    pub p: f64,
    /// The p-value corrected by [`judge`] for the number of metrics; equal to `p` before.
    pub p_holm: f64,
    /// Ratios from 1 / (1 + margin) to 1 + margin count as no practical difference.
    pub margin: f64,
    /// Noise floor as a share: ratios within it may be noise of the place and so are neither better nor
    /// worse. Zero if unknown. It has no effect on equivalence: a noisy place does not make things alike. Set
    /// by [`judge`].
    pub floor: f64,
    /// The finding.
    pub finding: Finding,
    /// Standard deviation of the logarithms of the ratios; NaN below two pairs, or if a figure is zero.
    pub scatter: f64,
    /// Approximate number of pairs that would decide, when undecided with 5 or more pairs: for this metric
    /// alone or, after [`judge`], for all metrics judged together.
    pub pairs_needed: Option<u32>,
}

/// Compares one metric. `margin` is a share: 0.01 is 1 %. A negative margin or NaN counts as zero, with which
/// nothing can be equivalent.
#[must_use]
pub fn compare(pairs: &[Pair], direction: Direction, margin: f64) -> Comparison {
    let logs: Vec<f64> = pairs.iter().filter_map(Pair::log_ratio).collect();
    let walsh = rank::walsh_averages(&logs);
    let ends = |confidence| {
        rank::interval(&walsh, logs.len(), confidence)
            .map_or((f64::NAN, f64::NAN), |(low, high)| (low.exp(), high.exp()))
    };
    let ((low, high), (low_90, high_90)) = (ends(Confidence::P95), ends(Confidence::P90));
    let p = rank::signed_rank(&logs).p;
    let mut compared = Comparison {
        pairs: logs.len(),
        excluded: pairs.len() - logs.len(),
        ratio: rank::median_of_sorted(&walsh).exp(),
        median_ratio: rank::median(&logs).exp(),
        low,
        high,
        low_90,
        high_90,
        p,
        p_holm: p,
        margin: if margin > 0.0 { margin } else { 0.0 },
        floor: 0.0,
        finding: Finding::Undecided,
        scatter: deviation(&logs),
        pairs_needed: None,
    };
    conclude(&mut compared, direction);
    compared.pairs_needed = needed(&compared, 1);
    compared
}

/// Fewest pairs with which one of `metrics` metrics judged together can be found better or worse: the
/// smallest p-value of n pairs is 2^(1 - n), and Holm multiplies the smallest of a family by the number of
/// its metrics.
#[must_use]
pub fn fewest_to_decide(metrics: usize) -> usize {
    let pairs = (1.0 + (metrics.max(1) as f64 / SIGNIFICANCE).log2()).ceil();
    (pairs as usize).max(FEWEST_PAIRS)
}

/// Corrects the p-values of metrics that are reported together, by Holm, and repeats the findings. Without
/// the correction, one of twenty unchanged metrics would be found better or worse. Equivalence is not
/// corrected: each such claim rests on its own interval. Metrics without pairs are not part of the family.
pub fn judge(family: &mut [(Direction, Comparison)]) {
    let mut order: Vec<usize> = (0..family.len()).filter(|at| family[*at].1.pairs > 0).collect();
    order.sort_by(|a, b| family[*a].1.p.total_cmp(&family[*b].1.p));
    let mut largest = 0.0f64;
    for (done, at) in order.iter().enumerate() {
        let left = (order.len() - done) as f64;
        let compared = &mut family[*at].1;
        largest = largest.max((compared.p * left).min(1.0));
        compared.p_holm = largest;
    }
    for (direction, compared) in family {
        conclude(compared, *direction);
        compared.pairs_needed = needed(compared, order.len());
    }
}

/// Noise floor of a comparison of a thing with itself: the distance from one of the further end of its 95 %
/// interval, as a share. Smaller differences cannot be distinguished from noise. NaN below [`FEWEST_PAIRS`].
#[must_use]
pub fn noise_floor(aa: &[Pair]) -> f64 {
    let control = compare(aa, Direction::Higher, 0.0);
    match (-control.low.ln(), control.high.ln()) {
        (below, above) if below.is_nan() || above.is_nan() => f64::NAN,
        (below, above) => below.max(above).exp_m1(),
    }
}

/// Whether an interval of ratios lies wholly on one side of all that differ from one by at most `share`.
#[must_use]
pub fn is_beyond((low, high): (f64, f64), share: f64) -> bool {
    let (least, most) = around_one(share);
    low > most || high < least
}

/// The ratios that differ from one by exactly this share.
fn around_one(share: f64) -> (f64, f64) {
    (1.0 / (1.0 + share), 1.0 + share)
}

/// Sets the finding by intervals, margin, noise floor and corrected p-value. Comparisons with NaN are false,
/// so too few pairs are undecided without a special case.
fn conclude(compared: &mut Comparison, direction: Direction) {
    let (least, most) = around_one(compared.margin.max(compared.floor));
    let (same_from, same_to) = around_one(compared.margin);
    let sure = compared.p_holm < SIGNIFICANCE;
    let (more, less) = match direction {
        Direction::Higher => (Finding::Better, Finding::Worse),
        Direction::Lower => (Finding::Worse, Finding::Better),
    };
    compared.finding = if sure && compared.low > most {
        more
    } else if sure && compared.high < least {
        less
    } else if !compared.low.is_nan() && compared.low_90 > same_from && compared.high_90 < same_to {
        // Five pairs have a 90 % interval; the rule of fewest pairs holds for equivalence too.
        Finding::Equivalent
    } else {
        Finding::Undecided
    };
}

/// Standard deviation; NaN below two values, or if one is infinite.
fn deviation(logs: &[f64]) -> f64 {
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (logs.len() as f64 - 1.0)).sqrt()
}

/// Number of pairs that would place the ratio on one side of the margin four times in five, if ratio and
/// scatter of the logarithms stay as they are.
///
/// It follows from the distance of the ratio to the margin, or from the margin itself if that is larger. A
/// ratio within the margin tends to "equivalent", which is not corrected for the number of `metrics`; one
/// beyond it tends to "better" or "worse", which is corrected and must also exceed the noise floor. Interval
/// and floor shrink with the root of the number of pairs; no reserve is added.
fn needed(compared: &Comparison, metrics: usize) -> Option<u32> {
    if compared.finding != Finding::Undecided {
        return None;
    }
    let margin = compared.margin.ln_1p();
    let beyond = compared.ratio.ln().abs() - margin;
    let distance = beyond.abs().max(margin);
    if compared.pairs < FEWEST_TO_PLAN || !compared.scatter.is_finite() || distance == 0.0 {
        return None;
    }
    let is_apart = beyond > 0.0;
    let certain = normal::exceeded(SIGNIFICANCE / 2.0 / if is_apart { metrics.max(1) as f64 } else { 1.0 });
    let mut wanted = (certain + POWER).powi(2) * (compared.scatter / distance).powi(2);
    if is_apart && compared.floor > compared.margin && compared.low > 0.0 {
        let reach = (compared.high / compared.low).ln() / 2.0 + compared.floor.ln_1p();
        wanted = wanted.max(compared.pairs as f64 * (reach / compared.ratio.ln()).powi(2));
    }
    // The present number of pairs did not decide, even if their scatter implies it.
    let least = (compared.pairs + 1).max(fewest_to_decide(metrics));
    Some((wanted.ceil() as u32).max(u32::try_from(least).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests;
