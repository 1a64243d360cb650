//! The conclusions in words: what is shown, what is not, and what weakens it.

use barograph_model::words::{changes, figure as number, listed};
use barograph_record::{
    AmdahlRecord, Conclusions, ConfigurationRecord, CrossingRecord, FindingRecord, IntervalRecord, KnownAs,
    MetricRecord, RowRecord, ScalingRecord,
};
use barograph_stats::compare::{SIGNIFICANCE, is_beyond};

use crate::crossing::LEAST_REACHED;
use crate::enough::too_few_pairs;

/// Fewest pairs with a 95 % interval.
const FEWEST_PAIRS: u32 = barograph_stats::compare::FEWEST_PAIRS as u32;

/// Least share of dropped runs with which the rest may be a selection.
const MANY_DROPPED: f64 = 0.2;

/// Writes one sentence per comparison, to its metric and with all others; one per configuration that broke
/// rules, per crossing and per scaling.
pub(crate) fn answer(conclusions: &mut Conclusions) {
    for metric in &mut conclusions.metrics {
        let compared = |row: &&RowRecord| row.finding != FindingRecord::Baseline;
        // The control is described only without other comparisons.
        let is_alone = metric.rows.iter().filter(compared).all(|row| row.control);
        let rows = metric.rows.iter().filter(compared).filter(|row| is_alone || !row.control);
        let told: Vec<(FindingRecord, String)> =
            rows.map(|row| (row.finding, comparison(metric, row))).collect();
        let is_found =
            |told: &&(FindingRecord, String)| matches!(told.0, FindingRecord::Better | FindingRecord::Worse);
        conclusions.found.extend(told.iter().filter(is_found).map(|(_, sentence)| sentence.clone()));
        metric.sentences = told.into_iter().map(|(_, sentence)| sentence).collect();
    }
    let broken: Vec<String> = conclusions
        .configurations
        .iter()
        .filter(|configuration| configuration.breaks_rules && !configuration.control)
        .map(|configuration| broken(configuration, &conclusions.configurations))
        .collect();
    conclusions.found.extend(broken.iter().cloned());
    let compared = conclusions.metrics.iter().flat_map(|metric| metric.sentences.iter().cloned());
    let crossed = conclusions.crossings.iter().map(crossing);
    let scaled = conclusions.scaling.iter().map(scaling);
    conclusions.sentences = compared.chain(broken).chain(crossed).chain(scaled).collect();
}

fn broken(candidate: &ConfigurationRecord, all: &[ConfigurationRecord]) -> String {
    let ConfigurationRecord { name, missed, valid, baseline, .. } = candidate;
    let of_baseline = all.iter().find(|other| other.name == *baseline);
    let (base_missed, base_valid) = of_baseline.map_or((0, 0), |other| (other.missed, other.valid));
    format!(
        "{name}: rules were broken in {missed} of {valid} valid runs, and with {baseline} in {base_missed} of {base_valid}."
    )
}

