//! Figures by which runs are compared, computed from their records.

use std::cell::OnceCell;
use std::collections::HashMap;

use barograph_model::{ChosenWindow, Metric};
use barograph_stats::Histogram;
use barograph_stats::compare::IntervalEstimate;
use barograph_stats::interval::histogram;

use crate::{LogReader, OpRecord, RecordError, Resources, Run, ScoreRecord, Trial, WindowRecord, tag};

/// Bytes of a mebibyte.
const MIB: f64 = (1u64 << 20) as f64;

impl Run {
    /// Returns the value of `metric` in the window that decides; `operation` for metrics of one. Zero is a
    /// value. `None` if it was not measured or is not a number, or if each of several loads has its own
    /// ([`Run::of`]), or if they have it only together. Rates of copies of one load are added up, and times are of
    /// the operations of all copies.
    #[must_use]
    pub fn metric(&self, metric: Metric, operation: Option<&str>) -> Option<f64> {
        self.metric_in(ChosenWindow::Deciding, metric, operation)
    }

    /// Returns the value of `metric` in another window; see [`Run::metric`].
    #[must_use]
    pub fn metric_in(&self, window: ChosenWindow, metric: Metric, operation: Option<&str>) -> Option<f64> {
        let windows = self.chosen_trial(window).into_iter().collect();
        WindowFigures { window, ..self.figures_in(windows) }.metric(metric, operation)
    }

    /// Returns the figures of these windows together.
    #[must_use]
    pub fn figures_in<'r>(&'r self, windows: Vec<&'r Trial>) -> WindowFigures<'r> {
        let (response, service) = (OnceCell::new(), OnceCell::new());
        WindowFigures { run: self, window: ChosenWindow::Deciding, windows, response, service }
    }

    /// Returns the scores of the windows behind the run's: of each tile where all tiles have the same load, else
    /// of all together. Empty without a score.
    #[must_use]
    pub fn window_scores(&self) -> Vec<Vec<f64>> {
        let score = self.verdict().and_then(|verdict| verdict.score.as_deref());
        let Some((score, tiles)) = score.zip(self.tiles()) else { return Vec::new() };
        let trial = |load: &str, n: u32| self.of(Some(load))?.trials().find(|trial| trial.n == n);
        let each = score.windows.iter().map(|window| {
            let trials =
                tiles.loads.iter().map(|load| trial(&load.load, window.trial)).collect::<Option<Vec<_>>>();
            trials.and_then(|trials| tiles.each_score(&trials)).unwrap_or_else(|| vec![window.score])
        });
        each.collect()
    }

    /// Returns the share of the host's CPU time that a hypervisor took in the window that decides, 0 to 1.
    /// `None` if it was not measured.
    #[must_use]
    pub fn stolen(&self) -> Option<f64> {
        let (window, start) = (&self.each_load().first()?.deciding_trial()?.window, self.load_start_s()?);
        let within = start + window.from_s..=start + window.to_s;
        let host = self.probes.iter().filter(|row| row.subject == "host" && within.contains(&row.at_s));
        let shares: Vec<f64> = host.filter_map(|row| row.steal_share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// Returns the capacity with its 95 % interval, open above if the capacity may exceed everything that
    /// could be tried. `None` if there was no search, no level passed, or the search states no interval.
    #[must_use]
    pub fn believed_capacity(&self) -> Option<IntervalEstimate> {
        let verdict = self.verdict()?;
        let search = verdict.search.as_ref()?;
        let estimate = search.estimate.as_ref()?;
        let high = if search.is_open() { f64::INFINITY } else { estimate.high };
        IntervalEstimate::new(f64::from(verdict.capacity?), estimate.low, high)
    }
}

/// Figures of windows of a run.
pub struct WindowFigures<'r> {
    run: &'r Run,
    /// The window of each load, for figures of several loads together.
    window: ChosenWindow,
    windows: Vec<&'r Trial>,
    /// Times by operation, read on demand.
    response: OnceCell<HashMap<String, Histogram>>,
    service: OnceCell<HashMap<String, Histogram>>,
}

impl<'r> WindowFigures<'r> {
    /// Returns the run.
    pub(crate) fn run(&self) -> &'r Run {
        self.run
    }

    /// Returns the windows.
    #[must_use]
    pub fn windows(&self) -> &[&'r Trial] {
        &self.windows
    }

