//! The figure of one run for a metric of the study: measured, or divided by another of the same run.

use barograph_model::Metric;
use barograph_model::words::listed;
use barograph_record::RunEnded;
use barograph_spec::study::{Divisor, MetricPlan, Study};

/// The figure of a run. `measured` returns measured figures, `planned` numbers of its resolved plan.
///
/// # Errors
///
/// The reason for a missing figure: it was not measured, or its divisor is not above 0.
pub fn figure(
    metric: &MetricPlan,
    measured: impl Fn(Metric, Option<&str>) -> Option<f64>,
    planned: impl Fn(&str) -> Option<f64>,
) -> Result<f64, String> {
    let operation = metric.operation.as_deref();
    let of = operation.map_or_else(String::new, |operation| format!(" of {operation}"));
    let not_measured = |name: &str, of: &str| format!("{name}{of} was not measured");
    let value = measured(metric.metric, operation).ok_or_else(|| not_measured(metric.metric.name(), &of))?;
    let divisor = match &metric.per {
        None => return Ok(value),
        Some(Divisor::Measured(by)) => measured(*by, None).ok_or_else(|| not_measured(by.name(), ""))?,
        Some(Divisor::Planned(key)) => {
            planned(key).ok_or_else(|| format!("{key} is no number of the run's plan"))?
        }
    };
    let quotient = value / divisor;
    if divisor > 0.0 && quotient.is_finite() {
        return Ok(quotient);
    }
    let name = metric.per.as_ref().map_or("", Divisor::name);
    Err(format!("{name} is {divisor}, and nothing can be divided by it"))
}

/// Fewest operations beyond a quantile, so that it is not the time of a few.
const FEWEST_BEYOND: f64 = 5.0;

/// One sentence per metric and reason for missing figures of valid runs, and one per quantile of too few
/// operations.
pub(crate) fn warnings(study: &Study, runs: &[RunEnded]) -> Vec<String> {
    let valid: Vec<&RunEnded> = runs.iter().filter(|run| run.valid).collect();
    let missing = study.metrics.iter().flat_map(|metric| warnings_of(metric, &valid));
    missing.chain(study.metrics.iter().filter_map(|metric| few_of(metric, &valid))).collect()
}

/// Runs with hardly any operation beyond a quantile. Runs without the number of operations are ignored.
fn few_of(metric: &MetricPlan, valid: &[&RunEnded]) -> Option<String> {
    let operation = metric.operation_of_run()?;
    let is_judged = metric.metric == Metric::ResponseJudged;
    let beyond = |run: &&RunEnded| {
        let times = run.times.iter().find(|times| times.op == operation)?;
        let quantile = if is_judged { times.quantile } else { metric.metric.quantile() }?;
        // Rounding is allowed: 1 - 0.99 is not exact in binary.
        let is_few = times.count as f64 * (1.0 - quantile) < FEWEST_BEYOND - 1e-6;
        is_few.then_some(times.count)
    };
    let few: Vec<u64> = valid.iter().filter_map(beyond).collect();
    let (least, most) = (few.iter().min()?, few.iter().max()?);
    let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
    Some(format!(
        "In {} of {} valid runs {} is told by fewer than {FEWEST_BEYOND} operations that took longer: {range} ended. A longer \
         window, or an operation that is more frequent, says more.",
        few.len(),
        valid.len(),
        metric.called()
    ))
}