fn comparison(metric: &MetricRecord, row: &RowRecord) -> String {
    let RowRecord { configuration, baseline, pairs, .. } = row;
    let label = metric.called();
    let (by, interval) = estimate(row.ratio, (row.low, row.high));
    let pairs_word = if *pairs == 1 { "pair" } else { "pairs" };
    if *pairs == 0 {
        return format!(
            "{configuration}: nothing can be said about {label}; there is no pair with {baseline}."
        );
    }
    if *pairs < FEWEST_PAIRS {
        return format!(
            "{configuration}: no difference shown in {label} against {baseline}: {by} in {pairs} {pairs_word}, and it takes \
             {FEWEST_PAIRS} for an interval."
        );
    }
    if let Some(floor) = hidden(metric, row) {
        return format!(
            "{configuration}: the difference in {label} from {baseline} is not told from noise, which reaches to \
             ±{:.1} %: {by}, {interval}, {pairs} {pairs_word}.",
            floor * 100.0
        );
    }
    let margin = metric.margin * 100.0;
    match row.finding {
        FindingRecord::Better | FindingRecord::Worse => format!(
            "{configuration}: {label} is {} than with {baseline}: {by}, {interval}, {pairs} {pairs_word}.",
            row.finding.name()
        ),
        FindingRecord::Equivalent => format!(
            "{configuration}: {label} is the same as with {baseline} within ±{margin:.1} %: {by}, {interval}, {pairs} \
             {pairs_word}."
        ),
        FindingRecord::Undecided if would_be_found(metric, row) => format!(
            "{configuration}: how {label} differs from {baseline} is not found, since some figures of the smaller side are only lower \
             bounds: {by}, {interval}, {pairs} {pairs_word}."
        ),
        FindingRecord::Undecided | FindingRecord::Baseline => {
            let needed =
                row.pairs_needed.map_or_else(String::new, |n| format!("; about {n} pairs would decide"));
            format!(
                "{configuration}: no difference shown in {label} against {baseline}: {by}, {interval}, {pairs} \
                 {pairs_word}{needed}."
            )
        }
    }
}

/// The noise floor, if it alone prevents a finding: the ratio is beyond the margin, and not by chance.
fn hidden(metric: &MetricRecord, row: &RowRecord) -> Option<f64> {
    if row.finding != FindingRecord::Undecided {
        return None;
    }
    let beyond = |share| is_beyond((row.low, row.high), share);
    let floor = metric.noise_floor.filter(|floor| !row.control && !beyond(*floor))?;
    (row.p_holm < SIGNIFICANCE && beyond(metric.margin)).then_some(floor)
}

/// Whether a comparison is undecided though neither chance nor margin nor noise prevents a finding. Then the
/// smaller figure is a bound and may be larger.
fn would_be_found(metric: &MetricRecord, row: &RowRecord) -> bool {
    let least = metric.noise_floor.filter(|_| !row.control).unwrap_or(0.0).max(metric.margin);
    row.p_holm < SIGNIFICANCE && is_beyond((row.low, row.high), least)
}

/// A ratio and its interval as changes: `+3.2 %` and `95 % interval −10.0 % to +12.0 %`.
fn estimate(ratio: f64, ends: (f64, f64)) -> (String, String) {
    let (by, interval) = changes(ratio, ends);
    (by, format!("95 % interval {interval}"))
}

fn among(among: &str) -> String {
    if among.is_empty() { String::new() } else { format!("{among}: ") }
}

fn crossing(crossing: &CrossingRecord) -> String {
    let CrossingRecord { factor, metric, unit, limit, low, high, .. } = crossing;
    let begin = among(&crossing.among);
    let Some(at) = crossing.at else {
        return format!(
            "{begin}{metric} does not reach {limit} {unit} at the levels of {factor} that were run."
        );
    };
    if !low.is_finite() {
        let why = match crossing.reached < LEAST_REACHED {
            true => format!(
                "in {:.0} % of the resamplings no level that was run reaches it, so there is no interval",
                (1.0 - crossing.reached) * 100.0
            ),
            false => "too few blocks reach it for an interval".to_owned(),
        };
        return format!("{begin}{metric} reaches {limit} {unit} at {factor} {}; {why}.", number(at));
    }
    format!(
        "{begin}{metric} reaches {limit} {unit} at {factor} {} (95 % interval {} to {}, by resampling blocks).",
        number(at),
        number(*low),
        number(*high)
    )
}

