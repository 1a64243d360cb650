//! State of the live screen: plain figures, added up from intervals.

use std::collections::VecDeque;
use std::time::Duration;

use barograph_model::{Level, LoadUnit, Nanos, Outcome, Phase};
use barograph_stats::{Histogram, Interval, OpStats, interval};

/// Points of the curve: more than the width of any terminal.
const MOST_POINTS: usize = 512;

/// Number of lines kept; the screen shows the last few.
const MOST_LINES: usize = 8;

/// State of the screen.
#[derive(Clone, Debug)]
pub(crate) struct ScreenContent {
    /// Title: a URL, or the name of a plan.
    pub(crate) title: String,
    /// Unit of the load.
    pub(crate) unit: LoadUnit,
    /// The level asked for, in `unit`.
    pub(crate) level: Level,
    /// Phase of the run.
    pub(crate) phase: Phase,
    /// Description of the phase.
    pub(crate) about: String,
    /// Time since the load began.
    pub(crate) elapsed: Nanos,
    /// Longest time the run may still take, if known.
    pub(crate) remaining: Option<Nanos>,
    /// Operations per second of each interval, the latest last.
    pub(crate) rates: VecDeque<f64>,
    /// Figures of the latest interval.
    pub(crate) now: IntervalFigures,
    /// Figures of the phase so far.
    pub(crate) sum: Sum,
    /// Latest lines, oldest first.
    pub(crate) lines: VecDeque<String>,
    /// Whether a stop was requested.
    pub(crate) stopping: bool,
}

/// Figures of the latest interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IntervalFigures {
    /// Users active.
    pub(crate) users: u32,
    /// Mean number of operations in progress.
    pub(crate) in_flight: f64,
    /// Share of its core used by the busiest worker, 0 to 1.
    pub(crate) busiest_worker: f64,
    /// Cores used by all workers.
    pub(crate) worker_cores: f64,
    /// 99 % quantile of start lag, milliseconds; absent if nothing waited for its start.
    pub(crate) lag_p99_ms: Option<f64>,
}

/// Accumulated figures of a phase.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    pub(crate) seconds: f64,
    pub(crate) response: Histogram,
    pub(crate) service: Histogram,
    pub(crate) outcomes: [u64; Outcome::ALL.len()],
    pub(crate) requests: u64,
    pub(crate) late: u64,
    pub(crate) dropped: u64,
    pub(crate) skipped: u64,
}

impl Sum {
    fn new() -> Self {
        Sum {
            seconds: 0.0,
            response: interval::histogram(),
            service: interval::histogram(),
            outcomes: [0; Outcome::ALL.len()],
            requests: 0,
            late: 0,
            dropped: 0,
            skipped: 0,
        }
    }

    /// Operations that ended, without cancelled ones.
    pub(crate) fn ended(&self) -> u64 {
        Outcome::ALL.iter().filter(|o| **o != Outcome::Cancelled).map(|o| self.outcomes[o.index()]).sum()
    }

    /// Operations per second.
    pub(crate) fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.ended() as f64 / self.seconds } else { 0.0 }
    }

    fn add(&mut self, interval: &Interval) {
        self.seconds += interval.seconds();
        for op in &interval.ops {
            self.response.add(&op.response).expect("all histograms have the same bounds");
            self.service.add(&op.service).expect("all histograms have the same bounds");
            for (mine, theirs) in self.outcomes.iter_mut().zip(op.outcomes) {
                *mine += theirs;
            }
            self.requests += op.requests;
        }
        self.late += interval.late;
        self.dropped += interval.dropped;
        self.skipped += interval.skipped;
    }
}

impl ScreenContent {
    /// State before the run.
    pub(crate) fn new(title: String, unit: LoadUnit) -> Self {
        ScreenContent {
            title,
            unit,
            level: Level::ZERO,
            phase: Phase::Check,
            about: String::new(),
            elapsed: Nanos::ZERO,
            remaining: None,
            rates: VecDeque::with_capacity(MOST_POINTS),
            now: IntervalFigures::default(),
            sum: Sum::new(),
            lines: VecDeque::with_capacity(MOST_LINES),
            stopping: false,
        }
    }

    /// Begins a phase. Warm-up and ramp are not part of the measured figures, and each measured window is
    /// shown on its own; the figures of the last one stay.
    pub(crate) fn begin(&mut self, phase: Phase, about: &str) {
        if matches!(phase, Phase::Ramp | Phase::WarmUp | Phase::Hold) {
            self.sum = Sum::new();
        }
        self.phase = phase;
        about.clone_into(&mut self.about);
    }

    /// Adds an interval of the load.
    pub(crate) fn add(&mut self, interval: &Interval, level: Level) {
        let seconds = interval.seconds().max(f64::MIN_POSITIVE);
        let ended: u64 = interval.ops.iter().map(OpStats::count).sum();
        self.level = level;
        self.elapsed = interval.to;
        if self.rates.len() == MOST_POINTS {
            self.rates.pop_front();
        }
        self.rates.push_back(ended as f64 / seconds);
        self.now = IntervalFigures {
            users: interval.users,
            in_flight: interval.in_flight_s / seconds,
            busiest_worker: interval.busiest_worker_cpu_s / seconds,
            worker_cores: interval.worker_cpu_s / seconds,
            lag_p99_ms: (!interval.lag.is_empty()).then(|| interval.lag.value_at_quantile(0.99) as f64 / 1e3),
        };
        // Operations in flight at the end of the load were not measured.
        if matches!(self.phase, Phase::Ramp | Phase::WarmUp | Phase::Hold) {
            self.sum.add(interval);
        }
    }

