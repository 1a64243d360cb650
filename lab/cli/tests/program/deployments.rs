//! The application in parts, on every platform: running parts, their reports, and complete removal.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use barograph_record::{CheckRecord, ExitCode, Run};
use barograph_test_services::skip;
use barograph_testkit::one_of;
use rustix::process::Signal;

use crate::engines;
use crate::failed::{excused, silence};
use crate::going::{PATIENCE_WITH_EMULATION, ProgramOutput, RunningProgram, until};
use crate::place::{TestFolders, fixed};

/// Checks that a busy machine can break within seconds.
const BUSY: [&str; 5] = [
    "driver start lag",
    "busiest driver worker",
    "steady throughput",
    "steady response time",
    "steady state",
];

/// Checks that fail if others use the machine: tests run side by side.
const OTHERS: [&str; 4] =
    ["CPU used by others", "stolen CPU", "memory pressure from outside", "disk pressure from outside"];

/// Path of a plan in this repository.
pub(crate) fn plan(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans").join(name).canonicalize().unwrap()
}

/// Keys for a deployment with this topology, under a small load.
pub(crate) fn like(topology: &str, platform: &str) -> Vec<String> {
    let mut sets = fixed(20, 4);
    sets.push(format!("deploy.like={topology}"));
    sets.push(format!("platform={platform}"));
    sets
}

/// Whether this machine can make such a deployment; prints what is missing if not.
pub(crate) fn possible(place: &TestFolders, sets: &[String]) -> bool {
    let mut command = place.checks(&plan("auction.toml"));
    for set in sets {
        command.args(["--set", set]);
    }
    let checked = RunningProgram::start(command).end();
    match checked.out.lines().find(|line| line.starts_with("missing ")) {
        None => {
            assert_eq!(checked.code, Some(0), "{checked:?}");
            true
        }
        Some(missing) => {
            assert_eq!(checked.code, Some(i32::from(ExitCode::Refused.code())), "{checked:?}");
            skip(missing);
            false
        }
    }
}

/// Everything that a run could leave on this machine and in its container engines, apart from processes and
/// files of its own place.
fn traces() -> BTreeSet<String> {
    let list = |folder: &str| {
        let names = fs::read_dir(folder).into_iter().flatten().flatten();
        names.map(|e| format!("{folder}/{}", e.file_name().to_string_lossy())).collect::<Vec<_>>()
    };
    let mut all: BTreeSet<String> = list("/run/netns").into_iter().collect();
    // Sockets of container engines.
    all.extend(list("/run"));
    all.extend(list("/sys/class/net"));
    let trees = list("/sys/fs/cgroup").into_iter().chain(["/sys/fs/cgroup".to_owned()]);
    all.extend(trees.collect::<Vec<_>>().iter().flat_map(|tree| list(tree)));
    all.extend(engines::things());
    all
}

/// Traces of one run: other tests run at the same time, and their traces have the names of their runs.
pub(crate) fn traces_of(run: &Path) -> Vec<String> {
    let id: String =
        run.file_name().unwrap().to_string_lossy().chars().filter(char::is_ascii_alphanumeric).collect();
    let id = id.to_ascii_lowercase();
    let id = &id[id.len().saturating_sub(20)..];
    // The name of a switch's leg is too short for the whole run name.
    let leg = format!("/sys/class/net/{}", barograph_virtual_network::leg_device(id));
    traces().into_iter().filter(|trace| trace.contains(id) || *trace == leg).collect()
}

fn mounts_of(place: &TestFolders) -> Vec<String> {
    let root = place.root().to_str().unwrap().to_owned();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().filter(|line| line.contains(&root)).map(str::to_owned).collect()
}

pub(crate) fn nothing_left(place: &TestFolders) {
    place.assert_gone();
    for run in place.records() {
        assert_eq!(traces_of(&run), Vec::<String>::new());
    }
    assert_eq!(mounts_of(place), Vec::<String>::new());
    place.assert_nothing_to_clean();
}

/// Checks that the run completed and was measured as it should be: only checks failed that a busy machine and
/// a load of seconds can break.
pub(crate) fn fine(place: &TestFolders, going: RunningProgram) -> Run {
    let ended = going.end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    sound(&run, &ended);
    let code = run.verdict().map(|verdict| i32::from(verdict.exit_code));
    assert_eq!(ended.code, code, "{ended:?}");
    run
}