fn scaling(scaling: &ScalingRecord) -> String {
    let ScalingRecord { factor, metric, .. } = scaling;
    let (Some(first), Some(last)) = (scaling.points.first(), scaling.points.last()) else {
        return String::new();
    };
    let begin = among(&scaling.among);
    let times = match scaling.growth_to(last.n) {
        KnownAs::Exact => "",
        KnownAs::AtLeast => "at least ",
        KnownAs::AtMost => "at most ",
        KnownAs::Unknown => {
            return format!(
                "{begin}{metric} at {factor} {} and {} is only known to be at least what was found: its growth is not known.",
                first.n, last.n
            );
        }
    };
    let mut text = format!(
        "{begin}{metric} at {factor} {} is {times}{:.2} times that at {}{}: {:.0} % of linear growth.",
        last.n,
        last.speedup,
        first.n,
        within(&last.speedup_within, 2),
        last.efficiency * 100.0
    );
    let Some(fit) = &scaling.fit else {
        for more in [Some(scaling.no_fit.clone()), scaling.amdahl.map(|law| by_amdahl(&law, scaling))] {
            if let Some(more) = more.filter(|more| !more.is_empty()) {
                text.push(' ');
                text.push_str(&more);
            }
        }
        return text;
    };
    let peak = fit.peak_n.map_or_else(
        || "no peak up to twice the largest size".to_owned(),
        |peak| format!("a peak at {factor} {}{}", number(peak), between(&fit.peak_within)),
    );
    text.push_str(&format!(
        " The universal scalability law finds contention {:.3}{}, coherency {:.5}{}, and {peak}.",
        fit.contention,
        within(&fit.contention_within, 3),
        fit.coherency,
        within(&fit.coherency_within, 5)
    ));
    if let Some(knee) = &scaling.knee {
        text.push_str(&format!(
            " Growth bends at {factor} {}{}: {} {} for each more before it, {} after.",
            number(knee.n),
            between(&knee.within),
            number(knee.before),
            scaling.unit,
            number(knee.after)
        ));
    }
    text
}

/// The serial part by Amdahl's law, and the end of growth by it.
fn by_amdahl(law: &AmdahlRecord, ScalingRecord { factor, metric, .. }: &ScalingRecord) -> String {
    let percent = |share: f64| share * 100.0;
    let IntervalRecord { low, high } = law.within;
    let interval = if low.is_finite() && high.is_finite() {
        format!(" (95 % interval {:.1} to {:.1} %)", percent(low), percent(high))
    } else {
        String::new()
    };
    let serial = percent(law.serial);
    let limit = law.limit().map_or_else(String::new, |limit| {
        format!(", so that no number of {factor} gives more than {} times the {metric} of 1", number(limit))
    });
    format!("By Amdahl's law {serial:.1} % of the work is done one at a time{interval}{limit}.")
}

/// An interval in brackets; empty if unknown.
fn within(interval: &IntervalRecord, digits: usize) -> String {
    let IntervalRecord { low, high } = interval;
    if !(low.is_finite() && high.is_finite()) {
        return String::new();
    }
    format!(" (95 % interval {low:.digits$} to {high:.digits$})")
}

/// The same of figures with three digits.
fn between(interval: &IntervalRecord) -> String {
    let IntervalRecord { low, high } = *interval;
    if !(low.is_finite() && high.is_finite()) {
        return String::new();
    }
    format!(" (95 % interval {} to {})", number(low), number(high))
}

/// The metric in which the control differs from itself, if there is one.
pub(crate) fn control_differs(conclusions: &Conclusions) -> Option<(&MetricRecord, &RowRecord)> {
    let rows = conclusions.metrics.iter().flat_map(|metric| metric.rows.iter().map(move |row| (metric, row)));
    let mut differing = rows.filter(|(_, row)| row.differs_from_itself());
    differing.next()
}

/// Warns that a control without difference is not proven the same: with few pairs, or much noise, it can
/// hardly differ.
fn control_not_the_same(conclusions: &Conclusions) -> Option<String> {
    let shown = |metric: &&MetricRecord| {
        metric.rows.iter().all(|r| !r.control || r.finding == FindingRecord::Equivalent)
    };
    let not_shown = conclusions.metrics.iter().filter(|metric| !shown(metric));
    let not_shown: Vec<&str> = not_shown.map(MetricRecord::called).collect();
    (!not_shown.is_empty()).then(|| {
        format!(
            "The control is not shown to be the same as itself in {}: the pairs are too few, or the machine too noisy, to show \
             that nothing differs by the margin.",
            listed(&not_shown)
        )
    })
}

