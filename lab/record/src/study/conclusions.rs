//! What a study says, as data: everything a table, a figure or another program needs.

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
    /// Its file.
    pub file: String,
    /// The question.
    pub question: String,
    /// When it began, as RFC 3339 in UTC.
    pub started_at: String,
    /// Version of the program.
    pub tool: String,
    /// Start of the order of runs and of resampling.
    pub seed: u64,
    /// Blocks in which every configuration was run.
    pub blocks: u32,
    /// Every run that was wanted has been made.
    pub complete: bool,
    /// The answers, one sentence each.
    pub sentences: Vec<String>,
    /// Those of them that say what is better or worse; older files do not say.
    #[serde(default)]
    pub found: Vec<String>,
    /// What makes them weaker than they look, one sentence each.
    pub warnings: Vec<String>,
    /// What was run.
    pub configurations: Vec<KeptConfiguration>,
    /// What was compared.
    pub metrics: Vec<KeptMetric>,
    /// "How many at limit L".
    pub crossings: Vec<KeptCrossing>,
    /// Speed by size.
    pub scaling: Vec<KeptScaling>,
    /// Response times by percentile of the operations that metrics are of; older files do not say.
    #[serde(default)]
    pub percentiles: Vec<KeptPercentiles>,
    /// Runs whose figures are used, in the order in which they were made; older files do not say.
    #[serde(default)]
    pub runs: Vec<KeptRun>,
    /// Runs whose figures were not used.
    pub excluded: Vec<Excluded>,
    /// The command that does it again.
    pub repeat: String,
}

/// One configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptConfiguration {
    /// Its name.
    pub name: String,
    /// Factor and level.
    pub levels: Vec<(String, String)>,
    /// The name of the one it is held against; its own when it is a baseline.
    pub baseline: String,
    /// It is a baseline under another name: whatever differs is noise.
    pub control: bool,
    /// Runs whose figures are used.
    pub valid: u32,
    /// Those among them that broke a rule.
    pub missed: u32,
    /// It broke a rule where its baseline kept all: in some run, if the baseline broke none, or in more blocks than chance
    /// explains. Older files do not say.
    #[serde(default)]
    pub breaks_rules: bool,
    /// Runs that were dropped.
    pub dropped: u32,
    /// Runs of warm-up, which are not judged and not among the others.
    #[serde(default)]
    pub warm_up: u32,
    /// CPU time that a hypervisor took away in the window of a valid run, relative: the median run and the one that lost
    /// most. `None` where nobody looked.
    #[serde(default)]
    pub stolen: Option<(f64, f64)>,
}

/// One run whose figures are used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptRun {
    /// Its name, which is that of its folder.
    pub run: String,
    /// The configuration.
    pub configuration: String,
    /// The block.
    pub block: u32,
    /// Every rule held.
    pub passed: bool,
    /// Figures by the label of the metric; those that were not measured are left out.
    pub figures: Vec<Figure>,
    /// Labels of the metrics whose figure is only a lower bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounded: Vec<String>,
}

/// One metric over all configurations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptMetric {
    /// Its key, as in the study's file.
    pub label: String,
    /// What sentences call it; empty in older files.
    #[serde(default)]
    pub name: String,
    /// The unit of its figures.
    pub unit: String,
    /// Is more of it better?
    pub more_is_better: bool,
    /// How far the control may be from itself, relative: differences within it are not told from noise. Unknown without
    /// enough pairs of it.
    pub noise_floor: Option<f64>,
    /// Difference that counts as none, relative.
    pub margin: f64,
    /// What the answers of the study say of it.
    #[serde(default)]
    pub sentences: Vec<String>,
    /// One row per configuration.
    pub rows: Vec<KeptRow>,
}

impl KeptMetric {
    /// What people read: its name, or its key where it has none.
    #[must_use]
    pub fn called(&self) -> &str {
        if self.name.is_empty() { &self.label } else { &self.name }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptFinding {
    /// It is what the others are held against.
    #[default]
    Baseline,
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// No difference of practical interest.
    Equivalent,
    /// Nothing is shown either way.
    Undecided,
}

impl From<Finding> for KeptFinding {
    fn from(found: Finding) -> Self {
        match found {
            Finding::Better => KeptFinding::Better,
            Finding::Worse => KeptFinding::Worse,
            Finding::Equivalent => KeptFinding::Equivalent,
            Finding::Undecided => KeptFinding::Undecided,
        }
    }
}

impl KeptFinding {
    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            KeptFinding::Baseline => "baseline",
            KeptFinding::Better => "better",
            KeptFinding::Worse => "worse",
            KeptFinding::Equivalent => "equivalent",
            KeptFinding::Undecided => "undecided",
        }
    }
}

