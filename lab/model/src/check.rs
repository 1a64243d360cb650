//! Validity checks of a measured window: value and limit as numbers. `words` has their texts.

mod words;

use crate::Level;

/// A validity check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckId {
    /// Start lag of the driver.
    StartLag,
    /// CPU use of the driver's busiest worker.
    BusiestWorker,
    /// Users present in a closed loop.
    Users,
    /// Starts per second in an open loop.
    OfferedRate,
    /// Arrivals that the driver dropped.
    DriverBound,
    /// Failures for want of something in the driver.
    DriverFailures,
    /// CPU time taken by a hypervisor.
    StolenCpu,
    /// CPU time used by others than the run.
    OutsideCpu,
    /// Waits of others than the run for memory.
    OutsideMemory,
    /// Waits of others than the run for disks.
    OutsideDisks,
    /// Little's law.
    Little,
    /// Frequency of users' starts, and regularity of arrivals.
    Pacing,
    /// Drift of throughput.
    SteadyThroughput,
    /// Drift of response time.
    SteadyResponse,
    /// A stretch of the window that deviates from the rest.
    SteadyState,
    /// Shares of operations by thirds of the window.
    SteadyMix,
    /// A share that deviates soon after many users arrived.
    MixAfterStep,
    /// Kinds of failures by thirds of the window.
    ErrorMix,
    /// Wall clock against monotonic clock.
    Clock,
    /// Changes of the load by control commands.
    ConstantLoad,
}

impl CheckId {
    /// All checks.
    pub const ALL: [CheckId; 20] = [
        CheckId::StartLag,
        CheckId::BusiestWorker,
        CheckId::Users,
        CheckId::OfferedRate,
        CheckId::DriverBound,
        CheckId::DriverFailures,
        CheckId::StolenCpu,
        CheckId::OutsideCpu,
        CheckId::OutsideMemory,
        CheckId::OutsideDisks,
        CheckId::Little,
        CheckId::Pacing,
        CheckId::SteadyThroughput,
        CheckId::SteadyResponse,
        CheckId::SteadyState,
        CheckId::SteadyMix,
        CheckId::MixAfterStep,
        CheckId::ErrorMix,
        CheckId::Clock,
        CheckId::ConstantLoad,
    ];

    /// Returns the id in records.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            CheckId::StartLag => "start_lag",
            CheckId::BusiestWorker => "busiest_worker",
            CheckId::Users => "users",
            CheckId::OfferedRate => "offered_rate",
            CheckId::DriverBound => "driver_bound",
            CheckId::DriverFailures => "driver_failures",
            CheckId::StolenCpu => "stolen_cpu",
            CheckId::OutsideCpu => "outside_cpu",
            CheckId::OutsideMemory => "outside_memory",
            CheckId::OutsideDisks => "outside_disks",
            CheckId::Little => "little",
            CheckId::Pacing => "pacing",
            CheckId::SteadyThroughput => "steady_throughput",
            CheckId::SteadyResponse => "steady_response",
            CheckId::SteadyState => "steady_state",
            CheckId::SteadyMix => "steady_mix",
            CheckId::MixAfterStep => "mix_after_step",
            CheckId::ErrorMix => "error_mix",
            CheckId::Clock => "clock",
            CheckId::ConstantLoad => "constant_load",
        }
    }
}

/// A validity check of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The check.
    pub id: CheckId,
    /// Value and limit.
    pub facts: CheckFacts,
    /// Reason why it holds beyond its limit.
    pub excuse: Option<Excuse>,
    /// Driver with the largest figure, and that figure in the unit of the check. Set if one of several
    /// drivers was the limit.
    pub driver: Option<(String, f64)>,
    /// Whether the check holds.
    pub ok: bool,
}

impl Check {
    /// Makes a check without an excuse.
    #[must_use]
    pub const fn new(id: CheckId, facts: CheckFacts, ok: bool) -> Self {
        Check { id, facts, excuse: None, driver: None, ok }
    }