/// As [`fine`], for the record of one of several loads.
pub(crate) fn sound(run: &Run, ended: &ProgramOutput) {
    let verdict = run.verdict().unwrap_or_else(|| panic!("{ended:?}"));
    let code = ExitCode::of_run(verdict.passed, verdict.valid).code();
    assert_eq!(verdict.exit_code, code, "{ended:?}");
    assert!(run.complete && run.interrupted().is_none(), "{ended:?}");
    for checks in run.trials().map(|trial| &trial.window.checks) {
        let wrong: Vec<&CheckRecord> = checks.iter().filter(|check| !check.ok).collect();
        // A driver that was held back, and reports it, starts less often than its users would.
        let was_held_back = wrong.iter().any(|check| check.name == "driver start lag");
        // One of several drivers that begins late has late users.
        let had_others = wrong.iter().any(|check| OTHERS.contains(&&*check.name));
        // Others left it no time for a single operation in a window of seconds.
        let is_starved = had_others && wrong.iter().any(|check| check.found == "no operation ended");
        let busy = |name: &str| {
            [&BUSY[..], &OTHERS].concat().contains(&name)
                || (was_held_back && name == "pacing")
                || (had_others && name == "users present")
                || (is_starved && ["pacing", "Little's law"].contains(&name))
        };
        assert!(wrong.iter().all(|check| busy(&check.name)), "{wrong:?}");
    }
    let wrong = verdict.reasons.iter().any(|reason| reason.starts_with("the data is not right"));
    assert!(!wrong, "{:?}", verdict.reasons);
}

/// Checks that every part with statistics reported them during the load, and that the run delay of its
/// threads is known.
fn watched(run: &Run) {
    for (part, rows) in asked(run) {
        assert!(rows >= 3, "{part}: {:?}", run.notes().collect::<Vec<_>>());
        let delays = run.probes.iter().filter(|row| row.subject == part && row.run_delay_s.is_some());
        assert!(delays.count() >= 3, "run delay of {part}");
    }
    assert!(asked(run).count() >= 2);
    let commits =
        run.statistics.iter().filter(|row| row.part == "relational-1" && row.statistic == "commits");
    assert!(
        commits.map(|row| row.value).fold(0.0, f64::max) > 1.0,
        "the load commits more than the question does"
    );
    let html = fs::read_to_string(run.dir.join("report.html")).unwrap();
    assert!(html.contains("What the services did") && html.contains("commits of relational-1"));
}

/// Parts that have statistics, each with the rows of its first one.
fn asked(run: &Run) -> impl Iterator<Item = (&str, usize)> {
    run.topology().unwrap().parts.iter().filter_map(|part| {
        let service = barograph_services::all().iter().find(|service| service.title() == part.service)?;
        let first = &service.statistics()?.values[0].name;
        let rows = run.statistics.iter().filter(|row| row.part == part.name && row.statistic == *first);
        Some((part.name.as_str(), rows.count()))
    })
}

/// Checks that every guest reports its kernel's counters, for itself and its units; without guests there are
/// none.
fn guests_tell(run: &Run, has_guests: bool) {
    let html = fs::read_to_string(run.dir.join("report.html")).unwrap();
    assert_eq!(html.contains("What the guests say of themselves"), has_guests);
    // Stores may be loaded on the machine itself.
    let hosts = run.topology().unwrap().parts.iter().map(|part| &part.host);
    for host in hosts.filter(|host| *host != "here" && has_guests) {
        let told = |subject: String| {
            let rows = run.probes.iter().filter(move |row| row.subject == subject);
            rows.filter(|row| row.cores().is_some_and(|cores| cores > 0.0)).collect::<Vec<_>>()
        };
        let notes: Vec<_> = run.notes().collect();
        let rows = told(format!("guest-{host}"));
        let Some(row) = rows.first() else { panic!("guest {host} says nothing: {notes:?}") };
        assert!(
            row.cpu_idle_cores.is_some() && row.psi_cpu.is_some() && row.net_rx_bytes_s.is_some(),
            "{row:?}"
        );
        assert!(row.rss_bytes.is_some_and(|bytes| bytes > 10 << 20), "{row:?}");
        let agent = format!("guest-{host}/agent");
        assert!(!told(agent.clone()).is_empty(), "what asking guest {host} costs is not told");
        let is_unit = |name: &str| name.starts_with(&format!("guest-{host}/")) && name != agent;
        let unit = run.probes.iter().find(|row| is_unit(&row.subject));
        let unit = unit.unwrap_or_else(|| panic!("units of guest {host} say nothing: {notes:?}"));
        assert!(!told(unit.subject.clone()).is_empty(), "{unit:?}");
    }
}

