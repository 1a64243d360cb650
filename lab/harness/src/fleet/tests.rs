//! Drivers in threads of this process: authentication, orders and clocks.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use barograph_engine::EngineHandle;
use barograph_model::Nanos;
use barograph_record::ExitCode;
use barograph_spec::{Plan, Refusals, WorkloadKeys};
use barograph_stats::Interval;
use barograph_testkit::ClosedPort;
use barograph_workload::{FailureReason, SentFile, Workload, WorkloadFactory, Workloads};

use super::clock::Offset;
use super::driver::Driver;
use super::frame::{FrameKind as Of, Frames, framed};
use super::message::{self, DriverCommand, DriverMessage, PROTOCOL};
use super::order::Orders;
use super::{Clock, DriverAddress, Fleet, FleetError, FleetJob, Token, link};
use crate::HarnessError;
use crate::testing::TestWorkload;

const TOOL: &str = "barograph under test";

/// A driver in a thread of its own.
struct DriverThread {
    at: DriverAddress,
    thread: JoinHandle<Result<(), FleetError>>,
}

/// Makes test workloads, and shows the files it is given.
struct TestFactory(fn() -> TestWorkload, Option<SyncSender<Vec<SentFile>>>);

impl WorkloadKeys for TestFactory {
    fn name(&self) -> &'static str {
        "test"
    }
}

impl WorkloadFactory for TestFactory {
    fn about(&self) -> &'static str {
        "a test"
    }
    fn of_plan(&self, _: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new((self.0)()))
    }
    fn of_files(&self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        self.1.iter().for_each(|tell| tell.send(files.to_vec()).unwrap());
        self.of_plan(plan)
    }
}

/// A list of one workload, leaked for the life of this process.
fn listed(made: TestFactory) -> Workloads {
    let made: &'static dyn WorkloadFactory = Box::leak(Box::new(made));
    Workloads { all: Box::leak(Box::new([made])), platforms: &[] }
}

fn workloads() -> Workloads {
    let failing = || {
        let (operation, outcome, why, answer) = ("Ask", "refused", "no".to_owned(), String::new());
        let failures = vec![FailureReason { operation, outcome, why, count: 3, answer }];
        TestWorkload { failures, ..TestWorkload::default() }
    };
    listed(TestFactory(failing, None))
}

fn driver_with(name: &str, clock: Clock, workloads: Workloads) -> DriverThread {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, token) = (listener.local_addr().unwrap(), Token::fresh().unwrap());
    let at = DriverAddress { name: name.to_owned(), address, token: token.clone() };
    let driver =
        Driver { listener, token, tool: TOOL.to_owned(), cores: 2, open_files: 1_000, clock, workloads };
    let thread = std::thread::spawn(move || runtime().block_on(driver.serve()));
    DriverThread { at, thread }
}

