//! Merges the intervals of several drivers: whole histograms, on a grid that starts at the same instant for
//! all.

use std::collections::BTreeMap;

use barograph_model::Nanos;
use barograph_stats::{Interval, IntervalSum};

use super::several::DriverSample;

/// Intervals kept for a slow driver before they are delivered without it. A driver that sends none ends the
/// run long before.
const PATIENCE: usize = 60;

/// An interval merged over all drivers, with the figures of each.
pub(super) struct FleetInterval {
    pub(super) interval: Interval,
    pub(super) samples: Vec<DriverSample>,
}

/// Intervals that wait for other drivers, each a sum over those that have reported.
pub(super) struct Gather {
    interval: Nanos,
    drivers: Vec<Progress>,
    pending: BTreeMap<u64, PendingInterval>,
}

#[derive(Default)]
struct PendingInterval {
    sum: IntervalSum,
    /// By driver.
    samples: BTreeMap<usize, DriverSample>,
}

/// Progress of a driver.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Index after the latest interval it delivered.
    next: u64,
    ended: bool,
}

impl Gather {
    pub(super) fn new(drivers: usize, interval: Nanos) -> Self {
        Gather { interval, drivers: vec![Progress::default(); drivers], pending: BTreeMap::new() }
    }

    /// Adds an interval of a driver. Intervals belong together if their middles lie in the same interval of
    /// the grid, so small differences between clocks do not separate them.
    pub(super) fn put(&mut self, driver: usize, interval: Interval, sample: DriverSample) {
        let middle = interval.from.0 + (interval.to.0 - interval.from.0) / 2;
        let place = middle / self.interval.0.max(1);
        let progress = &mut self.drivers[driver];
        progress.next = progress.next.max(place + 1);
        let pending = self.pending.entry(place).or_default();
        // Two intervals of one driver are joined; process figures are those of the later one.
        pending.sum.add(driver, interval);
        match pending.samples.get_mut(&driver) {
            Some(earlier) => earlier.follow(&sample),
            None => {
                pending.samples.insert(driver, sample);
            }
        }
    }

    /// Notes that this driver has ended.
    pub(super) fn end(&mut self, driver: usize) {
        self.drivers[driver].ended = true;
    }

    /// Whether all drivers have ended and everything was delivered.
    pub(super) fn is_over(&self) -> bool {
        self.pending.is_empty() && self.drivers.iter().all(|driver| driver.ended)
    }

    /// Takes the oldest interval once it is complete.
    pub(super) fn take(&mut self) -> Option<FleetInterval> {
        let (place, _) = self.pending.first_key_value()?;
        let passed = self.drivers.iter().all(|driver| driver.ended || driver.next > *place);
        if !passed && self.pending.len() <= PATIENCE {
            return None;
        }
        let (_, pending) = self.pending.pop_first()?;
        let interval = pending.sum.whole()?;
        Some(FleetInterval { interval, samples: pending.samples.into_values().collect() })
    }
}

#[cfg(test)]
mod tests {
    use barograph_engine::sim::Simulation;
    use barograph_engine::{OpContext, Timer, User, UserFactory, WorkerShare};
    use barograph_model::{ChooserId, OpId, Outcome, UserId};
    use barograph_spec::Plan;
    use barograph_stats::OpStats;
    use rand::Rng;

    use super::*;
    use crate::fleet;
    use crate::fleet::message::{self, Facts};
    use crate::testing::TestWorkload;

    fn part(place: u64, users: u32, busiest: f64, times: &[u64]) -> Interval {
        // A clock that is slightly late, as real ones are.
        let late = u64::from(users) * 3;
        let mut part = Interval::new(1);
        part.from = Nanos::from_millis(place * 1_000 + late);
        part.to = Nanos::from_millis((place + 1) * 1_000 + late);
        (part.users, part.busiest_worker_cpu_s, part.worker_cpu_s) = (users, busiest, busiest);
        for time in times {
            part.ops[0].response.saturating_record(*time);
        }
        part
    }

    fn put(gather: &mut Gather, driver: usize, interval: Interval) {
        let sample = DriverSample::new(driver, format!("driver-{driver}"), &interval, &Facts::default());
        gather.put(driver, interval, sample);
    }

