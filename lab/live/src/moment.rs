//! Current state of the run: added up from intervals, bounded for any length of the run.

use std::collections::VecDeque;
use std::mem;

use barograph_model::{Nanos, OfferedLoad, Outcome, Phase};
use barograph_record::{Entry, PartRecord, ProbeRow, Rule, Trial, Verdict};
use barograph_stats::search::SearchProgress;
use barograph_stats::{Histogram, Interval, OpStats, interval};

use crate::StudyPosition;

/// Points of a curve: the latest intervals.
pub(crate) const MOST_POINTS: usize = 300;

/// Number of lines kept.
const MOST_LINES: usize = 60;

/// Largest number of subjects, parts and trials shown; more would be unreadable.
const MOST_ROWS: usize = 200;

/// State of the page.
#[derive(Debug)]
pub(crate) struct PageContent {
    /// Title: a URL, or the name of a plan.
    pub(crate) title: String,
    /// Position among several runs; absent for a single one.
    pub(crate) turn: Option<StudyPosition>,
    pub(crate) run: String,
    pub(crate) tool: String,
    pub(crate) phase: Phase,
    /// Description of the phase.
    pub(crate) about: String,
    /// Completed share of the phase, 0 to 1.
    pub(crate) done: f64,
    pub(crate) remaining: Option<Nanos>,
    /// Time since the start of the load.
    pub(crate) elapsed: Nanos,
    pub(crate) offered: OfferedLoad,
    pub(crate) latest: IntervalFigures,
    /// One point per interval, the latest last.
    pub(crate) points: VecDeque<Point>,
    /// Operations by index.
    pub(crate) ops: Vec<Op>,
    pub(crate) rules: Vec<Rule>,
    /// Length of the intervals in [`Self::ops`], seconds.
    pub(crate) seconds: f64,
    /// Latest sample of each subject, in the order of their first samples.
    pub(crate) uses: Vec<ProbeRow>,
    pub(crate) platform: String,
    pub(crate) parts: Vec<PartRecord>,
    pub(crate) trials: Vec<Trial>,
    /// State of a search.
    pub(crate) so_far: Option<SearchProgress>,
    pub(crate) verdict: Option<Verdict>,
    /// Latest lines, oldest first.
    pub(crate) lines: VecDeque<String>,
    /// Words on the end of the run; absent while it goes on.
    pub(crate) ended: Option<Vec<String>>,
}

/// Figures of the latest interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IntervalFigures {
    pub(crate) users: u32,
    /// Operations that ended, per second.
    pub(crate) rate: f64,
    /// Mean number of operations in progress.
    pub(crate) in_flight: f64,
    /// Share of its core used by the busiest worker.
    pub(crate) busiest_worker: f64,
    /// 99 % quantile of start lag; absent if nothing waited for its start.
    pub(crate) lag_p99_ms: Option<f64>,
    pub(crate) late: u64,
    pub(crate) dropped: u64,
    pub(crate) skipped: u64,
}

/// One interval in the curves. Response times are those of all operations with a limit in one histogram; of
/// all operations if none has a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// End of the interval, seconds since the start of the load.
    pub(crate) at_s: f64,
    pub(crate) rate: f64,
    pub(crate) failed_rate: f64,
    /// Absent if no operation ended.
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
}

/// An operation in the phase so far.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) name: String,
    /// Whether it has ever ended.
    pub(crate) seen: bool,
    pub(crate) response: Histogram,
    pub(crate) count: u64,
    pub(crate) failed: u64,
    /// 99 % quantile of the latest interval in which it ended.
    pub(crate) latest_p99_ms: Option<f64>,
}

/// A quantile in milliseconds; absent for an empty histogram.
pub(crate) fn quantile_ms(times: &Histogram, share: f64) -> Option<f64> {
    (!times.is_empty()).then(|| times.value_at_quantile(share) as f64 / 1e3)
}

impl PageContent {
    pub(crate) fn new(title: &str) -> Self {
        PageContent {
            title: title.to_owned(),
            turn: None,
            run: String::new(),
            tool: String::new(),
            phase: Phase::Check,
            about: String::new(),
            done: 0.0,
            remaining: None,
            elapsed: Nanos::ZERO,
            offered: OfferedLoad::default(),
            latest: IntervalFigures::default(),
            points: VecDeque::with_capacity(MOST_POINTS),
            ops: Vec::new(),
            rules: Vec::new(),
            seconds: 0.0,
            uses: Vec::new(),
            platform: String::new(),
            parts: Vec::new(),
            trials: Vec::new(),
            so_far: None,
            verdict: None,
            lines: VecDeque::with_capacity(MOST_LINES),
            ended: None,
        }
    }

    /// Begins another run. Only the lines of the runs before it stay.
    pub(crate) fn next(&mut self, title: &str, turn: StudyPosition) {
        let lines = mem::take(&mut self.lines);
        *self = PageContent { turn: Some(turn), lines, ..PageContent::new(title) };
    }

    /// Longest time that this run and those after it may still take; absent for a single run, and while it is
    /// unknown for this one.
    pub(crate) fn all_remaining(&self) -> Option<Nanos> {
        Some(self.remaining? + self.turn.as_ref()?.after)
    }