    /// Returns the value of `metric`; see [`Run::metric`]. Over several windows, rates and amounts are means
    /// weighted by length, and times are those of all operations together.
    #[must_use]
    pub fn metric(&self, metric: Metric, operation: Option<&str>) -> Option<f64> {
        let value = match metric {
            Metric::Capacity => self.run.verdict()?.capacity.map(f64::from),
            Metric::ReadyTime => self.run.topology().map(|topology| topology.ready_s),
            Metric::Score => self.score().map(|score| score.score),
            Metric::LeastRatio => self.score().map(|score| score.least_ratio),
            Metric::Fairness => self.score().map(|score| score.fairness),
            Metric::UnderAccuracy
            | Metric::OverAccuracy
            | Metric::UnderTime
            | Metric::OverTime
            | Metric::Instability
            | Metric::ElasticDeviation
            | Metric::ViolationTime
            | Metric::NodeSeconds => self.run.elastic_metric(metric),
            Metric::Power
            | Metric::IdlePower
            | Metric::EnergyPerOperation
            | Metric::OperationsPerEnergy
            | Metric::ScorePerPower => self.power(metric),
            Metric::Statistic(of) => self.statistic(of),
            _ if metric.adds_up() && !self.run.loads.is_empty() => {
                let rates = self.run.rates_of_copies_in(self.window);
                rates.iter().find(|rate| rate.of == metric.name())?.total()
            }
            _ if metric.is_of_operation() && self.run.are_copies() => self.of_copies(metric, operation?),
            _ if !self.run.loads.is_empty() => of_all((metric, self.window), &self.run.loads),
            // For one of several loads they would cover all loads, or all on the same application.
            Metric::HostCpuPerOperation | Metric::DriverCpuPerOperation if self.run.load.is_some() => None,
            Metric::CpuPerOperation if self.run.load.is_some() => {
                self.per_operation(|used| used.users_per_app_core.and(used.app_cores))
            }
            Metric::Elapsed => match self.windows[..] {
                [only] => only.elapsed_s(),
                _ => None,
            },
            Metric::Measure(measure) => self.measure(measure.id),
            Metric::FailedOperations => {
                let (failed, ended) = self.failures();
                (ended > 0).then(|| failed as f64 / ended as f64 * 100.0)
            }
            _ if metric.is_of_operation() => self.of_operation(metric, operation?),
            Metric::CpuPerOperation => self.per_operation(|used| used.app_cores),
            Metric::DriverCpuPerOperation => self.per_operation(|used| used.driver_cores),
            Metric::HostCpuPerOperation => self.per_operation(|used| used.host_busy_cores),
            _ => self.mean(|trial| of_window(metric, trial)),
        };
        value.filter(|value| value.is_finite() && *value >= 0.0)
    }

    /// Figures of power, which several loads have only together.
    fn power(&self, metric: Metric) -> Option<f64> {
        if self.run.load.is_some() {
            return None;
        }
        match metric {
            Metric::IdlePower => return Some(self.run.idle_power()?.watts),
            Metric::ScorePerPower => {
                let score = self.score()?;
                let scored = self.run.each_load().first()?.trials().find(|trial| trial.n == score.trial)?;
                return Some(score.score / self.run.power_in(&scored.window)?.watts * 1e3);
            }
            _ => {}
        }
        let chosen = self.run.loads.iter().map(|load| load.chosen_trial(self.window));
        let of_loads: Vec<&Trial> = chosen.collect::<Option<_>>()?;
        let (windows, throughput) = match &of_loads[..] {
            [] => (&self.windows[..], self.mean(|trial| Some(trial.window.throughput))?),
            all => (&all[..1], all.iter().map(|trial| trial.window.throughput).sum()),
        };
        let watts = |trial: &&Trial| Some((self.run.power_in(&trial.window)?.watts, trial.window.seconds()));
        let watts: Option<Vec<(f64, f64)>> = windows.iter().map(watts).collect();
        let watts = mean_of(watts?.into_iter())?;
        Some(match metric {
            Metric::EnergyPerOperation => watts / throughput,
            Metric::OperationsPerEnergy => throughput / watts,
            _ => watts,
        })
    }