/// One metric of one configuration. Numbers that are not known are not numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptRow {
    /// The configuration.
    pub configuration: String,
    /// What it is held against.
    pub baseline: String,
    /// It is the control.
    pub control: bool,
    /// Runs with a figure.
    pub runs: u32,
    /// Their median.
    #[serde(deserialize_with = "nan")]
    pub median: f64,
    /// Their lowest.
    #[serde(deserialize_with = "nan")]
    pub lowest: f64,
    /// Their highest.
    #[serde(deserialize_with = "nan")]
    pub highest: f64,
    /// Pairs with the baseline.
    pub pairs: u32,
    /// Pairs left out because a figure was missing; older files do not say.
    #[serde(default)]
    pub excluded: u32,
    /// Over the baseline.
    #[serde(deserialize_with = "nan")]
    pub ratio: f64,
    /// The plain median of the pairs' ratios; older files do not say.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub median_ratio: f64,
    /// Lower end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// Lower end of its 90 % interval, by which equivalence is judged; older files do not say.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub low_90: f64,
    /// Upper end of its 90 % interval.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub high_90: f64,
    /// How likely such a difference is by chance alone.
    #[serde(deserialize_with = "nan")]
    pub p: f64,
    /// The same after Holm's correction for all comparisons of the study.
    #[serde(deserialize_with = "nan")]
    pub p_holm: f64,
    /// What that means.
    pub finding: KeptFinding,
    /// Pairs that would decide, about.
    pub pairs_needed: Option<u32>,
    /// Over the baseline, of each pair whose baseline is above zero, in the order of blocks; older files do not say.
    #[serde(default)]
    pub ratios: Vec<f64>,
}

impl KeptRow {
    /// The same with what was found of its pairs.
    #[must_use]
    pub fn with(self, found: &Comparison) -> Self {
        KeptRow {
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

    /// Is this held against a baseline with which it has no figure in common?
    #[must_use]
    pub fn is_without_pairs(&self) -> bool {
        self.finding != KeptFinding::Baseline && !self.control && self.pairs == 0
    }

    /// Is this a control that differs from itself? Then something besides the factors changes with the order of runs. A
    /// difference that is shown to lie within the margin is none, however surely it is there.
    #[must_use]
    pub fn differs_from_itself(&self) -> bool {
        self.control && self.p_holm < SIGNIFICANCE && self.finding != KeptFinding::Equivalent
    }
}

/// At which number of a factor a metric reaches a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptCrossing {
    /// The factor.
    pub factor: String,
    /// Levels of all other factors, in words; empty where there are none.
    pub among: String,
    /// The metric.
    pub metric: String,
    /// The unit of the limit.
    pub unit: String,
    /// The limit.
    #[serde(deserialize_with = "nan")]
    pub limit: f64,
    /// The number; none when it is not reached between the levels that were run.
    pub at: Option<f64>,
    /// Lower end of the 95 % interval, by resampling blocks.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of it.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// Share of resamplings that reached the limit.
    #[serde(deserialize_with = "nan")]
    pub reached: f64,
}

/// The speed of a system by its size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptScaling {
    /// The factor that is the size.
    pub factor: String,
    /// Levels of all other factors, in words; empty where there are none.
    pub among: String,
    /// The metric that is the speed.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// From the smallest size to the largest.
    pub points: Vec<KeptPoint>,
    /// Sizes whose median is only a lower bound, since searches of theirs could not look further.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounded: Vec<f64>,
    /// The universal scalability law through them, where there are enough.
    pub fit: Option<KeptFit>,
    /// Why there is no fit, as a sentence; empty where there is one.
    #[serde(default)]
    pub no_fit: String,
    /// Amdahl's law through them, where there are too few for the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amdahl: Option<KeptAmdahl>,
    /// Between which speeds the fitted curve lies, from the smallest size to a little beyond the largest.
    #[serde(default)]
    pub band: Vec<KeptBand>,
    /// Where growth bends, if it does.
    #[serde(default)]
    pub knee: Option<KeptKnee>,
}