/// Metrics that the control does not have.
fn of_other_levels(conclusions: &Conclusions) -> Option<String> {
    let without = conclusions.metrics.iter().filter(|metric| metric.rows.iter().all(|row| !row.control));
    let without: Vec<&str> = without.map(MetricRecord::called).collect();
    (!without.is_empty()).then(|| {
        format!(
            "The noise floor of {} is not known, since the control is of other levels: nothing holds differences back that may \
             be the machine's.",
            listed(&without)
        )
    })
}

/// Comparisons with too few pairs, and the consequence: for all of them, or for some.
fn few_pairs(conclusions: &Conclusions) -> Vec<String> {
    let rows = || conclusions.metrics.iter().flat_map(|metric| &metric.rows);
    let compared = || rows().filter(|row| row.finding != FindingRecord::Baseline);
    let few = |row: &&RowRecord| row.pairs < FEWEST_PAIRS;
    if compared().next().is_some() && compared().all(|row| few(&row)) {
        return vec![format!(
            "Fewer than {FEWEST_PAIRS} pairs: no 95 % interval exists, and nothing can be found."
        )];
    }
    let mut names: Vec<&str> = Vec::new();
    for row in compared().filter(few) {
        if !names.contains(&row.configuration.as_str()) {
            names.push(&row.configuration);
        }
    }
    let some = (!names.is_empty()).then(|| {
        format!(
            "Fewer than {FEWEST_PAIRS} pairs of {}: there no 95 % interval exists, and nothing can be found.",
            listed(&names)
        )
    });
    let without = conclusions.metrics.iter().filter(|metric| metric.noise_floor.is_none());
    let without: Vec<&str> =
        without.filter(|m| m.rows.iter().any(|row| row.control)).map(MetricRecord::called).collect();
    let floor = (!without.is_empty()).then(|| {
        format!(
            "The noise floor of {} is not known, since the control has too few pairs: nothing holds differences back that may \
             be the machine's.",
            listed(&without)
        )
    });
    some.into_iter().chain(floor).chain(too_few_pairs(conclusions)).collect()
}