fn failures(run: &Run) -> u64 {
    run.intervals().flat_map(|interval| &interval.ops).map(|op| op.failed).sum()
}

pub(crate) fn minimal_on(platform: &str) {
    let mut sets = like("minimal", platform);
    let has_guests = ["vm", "container-in-vm"].contains(&platform);
    if has_guests {
        // Guests are asked every 5 s.
        sets.push("load.window_s=12".to_owned());
    }
    let ran = match has_guests {
        true => runs(&sets, &[]).map(|(place, run, _)| (place, run)),
        false => runs_without_failures(&sets, &[]),
    };
    let Some((place, run)) = ran else { return };
    let topology = run.topology().unwrap();
    assert_eq!(topology.platform, platform);
    let names: Vec<&str> = topology.parts.iter().map(|part| part.name.as_str()).collect();
    let mut expected = vec!["application-1", "relational-1"];
    // Another test may have loaded the same stores already.
    if topology.snapshot.as_ref().is_none_or(|snapshot| !snapshot.reused) {
        expected.push("load-1");
    }
    if ["namespace", "container"].contains(&platform) {
        expected.push("driver-1");
    }
    assert_eq!(names, expected);
    let version = &topology.parts[1].version;
    assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{version:?}");
    assert!(topology.ready_s > 0.0 && topology.ready_s >= topology.open_s && !topology.facts.is_empty());
    for subject in ["application-1", "relational-1"] {
        let rows = run.probes.iter().filter(|row| row.subject == subject && row.cores().is_some()).count();
        assert!(rows >= 4, "{rows} samples of {subject}");
    }
    guests_tell(&run, has_guests);
    let configuration = run.dir.join("services/relational-1.postgresql.conf");
    assert!(fs::read_to_string(configuration).unwrap().contains("fsync"));
    assert!(run.dir.join("services/relational-1.log").metadata().unwrap().len() > 0);
    nothing_left(&place);
    // An emulated guest beside other work may need longer for each answer than the harness waits.
    match silence(&run).filter(|_| has_guests && asked(&run).any(|(_, rows)| rows < 3)) {
        Some(note) => skip(&format!("the machine is too busy: {note}")),
        None => watched(&run),
    }
}

#[test]
fn a_node_on_postgresql_runs_as_processes() {
    minimal_on("process");
}

#[test]
fn a_node_on_postgresql_runs_in_namespaces() {
    minimal_on("namespace");
}

#[test]
fn a_node_on_postgresql_runs_in_containers() {
    minimal_on("container");
}

/// Largest number of tries where other work on the machine can only make things worse.
const TRIES: usize = 3;

/// Runs an application that prints these words while it starts, until no operation fails. `None` if this
/// machine lacks a requirement.
fn runs_without_failures(sets: &[String], words: &[&str]) -> Option<(TestFolders, Run)> {
    let mut excuses = Vec::new();
    while excuses.len() < TRIES {
        let (place, run, excuse) = runs(sets, words)?;
        match excuse {
            None => return Some((place, run)),
            Some(excuse) => excuses.push(excuse),
        }
        nothing_left(&place);
    }
    panic!("operations failed in every try: {excuses:#?}");
}

/// Runs an application that prints these words while it starts. Failed operations must be explained by a busy
/// machine, as an emulated one is: a node held for longer than its lease refuses bids until others have its
/// auctions. Returns the explanation, too; `None` if this machine lacks a requirement.
fn runs(sets: &[String], words: &[&str]) -> Option<(TestFolders, Run, Option<String>)> {
    let place = TestFolders::new();
    if !possible(&place, sets) {
        return None;
    }
    let going = RunningProgram::start(place.run(None, sets));
    for words in words {
        going.says(words);
    }
    let run = fine(&place, going);
    let excuse = excused(&run);
    let ended_well: u64 =
        run.intervals().flat_map(|interval| &interval.ops).map(|op| op.count - op.failed).sum();
    assert!(ended_well >= 10, "{ended_well} operations ended well; those that failed: {excuse:?}");
    Some((place, run, excuse))
}

#[test]
fn the_full_application_runs_with_tls_and_its_picture_is_told_before_and_after() {
    let mut sets = like("full", "process");
    sets.push("deploy.tls=true".to_owned());
    let words = ["[application-1] [application-2]", "the application answers at https://127.0.0.1:"];
    let Some((place, run)) = runs_without_failures(&sets, &words) else { return };
    let html = fs::read_to_string(run.dir.join("report.html")).unwrap();
    assert!(html.contains("What was deployed") && html.contains(">balancer-1</text>"));
    watched(&run);
    nothing_left(&place);
}

