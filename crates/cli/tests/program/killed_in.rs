//! Sudden death of the program in each phase on each platform: `clean` then removes everything, and finds nothing when it
//! is asked again. Processes, namespaces, network devices, control groups, mounts and files are looked at.
//!
//! On processes all phases are tried, in namespaces all from the deployment on, elsewhere those in which there is something of the platform's own;
//! `cargo xtask kill-matrix` tries all of them everywhere. No phase is held open by code of the program: a plan makes it
//! long, the application is paused, a file that is to be written is a pipe that nobody reads, or a phase of milliseconds
//! is tried until it is met.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use barograph_record::Run;
use rustix::process::Signal;

use crate::deployments::{like, nothing_left, possible, traces_of};
use crate::going::{Going, until};
use crate::place::Place;

/// All phases, in their order.
const PHASES: [&str; 10] =
    ["check", "fill", "deploy", "ramp", "warm-up", "hold", "drain", "verify", "collect", "remove"];

/// `cargo xtask kill-matrix` sets it.
const ALL: &str = "BAROGRAPH_KILLS";

/// A phase of milliseconds is met or not; so often it is tried.
const TRIES: usize = 200;

/// Files of a record, and what a killed run may leave of them.
const RECORD: [&str; 10] = [
    "run.jsonl",
    "plan.toml",
    "disclosure.json",
    "probe.csv",
    "statistics.csv",
    "response.hlog",
    "service.hlog",
    "services",
    "report.html",
    "drivers",
];

/// Phases that are tried on a platform in every test run.
fn phases(platform: &str) -> &'static [&'static str] {
    #[expect(clippy::disallowed_methods, reason = "a switch of the tests, not a setting of the program")]
    let all = std::env::var_os(ALL).is_some();
    match platform {
        _ if all => &PHASES,
        "process" => &PHASES,
        // Check and fill come before there is anything of a platform.
        "namespace" => &PHASES[2..],
        "container" => &["deploy", "hold", "remove"],
        _ => &["deploy", "hold"],
    }
}

/// Keys that make a phase long enough to be met.
fn sets(phase: &str, platform: &str) -> Vec<String> {
    let mut sets = like("minimal", platform);
    // The application stands still from the middle of the window on, so that operations and questions go unanswered.
    let stalled = "faults=[{at_s=4,unit=\"application-1\",act=\"pause\"}]";
    let more: &[&str] = match phase {
        "fill" => &["data.size=micro", "data.images=0.3"],
        "ramp" => &["load.ramp_s=600"],
        "warm-up" => &["load.warm_up_s=600"],
        "hold" => &["load.window_s=600"],
        "drain" => &[stalled, "load.drain_s=600"],
        "verify" => &[stalled, "load.drain_s=1"],
        _ => &[],
    };
    sets.extend(more.iter().map(|set| (*set).to_owned()));
    sets
}

/// The phase that a killed run was in: begun, and not ended.
fn open_phase(place: &Place) -> Option<String> {
    let run = Run::open(place.records().last()?).ok()?;
    let last = run.phases().pop()?;
    last.outcome.is_none().then_some(last.phase)
}

/// Stops the program as soon as its record says that the check has begun. It is over in a millisecond, so nobody may
/// rest between two looks.
fn stop_in_check(place: &Place, going: &Going) {
    let deadline = Instant::now() + crate::going::PATIENCE;
    let record =
        || fs::read_dir(place.runs()).ok()?.flatten().next().map(|entry| entry.path().join("run.jsonl"));
    let mut path = None;
    loop {
        path = path.or_else(record);
        let text = path.as_ref().and_then(|path| fs::read_to_string(path).ok());
        if text.is_some_and(|text| text.contains("phase_started")) {
            return going.signal(Signal::STOP);
        }
        assert!(Instant::now() < deadline, "no record was begun");
        std::thread::yield_now();
    }
}

/// Waits until the phase is in the record; its line on the screen comes a little earlier.
fn enters(phase: &str, place: &Place, going: &Going) {
    going.enters(phase);
    until("the phase in the record", || open_phase(place).filter(|open| open == phase));
}