fn warnings_of(metric: &MetricPlan, valid: &[&RunEnded]) -> Vec<String> {
    // Number of runs and their configurations, by reason.
    let mut found: Vec<(&str, usize, Vec<&str>)> = Vec::new();
    for run in valid {
        let Some(missing) = run.missing.iter().find(|missing| missing.metric == metric.label) else {
            continue;
        };
        let configuration = run.started.configuration.as_str();
        match found.iter_mut().find(|(why, ..)| *why == missing.why) {
            None => found.push((missing.why.as_str(), 1, vec![configuration])),
            Some((_, count, configurations)) => {
                *count += 1;
                if !configurations.contains(&configuration) {
                    configurations.push(configuration);
                }
            }
        }
    }
    let sentence = |(why, count, configurations): (&str, usize, Vec<&str>)| {
        format!(
            "There is no figure of {} in {count} of {} valid runs (of {}): {why}.",
            metric.called(),
            valid.len(),
            listed(&configurations)
        )
    };
    found.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use barograph_record::TimesRecord;
    use barograph_spec::study::read;

    use super::*;
    use crate::figures::made;

    /// A valid run in which `count` operations Get ended, judged by p99.
    fn with(count: u64) -> RunEnded {
        let times = TimesRecord {
            op: "Get".to_owned(),
            count,
            quantile: Some(0.99),
            limit_ms: Some(250.0),
            ms: vec![1.0],
        };
        RunEnded { times: vec![times], ..made(1, "size 1", ("throughput", 1.0)) }
    }

    #[test]
    fn a_quantile_of_few_operations_is_warned_of() {
        let said = |of: &str, counts: &[u64]| {
            let runs: Vec<RunEnded> = counts.iter().map(|count| with(*count)).collect();
            let runs: Vec<&RunEnded> = runs.iter().collect();
            few_of(&metric(&format!("of = \"{of}\"\noperation = \"Get\"")), &runs)
        };
        for (of, enough) in
            [("response_p50", 10), ("response_p99", 500), ("service_p999", 5_000), ("response_judged", 500)]
        {
            assert_eq!(said(of, &[enough, enough]), None, "{of}");
            let few = said(of, &[enough, enough - 1]).unwrap();
            assert!(few.starts_with("In 1 of 2 valid runs ") && few.contains("than 5 operations"), "{few}");
            assert!(few.contains(&format!("took longer: {} ended.", enough - 1)), "{few}");
        }
        assert!(said("response_p99", &[2, 7]).unwrap().contains("took longer: 2 to 7 ended."));
        assert_eq!(said("response_mean", &[2]), None);
        // Without the number of operations there is no warning.
        let silent = made(1, "size 1", ("throughput", 1.0));
        let of_get = metric("of = \"response_p99\"\noperation = \"Get\"");
        assert_eq!(few_of(&of_get, &[&silent]), None);
    }

    fn metric(lines: &str) -> MetricPlan {
        let text = format!("question = \"q\"\nplan = \"p\"\n[[metric]]\n{lines}\n");
        let mut study = read("s.toml", &text).unwrap_or_else(|refused| panic!("{refused}"));
        study.metrics.remove(0)
    }

    /// 600 operations/s with half a core of the host, on three nodes; p99 of Get is 12 ms. The driver was not
    /// measured.
    fn found(lines: &str) -> Result<f64, String> {
        let measured = |metric: Metric, operation: Option<&str>| match (metric, operation) {
            (Metric::Throughput, None) => Some(600.0),
            (Metric::HostCpu, None) => Some(0.5),
            (Metric::ResponseP99, Some("Get")) => Some(12.0),
            _ => None,
        };
        let planned = |key: &str| match key {
            "deploy.application_nodes" => Some(3.0),
            "deploy.application_cpus" => Some(0.0),
            _ => None,
        };
        figure(&metric(lines), measured, planned)
    }

    #[test]
    fn a_figure_is_divided_by_what_was_measured_or_planned() {
        assert_eq!(found("of = \"throughput\""), Ok(600.0));
        assert_eq!(found("of = \"throughput\"\nper = \"host_cpu\""), Ok(1_200.0));
        assert_eq!(found("of = \"throughput\"\nper = \"deploy.application_nodes\""), Ok(200.0));
        let of_operation = "of = \"response_p99\"\noperation = \"Get\"\nper = \"deploy.application_nodes\"";
        assert_eq!(found(of_operation), Ok(4.0));
    }

    #[test]
    fn what_cannot_be_divided_says_why() {
        let cases = [
            ("of = \"goodput\"", "goodput was not measured"),
            ("of = \"response_p50\"\noperation = \"Get\"", "response_p50 of Get was not measured"),
            ("of = \"throughput\"\nper = \"driver_cpu\"", "driver_cpu was not measured"),
            ("of = \"throughput\"\nper = \"load.rate\"", "load.rate is no number of the run's plan"),
            (
                "of = \"throughput\"\nper = \"deploy.application_cpus\"",
                "deploy.application_cpus is 0, and nothing can be divided by it",
            ),
        ];
        for (lines, why) in cases {
            assert_eq!(found(lines), Err(why.to_owned()), "{lines}");
        }
    }
}