#[test]
fn mariadb_nats_and_httpd_take_the_places_of_others() {
    let mut sets = like("full", "process");
    let others =
        ["deploy.relational=mariadb", "deploy.bus=nats", "deploy.web=httpd", "deploy.flavour=vanilla"];
    sets.extend(others.map(str::to_owned));
    let Some((place, run)) = runs_without_failures(&sets, &[]) else { return };
    let services: BTreeSet<&str> =
        run.topology().unwrap().parts.iter().map(|part| part.service.as_str()).collect();
    assert!(services.contains("MariaDB") && services.contains("NATS"), "{services:?}");
    watched(&run);
    nothing_left(&place);
}

/// Runs the application through many faults and returns those that came too late. `None` if this machine
/// lacks a requirement.
fn through_faults() -> Option<Vec<String>> {
    let place = TestFolders::new();
    let mut sets = like("full", "namespace");
    sets.extend(["load.window_s=12".to_owned(), "deploy.bus=nats".to_owned()]);
    // Reports a machine that cannot limit memory.
    sets.push("deploy.bids_memory_mib=1024".to_owned());
    sets.push(
        "actions=[{at_s=3,unit=\"web-2\",act=\"kill\"},{at_s=4,unit=\"application-2\",act=\"pause\"},\
         {at_s=5,unit=\"application-2\",act=\"resume\"},{at_s=6,unit=\"web-2\",act=\"start\"},\
         {at_s=7,unit=\"bids-1\",act=\"cpus\",cpus=0.5},{at_s=7.5,unit=\"bids-1\",act=\"memory\",memory_mib=640},\
         {at_s=8,unit=\"bus-1\",act=\"partition\"},{at_s=9,act=\"heal\"},{at_s=10,unit=\"bus-1\",act=\"start\"},{at_s=900,unit=\"bus-1\",act=\"kill\"}]"
            .to_owned(),
    );
    if !possible(&place, &sets) {
        return None;
    }
    let run = fine(&place, RunningProgram::start(place.run(None, &sets)));
    let faults: Vec<(&str, bool)> = run.actions().map(|f| (f.act.as_str(), f.failed.is_none())).collect();
    let acts =
        ["kill", "pause", "resume", "start", "resize to 0.5 cores", "resize to 640 MiB", "partition", "heal"];
    assert_eq!(faults[..8], acts.map(|act| (act, true)));
    assert_eq!(faults[8..], [("start", false), ("kill", false)], "it ran, and the load ended before");
    let mut late = Vec::new();
    for (fault, at) in run.actions().zip([3.0, 4.0, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0, 10.0]) {
        assert!(fault.at_s >= at, "{fault:?}");
        if fault.at_s >= at + 2.0 {
            late.push(format!("{fault:?}"));
        }
    }
    let later = |row: &&barograph_record::ProbeRow| row.subject == "web-2" && row.cores().is_some();
    assert!(run.probes.iter().rev().take(20).any(|row| later(&row)), "web-2 is watched after its new start");
    nothing_left(&place);
    Some(late)
}

#[test]
fn faults_happen_at_their_moments_and_the_application_goes_on() {
    one_of(TRIES, || match through_faults() {
        Some(late) if !late.is_empty() => Err(format!("late: {late:#?}")),
        Some(_) | None => Ok(()),
    });
}

#[test]
fn a_delay_holds_every_answer_back_until_it_is_taken_away() {
    let place = TestFolders::new();
    let mut sets = like("minimal", "namespace");
    sets.push("load.window_s=16".to_owned());
    sets.push(
        "actions=[{at_s=4,unit=\"application-1\",act=\"delay\",delay_ms=200},\
         {at_s=9,unit=\"application-1\",act=\"delay\",delay_ms=0}]"
            .to_owned(),
    );
    if !possible(&place, &sets) {
        return;
    }
    let run = fine(&place, RunningProgram::start(place.run(None, &sets)));
    let faults: Vec<(f64, f64, bool)> =
        run.actions().map(|f| (f.at_s, f.took_s, f.failed.is_none())).collect();
    // The delay is in force when the fault is complete, and may be gone when its removal begins.
    let [(begun, took, true), (taken, _, true)] = faults[..] else { panic!("{faults:?}") };
    let given = begun + took;
    let log = run.response_log().unwrap();
    // Operations that end this long after the start of a change began after it, or took longer than any
    // delay.
    let over = 1.5;
    let least = |from: f64, to: f64| -> Vec<u64> {
        let told = log.histograms().map(Result::unwrap);
        let within = told.filter(|told| told.from_s >= from && told.from_s + told.seconds <= to);
        within.map(|told| told.histogram.value_at_quantile(0.0)).collect()
    };
    let (before, during, after) =
        (least(0.0, begun), least(given + over, taken), least(taken + over, f64::INFINITY));
    // Few users end few operations in these seconds: each operation asks the delayed host several times.
    assert!(!during.is_empty() && during.iter().all(|us| *us >= 195_000), "{during:?}");
    for quick in [before, after] {
        assert!(quick.iter().any(|us| *us < 150_000), "{quick:?}");
    }
    nothing_left(&place);
}

