//! Metrics for comparing runs: figures with a name, a unit, and a better direction.

use crate::{BetterWhen, MeasureSpec, StatisticMetric};

/// A figure of a run, taken from the window that decides. None is negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Operations per second that ended well.
    Throughput,
    /// Operations per second that ended well and within their limit.
    Goodput,
    /// Requests per second.
    Requests,
    /// Capacity in the unit of the run's load: the median of the posterior, or in bisection the highest load
    /// that passed.
    Capacity,
    /// Response time of an operation at its judged quantile.
    ResponseJudged,
    /// Mean response time of an operation.
    ResponseMean,
    /// Median response time of an operation.
    ResponseP50,
    /// 90 % quantile of an operation's response time.
    ResponseP90,
    /// 95 % quantile of an operation's response time.
    ResponseP95,
    /// 99 % quantile of an operation's response time.
    ResponseP99,
    /// 99.9 % quantile of an operation's response time.
    ResponseP999,
    /// Mean service time of an operation.
    ServiceMean,
    /// Median service time of an operation.
    ServiceP50,
    /// 90 % quantile of an operation's service time.
    ServiceP90,
    /// 95 % quantile of an operation's service time.
    ServiceP95,
    /// 99 % quantile of an operation's service time.
    ServiceP99,
    /// 99.9 % quantile of an operation's service time.
    ServiceP999,
    /// Cores used by the nodes of the application.
    ApplicationCores,
    /// Cores used by everything on the host, driver and stores included.
    HostCpu,
    /// Cores used by the driver.
    DriverCpu,
    /// CPU time of the application's nodes per operation that ended well.
    CpuPerOperation,
    /// CPU time of the driver per operation that ended well.
    DriverCpuPerOperation,
    /// CPU time of the whole host, driver and stores included, per operation that ended well.
    HostCpuPerOperation,
    /// CPU time of the whole host per second of the driver's. A driver that does the same work in all
    /// configurations shows how fast the cores were in that run, so this metric does not depend on their
    /// speed.
    HostCpuPerDriverCpu,
    /// Users per core used by the application's nodes.
    UsersPerApplicationCore,
    /// CPU time of the driver per request.
    DriverCpuPerRequest,
    /// Memory of the application's nodes at the end of the window.
    ApplicationMemory,
    /// Mean power of the machine, by the source of the widest scope.
    Power,
    /// Mean power of the machine before the load.
    IdlePower,
    /// Energy of the machine per operation that ended well.
    EnergyPerOperation,
    /// Operations that ended well per energy of the machine.
    OperationsPerEnergy,
    /// Score of tiles per mean power of the machine.
    ScorePerPower,
    /// Time from the first start to the last end of a load of a number of operations.
    Elapsed,
    /// Time from the request for hosts until the application answered.
    ReadyTime,
    /// Share of operations that failed.
    FailedOperations,
    /// Score of tiles: ratios to a reference, as a geometric mean in each tile, added up.
    Score,
    /// Smallest ratio to the reference among the loads of all tiles.
    LeastRatio,
    /// Jain's fairness index of the ratios to the reference.
    Fairness,
    /// Nodes missing against the demand, as a part of it, over time.
    UnderAccuracy,
    /// Nodes beyond the demand, as a part of it, over time.
    OverAccuracy,
    /// Share of the time with fewer nodes than the demand.
    UnderTime,
    /// Share of the time with more nodes than the demand.
    OverTime,
    /// Share of the time in which demand and supply did not change in the same direction.
    Instability,
    /// Distance of the four metrics of provisioning from those of a supply that equals the demand.
    ElasticDeviation,
    /// Share of the time in intervals that broke a rule.
    ViolationTime,
    /// Nodes that ran, times the seconds for which they did.
    NodeSeconds,
    /// A measure declared by the workload.
    Measure(&'static MeasureSpec),
    /// A statistic declared by the workload.
    Statistic(&'static StatisticMetric),
}

/// Whether a unit is an amount per time.
#[must_use]
pub fn is_rate(unit: &str) -> bool {
    unit.starts_with("per ") || unit.ends_with("/s")
}

use Metric::{
    ApplicationCores, ApplicationMemory, Capacity, CpuPerOperation, DriverCpu, DriverCpuPerOperation,
    DriverCpuPerRequest, Elapsed, ElasticDeviation, EnergyPerOperation, FailedOperations, Fairness, Goodput,
    HostCpu, HostCpuPerDriverCpu, HostCpuPerOperation, IdlePower, Instability, LeastRatio, Measure,
    NodeSeconds, OperationsPerEnergy, OverAccuracy, OverTime, Power, ReadyTime, Requests, ResponseJudged,
    ResponseMean, ResponseP50, ResponseP90, ResponseP95, ResponseP99, ResponseP999, Score, ScorePerPower,
    ServiceMean, ServiceP50, ServiceP90, ServiceP95, ServiceP99, ServiceP999, Statistic, Throughput,
    UnderAccuracy, UnderTime, UsersPerApplicationCore, ViolationTime,
};

impl Metric {
    /// All metrics that any run may have.
    pub const ALL: [Metric; 46] = [
        Throughput,
        Goodput,
        Requests,
        Capacity,
        ResponseJudged,
        ResponseMean,
        ResponseP50,
        ResponseP90,
        ResponseP95,
        ResponseP99,
        ResponseP999,
        ServiceMean,
        ServiceP50,
        ServiceP90,
        ServiceP95,
        ServiceP99,
        ServiceP999,
        ApplicationCores,
        HostCpu,
        DriverCpu,
        CpuPerOperation,
        DriverCpuPerOperation,
        HostCpuPerOperation,
        HostCpuPerDriverCpu,
        UsersPerApplicationCore,
        DriverCpuPerRequest,
        ApplicationMemory,
        Power,
        IdlePower,
        EnergyPerOperation,
        OperationsPerEnergy,
        ScorePerPower,
        Elapsed,
        ReadyTime,
        FailedOperations,
        Score,
        LeastRatio,
        Fairness,
        UnderAccuracy,
        OverAccuracy,
        UnderTime,
        OverTime,
        Instability,
        ElasticDeviation,
        ViolationTime,
        NodeSeconds,
    ];

    /// Metrics that may be divisors: amounts of the whole run. Capacity is excluded, as a lower bound would
    /// make the quotient an upper bound.
    pub const DIVISORS: [Metric; 8] =
        [Throughput, Goodput, Requests, ApplicationCores, HostCpu, DriverCpu, ApplicationMemory, Power];

    /// Whether several loads have it only together, because it belongs to the host, the drivers, the search
    /// or the tiles.
    #[must_use]
    pub const fn is_of_all_loads(self) -> bool {
        self.is_of_elasticity()
            || matches!(
                self,
                Capacity
                    | HostCpu
                    | DriverCpu
                    | HostCpuPerOperation
                    | HostCpuPerDriverCpu
                    | Power
                    | IdlePower
                    | EnergyPerOperation
                    | OperationsPerEnergy
                    | ScorePerPower
                    | ReadyTime
                    | Score
                    | LeastRatio
                    | Fairness
            )
    }

    /// Whether the figures of several copies of a load add up to one of all.
    #[must_use]
    pub fn adds_up(self) -> bool {
        match self {
            Throughput | Goodput | Requests => true,
            Measure(measure) => is_rate(measure.unit),
            Statistic(statistic) => is_rate(statistic.unit),
            _ => false,
        }
    }

    /// Returns the name in study files and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Throughput => "throughput",
            Goodput => "goodput",
            Requests => "requests",
            Capacity => "capacity",
            ResponseJudged => "response_judged",
            ResponseMean => "response_mean",
            ResponseP50 => "response_p50",
            ResponseP90 => "response_p90",
            ResponseP95 => "response_p95",
            ResponseP99 => "response_p99",
            ResponseP999 => "response_p999",
            ServiceMean => "service_mean",
            ServiceP50 => "service_p50",
            ServiceP90 => "service_p90",
            ServiceP95 => "service_p95",
            ServiceP99 => "service_p99",
            ServiceP999 => "service_p999",
            ApplicationCores => "application_cores",
            HostCpu => "host_cpu",
            DriverCpu => "driver_cpu",
            CpuPerOperation => "cpu_per_operation",
            DriverCpuPerOperation => "driver_cpu_per_operation",
            HostCpuPerOperation => "host_cpu_per_operation",
            HostCpuPerDriverCpu => "host_cpu_per_driver_cpu",
            UsersPerApplicationCore => "users_per_application_core",
            DriverCpuPerRequest => "driver_cpu_per_request",
            ApplicationMemory => "application_memory",
            Power => "power",
            IdlePower => "idle_power",
            EnergyPerOperation => "energy_per_operation",
            OperationsPerEnergy => "operations_per_energy",
            ScorePerPower => "score_per_power",
            Elapsed => "elapsed",
            ReadyTime => "ready_time",
            FailedOperations => "failed_operations",
            Score => "score",
            LeastRatio => "least_ratio",
            Fairness => "fairness",
            UnderAccuracy => "under_accuracy",
            OverAccuracy => "over_accuracy",
            UnderTime => "under_time",
            OverTime => "over_time",
            Instability => "instability",
            ElasticDeviation => "elastic_deviation",
            ViolationTime => "violation_time",
            NodeSeconds => "node_seconds",
            Measure(measure) => measure.id,
            Statistic(statistic) => statistic.id,
        }
    }

    /// Returns the name in sentences.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Throughput => "throughput",
            Goodput => "goodput",
            Requests => "requests",
            Capacity => "capacity",
            ResponseJudged => "judged response time",
            ResponseMean => "mean response time",
            ResponseP50 => "median response time",
            ResponseP90 => "p90 response time",
            ResponseP95 => "p95 response time",
            ResponseP99 => "p99 response time",
            ResponseP999 => "p99.9 response time",
            ServiceMean => "mean service time",
            ServiceP50 => "median service time",
            ServiceP90 => "p90 service time",
            ServiceP95 => "p95 service time",
            ServiceP99 => "p99 service time",
            ServiceP999 => "p99.9 service time",
            ApplicationCores => "CPU use of the application",
            HostCpu => "CPU use of the host",
            DriverCpu => "CPU use of the driver",
            CpuPerOperation => "application CPU per operation",
            DriverCpuPerOperation => "driver CPU per operation",
            HostCpuPerOperation => "host CPU per operation",
            HostCpuPerDriverCpu => "host CPU per driver CPU",
            UsersPerApplicationCore => "users per application core",
            DriverCpuPerRequest => "driver CPU per request",
            ApplicationMemory => "memory of the application",
            Power => "power",
            IdlePower => "power without load",
            EnergyPerOperation => "energy per operation",
            OperationsPerEnergy => "operations per energy",
            ScorePerPower => "score per power",
            Elapsed => "elapsed time",
            ReadyTime => "time until ready",
            FailedOperations => "failed operations",
            Score => "score",
            LeastRatio => "least ratio",
            Fairness => "fairness",
            UnderAccuracy => "accuracy of under-provisioning",
            OverAccuracy => "accuracy of over-provisioning",
            UnderTime => "time under-provisioned",
            OverTime => "time over-provisioned",
            Instability => "instability",
            ElasticDeviation => "elastic deviation",
            ViolationTime => "time in violation of QoS",
            NodeSeconds => "node-seconds",
            Measure(measure) => measure.title,
            Statistic(statistic) => statistic.title,
        }
    }

    /// Returns the metric of this name among [`Metric::ALL`].
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Returns the unit of its figures. The unit of a capacity depends on the plan.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Throughput | Goodput => "operations/s",
            Requests => "requests/s",
            Capacity => "of load",
            ResponseJudged | ResponseMean | ResponseP50 | ResponseP90 | ResponseP95 | ResponseP99
            | ResponseP999 | ServiceMean | ServiceP50 | ServiceP90 | ServiceP95 | ServiceP99
            | ServiceP999 => "ms",
            ApplicationCores | HostCpu | DriverCpu => "cores",
            CpuPerOperation | DriverCpuPerOperation | HostCpuPerOperation | DriverCpuPerRequest => "µs",
            FailedOperations | UnderAccuracy | OverAccuracy | UnderTime | OverTime | Instability
            | ElasticDeviation | ViolationTime => "%",
            NodeSeconds => "node-seconds",
            HostCpuPerDriverCpu => "s/s",
            UsersPerApplicationCore => "users/core",
            ApplicationMemory => "MiB",
            Power | IdlePower => "W",
            EnergyPerOperation => "J",
            OperationsPerEnergy => "operations/J",
            ScorePerPower => "tiles of the reference/kW",
            Elapsed | ReadyTime => "s",
            Score => "tiles of the reference",
            LeastRatio => "of the reference",
            Fairness => "of 1",
            Measure(measure) => measure.unit,
            Statistic(statistic) => statistic.unit,
        }
    }

    /// Returns the better direction, unless a study overrides it.
    #[must_use]
    pub const fn better(self) -> BetterWhen {
        match self {
            Throughput
            | Goodput
            | Requests
            | Capacity
            | UsersPerApplicationCore
            | OperationsPerEnergy
            | ScorePerPower
            | Score
            | LeastRatio
            | Fairness => BetterWhen::Higher,
            Measure(measure) => measure.better,
            Statistic(statistic) => statistic.better,
            _ => BetterWhen::Lower,
        }
    }

    /// Returns the quantile as a share. `None` for other metrics, and for the judged quantile, which depends
    /// on the plan.
    #[must_use]
    pub const fn quantile(self) -> Option<f64> {
        match self {
            ResponseP50 | ServiceP50 => Some(0.5),
            ResponseP90 | ServiceP90 => Some(0.9),
            ResponseP95 | ServiceP95 => Some(0.95),
            ResponseP99 | ServiceP99 => Some(0.99),
            ResponseP999 | ServiceP999 => Some(0.999),
            _ => None,
        }
    }

    /// Whether it is a figure of a measured window, and not of the run as a whole.
    #[must_use]
    pub const fn is_of_window(self) -> bool {
        !self.is_of_elasticity()
            && !matches!(
                self,
                Capacity | IdlePower | ScorePerPower | Elapsed | ReadyTime | Score | LeastRatio | Fairness
            )
    }

    /// Whether it compares the nodes of a tier with those that the load needed.
    const fn is_of_elasticity(self) -> bool {
        matches!(
            self,
            UnderAccuracy
                | OverAccuracy
                | UnderTime
                | OverTime
                | Instability
                | ElasticDeviation
                | ViolationTime
                | NodeSeconds
        )
    }

    /// Whether it is a figure of one operation, which must be named then.
    #[must_use]
    pub const fn is_of_operation(self) -> bool {
        matches!(
            self,
            ResponseJudged
                | ResponseMean
                | ResponseP50
                | ResponseP90
                | ResponseP95
                | ResponseP99
                | ResponseP999
                | ServiceMean
                | ServiceP50
                | ServiceP90
                | ServiceP95
                | ServiceP99
                | ServiceP999
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Metric;

    #[test]
    fn every_metric_is_found_by_its_name_and_names_differ() {
        for metric in Metric::ALL {
            assert_eq!(Metric::of_name(metric.name()), Some(metric));
            assert!(!metric.unit().is_empty());
        }
        assert_eq!(Metric::of_name("speed"), None);
    }

    #[test]
    fn a_divisor_is_of_the_whole_run_and_no_bound() {
        for metric in Metric::DIVISORS {
            assert!(!metric.is_of_operation() && metric != Metric::Capacity, "{metric:?}");
        }
    }
}