/// Facts that make the answers weaker than they look.
pub(crate) fn warnings(conclusions: &Conclusions, runs: usize) -> Vec<String> {
    let mut all = Vec::new();
    if !conclusions.complete {
        all.push(format!(
            "The study is not complete; `barograph study --resume {}` goes on.",
            conclusions.id
        ));
    }
    let without: Vec<&str> =
        conclusions.configurations.iter().filter(|c| c.valid == 0).map(|c| c.name.as_str()).collect();
    if !without.is_empty() {
        all.push(format!("There is no valid run of {}.", listed(&without)));
    }
    match control_differs(conclusions) {
        Some((metric, row)) => {
            let (by, interval) = estimate(row.ratio, (row.low, row.high));
            all.push(format!(
                "The control differs from itself in {}: {by}, {interval}. Something besides the factors changes with the \
                 order of runs, so no finding is safe.",
                metric.called()
            ));
        }
        None if !conclusions.configurations.iter().any(|c| c.control) => {
            all.push("There was no control, so the noise floor is not known.".to_owned());
        }
        None => all.extend(control_not_the_same(conclusions).into_iter().chain(of_other_levels(conclusions))),
    }
    all.extend(few_pairs(conclusions));
    let dropped = conclusions.excluded.len();
    if dropped as f64 > MANY_DROPPED * runs as f64 {
        all.push(format!("{dropped} of {runs} runs were dropped: what is left may be a selection."));
    }
    for configuration in conclusions.configurations.iter().filter(|c| c.missed > 0) {
        all.push(format!(
            "In {} of {} valid runs of {} some rule of the profile did not hold: its figures are of a system that users \
             would complain about.",
            configuration.missed, configuration.valid, configuration.name
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use barograph_record::{FitRecord, KneeRecord, PointRecord};

    use super::*;

    fn growth() -> ScalingRecord {
        let point = |n: f64, x: f64| PointRecord {
            n,
            x,
            low: x,
            high: x,
            speedup: x / 100.0,
            speedup_within: IntervalRecord::default(),
            efficiency: x / 100.0 / n,
            serial: None,
        };
        ScalingRecord {
            factor: "nodes".to_owned(),
            metric: "capacity".to_owned(),
            unit: "users".to_owned(),
            points: vec![point(1.0, 100.0), point(16.0, 800.0)],
            ..ScalingRecord::default()
        }
    }

    #[test]
    fn a_difference_that_noise_alone_hides_is_told_so() {
        let metric = MetricRecord {
            label: "throughput".to_owned(),
            noise_floor: Some(0.2),
            margin: 0.01,
            ..MetricRecord::default()
        };
        let row = |ratio: f64, p: f64| RowRecord {
            configuration: "size 2".to_owned(),
            baseline: "size 1".to_owned(),
            control: false,
            runs: 10,
            median: 110.0,
            lowest: 100.0,
            highest: 120.0,
            pairs: 10,
            ratio,
            low: ratio * 0.98,
            high: ratio * 1.02,
            p,
            p_holm: p,
            finding: FindingRecord::Undecided,
            ..RowRecord::default()
        };
        assert_eq!(
            comparison(&metric, &row(1.1, 0.01)),
            "size 2: the difference in throughput from size 1 is not told from noise, which reaches to ±20.0 %: +10.0 %, \
             95 % interval +7.8 % to +12.2 %, 10 pairs."
        );
        let shown = |ratio, p| comparison(&metric, &row(ratio, p)).contains("no difference shown");
        assert!(shown(1.1, 0.06) && shown(1.01, 0.01), "by chance; not beyond the margin");
        assert_eq!(
            comparison(&metric, &row(1.5, 0.01)),
            "size 2: how throughput differs from size 1 is not found, since some figures of the smaller side are only lower bounds: \
             +50.0 %, 95 % interval +47.0 % to +53.0 %, 10 pairs.",
            "neither chance nor noise keeps it from being found"
        );
    }

    #[test]
    fn a_control_that_is_the_same_within_the_margin_does_not_differ_from_itself() {
        let row = |finding| RowRecord {
            configuration: "control (A/A)".to_owned(),
            baseline: "as planned".to_owned(),
            control: true,
            runs: 100,
            median: 211.2,
            lowest: 211.1,
            highest: 211.3,
            pairs: 100,
            ratio: 1.000_000_4,
            low: 1.000_000_1,
            high: 1.000_000_7,
            p: 0.012,
            p_holm: 0.048,
            finding,
            ..RowRecord::default()
        };
        let warned = |finding| {
            let metric = MetricRecord {
                label: "throughput".to_owned(),
                rows: vec![row(finding)],
                ..MetricRecord::default()
            };
            let control = ConfigurationRecord { control: true, valid: 100, ..ConfigurationRecord::default() };
            let study = Conclusions {
                metrics: vec![metric],
                configurations: vec![control],
                ..Conclusions::default()
            };
            warnings(&study, 200).iter().any(|warning| warning.starts_with("The control differs from itself"))
        };
        assert!(!warned(FindingRecord::Equivalent));
        assert!(warned(FindingRecord::Undecided) && warned(FindingRecord::Worse));
    }

    #[test]
    fn a_crossing_without_an_interval_says_why() {
        let said = |reached: f64, low: f64| {
            crossing(&CrossingRecord {
                factor: "users".to_owned(),
                among: String::new(),
                metric: "p99".to_owned(),
                unit: "ms".to_owned(),
                limit: 40.0,
                at: Some(350.4),
                low,
                high: 380.0,
                reached,
            })
        };
        let begin = "p99 reaches 40 ms at users 350";
        assert_eq!(said(f64::NAN, f64::NAN), format!("{begin}; too few blocks reach it for an interval."));
        assert_eq!(
            said(0.94, f64::NAN),
            format!(
                "{begin}; in 6 % of the resamplings no level that was run reaches it, so there is no interval."
            )
        );
        assert_eq!(said(1.0, 340.0), format!("{begin} (95 % interval 340 to 380, by resampling blocks)."));
    }

    #[test]
    fn growth_is_told_with_its_law_or_why_there_is_none() {
        let begin = "capacity at nodes 16 is 8.00 times that at 1: 50 % of linear growth.";
        assert_eq!(scaling(&growth()), begin);
        for (bounded, said) in [
            (vec![16.0], "capacity at nodes 16 is at least 8.00 times that at 1: 50 % of linear growth."),
            (vec![1.0], "capacity at nodes 16 is at most 8.00 times that at 1: 50 % of linear growth."),
            (
                vec![1.0, 16.0],
                "capacity at nodes 1 and 16 is only known to be at least what was found: its growth is not known.",
            ),
        ] {
            assert_eq!(scaling(&ScalingRecord { bounded, ..growth() }), said);
        }
        let without = ScalingRecord { no_fit: "There are two sizes.".to_owned(), ..growth() };
        assert_eq!(scaling(&without), format!("{begin} There are two sizes."));
        let law =
            AmdahlRecord { serial: 0.052, within: IntervalRecord { low: 0.011, high: 0.093 }, gamma: 100.0 };
        assert_eq!(
            scaling(&ScalingRecord { amdahl: Some(law), ..without.clone() }),
            format!(
                "{begin} There are two sizes. By Amdahl's law 5.2 % of the work is done one at a time (95 % interval 1.1 to \
                 9.3 %), so that no number of nodes gives more than 19.2 times the capacity of 1."
            )
        );
        let linear = AmdahlRecord { serial: 0.0, within: IntervalRecord::default(), ..law };
        assert!(
            scaling(&ScalingRecord { amdahl: Some(linear), ..without })
                .ends_with("By Amdahl's law 0.0 % of the work is done one at a time."),
        );
        let mut sure = growth();
        sure.points[1].speedup_within = IntervalRecord { low: 7.5, high: 8.4 };
        assert_eq!(
            scaling(&sure),
            "capacity at nodes 16 is 8.00 times that at 1 (95 % interval 7.50 to 8.40): 50 % of linear growth."
        );
        let fit = FitRecord {
            contention: 0.05,
            coherency: 0.002,
            gamma: 100.0,
            peak_n: Some(21.794),
            contention_within: IntervalRecord { low: 0.04, high: 0.06 },
            coherency_within: IntervalRecord::default(),
            peak_within: IntervalRecord { low: 20.0, high: 24.0 },
        };
        let knee =
            KneeRecord { n: 4.0, within: IntervalRecord { low: 2.0, high: 8.0 }, before: 90.0, after: 40.0 };
        let with = ScalingRecord { fit: Some(fit), knee: Some(knee), ..growth() };
        let law = "The universal scalability law finds contention 0.050 (95 % interval 0.040 to 0.060), coherency 0.00200, \
                   and a peak at nodes 21.8 (95 % interval 20.0 to 24.0).";
        let bend = "Growth bends at nodes 4.00 (95 % interval 2.00 to 8.00): 90.0 users for each more before it, 40.0 after.";
        assert_eq!(scaling(&with), format!("{begin} {law} {bend}"));
        let without_peak = ScalingRecord { fit: Some(FitRecord { peak_n: None, ..fit }), ..growth() };
        assert!(scaling(&without_peak).ends_with("and no peak up to twice the largest size."));
    }
}