/// Cores on which the kernel lets a process run.
pub(crate) fn cores_of(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().to_owned()
}

pub(crate) fn recorded_cores(run: &Run) -> Vec<&str> {
    let parts = run.topology().unwrap().parts.iter();
    parts.filter(|part| part.tier == "application").map(|part| part.cores.as_str()).collect()
}

#[test]
fn a_part_runs_on_the_cores_that_its_plan_names() {
    let place = TestFolders::new();
    let mut sets = like("embedded", "process");
    sets.push("deploy.application_cores=0".to_owned());
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(None, &sets));
    assert_eq!(cores_of(going.application()), "0");
    let run = fine(&place, going);
    assert_eq!(recorded_cores(&run), ["0"]);
    nothing_left(&place);
}

#[test]
fn cores_that_this_machine_does_not_have_are_refused_with_their_key() {
    let place = TestFolders::new();
    let mut command = place.checks(&plan("auction.toml"));
    command.args(["--set", "deploy.application_cores=0,1023"]);
    let checked = RunningProgram::start(command).end();
    assert_eq!(checked.code, Some(i32::from(ExitCode::Refused.code())), "{checked:?}");
    assert!(checked.err.contains("`deploy.application_cores` = \"0,1023\""), "{}", checked.err);
    assert!(checked.err.contains("cores of this machine, which has 0"), "{}", checked.err);
}

#[test]
fn two_drivers_make_one_load() {
    let place = TestFolders::new();
    let mut sets = like("minimal", "process");
    sets.push("driver.count=2".to_owned());
    if !possible(&place, &sets) {
        return;
    }
    let run = fine(&place, RunningProgram::start(place.run(None, &sets)));
    assert_eq!(failures(&run), 0);
    assert_eq!(run.intervals().map(|interval| interval.users).max(), Some(20));
    for driver in ["driver-1", "driver-2"] {
        assert!(run.probes.iter().any(|row| row.subject == driver && row.cores().is_some()), "{driver}");
    }
    nothing_left(&place);
}

#[test]
fn a_driver_that_dies_ends_the_run_with_its_name() {
    let place = TestFolders::new();
    let mut sets = like("embedded", "process");
    sets.extend(["driver.count=2".to_owned(), "load.window_s=600".to_owned()]);
    let going = RunningProgram::start(place.run(None, &sets));
    going.enters("hold");
    let driver =
        until("the second driver", || place.process("driver-2").or_else(|| place.process("drive --listen")));
    crate::going::send(driver, Signal::KILL);
    let ended = going.end();
    assert!(ended.err.contains("driver-"), "{}", ended.err);
    assert!(place.record().interrupted().is_some());
    nothing_left(&place);
}

#[test]
fn check_names_what_is_missing_with_the_command_that_installs_it() {
    let place = TestFolders::new();
    let mut command = place.checks(&plan("auction-full.toml"));
    command.args(["--set", "load.users=20"]);
    let checked = RunningProgram::start(hidden(&command, &place)).end();
    assert_eq!(checked.code, Some(i32::from(ExitCode::Refused.code())), "{checked:?}");
    assert!(checked.out.contains("missing   "), "{}", checked.out);
    assert!(checked.out.contains("  to do:   apt-get install"), "{}", checked.out);
}

/// The command in a file system without the programs of the administrator, if that is possible.
fn hidden(command: &Command, place: &TestFolders) -> Command {
    let mut inside = Command::new("unshare");
    let script = "mount -t tmpfs none /usr/sbin && exec \"$@\"";
    inside.args(["--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c", script, "sh"]);
    inside.arg(command.get_program()).args(command.get_args()).current_dir(place.root());
    inside
}