    /// Adds a line that stays.
    pub(crate) fn say(&mut self, line: &str) {
        if self.lines.len() == MOST_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line.to_owned());
    }
}

/// A bar of the histogram: values from `from` to the next bar's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bar {
    pub(crate) from: Duration,
    pub(crate) count: u64,
}

/// At most `rows` bars of equal ratio between the 0.1 % and the 99.9 % quantile; values outside are counted
/// in the first and the last. Values are in microseconds.
pub(crate) fn bars(histogram: &Histogram, rows: usize) -> Vec<Bar> {
    if histogram.is_empty() || rows == 0 {
        return Vec::new();
    }
    let low = histogram.value_at_quantile(0.001).max(1);
    let high = histogram.value_at_quantile(0.999).max(low + 1);
    let ratio = (high as f64 / low as f64).powf(1.0 / rows as f64);
    let mut edges: Vec<u64> = (0..rows).map(|i| (low as f64 * ratio.powi(i as i32)).round() as u64).collect();
    edges.dedup();
    let mut before = 0;
    let mut bars = Vec::with_capacity(edges.len());
    for (i, from) in edges.iter().enumerate() {
        let below = match edges.get(i + 1) {
            Some(next) => histogram.count_between(0, next - 1),
            None => histogram.len(),
        };
        bars.push(Bar { from: Duration::from_micros(*from), count: below.saturating_sub(before) });
        before = before.max(below);
    }
    bars
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// One second in which `rate` operations ended and every hundredth failed, with these response times in
    /// milliseconds in turn.
    pub(in crate::live) fn second(n: u64, rate: u64, times_ms: &[u64]) -> Interval {
        let mut second = Interval::new(1);
        second.from = Nanos::from_secs(n);
        second.to = Nanos::from_secs(n + 1);
        for i in 0..rate {
            let micros = times_ms[i as usize % times_ms.len()] * 1_000;
            second.ops[0].response.record(micros).unwrap();
            second.ops[0].service.record(micros / 2).unwrap();
            let end = if i % 100 == 99 { Outcome::Refused } else { Outcome::Good };
            second.ops[0].outcomes[end.index()] += 1;
        }
        second.ops[0].requests = rate;
        second.lag.record(120).unwrap();
        second.users = 50;
        second.in_flight_s = 12.5;
        second.worker_cpu_s = 0.6;
        second.busiest_worker_cpu_s = 0.4;
        second
    }

    #[test]
    fn what_is_measured_is_counted_from_the_start_of_its_phase() {
        let mut moment = ScreenContent::new("x".to_owned(), LoadUnit::Users);
        moment.begin(Phase::WarmUp, "warm");
        moment.add(&second(0, 400, &[900]), 50.into());
        moment.begin(Phase::Hold, "measured");
        moment.add(&second(1, 1_000, &[1, 2, 3, 4]), 50.into());
        moment.add(&second(2, 2_000, &[1, 2, 3, 4]), 50.into());
        moment.begin(Phase::Drain, "in flight");
        moment.add(&second(3, 5, &[900]), 50.into());
        assert_eq!((moment.sum.ended(), moment.sum.rate()), (3_000, 1_500.0));
        assert_eq!(moment.sum.outcomes[Outcome::Refused.index()], 30);
        assert!(moment.sum.response.max() < 5_000, "neither the warm-up nor the drain");
        assert_eq!(moment.rates, [400.0, 1_000.0, 2_000.0, 5.0]);
        assert_eq!(moment.now.lag_p99_ms, Some(0.12));
    }

    #[test]
    fn what_grows_is_bounded() {
        let mut moment = ScreenContent::new("x".to_owned(), LoadUnit::Users);
        for n in 0..2_000 {
            moment.add(&second(n, 1, &[1]), 1.into());
            moment.say("line");
        }
        assert_eq!((moment.rates.len(), moment.lines.len()), (MOST_POINTS, MOST_LINES));
    }

    #[test]
    fn bars_hold_every_value_once_in_rising_order() {
        for rows in [1, 2, 5, 10, 40] {
            for times in [&[1][..], &[3, 3, 4], &[1, 10, 100, 1_000, 10_000]] {
                let histogram = &second(0, 1_000, times).ops[0].response;
                let bars = bars(histogram, rows);
                assert!(!bars.is_empty() && bars.len() <= rows, "{bars:?}");
                assert_eq!(bars.iter().map(|b| b.count).sum::<u64>(), 1_000, "{bars:?}");
                assert!(bars.is_sorted_by(|a, b| a.from < b.from), "{bars:?}");
            }
        }
        assert_eq!(bars(&interval::histogram(), 5), []);
    }
}
