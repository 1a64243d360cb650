//! End of the program in each phase on each platform, after which nothing of it may remain: how a phase is
//! met, and what is compared.
//!
//! The program has no code to hold a phase open: a plan makes it long, the application is paused, a file to
//! be written is a pipe without a reader, or a phase of milliseconds is tried until it is met.

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::time::Instant;

use barograph_record::Run;
use rustix::process::Signal;

use crate::deployments::{like, nothing_left, possible, traces_of};
use crate::engines;
use crate::going::{RunningProgram, send, until};
use crate::place::TestFolders;

/// All phases, in their order.
const PHASES: [&str; 10] =
    ["check", "fill", "deploy", "ramp", "warm-up", "hold", "drain", "verify", "collect", "remove"];

/// The deployment before anything exists: quick even if machines have to boot.
pub(crate) const DEPLOY_AT_ONCE: &str = "deploy, just begun";

/// Set by `cargo xtask kill-matrix`: every phase on every platform, and no other test at the same time.
const ALL: &str = "BAROGRAPH_KILLS";

/// Largest number of tries to meet a phase of milliseconds.
const TRIES: usize = 200;

/// Files of a record that may remain when the program has ended.
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

/// A way to end the program.
#[derive(Clone, Copy)]
pub(crate) struct EndMethod {
    /// Name of the way in the matrix.
    pub(crate) name: &'static str,
    /// Ends the program in its phase, and waits until leftovers can be looked for. Returns false if the phase
    /// was over before.
    pub(crate) end: fn(RunningProgram, &TestFolders, &str) -> bool,
}

#[expect(clippy::disallowed_methods, reason = "a switch of the tests, not a setting of the program")]
fn is_matrix() -> bool {
    std::env::var_os(ALL).is_some()
}

/// Phase of a moment; most have the same name.
fn phase_of(moment: &str) -> &str {
    moment.split(',').next().unwrap_or(moment)
}

/// Platforms whose hosts boot.
const WITH_GUESTS: [&str; 2] = ["vm", "container-in-vm"];

/// Platforms whose parts cannot be paused by an action. The test pauses the process of the application.
const CANNOT_PAUSE: [&str; 1] = ["kubernetes"];

/// Topology of the ended deployment. Each host of the larger one boots and leaves the same things behind, so
/// it is left to the matrix.
fn topology(platform: &str) -> &'static str {
    match WITH_GUESTS.contains(&platform) && !is_matrix() {
        true => "embedded",
        false => "minimal",
    }
}

/// Keys that make a phase long enough to be met.
fn sets(phase: &str, platform: &str) -> Vec<String> {
    let mut sets = like(topology(platform), platform);
    // The application is paused from the first half of the window on, so that operations and questions stay
    // unanswered. The rest of the window allows for a machine that is late.
    let stalled = "actions=[{at_s=4,unit=\"application-1\",act=\"pause\"}]";
    let more: &[&str] = match phase {
        "fill" => &["data.size=micro", "data.images=0.3"],
        "ramp" => &["load.ramp_s=600"],
        "warm-up" => &["load.warm_up_s=600"],
        "hold" => &["load.window_s=600"],
        "drain" => &["load.window_s=12", "load.drain_s=600"],
        "verify" => &["load.window_s=12", "load.drain_s=1"],
        // The file is replaced during the window.
        "collect" => &["load.window_s=15"],
        _ => &[],
    };
    sets.extend(more.iter().map(|set| (*set).to_owned()));
    if ["drain", "verify"].contains(&phase) && !CANNOT_PAUSE.contains(&platform) {
        sets.push(stalled.to_owned());
    }
    sets
}

/// Phase of a run, or of a killed run: begun, and not ended.
pub(crate) fn open_phase(place: &TestFolders) -> Option<String> {
    let run = Run::open(place.records().last()?).ok()?;
    let last = run.phases().pop()?;
    last.outcome.is_none().then_some(last.phase)
}