/// Makes a file of the record that is written in the collection a pipe that nobody reads.
fn block_collection(place: &Place) {
    let pipe = place.records().last().unwrap().join("services/marker.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
}

/// Waits until the run is in the phase.
fn meet(phase: &str, place: &Place, going: &Going) {
    match phase {
        "check" => stop_in_check(place, going),
        "fill" => {
            going.enters("fill");
            // At work, with files of its own.
            until("the first picture", || {
                let parts = fs::read_dir(place.data()).ok()?.flatten();
                parts.map(|part| part.path().join("images")).find(|images| images.exists())
            });
        }
        "deploy" => {
            going.enters("deploy");
            going.says("relational-1 is ready");
        }
        "collect" => {
            going.enters("hold");
            block_collection(place);
            enters("collect", place, going);
        }
        // It is over soon on some platforms, and met or not.
        "remove" => going.enters("remove"),
        phase => enters(phase, place, going),
    }
}

/// What is in the folders of a place, apart from records themselves.
fn files(place: &Place) -> BTreeSet<PathBuf> {
    let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let mut all: BTreeSet<PathBuf> = list(place.root().to_owned()).collect();
    all.extend(list(place.data().join("snapshots")));
    all.extend(list(place.data().to_owned()));
    for record in place.records() {
        all.extend(list(record).filter(|path| !RECORD.iter().any(|name| path.ends_with(name))));
    }
    all
}

/// Files outside of the place whose names have that of a run.
fn strays(place: &Place) -> Vec<PathBuf> {
    let snapshots = place.data().join("snapshots");
    let folders = ["/tmp", "/run", "/dev/shm", "/var/tmp", "/var/run"].map(PathBuf::from);
    let all = folders.into_iter().chain([snapshots]).filter_map(|folder| fs::read_dir(folder).ok());
    let names: Vec<String> =
        place.records().iter().map(|r| r.file_name().unwrap().to_string_lossy().into_owned()).collect();
    let paths = all.flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| names.iter().any(|name| path.to_string_lossy().contains(name.as_str()))).collect()
}

/// Kills the program in a phase. False when the phase was over before.
fn killed(phase: &str, platform: &str) -> bool {
    let place = if phase == "fill" { Place::without_data() } else { Place::new() };
    let going = Going::start(place.run(None, &sets(phase, platform)));
    meet(phase, &place, &going);
    going.signal(Signal::KILL);
    assert_eq!(going.end().code, None);
    let met = open_phase(&place).as_deref() == Some(phase);
    // Whatever still ends by itself may do so first or meet the broom.
    until("a broom that finds everything", || {
        let cleaned = Going::start(place.program(&["clean"])).end();
        (cleaned.code == Some(0) && !cleaned.out.contains("still running")).then_some(())
    });
    until("the end of all processes", || place.processes().is_empty().then_some(()));
    nothing_left(&place);
    let mut expected: BTreeSet<PathBuf> = [place.root().join("runs")].into();
    if phase == "fill" {
        expected.insert(place.data().to_owned());
    } else {
        // The data that all tests share, to which others add at the same time.
        expected.extend(files(&place).into_iter().filter(|path| path.starts_with(place.data())));
    }
    assert_eq!(files(&place), expected, "killed in {phase} on {platform}");
    assert_eq!(strays(&place), Vec::<PathBuf>::new());
    for record in place.records() {
        assert_eq!(traces_of(&record), Vec::<String>::new());
    }
    met
}

#[expect(clippy::print_stdout, reason = "the matrix is read by people")]
fn killed_on(platform: &str) {
    let place = Place::new();
    if !possible(&place, &like("minimal", platform)) {
        return;
    }
    for phase in phases(platform) {
        let begun = Instant::now();
        let tries = (1..=TRIES).find(|_| killed(phase, platform));
        let tries = tries.unwrap_or_else(|| panic!("{phase} on {platform} was never met"));
        let seconds = begun.elapsed().as_secs_f64();
        println!("killed  {platform:<15}  {phase:<7}  {seconds:>5.1} s  nothing left  (try {tries})");
    }
}

#[test]
fn killed_as_processes() {
    killed_on("process");
}

#[test]
fn killed_in_namespaces() {
    killed_on("namespace");
}

#[test]
fn killed_in_containers() {
    killed_on("container");
}

#[test]
fn killed_in_virtual_machines() {
    killed_on("vm");
}

#[test]
fn killed_in_containers_in_virtual_machines() {
    killed_on("container-in-vm");
}
