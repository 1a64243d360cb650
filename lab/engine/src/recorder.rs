//! Recorder of one worker: counts into the open interval, which is handed over whole when it closes.

use std::cell::RefCell;

use barograph_model::{Counters, Nanos, OpId, Outcome, TimeLimit, TimeLimits};
use barograph_stats::Interval;

pub(crate) struct Recorder {
    open: Box<Interval>,
    limits: Vec<TimeLimits>,
    in_flight: u64,
    in_flight_ns: u128,
    in_flight_since: Nanos,
    in_flight_at_open: u64,
    /// Latest start or end before the open interval.
    latest: Nanos,
    /// Sum of the start times of the operations in progress, in nanoseconds.
    starts_ns: i128,
    /// Sum of their ages at the start of the open interval, in nanoseconds.
    ages_at_open: i128,
    cpu_at_open: Nanos,
}

/// An operation that ended.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Completion {
    pub(crate) op: OpId,
    pub(crate) intended: Nanos,
    pub(crate) started: Nanos,
    pub(crate) ended: Nanos,
    pub(crate) outcome: Outcome,
    pub(crate) requests: u32,
}

/// Operations that ended together. Those of a pipeline often have equal times, and are recorded at once.
#[derive(Default)]
pub(crate) struct Batch {
    /// The latest completion of each operation, and the number of completions equal to it.
    latest: Vec<Option<(Completion, u32)>>,
}

impl Batch {
    /// Adds an operation, and records the latest one if it differs.
    #[inline]
    pub(crate) fn add(&mut self, done: Completion, recorder: &RefCell<Recorder>) {
        if self.latest.len() <= done.op.index() {
            self.latest.resize(done.op.index() + 1, None);
        }
        let latest = &mut self.latest[done.op.index()];
        match latest {
            Some((known, times)) if *known == done => *times += 1,
            _ => {
                if let Some((other, times)) = latest.replace((done, 1)) {
                    recorder.borrow_mut().ended(&other, times);
                }
            }
        }
    }

    /// Records all operations that are not recorded yet.
    pub(crate) fn finish(&mut self, recorder: &mut Recorder) {
        for latest in &mut self.latest {
            if let Some((done, times)) = latest.take() {
                recorder.ended(&done, times);
            }
        }
    }
}

impl Recorder {
    pub(crate) fn new(limits: Vec<TimeLimits>) -> Self {
        Recorder {
            open: Box::new(Interval::new(limits.len())),
            limits,
            in_flight: 0,
            in_flight_ns: 0,
            in_flight_since: Nanos::ZERO,
            in_flight_at_open: 0,
            latest: Nanos::ZERO,
            starts_ns: 0,
            ages_at_open: 0,
            cpu_at_open: Nanos::ZERO,
        }
    }

    /// Counts a start; `waited_for` is its intended start if it waited for it.
    #[inline]
    pub(crate) fn started(&mut self, started: Nanos, waited_for: Option<Nanos>) {
        self.settle_in_flight(started);
        self.in_flight += 1;
        self.starts_ns += i128::from(started.0);
        self.open.starts += 1;
        if let Some(intended) = waited_for {
            self.open.lag.saturating_record((started - intended).as_micros());
        }
    }

    /// Counts an arrival that waits because no user is free.
    pub(crate) fn late(&mut self) {
        self.open.late += 1;
    }

    /// Counts an arrival that is dropped for lack of room.
    pub(crate) fn dropped(&mut self) {
        self.open.dropped += 1;
    }

    /// Counts beats that passed while an operation was in progress.
    pub(crate) fn skipped(&mut self, beats: u64) {
        self.open.skipped += beats;
    }

    /// Moves additions to the counters of the workload.
    pub(crate) fn counted(&mut self, counters: &mut Counters) {
        self.open.counters.add(counters);
        counters.clear();
    }

    /// Counts equal operations that ended, with or without an answer.
    pub(crate) fn ended(&mut self, e: &Completion, times: u32) {
        let each = u64::from(times);
        self.settle_in_flight(e.ended);
        self.in_flight -= each;
        self.starts_ns -= i128::from(e.started.0) * i128::from(times);
        let op = &mut self.open.ops[e.op.index()];
        op.outcomes[e.outcome.index()] += each;
        op.requests += u64::from(e.requests) * each;
        let service = e.ended - e.started;
        if e.outcome == Outcome::Cancelled {
            op.cancelled_sum_s += service.as_secs_f64() * f64::from(times);
            return;
        }
        let response = e.ended - e.intended;
        op.response.saturating_record_n(response.as_micros(), times);
        op.service.saturating_record_n(service.as_micros(), times);
        op.response_sum_s += response.as_secs_f64() * f64::from(times);
        op.service_sum_s += service.as_secs_f64() * f64::from(times);
        let limits = &self.limits[e.op.index()];
        for (over, limit) in op.over_further.iter_mut().zip(&limits.further) {
            let is_over = match *limit {
                None => break,
                Some(TimeLimit::Response(limit)) => response > limit,
                Some(TimeLimit::Service(limit)) => service > limit,
            };
            *over += u64::from(is_over) * each;
        }
        let late = limits.response.is_some_and(|limit| response > limit);
        op.over_limit += u64::from(late) * each;
        op.good_in_time += u64::from(!late && e.outcome == Outcome::Good) * each;
    }

    /// Returns the number of operations in progress.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the time of the latest start or end: the last end, if none is in progress.
    pub(crate) fn latest(&self) -> Nanos {
        let is_in_open = self.open.starts > 0 || self.in_flight_at_open > 0;
        if is_in_open { self.in_flight_since } else { self.latest }
    }

    /// Closes the open interval at `now` and opens the next.
    pub(crate) fn close(&mut self, now: Nanos, users: u32, cpu: Nanos) -> Box<Interval> {
        self.latest = self.latest();
        self.settle_in_flight(now);
        self.in_flight_at_open = self.in_flight;
        let mut done = std::mem::replace(&mut self.open, Box::new(Interval::new(self.limits.len())));
        done.to = now;
        done.users = users;
        done.in_flight_s = self.in_flight_ns as f64 / 1e9;
        let ages = i128::from(self.in_flight) * i128::from(now.0) - self.starts_ns;
        done.aged_s = (ages - self.ages_at_open) as f64 / 1e9;
        self.ages_at_open = ages;
        done.worker_cpu_s = (cpu - self.cpu_at_open).as_secs_f64();
        done.busiest_worker_cpu_s = done.worker_cpu_s;
        self.in_flight_ns = 0;
        self.cpu_at_open = cpu;
        self.open.from = now;
        done
    }

    fn settle_in_flight(&mut self, now: Nanos) {
        // Operations of a group start and end together.
        if now == self.in_flight_since {
            return;
        }
        self.in_flight_ns += u128::from(self.in_flight) * u128::from((now - self.in_flight_since).0);
        self.in_flight_since = now;
    }
}