    /// Makes a check that holds, or is excused.
    #[must_use]
    pub const fn excused(id: CheckId, facts: CheckFacts, (ok, excuse): (bool, Option<Excuse>)) -> Self {
        Check { id, facts, excuse, driver: None, ok: ok || excuse.is_some() }
    }
}

/// Reason why a check holds beyond its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excuse {
    /// Service time alone breaks a limit.
    SlowService,
    /// The window fails its rules, and the series worsens.
    GetsWorse,
    /// The window is too slow or fails too often.
    Overload,
}

/// Numbers of a check. Shares and tolerances are 0 to 1; `most` is the largest share allowed.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after what they hold, with their units")]
pub enum CheckFacts {
    /// Start lag. Without a limit of response time, `most_ms` is derived from response times.
    StartLag { p99_ms: f64, most_ms: f64, is_limited: bool },
    /// Share of a core.
    Worker { share: f64, most: f64 },
    /// Users at the ends of intervals.
    Users { least: u32, most: u32, asked: u32, tolerance: f64 },
    /// Starts per second. Without a tolerance there is no rate to compare with.
    Rate { rate: f64, late: u64, asked: Level, tolerance: Option<f64> },
    /// Arrivals that never started.
    Dropped { arrivals: u64 },
    /// Failures of the driver itself.
    Failed { operations: u64 },
    /// Share of the host's CPU time.
    Stolen { share: f64, most: f64 },
    /// Cores used by others than the run, of those of the host.
    Outside { cores: f64, of_cores: f64, share: f64, idle: f64, most: f64, idle_enough: f64 },
    /// Share of the time.
    Waiting { share: f64, most: f64 },
    /// Operations in flight, throughput times service time, and operations across the edges of the window.
    Little { in_flight: f64, served: f64, over_edges: f64, apart: f64, most: f64 },
    /// No operation ended, so Little's law does not apply.
    NothingEnded,
    /// Operations of a behaviour per user and second.
    Pacing { behaviour: String, rate_s: f64, least_s: f64, most_s: f64, tolerance: f64 },
    /// Starts per second in the third that deviates most from the mean.
    Thirds { furthest_s: f64, mean_s: f64, tolerance: f64 },
    /// Drift over the window as a share of the mean; `None` with fewer than `fewest` intervals.
    Drift { found: Option<DriftEstimate>, fewest: usize, most: f64, floor_ms: Option<f64> },
    /// The deviating stretch, if there is one.
    Stretch { found: Option<OutlyingStretch>, most: f64, floor_ms: Option<f64> },
    /// Shares of a kind in a third of the window and in the rest; `None` for all rare kinds together.
    Shares { kind: Option<String>, third: usize, distance: f64, share: f64, in_rest: f64, most: f64 },
    /// A share of the mix, `after_s` seconds after many users arrived.
    AfterStep { op: String, share: f64, required: f64, after_s: f64, session_s: f64 },
    /// Seconds by which the clocks differ.
    Clock { apart_s: f64, most_s: f64 },
    /// Number of changes of the load.
    Changes { changes: u32 },
    /// No judgement, with its reason if there is one.
    NotJudged { why: Option<String> },
}

/// A drift with its 99 % interval, as shares of the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named after what they hold")]
pub struct DriftEstimate {
    pub relative: f64,
    pub low: f64,
    pub high: f64,
}

/// A stretch of a series that deviates from the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutlyingStretch {
    /// Whether the series is response time; else it is throughput.
    pub is_response: bool,
    /// Its mean: operations per second, or seconds of response time.
    pub mean: f64,
    /// The mean of the rest.
    pub rest: f64,
    /// Start, seconds since the window began.
    pub from_s: f64,
    /// End, seconds since the window began.
    pub to_s: f64,
}

impl OutlyingStretch {
    /// Returns the relative difference of its mean from that of the rest; `None` if the rest is zero.
    #[must_use]
    pub fn change(&self) -> Option<f64> {
        (self.rest > 0.0).then(|| self.mean / self.rest - 1.0)
    }
}

