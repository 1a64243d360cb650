//! Summary of an interval for the judgement of its window: a few numbers instead of histograms.

use barograph_model::{OpId, Outcome, Profile};

use crate::interval::{Interval, OpStats};

/// Summary of one interval of a window. A window of an hour has thousands of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalSummary {
    /// Length in seconds.
    pub seconds: f64,
    /// Operations that ended.
    pub ended: u64,
    /// Integral of operations in progress over time, in operation-seconds.
    pub in_flight_s: f64,
    /// Operations that ended whose response time has a limit.
    pub timed: u64,
    /// Sum of their response times in seconds.
    pub timed_sum_s: f64,
    /// Operations over their limit, or failed, among those.
    pub timed_bad: u64,
    /// Users active at the end.
    pub users: u32,
    /// Operations that started.
    pub starts: u64,
    /// Figures by operation index.
    pub ops: Vec<OpSummary>,
}

/// One operation in one interval of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpSummary {
    /// Counts of outcomes, by [`Outcome::index`].
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Sum of their service times in seconds.
    pub service_sum_s: f64,
}

impl OpSummary {
    /// Operations that ended, without cancelled ones.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.outcomes.iter().sum::<u64>() - self.outcomes[Outcome::Cancelled.index()]
    }

    fn of(op: &OpStats) -> Self {
        OpSummary { outcomes: op.outcomes, service_sum_s: op.service_sum_s }
    }
}

impl IntervalSummary {
    /// Sums up an interval under the rules of its profile.
    #[must_use]
    pub fn of(interval: &Interval, profile: &Profile) -> Self {
        let is_limited = |op: usize| profile.response_limit(OpId(op as u8)).is_some();
        let timed = || {
            let ops = interval.ops.iter().enumerate().filter(|(_, op)| !op.response.is_empty());
            ops.filter(|(at, _)| is_limited(*at)).map(|(_, op)| op)
        };
        IntervalSummary {
            seconds: interval.seconds(),
            ended: interval.ops.iter().map(crate::OpStats::count).sum(),
            in_flight_s: interval.in_flight_s,
            timed: timed().map(|op| op.response.len()).sum(),
            timed_sum_s: timed().map(|op| op.response.mean() * op.response.len() as f64 / 1e6).sum(),
            timed_bad: timed().map(|op| op.over_limit.max(op.failed())).sum(),
            users: interval.users,
            starts: interval.starts,
            ops: interval.ops.iter().map(OpSummary::of).collect(),
        }
    }

    /// Mean response time in seconds of the operations with judged response times.
    #[must_use]
    pub fn mean_response_s(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.timed_sum_s / self.timed as f64)
    }

    /// Mean number of operations in progress.
    #[must_use]
    pub fn in_flight(&self) -> f64 {
        if self.seconds > 0.0 { self.in_flight_s / self.seconds } else { 0.0 }
    }
}