/// Stops the program as soon as its record shows that the check has begun. The check takes a millisecond, so
/// looks follow each other without a pause.
fn stop_in_check(place: &TestFolders, going: &RunningProgram) {
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

/// Waits until the phase is in the record; its line on the screen comes slightly earlier.
fn enters(phase: &str, place: &TestFolders, going: &RunningProgram) {
    going.enters(phase);
    until("the phase in the record", || open_phase(place).filter(|open| open == phase));
}

/// File of the record that the collection writes.
fn collected(place: &TestFolders) -> PathBuf {
    place.records().last().unwrap().join("services/marker.json")
}

/// Replaces the file by a pipe without a reader.
fn block_collection(place: &TestFolders) {
    let made = std::process::Command::new("mkfifo").arg(collected(place)).status().unwrap();
    assert!(made.success());
}

/// Reads the pipe, so that the collection continues.
pub(crate) fn unblock_collection(place: &TestFolders) {
    let path = collected(place);
    // Opening waits for the program, which may have died; the thread is not joined.
    std::thread::spawn(move || {
        std::io::copy(&mut fs::File::open(path).unwrap(), &mut std::io::sink()).unwrap();
    });
}

/// Waits until the run is in the phase.
fn meet(moment: &str, platform: &str, place: &TestFolders, going: &RunningProgram) {
    match moment {
        "check" => stop_in_check(place, going),
        "fill" => {
            going.enters("fill");
            // In progress, with files of its own.
            until("the first picture", || {
                let parts = fs::read_dir(place.data()).ok()?.flatten();
                parts.map(|part| part.path().join("images")).find(|images| images.exists())
            });
        }
        DEPLOY_AT_ONCE => going.enters("deploy"),
        "deploy" => {
            going.enters("deploy");
            match topology(platform) {
                // Its guest boots.
                "embedded" => drop(until("an emulator", || place.process("qemu-system-x86_64"))),
                _ => drop(going.says("relational-1 is ready")),
            }
        }
        "drain" | "verify" if CANNOT_PAUSE.contains(&platform) => {
            going.enters("hold");
            send(until("the application", || place.process("serve auction")), Signal::STOP);
            enters(moment, place, going);
        }
        "collect" => {
            going.enters("hold");
            block_collection(place);
            enters("collect", place, going);
        }
        // It is short on some platforms and may be missed.
        "remove" => going.enters("remove"),
        moment => enters(phase_of(moment), place, going),
    }
}

/// Files in the folders of a place, apart from records.
fn files(place: &TestFolders) -> BTreeSet<PathBuf> {
    let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let mut all: BTreeSet<PathBuf> = list(place.root().to_owned()).collect();
    all.extend(list(place.data().join("snapshots")));
    all.extend(list(place.data().to_owned()));
    for record in place.records() {
        all.extend(list(record).filter(|path| !RECORD.iter().any(|name| path.ends_with(name))));
    }
    all
}

/// Files outside of the place with the run's name.
fn strays(place: &TestFolders) -> Vec<PathBuf> {
    let snapshots = place.data().join("snapshots");
    let folders = ["/tmp", "/run", "/dev/shm", "/var/tmp", "/var/run"].map(PathBuf::from);
    let all = folders.into_iter().chain([snapshots]).filter_map(|folder| fs::read_dir(folder).ok());
    let names: Vec<String> =
        place.records().iter().map(|r| r.file_name().unwrap().to_string_lossy().into_owned()).collect();
    let paths = all.flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| names.iter().any(|name| path.to_string_lossy().contains(name.as_str()))).collect()
}

/// Ends the program in one moment of a run with these further keys, and compares. Returns false if the phase
/// was over before.
fn ended(way: EndMethod, moment: &str, platform: &str, keys: &[String]) -> bool {
    let phase = phase_of(moment);
    let place = if phase == "fill" { TestFolders::without_data() } else { TestFolders::new() };
    let before = engines::things();
    let sets = [sets(phase, platform), keys.to_vec()].concat();
    let going = RunningProgram::start(place.run(None, &sets));
    meet(moment, platform, &place, &going);
    let met = (way.end)(going, &place, phase);
    nothing_left(&place);
    let mut expected: BTreeSet<PathBuf> = [place.runs()].into();
    let mut found = files(&place);
    if phase == "fill" {
        expected.insert(place.data().to_owned());
    } else {
        // Other tests add to the shared data at the same time.
        found.retain(|path| !path.starts_with(place.data()));
    }
    assert_eq!(found, expected, "{} in {moment} on {platform}", way.name);
    assert_eq!(strays(&place), Vec::<PathBuf>::new());
    for record in place.records() {
        assert_eq!(traces_of(&record), Vec::<String>::new());
    }
    // Beside other tests, only traces with the name of the run are compared.
    if is_matrix() {
        let new: Vec<String> = engines::things().difference(&before).cloned().collect();
        assert_eq!(new, Vec::<String>::new(), "{} in {moment} on {platform}", way.name);
    }
    met
}

/// Ends the program in one moment, in as many tries as that takes, and returns their number.
pub(crate) fn tries_to_end(way: EndMethod, moment: &str, platform: &str, keys: &[String]) -> usize {
    let tries = (1..=TRIES).find(|_| ended(way, moment, platform, keys));
    tries.unwrap_or_else(|| panic!("{moment} on {platform} was never met"))
}

/// Generates a test for each moment in which the program is ended in a way on a platform: the way, the
/// platform, and the moments with the names of their tests.
macro_rules! moments {
    ($way:expr, $platform:literal, $($name:ident = $moment:expr),+ $(,)?) => {
        const MOMENTS: &[&str] = &[$($moment),+];

        $(
            #[test]
            fn $name() {
                crate::phases::try_on($platform, $way, MOMENTS, $moment);
            }
        )+
    };
}
pub(crate) use moments;

/// Ends the program in one of these moments on a platform. If the matrix wants every phase, the first moment
/// includes phases without a test of their own; a failure does not prevent the others.
#[expect(clippy::print_stdout, reason = "the matrix is read by people")]
pub(crate) fn try_on(platform: &str, way: EndMethod, moments: &[&str], moment: &str) {
    let place = TestFolders::new();
    if !possible(&place, &like(topology(platform), platform)) {
        return;
    }
    println!(
        "compared  processes, namespaces, network devices, control groups, mounts and files; {}",
        engines::compared()
    );
    let mut wanted = vec![moment];
    if is_matrix() && moments.first() == Some(&moment) {
        wanted.extend(PHASES.iter().filter(|phase| !moments.contains(phase)));
    }
    let mut wrong = Vec::new();
    for moment in wanted {
        let begun = Instant::now();
        let tried = catch_unwind(|| tries_to_end(way, moment, platform, &[]));
        let seconds = begun.elapsed().as_secs_f64();
        let became = match tried {
            Ok(tries) => format!("nothing left  (try {tries})"),
            Err(_) => "not as it should be".to_owned(),
        };
        println!("{:<11}  {platform:<15}  {moment:<7}  {seconds:>5.1} s  {became}", way.name);
        wrong.extend(tried.is_err().then_some(moment));
    }
    assert_eq!(wrong, Vec::<&str>::new(), "{} on {platform}", way.name);
}
