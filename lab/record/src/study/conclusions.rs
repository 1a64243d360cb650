//! Conclusions of a study as data, for tables, figures and other programs.

use barograph_stats::compare::{Comparison, Finding, SIGNIFICANCE};
use serde::{Deserialize, Serialize};

use crate::Figure;
use crate::entry::{nan, unknown};

/// Version of the conclusions written by this program.
pub const CONCLUSIONS_VERSION: u32 = 1;

/// The conclusions of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conclusions {
    /// Version; [`CONCLUSIONS_VERSION`] when written here.
    pub v: u32,
    /// Name of the study.
    pub id: String,
    /// File of the study.
    pub file: String,
    /// The question.
    pub question: String,
    /// Start of the study, as RFC 3339 in UTC.
    pub started_at: String,
    /// Version of the program.
    pub tool: String,
    /// Seed of the order of runs and of resampling.
    pub seed: u64,
    /// Blocks in which every configuration was run.
    pub blocks: u32,
    /// Whether all planned runs have been made.
    pub complete: bool,
    /// Answers, one sentence each.
    pub sentences: Vec<String>,
    /// Answers that state something better or worse; empty in older files.
    #[serde(default)]
    pub found: Vec<String>,
    /// Warnings that weaken the answers, one sentence each.
    pub warnings: Vec<String>,
    /// Configurations that were run.
    pub configurations: Vec<ConfigurationRecord>,
    /// Metrics that were compared.
    pub metrics: Vec<MetricRecord>,
    /// Answers to "how many at limit L".
    pub crossings: Vec<CrossingRecord>,
    /// Speed by size.
    pub scaling: Vec<ScalingRecord>,
    /// Response times by percentile of the operations in metrics; empty in older files.
    #[serde(default)]
    pub percentiles: Vec<PercentilesRecord>,
    /// Runs whose figures are used, in the order made; empty in older files.
    #[serde(default)]
    pub runs: Vec<RunRecord>,
    /// Runs whose figures were not used.
    pub excluded: Vec<ExcludedRun>,
    /// Command that repeats the study.
    pub repeat: String,
}

/// One configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationRecord {
    /// Name of the configuration.
    pub name: String,
    /// Factors with their levels.
    pub levels: Vec<(String, String)>,
    /// Name of its baseline; a baseline names itself.
    pub baseline: String,
    /// Whether it is a baseline under another name, so that any difference is noise.
    pub control: bool,
    /// Runs whose figures are used.
    pub valid: u32,
    /// Valid runs that broke a rule.
    pub missed: u32,
    /// Whether it broke a rule where its baseline kept all: in any run if the baseline broke none, else in
    /// more blocks than chance explains. False in older files.
    #[serde(default)]
    pub breaks_rules: bool,
    /// Dropped runs.
    pub dropped: u32,
    /// Runs of warm-up, which are not judged and not counted among the others.
    #[serde(default)]
    pub warm_up: u32,
    /// Share of CPU time that a hypervisor took in the window of a valid run: the median run and the worst.
    /// `None` if it was not measured.
    #[serde(default)]
    pub stolen: Option<(f64, f64)>,
}

/// One run whose figures are used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Name of the run and of its folder.
    pub run: String,
    /// Name of the configuration.
    pub configuration: String,
    /// Number of the block.
    pub block: u32,
    /// Whether every rule held.
    pub passed: bool,
    /// Figures by the label of the metric; metrics that were not measured are omitted.
    pub figures: Vec<Figure>,
    /// Labels of the metrics whose figure is only a lower bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounded: Vec<String>,
}

/// One metric over all configurations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricRecord {
    /// Key in the study's file.
    pub label: String,
    /// Name in sentences; empty in older files.
    #[serde(default)]
    pub name: String,
    /// The unit of its figures.
    pub unit: String,
    /// Whether higher is better.
    pub more_is_better: bool,
    /// Relative distance of the control from its baseline: differences within it are not told from noise.
    /// Absent without enough pairs.
    pub noise_floor: Option<f64>,
    /// Relative difference that counts as none.
    pub margin: f64,
    /// Answers of the study on this metric.
    #[serde(default)]
    pub sentences: Vec<String>,
    /// One row per configuration.
    pub rows: Vec<RowRecord>,
}

impl MetricRecord {
    /// Returns the name for readers: its name, or its key if it has none.
    #[must_use]
    pub fn called(&self) -> &str {
        if self.name.is_empty() { &self.label } else { &self.name }
    }
}

/// Finding on a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingRecord {
    /// The reference of the others.
    #[default]
    Baseline,
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// No difference of practical interest.
    Equivalent,
    /// No difference is shown, and none excluded.
    Undecided,
}

impl From<Finding> for FindingRecord {
    fn from(found: Finding) -> Self {
        match found {
            Finding::Better => FindingRecord::Better,
            Finding::Worse => FindingRecord::Worse,
            Finding::Equivalent => FindingRecord::Equivalent,
            Finding::Undecided => FindingRecord::Undecided,
        }
    }
}

