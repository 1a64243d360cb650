//! The figure of one run for a metric of the study: as it was measured, or divided by another of the same run.

use barograph_model::Metric;
use barograph_model::words::listed;
use barograph_record::RunEnded;
use barograph_spec::study::{Divisor, MetricPlan, Study};

/// The figure of a run. `measured` is asked for what the run measured, `planned` for numbers of its plan as resolved.
///
/// # Errors
///
/// Why there is no figure: something was not measured, or what it would be divided by is no number above 0.
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

/// One sentence per metric and reason why valid runs have no figure of it.
pub(crate) fn warnings(study: &Study, runs: &[RunEnded]) -> Vec<String> {
    let valid: Vec<&RunEnded> = runs.iter().filter(|run| run.valid).collect();
    study.metrics.iter().flat_map(|metric| warnings_of(metric, &valid)).collect()
}

fn warnings_of(metric: &MetricPlan, valid: &[&RunEnded]) -> Vec<String> {
    // By reason: how many runs, and of which configurations.
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
    use barograph_spec::study::read;

    use super::*;

    fn metric(lines: &str) -> MetricPlan {
        let text = format!("question = \"q\"\nplan = \"p\"\n[[metric]]\n{lines}\n");
        let mut study = read("s.toml", &text).unwrap_or_else(|refused| panic!("{refused}"));
        study.metrics.remove(0)
    }

    /// 600 operations/s with half a core of the host, on three nodes; p99 of Get is 12 ms. The driver was not looked at.
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