/// One size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptPoint {
    /// The size.
    pub n: f64,
    /// Median speed.
    pub x: f64,
    /// Lower end of its 95 % interval, by resampling blocks.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of it.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// Speed over that of the smallest size.
    #[serde(deserialize_with = "nan")]
    pub speedup: f64,
    /// Its 95 % interval, by resampling blocks, which share what raises or lowers a whole block.
    #[serde(default)]
    pub speedup_within: KeptInterval,
    /// Speed-up over what linear growth would give.
    #[serde(deserialize_with = "nan")]
    pub efficiency: f64,
    /// The serial part of the work that would explain the speed-up alone (Karp and Flatt); none at the smallest size.
    #[serde(default)]
    pub serial: Option<f64>,
}

/// How far a figure that rests on lower bounds is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownAs {
    /// It rests on none.
    Exact,
    /// It may be higher.
    AtLeast,
    /// It may be lower.
    AtMost,
    /// It may be either.
    Unknown,
}

impl KeptScaling {
    /// What the growth from the smallest size to this one is, where speeds may be only lower bounds.
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
pub struct KeptFit {
    /// Share of work that is done one at a time.
    pub contention: f64,
    /// Cost of keeping each with each in agreement.
    pub coherency: f64,
    /// Speed of one.
    pub gamma: f64,
    /// The size beyond which it gets slower.
    pub peak_n: Option<f64>,
    /// 95 % interval of the contention.
    #[serde(default)]
    pub contention_within: KeptInterval,
    /// 95 % interval of the coherency.
    #[serde(default)]
    pub coherency_within: KeptInterval,
    /// 95 % interval of the peak.
    #[serde(default)]
    pub peak_within: KeptInterval,
}

/// Amdahl's law, fitted: the speed of `n` is gamma n / (1 + serial (n - 1)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptAmdahl {
    /// Share of work that is done one at a time, 0 to 1.
    pub serial: f64,
    /// Its 95 % interval, by resampling blocks.
    #[serde(default)]
    pub within: KeptInterval,
    /// Speed of one.
    pub gamma: f64,
}

impl KeptAmdahl {
    /// How many times one any number gives at the most. `None` where that is more than a thousand, which no measurement of
    /// few sizes tells from no limit at all.
    #[must_use]
    pub fn limit(&self) -> Option<f64> {
        (self.serial > 0.001).then(|| 1.0 / self.serial)
    }
}

/// The ends of an interval; not numbers where they are not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptInterval {
    /// Lower end.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub low: f64,
    /// Upper end.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub high: f64,
}

impl Default for KeptInterval {
    /// Not known.
    fn default() -> Self {
        KeptInterval { low: f64::NAN, high: f64::NAN }
    }
}

/// The fitted curve at one size, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptBand {
    /// The size.
    pub n: f64,
    /// Lower end of the speed.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of the speed.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
}

/// Where two straight lines meet that explain the speeds better than one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptKnee {
    /// The size.
    pub n: f64,
    /// 95 % interval of it.
    #[serde(default)]
    pub within: KeptInterval,
    /// Speed gained for each more, before it.
    #[serde(deserialize_with = "nan")]
    pub before: f64,
    /// Speed gained for each more, after it.
    #[serde(deserialize_with = "nan")]
    pub after: f64,
}

/// Response times of one operation by percentile, a line for each configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptPercentiles {
    /// The operation.
    pub op: String,
    /// Configurations with times of it, baselines first and the control last.
    pub lines: Vec<KeptLine>,
}

/// Response times of one configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptLine {
    /// The configuration.
    pub configuration: String,
    /// Valid runs that have times.
    pub runs: u32,
    /// The quantile that is judged, and its limit in milliseconds; none where the time is not judged.
    pub limit: Option<(f64, f64)>,
    /// From the shortest time to that which all runs reach.
    pub points: Vec<KeptQuantile>,
}

/// A quantile of response time over the runs of a configuration, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptQuantile {
    /// Share of the operations that took longer.
    pub longer: f64,
    /// Median of the runs.
    pub ms: f64,
    /// Lower end of the 95 % interval of the median; not a number below six runs.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of it.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
}

/// A run whose figures were not used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// Name of the run.
    pub run: String,
    /// The configuration.
    pub configuration: String,
    /// Number of the block, from 1.
    pub block: u32,
    /// Why.
    pub reasons: Vec<String>,
}