fn driver(name: &str) -> DriverThread {
    driver_with(name, Clock::start(), workloads())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn plan() -> Plan {
    let sets = ["driver.workers=1", "driver.interval_ms=100", "load.strategy=fixed", "load.users=4"];
    let mut plan = workloads().read("test", "", &sets.map(str::to_owned)).unwrap();
    plan.profile = "official2".to_owned();
    plan.driver.connections = barograph_spec::Connections::Keep;
    plan
}

fn job<'j>(workload: &'j TestWorkload, plan: &'j Plan) -> FleetJob<'j> {
    FleetJob {
        workload,
        plan,
        url: "http://127.0.0.1:9",
        data: None,
        open: None,
        files: Vec::new(),
        tool: TOOL,
    }
}

fn refusal(why: Result<Vec<Fleet>, HarnessError>) -> (String, ExitCode) {
    match why {
        Err(HarnessError::Fleet(why @ FleetError::Refused { .. })) => (why.to_string(), why.exit_code()),
        Err(why) => panic!("{why:?}"),
        Ok(_) => panic!("it was not refused"),
    }
}

/// Waits for the next interval with figures of both drivers. A delayed driver joins two intervals, and the
/// next one then comes without it.
async fn of_both(fleet: &mut Fleet) -> Interval {
    loop {
        let interval = fleet.next().await.unwrap().unwrap();
        assert!(interval.to <= Nanos::from_secs(60), "what is waited for never came: {interval:?}");
        if fleet.samples().len() == 2 {
            return interval;
        }
    }
}

#[test]
fn drivers_make_one_load_and_end_with_it() {
    let (workload, plan) = (TestWorkload::default(), plan());
    let (one, other) = (driver("driver-1"), driver("driver-2"));
    runtime().block_on(async {
        let mut fleet =
            Fleet::connect(&[one.at, other.at], &[job(&workload, &plan)]).await.unwrap().remove(0);
        let began = fleet.take_notes();
        assert!(
            began[0].starts_with("the load is made by 2 drivers on one clock: driver-1 within "),
            "{began:?}"
        );
        assert_eq!(fleet.samples().len(), 2);
        let asked = fleet.now();
        let there = fleet.ramp(3, Nanos::ZERO).await.unwrap();
        assert!(there >= asked + EngineHandle::SOONEST, "a change is announced before it begins");
        while of_both(&mut fleet).await.users < 3 {}
        // Instants at which each driver closed it, on one grid: late by delays of the machine, and never a
        // grid apart once those are small.
        let mut is_on_the_grid = false;
        while !is_on_the_grid {
            let interval = of_both(&mut fleet).await;
            assert_eq!((interval.users, fleet.level()), (3, 3.into()));
            let names: Vec<&str> = fleet.samples().iter().map(|s| s.name.as_str()).collect();
            assert_eq!(names, ["driver-1", "driver-2"]);
            assert!(fleet.samples().iter().all(|s| s.process.resident_bytes > 0));
            let off = interval.from.0 % 100_000_000;
            is_on_the_grid = interval.to - interval.from < Nanos::from_millis(200) && off < 90_000_000;
        }
        fleet.stop(Nanos::from_secs(1)).await;
        while fleet.next().await.unwrap().is_some() {}
        let told = fleet.take_notes();
        assert!(told.contains(&"driver-2: failed Ask refused: no (3 times)".to_owned()), "{told:?}");
        assert_eq!((fleet.take_counts(), fleet.take_counts()), (vec![vec![7]; 2], vec![]));
    });
    for driver in [one.thread, other.thread] {
        driver.join().unwrap().unwrap();
    }
}

/// Drivers stay until the last load, though one load ends before the other.
#[test]
fn drivers_share_each_of_several_loads_on_one_clock() {
    let (workload, few, mut many) = (TestWorkload::default(), plan(), plan());
    many.load = "many".to_owned();
    let (one, other) = (driver("driver-1"), driver("driver-2"));
    runtime().block_on(async {
        let jobs = [job(&workload, &few), job(&workload, &many)];
        let mut fleets = Fleet::connect(&[one.at, other.at], &jobs).await.unwrap();
        let [few, many] = &mut fleets[..] else { panic!("a load for each job") };
        assert_eq!(few.origin(), many.origin());
        let (told, again) = (few.take_notes(), many.take_notes());
        assert!(told[0].starts_with("the load is made by 2 drivers on one clock: "), "{told:?}");
        assert_eq!(again, Vec::<String>::new(), "the clocks are told once");
        for (fleet, users) in [(&mut *few, 2), (&mut *many, 5)] {
            fleet.ramp(users, Nanos::ZERO).await.unwrap();
            while of_both(fleet).await.users < users {}
        }
        few.stop(Nanos::from_secs(1)).await;
        while few.next().await.unwrap().is_some() {}
        assert_eq!(of_both(many).await.users, 5);
        many.stop(Nanos::from_secs(1)).await;
        while many.next().await.unwrap().is_some() {}
        let told = many.take_notes();
        assert!(
            told.contains(&"driver-2, load many: failed Ask refused: no (3 times)".to_owned()),
            "{told:?}"
        );
    });
    for driver in [one.thread, other.thread] {
        driver.join().unwrap().unwrap();
    }
}

#[test]
fn a_shifted_clock_is_found_within_its_stated_uncertainty() {
    let (workload, plan) = (TestWorkload::default(), plan());
    let ours = Instant::now();
    for (shift, sign) in [(Duration::from_secs(1_000), 1), (Duration::from_nanos(123_456_789), -1)] {
        let theirs = if sign > 0 { ours.checked_sub(shift).unwrap() } else { ours + shift };
        let running = driver_with("shifted", Clock::since(theirs), workloads());
        let orders = Orders::new(&job(&workload, &plan), 1).unwrap();
        let order = (orders.each[0].clone(), Arc::new(orders.bytes), 1);
        // A clock that has not started shows zero.
        while ours.elapsed() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
        let opened = runtime().block_on(link::open(running.at, Clock::since(ours), TOOL.to_owned(), order));
        let Offset { ahead, within, longest } = opened.as_ref().unwrap().offset;
        let truth = sign * shift.as_nanos() as i64;
        assert!(ahead.abs_diff(truth) <= within.0, "{ahead} is not {truth} within {within:?}");
        assert!(
            within.0 > 0 && within < Nanos::from_millis(50) && longest >= within,
            "{within:?} {longest:?}"
        );
        drop(opened);
        assert!(running.thread.join().unwrap().is_err(), "its harness is gone");
    }
}

#[test]
fn a_drift_is_told_and_ends_the_run_before_it_harms() {
    let (workload, plan) = (TestWorkload::default(), plan());
    let running = driver("driver-7");
    runtime().block_on(async {
        let mut fleet = Fleet::connect(&[running.at], &[job(&workload, &plan)]).await.unwrap().remove(0);
        fleet.take_notes();
        let first = fleet.first_offset(0);
        let moved = |by: i64| Offset { ahead: first.ahead + by, ..first };
        let sure = 2 * first.within.0 as i64;
        fleet.watch(0, moved(900_000 + sure)).unwrap();
        assert_eq!(fleet.take_notes(), Vec::<String>::new());
        fleet.watch(0, moved(-1_500_000 - sure)).unwrap();
        fleet.watch(0, moved(-2_500_000 - sure)).unwrap();
        let notes = fleet.take_notes();
        assert_eq!(notes.len(), 1, "told again when it has doubled: {notes:?}");
        assert!(
            notes[0].starts_with("the clock of driver-7 went away from this machine's by 1.5 ms in "),
            "{notes:?}"
        );
        let error = fleet.watch(0, moved(25_100_000 + sure)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("the clock of driver-7 went away") && text.contains("25100 µs"), "{text}");
        assert_eq!(error.exit_code(), ExitCode::PlatformFault);
    });
    assert!(running.thread.join().unwrap().is_err());
}

#[test]
fn a_second_control_connection_is_refused_and_the_first_goes_on() {
    let (workload, plan) = (TestWorkload::default(), plan());
    let DriverThread { at, thread } = driver("driver-1");
    runtime().block_on(async {
        let drivers = [at];
        let mut fleet = Fleet::connect(&drivers, &[job(&workload, &plan)]).await.unwrap().remove(0);
        let (why, exit) = refusal(Fleet::connect(&drivers, &[job(&workload, &plan)]).await);
        assert_eq!(why, "driver-1 refused: this driver has a control connection for each load already");
        assert_eq!(exit, ExitCode::Refused);
        fleet.ramp(1, Nanos::ZERO).await.unwrap();
        assert!(fleet.next().await.unwrap().is_some());
        fleet.stop(Nanos::ZERO).await;
        while fleet.next().await.unwrap().is_some() {}
    });
    thread.join().unwrap().unwrap();
}

#[test]
fn whoever_has_not_the_token_or_another_program_is_refused_and_keeps_nobody_out() {
    let (workload, plan) = (TestWorkload::default(), plan());
    let DriverThread { at, thread } = driver("driver-1");
    runtime().block_on(async {
        let stranger = DriverAddress { token: Token::fresh().unwrap(), ..at.clone() };
        let (why, _) = refusal(Fleet::connect(&[stranger], &[job(&workload, &plan)]).await);
        assert_eq!(why, "driver-1 refused: the token is wrong");
        let older = FleetJob { tool: "barograph 0.0.9", ..job(&workload, &plan) };
        let (why, exit) = refusal(Fleet::connect(std::slice::from_ref(&at), &[older]).await);
        assert!(
            why.contains("this driver is barograph under test, and the harness is barograph 0.0.9"),
            "{why}"
        );
        assert_eq!(exit, ExitCode::Refused);
        // A silent connection does not take a place.
        let _silent = TcpStream::connect(at.address).unwrap();
        drop(Fleet::connect(&[at], &[job(&workload, &plan)]).await.unwrap());
    });
    assert!(matches!(thread.join().unwrap(), Err(FleetError::Harness(_))));
}

#[test]
fn what_keeps_a_driver_from_the_load_is_its_refusal_with_the_same_exit_code() {
    let (workload, plan) = (TestWorkload::default(), plan());
    let running = driver("driver-2");
    let nowhere = FleetJob { url: "http://nowhere", ..job(&workload, &plan) };
    let (why, exit) = refusal(runtime().block_on(Fleet::connect(&[running.at], &[nowhere])));
    assert_eq!(why, "driver-2 refused: reach the target `http://nowhere`: no address is known for it");
    assert_eq!(exit, ExitCode::TargetNotReady);
    assert!(running.thread.join().unwrap().is_err());
}

#[test]
fn a_driver_that_is_not_there_is_named() {
    let (workload, plan) = (TestWorkload::default(), plan());
    let closed = ClosedPort::new().unwrap();
    let at =
        DriverAddress { name: "driver-3".to_owned(), address: closed.addr(), token: Token::fresh().unwrap() };
    let Err(why) = runtime().block_on(Fleet::connect(&[at], &[job(&workload, &plan)])) else {
        panic!("who was that?")
    };
    assert!(
        matches!(&why, HarnessError::Fleet(why) if why.to_string().starts_with("connect to driver-3 at "))
    );
    assert_eq!(why.exit_code(), ExitCode::PlatformFault);
}

#[test]
fn files_reach_the_driver_byte_by_byte() {
    let contents = [vec![7_u8; 600_000], Vec::new(), b"last".to_vec()];
    let named = |(n, bytes): (usize, Vec<u8>)| (PathBuf::from(format!("some/{n}")), bytes);
    let expected: Vec<_> = contents.into_iter().enumerate().map(named).collect();
    let files = expected.iter().map(|(path, bytes)| (path.clone(), bytes.as_slice().into())).collect();
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let workloads = listed(TestFactory(TestWorkload::default, Some(tell)));
    let (workload, plan) = (TestWorkload::default(), plan());
    let running = driver_with("driver-1", Clock::start(), workloads);
    let job = FleetJob { files, ..job(&workload, &plan) };
    drop(runtime().block_on(Fleet::connect(&[running.at], &[job])).unwrap());
    let came = told.recv_timeout(Duration::from_secs(20)).unwrap();
    let came: Vec<_> = came.into_iter().map(|(path, bytes)| (path, bytes.to_vec())).collect();
    assert_eq!(came, expected);
    assert!(running.thread.join().unwrap().is_err());
}

/// Sends bytes to a driver and returns all it answers until it closes the connection.
fn say(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        // It closed the connection with unread bytes.
        Err(why) => assert_eq!(why.kind(), std::io::ErrorKind::ConnectionReset),
    }
    answer
}