    #[test]
    fn parts_of_one_place_become_one_interval() {
        let mut gather = Gather::new(2, Nanos::from_secs(1));
        put(&mut gather, 1, part(0, 5, 0.25, &[1, 2]));
        assert!(gather.take().is_none(), "the other has not spoken yet");
        put(&mut gather, 0, part(0, 2, 0.5, &[3]));
        let whole = gather.take().unwrap();
        assert_eq!((whole.interval.users, whole.interval.ops[0].response.len()), (7, 3));
        assert_eq!((whole.interval.busiest_worker_cpu_s, whole.interval.worker_cpu_s), (0.5, 0.75));
        let span = (whole.interval.from, whole.interval.to);
        assert_eq!(span, (Nanos::from_millis(6), Nanos::from_millis(1_015)), "from the first to the last");
        let names: Vec<&str> = whole.samples.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["driver-0", "driver-1"]);
        assert!(gather.take().is_none());
    }

    #[test]
    fn a_driver_that_joined_two_intervals_holds_nobody_up() {
        let mut gather = Gather::new(2, Nanos::from_secs(1));
        put(&mut gather, 0, part(0, 1, 0.1, &[1]));
        put(&mut gather, 0, part(1, 1, 0.1, &[1]));
        // An interval of two seconds, whose middle is in the later one.
        let mut long = part(1, 1, 0.1, &[1, 1]);
        long.from = Nanos::ZERO;
        put(&mut gather, 1, long);
        assert_eq!(gather.take().unwrap().samples.len(), 1);
        let later = gather.take().unwrap();
        assert_eq!((later.samples.len(), later.interval.ops[0].response.len()), (2, 3));
    }

    #[test]
    fn an_end_lets_the_rest_out() {
        let mut gather = Gather::new(2, Nanos::from_secs(1));
        put(&mut gather, 0, part(3, 1, 0.1, &[1]));
        gather.end(0);
        assert!(gather.take().is_none() && !gather.is_over());
        gather.end(1);
        assert!(!gather.is_over());
        assert_eq!(gather.take().unwrap().interval.users, 1);
        assert!(gather.is_over());
    }

    #[test]
    fn memory_for_a_driver_that_is_behind_is_bounded() {
        let mut gather = Gather::new(2, Nanos::from_secs(1));
        for place in 0..=PATIENCE as u64 {
            put(&mut gather, 0, part(place, 1, 0.1, &[]));
            assert_eq!(gather.take().is_some(), place == PATIENCE as u64);
        }
    }

    /// Drivers, operations and starts of the next test: as of a hundred pods with a large application.
    const MANY: (usize, usize, u64) = (100, 20, 50);

    #[test]
    #[expect(clippy::print_stdout, reason = "a measured figure is shown")]
    fn memory_for_a_driver_that_is_behind_does_not_grow_with_the_drivers() {
        let (drivers, ops, times) = MANY;
        let held = |drivers: usize| {
            let before = barograph_testkit::held_bytes();
            let mut gather = Gather::new(drivers, Nanos::from_secs(1));
            for place in 0..PATIENCE as u64 {
                for driver in 1..drivers {
                    let mut part = part(place, 1, 0.1, &[]);
                    part.ops = vec![OpStats::new(); ops];
                    for time in 0..times {
                        part.ops[0].response.saturating_record(time * time);
                        part.lag.saturating_record(time * driver as u64);
                    }
                    put(&mut gather, driver, part);
                }
                assert!(gather.take().is_none(), "the first driver is behind");
            }
            let held = barograph_testkit::held_bytes() - before;
            // All is there when it comes.
            for place in 0..PATIENCE as u64 {
                put(&mut gather, 0, part(place, 1, 0.1, &[]));
                let whole = gather.take().unwrap();
                assert_eq!((whole.samples.len(), whole.interval.users as usize), (drivers, drivers));
                assert_eq!(whole.interval.ops[0].response.len(), (drivers as u64 - 1) * times);
            }
            held
        };
        let (two, many) = (held(2), held(drivers));
        println!("{PATIENCE} intervals wait in {two} bytes of one driver, {many} of {}", drivers - 1);
        assert!(two > 0 && many < two + two / 5, "{many} bytes, {two} of one driver");
    }

    #[test]
    fn two_parts_of_one_driver_in_one_place_follow_each_other() {
        let mut gather = Gather::new(1, Nanos::from_secs(1));
        let mut last = part(0, 4, 0.2, &[9]);
        (last.from, last.to) = (Nanos::from_millis(600), Nanos::from_millis(700));
        let mut first = part(0, 3, 0.1, &[1]);
        (first.from, first.to) = (Nanos::ZERO, Nanos::from_millis(600));
        gather.put(0, first.clone(), DriverSample::new(0, "d".to_owned(), &first, &Facts::default()));
        gather.put(0, last.clone(), DriverSample::new(0, "d".to_owned(), &last, &Facts::default()));
        let whole = gather.take().unwrap();
        assert_eq!((whole.interval.users, whole.interval.to), (4, Nanos::from_millis(700)));
        assert!((whole.samples[0].busiest_worker_cpu_s - 0.3).abs() < 1e-12);
    }

    /// A user in simulated time; a random stream gives the response times.
    struct SimulatedUser(Timer);

    impl UserFactory for SimulatedUser {
        type User = SimulatedUser;
        fn user(&self, _: UserId) -> SimulatedUser {
            SimulatedUser(self.0.clone())
        }
    }

    impl User for SimulatedUser {
        async fn act(&self, _: OpId, context: &mut OpContext) -> Outcome {
            context.sent();
            let takes = Nanos(u64::from(context.rng.next_u32() % 80_000_000));
            self.0.until(self.0.now() + takes).await;
            if takes.0.is_multiple_of(97) { Outcome::Refused } else { Outcome::Good }
        }
        fn choose(&self, _: ChooserId, _: &mut OpContext) -> usize {
            0
        }
        fn end_session(&self) {}
    }

    /// Intervals of a driver in simulated time: four seconds of load, second by second.
    fn simulated(workers: usize, place: Option<WorkerShare>) -> Vec<Interval> {
        let settings = fleet::settings(&TestWorkload::default(), &plan(workers), None).unwrap();
        let mut simulation = Simulation::of_driver(&settings, place, SimulatedUser);
        simulation.ramp(40, Nanos::from_secs(2));
        (0..4).map(|_| simulation.run(Nanos::from_secs(1))).collect()
    }

    fn plan(workers: usize) -> Plan {
        let mut plan = barograph_spec::read(
            barograph_spec::Catalogue::default(),
            "test",
            "",
            &[format!("driver.workers={workers}")],
        )
        .unwrap();
        plan.profile = "official2".to_owned();
        plan
    }

    #[test]
    fn in_simulated_time_drivers_merged_from_their_bytes_are_one_driver_exactly() {
        let one = simulated(4, None);
        let mut gather = Gather::new(2, Nanos::from_secs(1));
        for driver in [1, 0] {
            let place = WorkerShare { first: driver * 2, total: 4 };
            for interval in simulated(2, Some(place)) {
                let bytes = message::interval_body(&interval, &Facts::default());
                let (interval, _) = message::read_interval(&bytes, 1).unwrap();
                put(&mut gather, driver, interval);
            }
        }
        let merged: Vec<Interval> =
            std::iter::from_fn(|| gather.take()).map(|whole| whole.interval).collect();
        assert_eq!(merged.len(), 4);
        for (one, merged) in one.iter().zip(&merged) {
            let (a, b) = (&one.ops[0], &merged.ops[0]);
            assert_eq!(
                (one.from, one.to, one.starts, one.users),
                (merged.from, merged.to, merged.starts, merged.users)
            );
            assert_eq!((a.outcomes, a.requests, a.over_limit), (b.outcomes, b.requests, b.over_limit));
            assert!(a.response == b.response && a.service == b.service && one.lag == merged.lag);
        }
        assert!(merged[3].ops[0].count() > 500 && merged[3].ops[0].failed() > 0);
    }
}
