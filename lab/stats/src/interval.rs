//! Recording of one slice of a run: histograms of response and service time per operation, outcomes, start
//! lag.

use barograph_model::{Counters, MOST_FURTHER_LIMITS, Nanos, Outcome, TimeLimit, TimeLimits};

/// Counts of times in microseconds, 1 microsecond to [`HIGHEST_MICROS`], three significant digits.
pub type Histogram = hdrhistogram::Histogram<u32>;

/// Highest time of a histogram, in microseconds: 120 s. Longer times are counted as this.
pub const HIGHEST_MICROS: u64 = 120_000_000;

/// An empty histogram with the bounds of all histograms of a run, so that any two can be merged.
#[must_use]
pub fn histogram() -> Histogram {
    Histogram::new_with_bounds(1, HIGHEST_MICROS, 3)
        .expect("1, 120 s and 3 digits are bounds the library takes")
}

/// Recording of one operation in an interval.
#[derive(Clone, Debug)]
pub struct OpStats {
    /// End minus intended start, of every operation that ended (with any outcome except cancelled).
    pub response: Histogram,
    /// End minus actual start, of the same operations.
    pub service: Histogram,
    /// Counts of outcomes, by [`Outcome::index`].
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Operations whose response time exceeded their first limit.
    pub over_limit: u64,
    /// Operations over each of the further limits, in their order.
    pub over_further: [u64; MOST_FURTHER_LIMITS],
    /// Good operations within the limit.
    pub good_in_time: u64,
    /// Requests sent by these operations.
    pub requests: u64,
    /// Exact sum of response times in seconds: means come from it, since a histogram would round them.
    pub response_sum_s: f64,
    /// Exact sum of service times in seconds (Little's law needs the mean without rounding).
    pub service_sum_s: f64,
    /// Time that cancelled operations were in progress, in seconds. They did not end, but they were in
    /// flight, which Little's law has to count.
    pub cancelled_sum_s: f64,
}

impl OpStats {
    /// An empty recording.
    #[must_use]
    pub fn new() -> Self {
        OpStats {
            response: histogram(),
            service: histogram(),
            outcomes: [0; Outcome::ALL.len()],
            over_limit: 0,
            over_further: [0; MOST_FURTHER_LIMITS],
            good_in_time: 0,
            requests: 0,
            response_sum_s: 0.0,
            service_sum_s: 0.0,
            cancelled_sum_s: 0.0,
        }
    }

    /// Operations that ended, without cancelled ones.
    #[must_use]
    pub fn count(&self) -> u64 {
        Outcome::ALL.iter().filter(|o| **o != Outcome::Cancelled).map(|o| self.outcomes[o.index()]).sum()
    }

    /// Failed operations among [`Self::count`].
    #[must_use]
    pub fn failed(&self) -> u64 {
        Outcome::ALL.iter().filter(|o| o.is_failure()).map(|o| self.outcomes[o.index()]).sum()
    }

    /// Operations over one of their limits; 0 for a limit that is not among `limits`.
    #[must_use]
    pub fn over(&self, limit: TimeLimit, limits: &TimeLimits) -> u64 {
        if limits.response.map(TimeLimit::Response) == Some(limit) {
            return self.over_limit;
        }
        let place = limits.further.iter().position(|further| *further == Some(limit));
        place.map_or(0, |place| self.over_further[place])
    }

    /// Adds another recording.
    pub fn add(&mut self, other: &OpStats) {
        self.response.add(&other.response).expect("all histograms have the same bounds");
        self.service.add(&other.service).expect("all histograms have the same bounds");
        for (mine, theirs) in self.outcomes.iter_mut().zip(other.outcomes) {
            *mine += theirs;
        }
        self.over_limit += other.over_limit;
        for (mine, theirs) in self.over_further.iter_mut().zip(other.over_further) {
            *mine += theirs;
        }
        self.good_in_time += other.good_in_time;
        self.requests += other.requests;
        self.response_sum_s += other.response_sum_s;
        self.service_sum_s += other.service_sum_s;
        self.cancelled_sum_s += other.cancelled_sum_s;
    }
}

impl Default for OpStats {
    fn default() -> Self {
        Self::new()
    }
}