    /// Whether figures of this phase belong to the load. The figures of the last window stay afterwards.
    fn is_load(&self) -> bool {
        matches!(self.phase, Phase::Ramp | Phase::WarmUp | Phase::Hold)
    }

    /// Begins a phase. Ramp and warm-up are not part of the measured figures, and each measured window is
    /// shown on its own.
    pub(crate) fn begin(&mut self, phase: Phase, about: &str) {
        self.phase = phase;
        about.clone_into(&mut self.about);
        self.done = 0.0;
        if self.is_load() {
            self.seconds = 0.0;
            for op in &mut self.ops {
                op.response.reset();
                (op.count, op.failed) = (0, 0);
            }
        }
    }

    pub(crate) fn progress(&mut self, done: f64, remaining: Option<Nanos>) {
        self.done = done;
        self.remaining = remaining;
    }

    /// Adds a line that stays.
    pub(crate) fn say(&mut self, line: &str) {
        if self.lines.len() == MOST_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line.to_owned());
    }

    pub(crate) fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => {
                self.run.clone_from(&header.id);
                self.tool.clone_from(&header.tool);
            }
            Entry::Expected(expected) => self.rules.clone_from(&expected.rules),
            Entry::Topology(topology) => {
                self.platform.clone_from(&topology.platform);
                self.parts = topology.parts.iter().take(MOST_ROWS).cloned().collect();
            }
            Entry::Trial(trial) => {
                if self.trials.len() == MOST_ROWS {
                    self.trials.remove(0);
                }
                self.trials.push((**trial).clone());
            }
            Entry::Verdict(verdict) => self.verdict = Some((**verdict).clone()),
            _ => {}
        }
    }

    /// Adds a sample; the latest of each subject is shown. The page has no column for power.
    pub(crate) fn probe(&mut self, row: &ProbeRow) {
        if row.energy_j.or(row.watts).is_some() {
            return;
        }
        if let Some(known) = self.uses.iter_mut().find(|known| known.subject == row.subject) {
            known.clone_from(row);
        } else if self.uses.len() < MOST_ROWS {
            self.uses.push(row.clone());
        }
    }

    pub(crate) fn interval(&mut self, interval: &Interval, names: &[&str]) {
        let seconds = interval.seconds().max(f64::MIN_POSITIVE);
        for name in names.iter().skip(self.ops.len()) {
            self.ops.push(Op {
                name: (*name).to_owned(),
                seen: false,
                response: interval::histogram(),
                count: 0,
                failed: 0,
                latest_p99_ms: None,
            });
        }
        self.elapsed = interval.to;
        let ended: u64 = interval.ops.iter().map(OpStats::count).sum();
        let failed: u64 = interval.ops.iter().map(OpStats::failed).sum();
        let rate = ended as f64 / seconds;
        self.latest = IntervalFigures {
            users: interval.users,
            rate,
            in_flight: interval.in_flight_s / seconds,
            busiest_worker: interval.busiest_worker_cpu_s / seconds,
            lag_p99_ms: quantile_ms(&interval.lag, 0.99),
            late: interval.late,
            dropped: interval.dropped,
            skipped: interval.skipped,
        };
        let times = self.together(interval);
        if self.points.len() == MOST_POINTS {
            self.points.pop_front();
        }
        self.points.push_back(Point {
            at_s: interval.to.as_secs_f64(),
            rate,
            failed_rate: failed as f64 / seconds,
            p50_ms: quantile_ms(&times, 0.5),
            p99_ms: quantile_ms(&times, 0.99),
        });
        // Operations in flight at the end of the load were not measured.
        if self.is_load() {
            self.seconds += seconds;
            self.add(interval);
        }
    }

    fn add(&mut self, interval: &Interval) {
        for (mine, theirs) in self.ops.iter_mut().zip(&interval.ops) {
            if theirs.outcomes.iter().enumerate().all(|(i, n)| *n == 0 || i == Outcome::Cancelled.index()) {
                continue;
            }
            mine.seen = true;
            mine.response.add(&theirs.response).expect("all histograms have the same bounds");
            mine.count += theirs.count();
            mine.failed += theirs.failed();
            mine.latest_p99_ms = quantile_ms(&theirs.response, 0.99).or(mine.latest_p99_ms);
        }
    }

    /// Response times of the operations with a limit, or of all.
    fn together(&self, interval: &Interval) -> Histogram {
        let limited = |name: &str| self.rule(name).is_some_and(|rule| rule.limit_ms.is_some());
        let any = self.rules.iter().any(|rule| rule.limit_ms.is_some());
        let mut times = interval::histogram();
        for (op, stats) in self.ops.iter().zip(&interval.ops) {
            if !stats.response.is_empty() && (!any || limited(&op.name)) {
                times.add(&stats.response).expect("all histograms have the same bounds");
            }
        }
        times
    }

    /// Default rules of an operation.
    pub(crate) fn rule(&self, op: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.op == op)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use barograph_record::ExpectedFigures;

    /// One second in which `rate` operations ended after `ms` milliseconds, every hundredth of them refused.
    pub(crate) fn second(n: u64, rate: u64, ms: u64) -> Interval {
        let mut second = Interval::new(2);
        (second.from, second.to) = (Nanos::from_secs(n), Nanos::from_secs(n + 1));
        for i in 0..rate {
            second.ops[0].response.record(ms * 1_000).unwrap();
            let end = if i % 100 == 99 { Outcome::Refused } else { Outcome::Good };
            second.ops[0].outcomes[end.index()] += 1;
        }
        second.users = 50;
        second
    }

    pub(crate) fn expected(limits: &[(&str, Option<f64>)]) -> Entry {
        let rule = |(op, limit_ms): &(&str, Option<f64>)| Rule {
            op: (*op).to_owned(),
            about: String::new(),
            quantile: 0.99,
            limit_ms: *limit_ms,
            judged: Some(true),
            mix: 0.0,
            mix_tolerance: 0.0,
            failures: 0.01,
        };
        Entry::Expected(ExpectedFigures {
            workload: "w".to_owned(),
            profile: "p".to_owned(),
            unit: barograph_record::UnitRecord::Users,
            target: None,
            derived: None,
            session_op: None,
            rules: limits.iter().map(rule).collect(),
            counters: Vec::new(),
        })
    }

    #[test]
    fn a_phase_is_counted_from_its_start() {
        let mut moment = PageContent::new("x");
        moment.begin(Phase::WarmUp, "warm");
        moment.interval(&second(0, 400, 900), &["Buy", "Poll"]);
        moment.begin(Phase::Hold, "measured");
        moment.interval(&second(1, 1_000, 2), &["Buy", "Poll"]);
        moment.interval(&second(2, 2_000, 2), &["Buy", "Poll"]);
        moment.begin(Phase::Drain, "in flight");
        moment.interval(&second(3, 5, 900), &["Buy", "Poll"]);
        let buy = &moment.ops[0];
        assert_eq!((buy.count, buy.failed, moment.seconds), (3_000, 30, 2.0));
        assert!(buy.response.max() < 3_000, "neither the warm-up nor the drain");
        assert!(!moment.ops[1].seen);
        let rates: Vec<f64> = moment.points.iter().map(|point| point.rate).collect();
        assert_eq!(rates, [400.0, 1_000.0, 2_000.0, 5.0]);
    }

    #[test]
    fn curves_are_of_operations_with_a_limit_where_there_are_some() {
        let mut both = second(0, 10, 3);
        both.ops[1].response.record(30_000_000).unwrap();
        both.ops[1].outcomes[Outcome::Good.index()] = 1;
        let p99 = |limits| {
            let mut moment = PageContent::new("x");
            moment.entry(&expected(limits));
            moment.interval(&both, &["Buy", "Poll"]);
            moment.points[0].p99_ms.unwrap()
        };
        assert!(p99(&[("Buy", Some(5.0)), ("Poll", None)]) < 3.1);
        assert!(p99(&[("Buy", None), ("Poll", None)]) > 29_000.0);
    }

    #[test]
    fn another_run_begins_with_nothing_but_the_lines_of_those_before() {
        let mut moment = PageContent::new("one");
        moment.begin(Phase::Hold, "measured");
        moment.interval(&second(1, 10, 2), &["Buy", "Poll"]);
        moment.progress(0.5, Some(Nanos::from_secs(30)));
        moment.say("one ended well");
        assert_eq!(moment.all_remaining(), None, "there is only one");
        moment.next("two", StudyPosition { words: "run 2 of 3".to_owned(), after: Nanos::from_secs(60) });
        assert_eq!(moment.lines, ["one ended well"]);
        assert_eq!((moment.title.as_str(), moment.phase), ("two", Phase::Check));
        assert!(moment.points.is_empty() && moment.ops.is_empty() && moment.done == 0.0);
        assert_eq!(moment.all_remaining(), None, "nothing is known of this one yet");
        moment.progress(0.5, Some(Nanos::from_secs(30)));
        assert_eq!(moment.all_remaining(), Some(Nanos::from_secs(90)));
    }

    #[test]
    fn what_grows_is_bounded() {
        let mut moment = PageContent::new("x");
        for n in 0..1_000 {
            moment.interval(&second(n, 1, 1), &["Buy", "Poll"]);
            moment.say("line");
            moment.probe(&ProbeRow { subject: format!("part-{n}"), ..ProbeRow::default() });
        }
        assert_eq!(
            (moment.points.len(), moment.lines.len(), moment.uses.len()),
            (MOST_POINTS, MOST_LINES, MOST_ROWS)
        );
    }

    #[test]
    fn the_latest_sample_of_a_subject_is_kept() {
        let mut moment = PageContent::new("x");
        for cores in [1.0, 2.0] {
            let subject = "driver".to_owned();
            moment.probe(&ProbeRow { subject, cpu_user_cores: Some(cores), ..ProbeRow::default() });
        }
        assert_eq!(moment.uses.iter().map(ProbeRow::cores).collect::<Vec<_>>(), [Some(2.0)]);
    }
}