    fn score(&self) -> Option<&ScoreRecord> {
        self.run.verdict()?.score.as_deref()
    }

    /// Returns a measure of the workload, over the windows that have it.
    #[must_use]
    pub fn measure(&self, id: &str) -> Option<f64> {
        let of = |trial: &&Trial| Some((trial.window.measure(id)?, trial.window.seconds()));
        mean_of(self.windows.iter().filter_map(of))
    }

    /// Returns the failed operations, and all that ended.
    #[must_use]
    pub fn failures(&self) -> (u64, u64) {
        let ops = || self.windows.iter().flat_map(|trial| &trial.window.ops);
        (ops().map(|op| op.failed).sum(), ops().map(|op| op.count).sum())
    }

    fn mean(&self, of: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        let all: Option<Vec<(f64, f64)>> =
            self.windows.iter().map(|trial| Some((of(trial)?, trial.window.seconds()))).collect();
        mean_of(all?.into_iter())
    }

    fn per_operation(&self, cores: fn(&Resources) -> Option<f64>) -> Option<f64> {
        let cores = self.mean(|trial| cores(&trial.resources))?;
        Some(cpu_per_operation(cores, self.mean(|trial| Some(trial.window.throughput))?))
    }

    fn of_operation(&self, metric: Metric, operation: &str) -> Option<f64> {
        let in_window = |trial: &&Trial| trial.window.ops.iter().find(|op| op.op == operation).cloned();
        let ended: Vec<OpRecord> =
            self.windows.iter().filter_map(in_window).filter(|op| op.count > 0).collect();
        let mean = |of: fn(&OpRecord) -> f64| mean_of(ended.iter().map(|op| (of(op), op.count as f64)));
        match (metric, &ended[..]) {
            (_, []) => None,
            (Metric::ResponseMean, _) => mean(|op| op.mean_ms),
            (Metric::ServiceMean, _) => mean(|op| op.service_mean_ms),
            (_, [only]) => quantile_of(metric, only),
            _ => self.quantile_of_all(metric, &ended),
        }
    }

    /// A figure over the operations of all copies of one load, in a window of each.
    fn of_copies(&self, metric: Metric, operation: &str) -> Option<f64> {
        let mut all: Vec<(OpRecord, Option<Histogram>)> = Vec::new();
        for load in &self.run.loads {
            let trial = load.chosen_trial(self.window)?;
            let figures = load.figures_in(vec![trial]);
            let ended = trial.window.ops.iter().find(|op| op.op == operation && op.count > 0);
            let Some(ended) = ended else { continue };
            let times = figures.times_of(metric).get(&tag(operation)).cloned();
            all.push((ended.clone(), times));
        }
        let mean = |of: fn(&OpRecord) -> f64| mean_of(all.iter().map(|(op, _)| (of(op), op.count as f64)));
        match metric {
            Metric::ResponseMean => return mean(|op| op.mean_ms),
            Metric::ServiceMean => return mean(|op| op.service_mean_ms),
            _ => {}
        }
        let mut together = histogram();
        for (ended, times) in &all {
            together.add(times.as_ref().filter(|times| times.len() == ended.count)?).ok()?;
        }
        let judged = || self.run.loads.first().map(|load| load.judged_quantile(operation));
        let quantile = metric.quantile().or_else(judged)?;
        (!together.is_empty()).then(|| together.value_at_quantile(quantile) as f64 / 1e3)
    }

    /// Times by operation in these windows, of response or of service.
    fn times_of(&self, metric: Metric) -> &HashMap<String, Histogram> {
        let is_service = matches!(
            metric,
            Metric::ServiceP50
                | Metric::ServiceP90
                | Metric::ServiceP95
                | Metric::ServiceP99
                | Metric::ServiceP999
        );
        let windows: Vec<&WindowRecord> = self.windows.iter().map(|trial| &trial.window).collect();
        let read = |log: Result<LogReader, RecordError>| {
            log.map_or_else(|_| HashMap::new(), |log| log.in_windows(&windows))
        };
        match is_service {
            true => self.service.get_or_init(|| read(self.run.service_log())),
            false => self.response.get_or_init(|| read(self.run.response_log())),
        }
    }

