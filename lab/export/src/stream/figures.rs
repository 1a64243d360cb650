//! Conversion of a record's entries, intervals and samples to figures for a receiver.

use std::borrow::Cow;

use barograph_model::Outcome;
use barograph_record::{Entry, Header, ProbeRow, Trial, Verdict};
use barograph_stats::{Interval, OpStats};

use super::buckets::Times;
use super::point::{Batch, Metric, Point, Value};
use crate::tables::stated;

const OPERATIONS: Metric = Metric::new("barograph.operations", "{operation}", "Operations that ended.");
const REQUESTS: Metric = Metric::new("barograph.requests", "{request}", "Requests sent.");
const OVER_LIMIT: Metric = Metric::new(
    "barograph.over_limit",
    "{operation}",
    "Operations whose response time was over their limit.",
);
const RESPONSE: Metric = Metric::new(
    "barograph.response",
    "s",
    "Response time: from the intended start to the end, of operations that ended.",
);
const SERVICE: Metric = Metric::new(
    "barograph.service",
    "s",
    "Service time: from the actual start to the end, of the same operations.",
);
const LAG: Metric = Metric::new(
    "barograph.start_lag",
    "s",
    "How late the driver started operations that had to wait for their start.",
);
const STARTS: Metric = Metric::new("barograph.starts", "{operation}", "Operations started.");
const LATE: Metric = Metric::new("barograph.late", "{arrival}", "Arrivals that waited for a free user.");
const DROPPED: Metric = Metric::new("barograph.dropped", "{arrival}", "Arrivals that never started.");
const SKIPPED: Metric =
    Metric::new("barograph.skipped", "{beat}", "Beats left out because an operation was still in progress.");
const USERS: Metric = Metric::new("barograph.users", "{user}", "Users active.");
const IN_FLIGHT: Metric =
    Metric::new("barograph.in_flight", "{operation}", "Operations in progress, mean of the interval.");
const WORKERS: Metric = Metric::new("barograph.worker_cores", "{core}", "Cores the driver's workers used.");
const BUSIEST: Metric =
    Metric::new("barograph.busiest_worker", "1", "Share of its core that the busiest worker used.");
const PHASE: Metric =
    Metric::new("barograph.phase", "{run}", "1 for the phase the run is in, 0 for those before.");
const TRIAL_LEVEL: Metric =
    Metric::answer("barograph.trial_level", "{unit}", "Load of a trial that was judged.");
const TRIAL_PASSED: Metric = Metric::answer(
    "barograph.trial_passed",
    "{trial}",
    "1 when a trial passed; 0 when it failed or is not valid.",
);
const CAPACITY: Metric = Metric::answer(
    "barograph.capacity",
    "{unit}",
    "The capacity: the median of what the search believes; by bisection the highest load that passed.",
);
const PASSED: Metric = Metric::answer("barograph.passed", "{run}", "1 when the run passed.");
const VALID: Metric = Metric::answer("barograph.valid", "{run}", "1 when the run is valid.");

/// All sums so far.
#[derive(Debug, Default)]
pub(super) struct Figures {
    run: String,
    tool: String,
    /// Nanoseconds since 1970 at which the run began.
    began_ns: u64,
    /// Seconds from there to the start of the load.
    load_start_s: f64,
    /// Time of the latest item, in seconds since the run began.
    latest_s: f64,
    ops: Vec<Op>,
    lag: Option<Times>,
    starts: u64,
    late: u64,
    dropped: u64,
    skipped: u64,
    /// Phases so far, the present one last.
    phases: Vec<String>,
    /// Points to be sent with the next interval.
    waiting: Vec<Point>,
}

/// Totals of an operation.
#[derive(Debug)]
struct Op {
    response: Times,
    service: Times,
    outcomes: [u64; Outcome::ALL.len()],
    over_limit: u64,
    requests: u64,
}

impl Op {
    fn new() -> Self {
        let outcomes = [0; Outcome::ALL.len()];
        Op { response: Times::new(), service: Times::new(), outcomes, over_limit: 0, requests: 0 }
    }

    fn add(&mut self, op: &OpStats) {
        self.response.add(&op.response);
        self.service.add(&op.service);
        for (mine, theirs) in self.outcomes.iter_mut().zip(op.outcomes) {
            *mine += theirs;
        }
        self.over_limit += op.over_limit;
        self.requests += op.requests;
    }
}