impl FindingRecord {
    /// Returns the name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FindingRecord::Baseline => "baseline",
            FindingRecord::Better => "better",
            FindingRecord::Worse => "worse",
            FindingRecord::Equivalent => "equivalent",
            FindingRecord::Undecided => "undecided",
        }
    }
}

/// One metric of one configuration. Unknown numbers are NaN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowRecord {
    /// Name of the configuration.
    pub configuration: String,
    /// Name of its baseline.
    pub baseline: String,
    /// Whether it is the control.
    pub control: bool,
    /// Runs with a figure.
    pub runs: u32,
    /// Median of the runs.
    #[serde(deserialize_with = "nan")]
    pub median: f64,
    /// Lowest of the runs.
    #[serde(deserialize_with = "nan")]
    pub lowest: f64,
    /// Highest of the runs.
    #[serde(deserialize_with = "nan")]
    pub highest: f64,
    /// Pairs with the baseline.
    pub pairs: u32,
    /// Pairs left out for lack of a figure; 0 in older files.
    #[serde(default)]
    pub excluded: u32,
    /// Ratio to the baseline.
    #[serde(deserialize_with = "nan")]
    pub ratio: f64,
    /// Plain median of the pairs' ratios; NaN in older files.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub median_ratio: f64,
    /// Lower end of the ratio's 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of the ratio's 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// Lower end of the ratio's 90 % interval, by which equivalence is judged; NaN in older files.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub low_90: f64,
    /// Upper end of the ratio's 90 % interval.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub high_90: f64,
    /// Probability of such a difference by chance alone.
    #[serde(deserialize_with = "nan")]
    pub p: f64,
    /// `p` after Holm's correction for all comparisons of the study.
    #[serde(deserialize_with = "nan")]
    pub p_holm: f64,
    /// Finding from these figures.
    pub finding: FindingRecord,
    /// Approximate number of pairs that would decide.
    pub pairs_needed: Option<u32>,
    /// Ratio of each pair whose baseline is above zero, in the order of blocks; empty in older files.
    #[serde(default)]
    pub ratios: Vec<f64>,
}

impl RowRecord {
    /// Adds the result of the pairs.
    #[must_use]
    pub fn with(self, found: &Comparison) -> Self {
        RowRecord {
            pairs: found.pairs as u32,
            excluded: found.excluded as u32,
            ratio: found.ratio,
            median_ratio: found.median_ratio,
            low: found.low,
            high: found.high,
            low_90: found.low_90,
            high_90: found.high_90,
            p: found.p,
            p_holm: found.p_holm,
            finding: found.finding.into(),
            pairs_needed: found.pairs_needed,
            ..self
        }
    }

    /// Whether this is compared with a baseline with which it shares no pair.
    #[must_use]
    pub fn is_without_pairs(&self) -> bool {
        self.finding != FindingRecord::Baseline && !self.control && self.pairs == 0
    }

    /// Whether this is a control that differs from itself. Then something besides the factors changes with
    /// the order of runs. A difference shown to lie within the margin does not count, however certain.
    #[must_use]
    pub fn differs_from_itself(&self) -> bool {
        self.control && self.p_holm < SIGNIFICANCE && self.finding != FindingRecord::Equivalent
    }
}

/// Number of a factor at which a metric reaches a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossingRecord {
    /// The factor.
    pub factor: String,
    /// Levels of all other factors, in words; empty if there are none.
    pub among: String,
    /// The metric.
    pub metric: String,
    /// The unit of the limit.
    pub unit: String,
    /// The limit.
    #[serde(deserialize_with = "nan")]
    pub limit: f64,
    /// The number; absent if the limit is not reached between the levels that were run.
    pub at: Option<f64>,
    /// Lower end of the 95 % interval, by resampling blocks.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of the 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// Share of resamplings that reach the limit.
    #[serde(deserialize_with = "nan")]
    pub reached: f64,
}

/// Speed of a system by its size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalingRecord {
    /// Factor that is the size.
    pub factor: String,
    /// Levels of all other factors, in words; empty if there are none.
    pub among: String,
    /// Metric that is the speed.
    pub metric: String,
    /// Unit of the speed.
    pub unit: String,
    /// Points from the smallest size to the largest.
    pub points: Vec<PointRecord>,
    /// Sizes whose median is only a lower bound, because searches could not look further.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounded: Vec<f64>,
    /// Universal scalability law fitted to the points, if there are enough.
    pub fit: Option<FitRecord>,
    /// Reason why there is no fit, as a sentence; empty if there is one.
    #[serde(default)]
    pub no_fit: String,
    /// Amdahl's law fitted to the points, if there are too few for the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amdahl: Option<AmdahlRecord>,
    /// Band of the fitted curve, from the smallest size to slightly beyond the largest.
    #[serde(default)]
    pub band: Vec<BandRecord>,
    /// Bend of the growth, if there is one.
    #[serde(default)]
    pub knee: Option<KneeRecord>,
}