/// Recording of the engine between two instants. Times count from the start of the load.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Start.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
    /// Per operation, by operation index. An operation belongs to the interval in which it ended.
    pub ops: Vec<OpStats>,
    /// Additions of ended operations to the workload's counters.
    pub counters: Counters,
    /// Actual start minus intended start, of every operation that had to wait for its intended start.
    /// Operations that follow an answer at once cannot be late and would only dilute the figure.
    pub lag: Histogram,
    /// Operations started.
    pub starts: u64,
    /// Arrivals that found no free user and waited for one (open loop). Their wait is part of their response time.
    pub late: u64,
    /// Arrivals that found no room to wait and never started (open loop).
    pub dropped: u64,
    /// Beats that passed while an operation was still in progress, and were left out according to the pace.
    pub skipped: u64,
    /// Users active at the end of the interval.
    pub users: u32,
    /// Integral of operations in progress over time, in operation-seconds; divided by the length: mean in
    /// flight.
    pub in_flight_s: f64,
    /// Total age of the operations in progress at the end, less the total age of those in progress at the
    /// start, in seconds. It is the part of the integral above that comes from operations that do not end in
    /// this interval, or did not start in it. With it Little's law holds exactly, however short the interval.
    pub aged_s: f64,
    /// CPU seconds of the driver's workers together.
    pub worker_cpu_s: f64,
    /// CPU seconds of the busiest single worker.
    pub busiest_worker_cpu_s: f64,
}

impl Interval {
    /// An empty interval for `ops` operations.
    #[must_use]
    pub fn new(ops: usize) -> Self {
        Interval {
            from: Nanos::ZERO,
            to: Nanos::ZERO,
            ops: (0..ops).map(|_| OpStats::new()).collect(),
            counters: Counters::default(),
            lag: histogram(),
            starts: 0,
            late: 0,
            dropped: 0,
            skipped: 0,
            users: 0,
            in_flight_s: 0.0,
            aged_s: 0.0,
            worker_cpu_s: 0.0,
            busiest_worker_cpu_s: 0.0,
        }
    }

    /// Length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.to - self.from).as_secs_f64()
    }

    /// Adds the recording of another worker for the same slice of time.
    pub fn add_worker(&mut self, other: &Interval) {
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
        self.add_counts(other);
        self.users += other.users;
        self.busiest_worker_cpu_s = self.busiest_worker_cpu_s.max(other.busiest_worker_cpu_s);
    }

    /// Adds the interval that follows this one in time.
    pub fn append(&mut self, later: &Interval) {
        if self.to == self.from && self.starts == 0 {
            self.from = later.from;
        }
        self.to = later.to;
        self.add_counts(later);
        self.users = later.users;
        self.busiest_worker_cpu_s += later.busiest_worker_cpu_s;
    }

    /// Joins intervals of several loads over the same time into one with the operations of all, those of the
    /// first load first. It has no counters: those of different workloads count different things.
    #[must_use]
    pub fn beside(all: &[Interval]) -> Interval {
        let mut joint = Interval::new(0);
        let longest = all.iter().max_by_key(|interval| interval.to);
        (joint.from, joint.to) = longest.map_or_else(Default::default, |longest| (longest.from, longest.to));
        for interval in all {
            let (from, to) = (joint.from, joint.to);
            joint.add_worker(interval);
            (joint.from, joint.to) = (from, to);
            joint.ops.extend(interval.ops.iter().cloned());
        }
        joint.counters = Counters::default();
        joint
    }

    /// Joins successive intervals into one; `None` without intervals.
    #[must_use]
    pub fn joined<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> Option<Interval> {
        let mut all = intervals.into_iter();
        let mut sum = all.next()?.clone();
        for later in all {
            sum.append(later);
        }
        Some(sum)
    }

    pub(crate) fn add_counts(&mut self, other: &Interval) {
        for (mine, theirs) in self.ops.iter_mut().zip(&other.ops) {
            mine.add(theirs);
        }
        self.counters.add(&other.counters);
        self.lag.add(&other.lag).expect("all histograms have the same bounds");
        self.starts += other.starts;
        self.late += other.late;
        self.dropped += other.dropped;
        self.skipped += other.skipped;
        self.in_flight_s += other.in_flight_s;
        self.aged_s += other.aged_s;
        self.worker_cpu_s += other.worker_cpu_s;
    }
}
