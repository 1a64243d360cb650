//! The figures by which runs are compared, from their records.

use barograph_model::Metric;
use barograph_stats::compare::Believed;

use crate::{KeptOp, Resources, Run, Trial};

const MIB: f64 = (1u64 << 20) as f64;

impl Run {
    /// What `metric` was in this run, in the window that its answer rests on; `operation` for metrics of one. Zero is a
    /// figure. `None` where it was not measured, or is no number.
    #[must_use]
    pub fn metric(&self, metric: Metric, operation: Option<&str>) -> Option<f64> {
        let trial = self.deciding_trial();
        let value = match metric {
            Metric::Capacity => self.verdict()?.capacity.map(f64::from),
            Metric::ReadyTime => self.topology().map(|topology| topology.ready_s),
            Metric::Elapsed => trial?.elapsed_s(),
            Metric::Throughput => Some(trial?.window.throughput),
            Metric::Goodput => Some(trial?.window.goodput),
            Metric::Requests => Some(trial?.window.requests_s),
            Metric::Measure(measure) => {
                trial?.window.measures.iter().find(|kept| kept.id == measure.id)?.value
            }
            _ if metric.is_of_operation() => of_operation(metric, trial?, operation?),
            _ => of_resources(metric, trial?),
        };
        value.filter(|value| value.is_finite() && *value >= 0.0)
    }

    /// The part of the host's CPU time that a hypervisor took away in the window that the answer rests on, 0 to 1. `None`
    /// where nobody looked.
    #[must_use]
    pub fn stolen(&self) -> Option<f64> {
        let (window, start) = (&self.deciding_trial()?.window, self.load_start_s()?);
        let within = start + window.from_s..=start + window.to_s;
        let host = self.probes.iter().filter(|row| row.subject == "host" && within.contains(&row.at_s));
        let shares: Vec<f64> = host.filter_map(|row| row.steal_share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// The capacity with its 95 % interval, open above where it may be higher than anything that could be tried. `None` where
    /// nothing was searched, no level passed, or the search does not say how sure it is.
    #[must_use]
    pub fn believed_capacity(&self) -> Option<Believed> {
        let verdict = self.verdict()?;
        let search = verdict.search.as_ref()?;
        let estimate = search.estimate.as_ref()?;
        let high = if search.is_open() { f64::INFINITY } else { estimate.high };
        Believed::new(f64::from(verdict.capacity?), estimate.low, high)
    }
}

/// CPU time in microseconds of each operation that ended well: `cores` were busy, and `throughput` such operations ended
/// in a second. What failed is no work done, so it costs those that did end well.
#[must_use]
pub fn cpu_per_operation(cores: f64, throughput: f64) -> f64 {
    cores / throughput * 1e6
}

fn of_operation(metric: Metric, trial: &Trial, operation: &str) -> Option<f64> {
    let op: &KeptOp = trial.window.ops.iter().find(|op| op.op == operation && op.count > 0)?;
    match metric {
        Metric::ResponseJudged => Some(op.judged_ms),
        Metric::ResponseMean => Some(op.mean_ms),
        Metric::ResponseP50 => Some(op.p50_ms),
        Metric::ResponseP90 => Some(op.p90_ms),
        Metric::ResponseP95 => Some(op.p95_ms),
        Metric::ResponseP99 => Some(op.p99_ms),
        Metric::ResponseP999 => Some(op.p999_ms),
        Metric::ServiceMean => Some(op.service_mean_ms),
        Metric::ServiceP50 => Some(op.service_p50_ms),
        Metric::ServiceP90 => Some(op.service_p90_ms),
        Metric::ServiceP95 => Some(op.service_p95_ms),
        Metric::ServiceP99 => Some(op.service_p99_ms),
        Metric::ServiceP999 => Some(op.service_p999_ms),
        _ => None,
    }
}

fn of_resources(metric: Metric, trial: &Trial) -> Option<f64> {
    let used = &trial.resources;
    let per_operation = |cores: f64| cpu_per_operation(cores, trial.window.throughput);
    match metric {
        Metric::ApplicationCores => used.app_cores,
        Metric::HostCpu => used.host_busy_cores,
        Metric::DriverCpu => used.driver_cores,
        Metric::CpuPerOperation => used.app_cores.map(per_operation),
        Metric::HostCpuPerOperation => used.host_busy_cores.map(per_operation),
        Metric::HostCpuPerDriverCpu => host_per_driver(used),
        Metric::UsersPerApplicationCore => used.users_per_app_core,
        Metric::DriverCpuPerRequest => used.driver_cpu_us_per_request,
        Metric::ApplicationMemory => used.app_rss_bytes.map(|bytes| bytes as f64 / MIB),
        _ => None,
    }
}

/// CPU time of the whole host, the driver included, for each second of the driver's.
fn host_per_driver(used: &Resources) -> Option<f64> {
    Some(used.host_busy_cores? / used.driver_cores?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_held_against_its_driver_where_both_were_looked_at() {
        let used =
            Resources { host_busy_cores: Some(0.75), driver_cores: Some(0.125), ..Resources::default() };
        assert_eq!(host_per_driver(&used), Some(6.0));
        assert_eq!(host_per_driver(&Resources { driver_cores: None, ..used }), None);
    }
}