    /// Quantile over the operations of several windows. `None` if the log does not hold all of them.
    fn quantile_of_all(&self, metric: Metric, ended: &[OpRecord]) -> Option<f64> {
        let operation = ended.first()?.op.as_str();
        let quantile = metric.quantile().unwrap_or_else(|| self.run.judged_quantile(operation));
        let times = self.times_of(metric);
        let counted: u64 = ended.iter().map(|op| op.count).sum();
        let whole = times.get(&tag(operation)).filter(|times| times.len() == counted);
        whole.map(|times| times.value_at_quantile(quantile) as f64 / 1e3)
    }
}

/// Quantile of an operation that is not judged.
const SHOWN: f64 = 0.99;

impl Run {
    /// Returns the quantile of an operation's limit; p99 if the record does not state it.
    #[must_use]
    pub fn judged_quantile(&self, operation: &str) -> f64 {
        let rule =
            self.expected().and_then(|expected| expected.rules.iter().find(|rule| rule.op == operation));
        rule.map_or(SHOWN, |rule| rule.quantile)
    }
}

/// Weighted mean; a single value is returned unchanged.
fn mean_of(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let values: Vec<(f64, f64)> = values.collect();
    if let [(only, _)] = values[..] {
        return Some(only);
    }
    let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
    (weight > 0.0).then(|| values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight)
}

/// CPU time in microseconds per successful operation, from busy `cores` and successful operations per second.
/// Failed operations do no work, so their cost is charged to the successful ones.
fn cpu_per_operation(cores: f64, throughput: f64) -> f64 {
    cores / throughput * 1e6
}

fn quantile_of(metric: Metric, op: &OpRecord) -> Option<f64> {
    match metric {
        Metric::ResponseJudged => Some(op.judged_ms),
        Metric::ResponseP50 => Some(op.p50_ms),
        Metric::ResponseP90 => Some(op.p90_ms),
        Metric::ResponseP95 => Some(op.p95_ms),
        Metric::ResponseP99 => Some(op.p99_ms),
        Metric::ResponseP999 => Some(op.p999_ms),
        Metric::ServiceP50 => Some(op.service_p50_ms),
        Metric::ServiceP90 => Some(op.service_p90_ms),
        Metric::ServiceP95 => Some(op.service_p95_ms),
        Metric::ServiceP99 => Some(op.service_p99_ms),
        Metric::ServiceP999 => Some(op.service_p999_ms),
        _ => None,
    }
}

fn of_window(metric: Metric, trial: &Trial) -> Option<f64> {
    let (window, used) = (&trial.window, &trial.resources);
    match metric {
        Metric::Throughput => Some(window.throughput),
        Metric::Goodput => Some(window.goodput),
        Metric::Requests => Some(window.requests_s),
        Metric::ApplicationCores => used.app_cores,
        Metric::HostCpu => used.host_busy_cores,
        Metric::DriverCpu => used.driver_cores,
        Metric::HostCpuPerDriverCpu => host_per_driver(used),
        Metric::UsersPerApplicationCore => used.users_per_app_core,
        Metric::DriverCpuPerRequest => used.driver_cpu_us_per_request,
        Metric::ApplicationMemory => used.app_rss_bytes.map(|bytes| bytes as f64 / MIB),
        _ => None,
    }
}

/// A figure that several loads have only together.
fn of_all((metric, window): (Metric, ChosenWindow), loads: &[Run]) -> Option<f64> {
    let trials: Vec<&Trial> = loads.iter().map(|load| load.chosen_trial(window)).collect::<Option<_>>()?;
    let first = trials.first()?;
    match metric {
        Metric::HostCpu | Metric::DriverCpu | Metric::HostCpuPerDriverCpu => of_window(metric, first),
        Metric::HostCpuPerOperation => {
            let throughput = trials.iter().map(|trial| trial.window.throughput).sum();
            first.resources.host_busy_cores.map(|cores| cpu_per_operation(cores, throughput))
        }
        _ => None,
    }
}

/// CPU time of the whole host, driver included, per second of the driver's CPU time.
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

    #[test]
    fn values_of_windows_are_weighted_and_that_of_one_is_exact() {
        assert_eq!(mean_of([(0.1, 3.0)].into_iter()), Some(0.1));
        assert_eq!(mean_of([(1.0, 30.0), (4.0, 10.0)].into_iter()), Some(1.75));
        assert_eq!(mean_of(std::iter::empty()), None);
    }
}