impl CheckFacts {
    /// Returns the operation that the numbers are about.
    #[must_use]
    pub fn op(&self) -> Option<&str> {
        match self {
            CheckFacts::AfterStep { op, .. } => Some(op),
            _ => None,
        }
    }

    /// Returns the numbers by name, with units at the end; names of limits begin with `most`, `least` or
    /// `tolerance`.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, f64)> {
        match *self {
            CheckFacts::StartLag { p99_ms, most_ms, .. } => vec![("p99_ms", p99_ms), ("most_ms", most_ms)],
            CheckFacts::Worker { share, most }
            | CheckFacts::Stolen { share, most }
            | CheckFacts::Waiting { share, most } => vec![("share", share), ("most_share", most)],
            CheckFacts::Users { least, most, asked, tolerance } => vec![
                ("users_least", least.into()),
                ("users_most", most.into()),
                ("users_asked", asked.into()),
                ("tolerance", tolerance),
            ],
            CheckFacts::Rate { rate, late, asked, tolerance } => {
                let asked =
                    tolerance.map(|tolerance| [("asked_per_s", asked.into()), ("tolerance", tolerance)]);
                let found = [("starts_per_s", rate), ("late_arrivals", late as f64)];
                found.into_iter().chain(asked.into_iter().flatten()).collect()
            }
            CheckFacts::Dropped { arrivals } => vec![("dropped_arrivals", arrivals as f64)],
            CheckFacts::Failed { operations } => vec![("failed_operations", operations as f64)],
            CheckFacts::Outside { cores, of_cores, share, idle, most, idle_enough } => vec![
                ("cores", cores),
                ("host_cores", of_cores),
                ("share", share),
                ("idle_share", idle),
                ("most_share", most),
                ("least_idle_share", idle_enough),
            ],
            CheckFacts::Little { in_flight, served, over_edges, apart, most } => vec![
                ("in_flight", in_flight),
                ("served", served),
                ("over_edges", over_edges),
                ("apart_share", apart),
                ("most_share", most),
            ],
            CheckFacts::Pacing { rate_s, least_s, most_s, tolerance, .. } => vec![
                ("operations_per_user_and_s", rate_s),
                ("least_per_user_and_s", least_s),
                ("most_per_user_and_s", most_s),
                ("tolerance", tolerance),
            ],
            CheckFacts::Thirds { furthest_s, mean_s, tolerance } => {
                vec![("furthest_per_s", furthest_s), ("mean_per_s", mean_s), ("tolerance", tolerance)]
            }
            CheckFacts::Drift { found, most, floor_ms, .. } => {
                let found = found
                    .map(|d| [("drift_share", d.relative), ("low_share", d.low), ("high_share", d.high)]);
                limited(found.into_iter().flatten(), most, floor_ms)
            }
            CheckFacts::Stretch { found, most, floor_ms } => {
                let found = found.into_iter().flat_map(|s| {
                    let change = s.change().map(|change| ("change_share", change));
                    change.into_iter().chain([("from_s", s.from_s), ("to_s", s.to_s)])
                });
                limited(found, most, floor_ms)
            }
            CheckFacts::Shares { third, distance, share, in_rest, most, .. } => vec![
                ("third", third as f64 + 1.0),
                ("distance_share", distance),
                ("share", share),
                ("share_in_rest", in_rest),
                ("most_share", most),
            ],
            CheckFacts::AfterStep { share, required, after_s, session_s, .. } => vec![
                ("share", share),
                ("required_share", required),
                ("after_s", after_s),
                ("least_s", session_s),
            ],
            CheckFacts::Clock { apart_s, most_s } => vec![("apart_s", apart_s), ("most_s", most_s)],
            CheckFacts::Changes { changes } => vec![("changes", changes.into())],
            CheckFacts::NothingEnded | CheckFacts::NotJudged { .. } => Vec::new(),
        }
    }
}

fn limited(
    found: impl Iterator<Item = (&'static str, f64)>,
    most: f64,
    floor_ms: Option<f64>,
) -> Vec<(&'static str, f64)> {
    found.chain([("most_share", most)]).chain(floor_ms.map(|floor| ("most_ms", floor))).collect()
}
