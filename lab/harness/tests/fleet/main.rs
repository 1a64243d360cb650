//! Drivers in processes of their own, against a server with known answers.

mod rig;

use std::time::{Duration, Instant};

use barograph_harness::HarnessError;
use barograph_harness::fleet::{Fleet, FleetError};
use barograph_model::Nanos;
use barograph_stats::Interval;
use barograph_testkit::{Delay, TimedServer, Timing, one_of};

use rig::{Process, Web, job, plan, runtime};

/// Runs as a driver when another test starts this program as one. Not a test of its own.
#[test]
fn as_a_driver() {
    if let Some(token) = std::env::args().find_map(|word| word.strip_prefix("token=").map(str::to_owned)) {
        rig::drive(token.as_ref());
    }
}

/// A server with answers of 20 to 320 ms, long compared with the delays of a busy machine.
fn server() -> TimedServer {
    let (least, most) = (Duration::from_millis(20), Duration::from_millis(320));
    TimedServer::start(Timing::of(Delay::Pareto { least, most, shape: 1.1 }, 5)).unwrap()
}

/// Starts per second.
const RATE: u32 = 150;

/// Starts that are missing of those due by the latest end of these intervals, for a load that began at
/// `began`; negative if there were too many. Dropped arrivals count as started.
fn behind(all: &[Interval], began: Nanos) -> f64 {
    let to = all.iter().map(|interval| interval.to).max().unwrap_or(began);
    let came: u64 = all.iter().map(|interval| interval.starts + interval.dropped).sum();
    f64::from(RATE) * (to - began).as_secs_f64() - came as f64
}

/// Runs a load at `RATE` by `drivers` drivers with `workers` workers each, for 8 s and until as many have
/// started as were due: a stalled machine delays starts, which a constant rate makes up for. Returns the
/// whole recording.
fn load(drivers: usize, workers: usize) -> (Interval, TimedServer) {
    let server = server();
    let (workload, plan) = (Web::new(), plan(workers));
    let processes: Vec<Process> = (1..=drivers).map(|n| Process::start(&format!("driver-{n}"))).collect();
    let at: Vec<_> = processes.iter().map(|process| process.at.clone()).collect();
    let all = runtime().block_on(async {
        let mut fleet =
            Fleet::connect(&at, &[job(&workload, &plan, &server.url(""))]).await.unwrap().remove(0);
        let began = fleet.ramp(RATE, Nanos::ZERO).await.unwrap();
        let mut all: Vec<Interval> = Vec::new();
        while all.last().is_none_or(|last| last.to < Nanos::from_secs(8)) || behind(&all, began).abs() >= 15.0
        {
            all.push(fleet.next().await.unwrap().unwrap());
            let is_long = all.last().is_some_and(|last| last.to > Nanos::from_secs(60));
            assert!(!is_long, "{} starts are missing after a minute", behind(&all, began));
        }
        fleet.stop(Nanos::from_secs(5)).await;
        while let Some(interval) = fleet.next().await.unwrap() {
            all.push(interval);
        }
        all
    });
    processes.into_iter().for_each(Process::ended_well);
    (Interval::joined(&all).unwrap(), server)
}

#[test]
fn two_drivers_give_the_quantiles_of_one_within_the_histograms_error() {
    let ms = |micros: u64| micros as f64 / 1e3;
    let loads = [load(1, 2), load(2, 1)];
    for (joined, server) in &loads {
        let (response, answered) = (&joined.ops[0].response, server.answered());
        assert_eq!(joined.ops[0].failed(), 0);
        // The drain is longer than any answer takes, so the histogram holds exactly the server's answers.
        assert_eq!((response.len(), joined.starts), (answered, answered));
        assert!(answered > 1_000, "{answered}");
        for q in [0.5, 0.9, 0.99] {
            let exact = server.exact(q).unwrap().as_secs_f64() * 1e3;
            // The machine adds delays of the server's answers, of the driver's starts, and of the network.
            let late = server.lateness(0.999).unwrap().as_secs_f64() * 1e3;
            let added = late + ms(joined.lag.value_at_quantile(0.999)) + 2.0;
            let found = ms(response.value_at_quantile(q));
            let (least, most) = (exact * 0.999, exact * 1.001 + added);
            assert!((least..most).contains(&found), "p{}: {found} is not {exact} ms", q * 100.0);
        }
    }
}

/// Runs a load by two drivers until an incident on the second ends it. Returns the duration and the error.
fn broken_by(happens: impl FnOnce(&mut Process)) -> (Duration, FleetError) {
    let server = server();
    let (workload, plan) = (Web::new(), plan(1));
    let (one, mut other) = (Process::start("driver-1"), Process::start("driver-2"));
    let ended = runtime().block_on(async {
        let at = [one.at.clone(), other.at.clone()];
        let mut fleet =
            Fleet::connect(&at, &[job(&workload, &plan, &server.url(""))]).await.unwrap().remove(0);
        fleet.ramp(20, Nanos::ZERO).await.unwrap();
        assert!(fleet.next().await.unwrap().is_some());
        happens(&mut other);
        let began = Instant::now();
        let why = loop {
            match fleet.next().await {
                Ok(Some(_)) => assert!(began.elapsed() < Duration::from_secs(30), "nobody noticed"),
                Ok(None) => panic!("the load ended as if all were well"),
                Err(HarnessError::Fleet(why)) => break why,
                Err(why) => panic!("{why:?}"),
            }
        };
        (began.elapsed(), why)
    });
    // The other driver notices the end of its harness and does not continue alone.
    one.ended_alone();
    ended
}

#[test]
fn a_driver_that_is_killed_ends_the_run_at_once_with_its_name() {
    // A stalled machine delays the detection, but not in every try.
    one_of(5, || {
        let (took, why) = broken_by(Process::kill);
        assert_eq!(why.to_string(), "driver-2 is gone");
        let source = std::error::Error::source(&why).unwrap().to_string();
        assert_eq!(source, "the connection was closed");
        assert_eq!(why.exit_code().code(), 6);
        if took < Duration::from_secs(2) { Ok(()) } else { Err(format!("it took {took:?}, longer than 2 s")) }
    });
}

#[test]
fn a_driver_that_stands_still_is_given_five_seconds() {
    // The detection may be delayed, too, but not in every try.
    one_of(4, || {
        let (took, why) = broken_by(Process::freeze);
        if let FleetError::NoInterval { driver, .. } = &why {
            // Its workers were delayed before the rest, so their intervals were missed first.
            assert_eq!(driver, "driver-2");
            return Err(format!("its intervals were missed first, after {took:?}"));
        }
        assert_eq!(why.to_string(), "driver-2 is gone");
        let source = std::error::Error::source(&why).unwrap().to_string();
        assert_eq!(source, "nothing was heard for 5 s");
        let is_given = (Duration::from_secs(3)..Duration::from_secs(9)).contains(&took);
        if is_given { Ok(()) } else { Err(format!("it took {took:?}, not about 5 s")) }
    });
}

#[test]
fn a_driver_ends_when_whoever_started_it_is_gone() {
    let mut process = Process::start("driver-1");
    process.leave();
    process.ended_alone();
}
