//! Drivers as processes of their own, against a server whose answers are known.

mod rig;

use std::time::{Duration, Instant};

use barograph_harness::HarnessError;
use barograph_harness::fleet::{Fleet, FleetError};
use barograph_model::Nanos;
use barograph_stats::Interval;
use barograph_testkit::{Delay, TimedServer, Timing};

use rig::{Process, Web, job, plan, runtime};

/// Not a test of its own: how the test program becomes a driver when one of the others starts it as one.
#[test]
fn as_a_driver() {
    if let Some(token) = std::env::args().find_map(|word| word.strip_prefix("token=").map(str::to_owned)) {
        rig::drive(token.as_ref());
    }
}

/// Answers of 20 to 320 ms: long beside what a busy machine adds to each.
fn server() -> TimedServer {
    let (least, most) = (Duration::from_millis(20), Duration::from_millis(320));
    TimedServer::start(Timing::of(Delay::Pareto { least, most, shape: 1.1 }, 5)).unwrap()
}

/// A load of 150 starts a second by so many drivers, each with so many workers, for some seconds; everything it recorded.
fn load(drivers: usize, workers: usize) -> (Interval, TimedServer) {
    let server = server();
    let (kind, plan) = (Web::new(), plan(workers));
    let processes: Vec<Process> = (1..=drivers).map(|n| Process::start(&format!("driver-{n}"))).collect();
    let at: Vec<_> = processes.iter().map(|process| process.at.clone()).collect();
    let all = runtime().block_on(async {
        let mut fleet = Fleet::connect(&at, &job(&kind, &plan, &server.url(""))).await.unwrap();
        fleet.ramp(150, Nanos::ZERO).await.unwrap();
        let mut all: Vec<Interval> = Vec::new();
        while all.last().is_none_or(|last| last.to < Nanos::from_secs(8)) {
            all.push(fleet.next().await.unwrap().unwrap());
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
        // The drain is longer than any answer takes, so that the histogram holds just what the server answered.
        assert_eq!((response.len(), joined.starts), (answered, answered));
        assert!(answered > 1_000, "{answered}");
        for q in [0.5, 0.9, 0.99] {
            let exact = server.exact(q).unwrap().as_secs_f64() * 1e3;
            // The machine adds what the server's answers and the driver's starts were late, and the way between.
            let late = server.lateness(0.999).unwrap().as_secs_f64() * 1e3;
            let added = late + ms(joined.lag.value_at_quantile(0.999)) + 2.0;
            let found = ms(response.value_at_quantile(q));
            let (least, most) = (exact * 0.999, exact * 1.001 + added);
            assert!((least..most).contains(&found), "p{}: {found} is not {exact} ms", q * 100.0);
        }
    }
    let [(one, _), (two, _)] = &loads;
    // A constant rate: as many starts, give or take the instant of the stop.
    assert!(one.starts.abs_diff(two.starts) < 30, "{} and {} starts", one.starts, two.starts);
}

/// A load by two drivers, until something that happens to the second ends it; how long that took, and the error.
fn broken_by(happens: impl FnOnce(&mut Process)) -> (Duration, FleetError) {
    let server = server();
    let (kind, plan) = (Web::new(), plan(1));
    let (one, mut other) = (Process::start("driver-1"), Process::start("driver-2"));
    let ended = runtime().block_on(async {
        let at = [one.at.clone(), other.at.clone()];
        let mut fleet = Fleet::connect(&at, &job(&kind, &plan, &server.url(""))).await.unwrap();
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
    // The other hears that its harness is gone, and does not go on alone.
    one.ended_alone();
    ended
}

#[test]
fn a_driver_that_is_killed_ends_the_run_at_once_with_its_name() {
    let (took, why) = broken_by(Process::kill);
    assert_eq!(why.to_string(), "driver-2 is gone");
    let source = std::error::Error::source(&why).unwrap().to_string();
    assert_eq!(source, "the connection was closed");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(why.exit_code().code(), 6);
}

#[test]
fn a_driver_that_stands_still_is_given_five_seconds() {
    let (took, why) = broken_by(Process::freeze);
    assert_eq!(why.to_string(), "driver-2 is gone");
    let source = std::error::Error::source(&why).unwrap().to_string();
    assert_eq!(source, "nothing was heard for 5 s");
    assert!((Duration::from_secs(3)..Duration::from_secs(9)).contains(&took), "{took:?}");
}

#[test]
fn a_driver_ends_when_whoever_started_it_is_gone() {
    let mut process = Process::start("driver-1");
    process.leave();
    process.ended_alone();
}
