//! A disk that stands still for a second of every five, in simulated time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::Context;

use barograph_engine::sim::Simulation;
use barograph_engine::{GroupFactory, Groups, Timer};
use barograph_model::{Arrivals, OpenLoop, StartOf};
use barograph_ring::Completion;
use barograph_stats::OpStats;

use super::*;
use crate::contents::Contents;
use crate::group::QueueGroup;
use crate::places::Places;
use crate::plan::DiskPlan;
use crate::program::{Program, salt};
use crate::queue::Queue;

/// Operations due in a second.
const RATE: u32 = 2_000;

/// Time of an operation outside of stalls.
const QUICK: Nanos = Nanos::from_millis(1);

const EVERY: Nanos = Nanos::from_secs(5);
const LASTS: Nanos = Nanos::from_secs(1);

/// The end of an operation that begins at an instant.
fn end_of(start: Nanos) -> Nanos {
    let due = start + QUICK;
    let phase = Nanos(due.0 % EVERY.0);
    if phase < LASTS { due - phase + LASTS } else { due }
}

/// A disk that completes each operation at a known instant.
struct StallingDisk {
    timer: Timer,
    buffer: Vec<u8>,
    in_flight: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    done: Vec<usize>,
    length: usize,
}

impl Queue for StallingDisk {
    fn is_in_flight(&self, buffer: usize) -> bool {
        self.in_flight[buffer].is_some()
    }

    fn buffer(&self, _: usize) -> &[u8] {
        &self.buffer
    }

    fn buffer_mut(&mut self, _: usize) -> &mut [u8] {
        &mut self.buffer
    }

    fn read(&mut self, buffer: usize, _: u64, length: usize) {
        let (timer, end) = (self.timer.clone(), end_of(self.timer.now()));
        self.in_flight[buffer] = Some(Box::pin(async move { timer.until(end).await }));
        self.length = length;
    }

    fn write(&mut self, _: usize, _: u64, _: usize) {
        unreachable!("the load only reads")
    }

    fn sync(&mut self, _: usize) {
        unreachable!("the load only reads")
    }

    fn poll_work(&mut self, cx: &mut Context<'_>) -> bool {
        for (buffer, operation) in self.in_flight.iter_mut().enumerate() {
            if operation.as_mut().is_some_and(|operation| operation.as_mut().poll(cx).is_ready()) {
                *operation = None;
                self.done.push(buffer);
            }
        }
        true
    }

    fn together(&self) -> usize {
        usize::MAX
    }

    fn enter(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn completed(&mut self) -> Option<Completion> {
        let buffer = self.done.pop()?;
        Some(Completion { buffer, result: Ok(self.length) })
    }

    fn queued(&self) -> usize {
        0
    }
}

/// Makes groups on stalling disks.
struct StallingDisks {
    timer: Timer,
    program: Arc<Program>,
    users: usize,
}

impl GroupFactory for StallingDisks {
    type Group = QueueGroup<StallingDisk>;

    fn size(&self) -> usize {
        self.users
    }

    fn group(&self) -> QueueGroup<StallingDisk> {
        let disk = StallingDisk {
            timer: self.timer.clone(),
            buffer: vec![0; 4_096],
            in_flight: (0..self.users).map(|_| None).collect(),
            done: Vec::new(),
            length: 0,
        };
        QueueGroup::new(&self.program, Ok(disk), self.users)
    }
}

/// A program that only reads, and settings of an engine for it.
pub(super) fn reading(open: Option<OpenLoop>) -> (Arc<Program>, Settings) {
    let plan = plan("disk.mix.Read = 1\n");
    let workload = Disk.of_plan(&plan).unwrap();
    let own = DiskPlan::of(&plan).clone();
    let program = Arc::new(Program {
        kinds: own.kinds(),
        places: Places::new(&own.blocks, own.pattern, own.size),
        contents: Contents::new(own.entropy),
        generations: None,
        salt: salt(1),
        plan: own,
        reasons: barograph_workload::Reasons::shared(),
    });
    let settings = Settings {
        workers: 1,
        seed: 1,
        behaviours: Arc::new(workload.behaviours(NAME).unwrap()),
        limits: workload.profile(NAME).unwrap().time_limits(1),
        interval: Nanos::from_secs(1),
        timeout: Nanos::from_secs(10),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open,
    };
    (program, settings)
}

/// Reads at a rate with this many users at the most, over four stalls.
fn reads(most_users: u32) -> OpStats {
    let (program, settings) = reading(Some(OpenLoop {
        start_of: StartOf::Operation,
        arrivals: Arrivals::Constant,
        most_users,
        most_waiting: 10_000,
    }));
    let disks = |timer| Groups::new(StallingDisks { timer, program: Arc::clone(&program), users: 64 });
    let mut simulation = Simulation::new(&settings, disks);
    simulation.ramp(RATE, Nanos::ZERO);
    // From the end of the first stall to the end of the fifth.
    simulation.run(Nanos::from_millis(1_500));
    simulation.run(Nanos::from_secs(20)).ops[0].clone()
}

fn quantile_ms(times: &barograph_stats::Histogram, quantile: f64) -> f64 {
    times.value_at_quantile(quantile) as f64 / 1e3
}

/// A quantile of what operations wait that are due at equal distances: those due `t` before the end of a stall wait for `t`.
fn computed_ms(quantile: f64) -> f64 {
    let share = LASTS.as_secs_f64() / EVERY.as_secs_f64();
    LASTS.as_secs_f64() * 1e3 * (1.0 - (1.0 - quantile) / share)
}

#[test]
fn operations_due_in_a_stall_are_charged_with_what_they_wait() {
    let reads = reads(3_000);
    assert_eq!(reads.outcomes[Outcome::Good.index()], reads.count());
    assert_eq!(reads.count(), 40_000);
    for quantile in [0.9, 0.95, 0.99] {
        let (found, expected) = (quantile_ms(&reads.response, quantile), computed_ms(quantile));
        assert!((found / expected - 1.0).abs() < 0.05, "p{}: {found} is not {expected}", quantile * 100.0);
    }
    assert!((computed_ms(0.99) - 950.0).abs() < 1e-6);
}

#[test]
fn a_stall_at_a_small_depth_is_in_the_response_time_and_hardly_in_the_service_time() {
    let reads = reads(32);
    let (response, service) = (quantile_ms(&reads.response, 0.99), quantile_ms(&reads.service, 0.99));
    // Those that had to wait for a user are done within 63 ms after a stall: 2,000 at 32 in a millisecond.
    assert!((computed_ms(0.99)..computed_ms(0.99) + 70.0).contains(&response), "{response}");
    assert!(service < 2.0, "{service}");
}