/// One size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRecord {
    /// The size.
    pub n: f64,
    /// Median speed.
    pub x: f64,
    /// Lower end of its 95 % interval, by resampling blocks.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of the 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// Ratio of the speed to that of the smallest size.
    #[serde(deserialize_with = "nan")]
    pub speedup: f64,
    /// Its 95 % interval, by resampling blocks; what affects a whole block cancels out.
    #[serde(default)]
    pub speedup_within: IntervalRecord,
    /// Speed-up divided by that of linear growth.
    #[serde(deserialize_with = "nan")]
    pub efficiency: f64,
    /// Serial fraction that alone would explain the speed-up (Karp and Flatt); absent at the smallest size.
    #[serde(default)]
    pub serial: Option<f64>,
}

/// Certainty of a figure derived from lower bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownAs {
    /// Derived from no lower bound.
    Exact,
    /// The true value may be higher.
    AtLeast,
    /// The true value may be lower.
    AtMost,
    /// The true value may be either.
    Unknown,
}

impl ScalingRecord {
    /// Returns the certainty of the growth from the smallest size to this one, as speeds may be lower bounds.
    #[must_use]
    pub fn growth_to(&self, n: f64) -> KnownAs {
        let Some(first) = self.points.first().filter(|first| first.n != n) else { return KnownAs::Exact };
        match (self.bounded.contains(&first.n), self.bounded.contains(&n)) {
            (false, false) => KnownAs::Exact,
            (false, true) => KnownAs::AtLeast,
            (true, false) => KnownAs::AtMost,
            (true, true) => KnownAs::Unknown,
        }
    }
}

/// The universal scalability law: `X(N) = gamma N / (1 + contention (N - 1) + coherency N (N - 1))`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitRecord {
    /// Share of work that is serialised.
    pub contention: f64,
    /// Cost of keeping each pair consistent.
    pub coherency: f64,
    /// Speed of a single one.
    pub gamma: f64,
    /// Size of the highest speed.
    pub peak_n: Option<f64>,
    /// 95 % interval of the contention.
    #[serde(default)]
    pub contention_within: IntervalRecord,
    /// 95 % interval of the coherency.
    #[serde(default)]
    pub coherency_within: IntervalRecord,
    /// 95 % interval of the peak.
    #[serde(default)]
    pub peak_within: IntervalRecord,
}

/// Amdahl's law, fitted: the speed of `n` is gamma n / (1 + serial (n - 1)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AmdahlRecord {
    /// Serial fraction, 0 to 1.
    pub serial: f64,
    /// Its 95 % interval, by resampling blocks.
    #[serde(default)]
    pub within: IntervalRecord,
    /// Speed of a single one.
    pub gamma: f64,
}

impl AmdahlRecord {
    /// Returns the limit of the speed-up for any size. `None` if it exceeds a thousand, which few sizes
    /// cannot tell from no limit.
    #[must_use]
    pub fn limit(&self) -> Option<f64> {
        (self.serial > 0.001).then(|| 1.0 / self.serial)
    }
}

/// Ends of an interval; NaN if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalRecord {
    /// Lower end.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub low: f64,
    /// Upper end.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub high: f64,
}

impl Default for IntervalRecord {
    /// Both ends unknown.
    fn default() -> Self {
        IntervalRecord { low: f64::NAN, high: f64::NAN }
    }
}

/// The fitted curve at one size, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandRecord {
    /// The size.
    pub n: f64,
    /// Lower end of the speed.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of the speed.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
}

/// Intersection of two straight lines that explain the speeds better than one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeRecord {
    /// The size.
    pub n: f64,
    /// 95 % interval of the size.
    #[serde(default)]
    pub within: IntervalRecord,
    /// Speed gained per unit of size, before it.
    #[serde(deserialize_with = "nan")]
    pub before: f64,
    /// Speed gained per unit of size, after it.
    #[serde(deserialize_with = "nan")]
    pub after: f64,
}

/// Response times of one operation by percentile, a line for each configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PercentilesRecord {
    /// The operation.
    pub op: String,
    /// Configurations with times of the operation, baselines first and the control last.
    pub lines: Vec<LineRecord>,
}

/// Response times of one configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineRecord {
    /// The configuration.
    pub configuration: String,
    /// Valid runs with times.
    pub runs: u32,
    /// Judged quantile, and its limit in milliseconds; absent if the time is not judged.
    pub limit: Option<(f64, f64)>,
    /// Points from the shortest time to the last quantile that all runs reach.
    pub points: Vec<QuantileRecord>,
}

/// A quantile of response time over the runs of a configuration, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileRecord {
    /// Share of the operations that took longer.
    pub longer: f64,
    /// Median over the runs.
    pub ms: f64,
    /// Lower end of the median's 95 % interval; NaN below six runs.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of the interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
}

/// A run whose figures were not used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedRun {
    /// Name of the run.
    pub run: String,
    /// The configuration.
    pub configuration: String,
    /// Number of the block, from 1.
    pub block: u32,
    /// Reasons for the exclusion.
    pub reasons: Vec<String>,
}