impl Figures {
    /// Takes an entry; its points are sent with the next interval.
    pub(super) fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.header(header),
            Entry::LoadStarted(load) => self.load_start_s = load.at_s,
            Entry::PhaseStarted(phase) => {
                self.latest_s = self.latest_s.max(phase.at_s);
                self.phases.retain(|known| *known != phase.phase);
                self.phases.push(phase.phase.clone());
            }
            Entry::Trial(trial) => self.trial(trial),
            Entry::Verdict(verdict) => self.verdict(verdict),
            _ => {}
        }
    }

    fn header(&mut self, header: &Header) {
        self.run.clone_from(&header.id);
        self.tool.clone_from(&header.tool);
        let began = header.started_at.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_nanosecond);
        self.began_ns = u64::try_from(began).unwrap_or(0);
    }

    /// An instant of the record in nanoseconds since 1970.
    fn at(&self, at_s: f64) -> u64 {
        self.began_ns + (at_s.max(0.0) * 1e9) as u64
    }

    fn wait(&mut self, metric: Metric, labels: Vec<(&'static str, String)>, at_ns: u64, value: f64) {
        self.waiting.push(Point { metric, labels, at_ns, value: Value::Now(value) });
    }

    fn phase(&mut self, at_ns: u64) {
        let last = self.phases.len().saturating_sub(1);
        for (i, phase) in self.phases.clone().into_iter().enumerate() {
            self.wait(PHASE, vec![("phase", phase)], at_ns, truth(i == last));
        }
    }

    fn trial(&mut self, trial: &Trial) {
        let at_ns = self.at(self.load_start_s + trial.window.to_s);
        let labels = vec![
            ("trial", trial.n.to_string()),
            ("purpose", trial.purpose.name().to_owned()),
            ("result", trial.result.name().to_owned()),
        ];
        self.wait(TRIAL_LEVEL, labels.clone(), at_ns, trial.level.into());
        self.wait(TRIAL_PASSED, labels, at_ns, truth(trial.result == barograph_record::ResultRecord::Pass));
    }

    fn verdict(&mut self, verdict: &Verdict) {
        let at_ns = self.at(self.latest_s);
        if let Some(capacity) = verdict.capacity {
            let labels = vec![("unit", verdict.unit.name().to_owned())];
            self.wait(CAPACITY, labels, at_ns, capacity.into());
        }
        self.wait(PASSED, Vec::new(), at_ns, truth(verdict.passed));
        self.wait(VALID, Vec::new(), at_ns, truth(verdict.valid));
    }

    /// Takes a sample; sent with the next interval.
    pub(super) fn probe(&mut self, row: &ProbeRow) {
        self.latest_s = self.latest_s.max(row.at_s);
        let at_ns = self.at(row.at_s);
        for (name, value) in ProbeRow::figure_names().zip(row.figures()) {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let metric = Metric {
                name: Cow::Owned(format!("barograph.probe.{}", stated(name))),
                unit: "",
                about: "What a part of the machine or of the application used.",
                is_answer: false,
            };
            self.wait(metric, vec![("subject", row.subject.clone())], at_ns, value);
        }
    }

    /// Takes an interval; returns the totals so far, and all waiting points.
    pub(super) fn interval(&mut self, interval: &Interval, names: &[&str]) -> Batch {
        self.ops.resize_with(self.ops.len().max(interval.ops.len()), Op::new);
        for (mine, theirs) in self.ops.iter_mut().zip(&interval.ops) {
            mine.add(theirs);
        }
        self.lag.get_or_insert_with(Times::new).add(&interval.lag);
        self.starts += interval.starts;
        self.late += interval.late;
        self.dropped += interval.dropped;
        self.skipped += interval.skipped;
        let at_s = self.load_start_s + interval.to.as_secs_f64();
        self.latest_s = self.latest_s.max(at_s);
        let at_ns = self.at(at_s);
        self.phase(at_ns);
        let mut batch = self.rest();
        let points = &mut batch.points;
        let mut add = |metric: &Metric, labels: &[(&'static str, &str)], value: Value| {
            let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            points.push(Point { metric: metric.clone(), labels, at_ns, value });
        };
        for (i, op) in self.ops.iter().enumerate().filter(|(_, op)| op.outcomes.iter().any(|n| *n > 0)) {
            let number = i.to_string();
            let name = names.get(i).copied().unwrap_or(&number);
            for outcome in Outcome::ALL.into_iter().filter(|o| op.outcomes[o.index()] > 0) {
                let labels = [("operation", name), ("outcome", outcome.name())];
                add(&OPERATIONS, &labels, Value::Total(op.outcomes[outcome.index()]));
            }
            let labels = [("operation", name)];
            add(&REQUESTS, &labels, Value::Total(op.requests));
            add(&OVER_LIMIT, &labels, Value::Total(op.over_limit));
            add(&RESPONSE, &labels, Value::Times(Box::new(op.response.clone())));
            add(&SERVICE, &labels, Value::Times(Box::new(op.service.clone())));
        }
        if let Some(lag) = &self.lag {
            add(&LAG, &[], Value::Times(Box::new(lag.clone())));
        }
        for (metric, total) in
            [(STARTS, self.starts), (LATE, self.late), (DROPPED, self.dropped), (SKIPPED, self.skipped)]
        {
            add(&metric, &[], Value::Total(total));
        }
        let seconds = interval.seconds().max(f64::MIN_POSITIVE);
        for (metric, value) in [
            (USERS, interval.users.into()),
            (IN_FLIGHT, interval.in_flight_s / seconds),
            (WORKERS, interval.worker_cpu_s / seconds),
            (BUSIEST, interval.busiest_worker_cpu_s / seconds),
        ] {
            add(&metric, &[], Value::Now(value));
        }
        batch
    }

    /// The remaining points, at the end.
    pub(super) fn rest(&mut self) -> Batch {
        Batch {
            run: self.run.clone(),
            tool: self.tool.clone(),
            start_ns: self.at(self.load_start_s),
            points: std::mem::take(&mut self.waiting),
        }
    }
}

fn truth(is_true: bool) -> f64 {
    if is_true { 1.0 } else { 0.0 }
}