#[test]
fn nonsense_before_the_greeting_is_hung_up_on() {
    let (workload, plan) = (TestWorkload::default(), plan());
    let DriverThread { at, thread } = driver("driver-1");
    let message = |command: &DriverCommand| framed(Of::Message, &message::body(command));
    for nonsense in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        framed(Of::Message, b"{"),
        framed(Of::Piece, b"x"),
        message(&DriverCommand::Ping { n: 1 }),
        message(&DriverCommand::Stop { drain: 0 }),
        // A greeting that announces a gigabyte is refused at once.
        [0, 0, 0, 64, b'm'].to_vec(),
    ] {
        assert_eq!(say(at.address, &nonsense), b"", "{nonsense:?}");
    }
    let hello = DriverCommand::Hello {
        protocol: PROTOCOL + 1,
        tool: TOOL.to_owned(),
        token: at.token.word().to_owned(),
        loads: 1,
    };
    let mut frames = Frames::new(1_000);
    frames.bytes = say(at.address, &message(&hello));
    let refused: DriverMessage = message::read(&frames.next().unwrap().unwrap().body).unwrap();
    assert!(matches!(refused, DriverMessage::Refused { exit: 2, .. }), "{refused:?}");
    // It still serves its harness.
    runtime().block_on(async { drop(Fleet::connect(&[at], &[job(&workload, &plan)]).await.unwrap()) });
    assert!(thread.join().unwrap().is_err());
}

#[test]
fn nonsense_after_the_greeting_ends_the_driver() {
    for then in [
        framed(Of::Interval, b"x"),
        framed(Of::Piece, b"x"),
        framed(Of::Message, &message::body(&DriverCommand::Start { origin: 0 })),
        framed(Of::Message, &message::body(&DriverCommand::Ramp { level: 1.into(), over: 0, at: 0 })),
        framed(Of::Message, b"{\"do\":\"dance\"}"),
    ] {
        let DriverThread { at, thread } = driver("driver-1");
        let hello = DriverCommand::Hello {
            protocol: PROTOCOL,
            tool: TOOL.to_owned(),
            token: at.token.word().to_owned(),
            loads: 1,
        };
        let bytes = [framed(Of::Message, &message::body(&hello)), then].concat();
        say(at.address, &bytes);
        assert!(matches!(thread.join().unwrap(), Err(FleetError::Harness(_))));
    }
}
