//! Real groups of this machine: limits hold, groups freeze, are killed as a whole and removed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use barograph_cgroup::{
    Controller, Group, Hierarchies, Limits, Meter, kill_folder, processes_in, remove_folder,
};
use barograph_testkit::one_of;

const LONG: Duration = Duration::from_secs(120);

/// Largest number of stretches in which a group is observed: a machine that stands still may charge the time
/// to the running group, so it must keep its limit in one of them.
const STRETCHES: usize = 5;

/// The hierarchies, if the needed controllers can be used; else prints the reason.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn or_skip(needed: &[Controller]) -> Option<Hierarchies> {
    let found = Hierarchies::find();
    match found {
        Ok(found) => match needed.iter().find(|&&controller| !found.can(controller)) {
            None => return Some(found),
            Some(controller) => println!("skipped: controller {controller:?} cannot be used here"),
        },
        Err(why) => println!("skipped: {why}"),
    }
    None
}

#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn say_skipped(why: &str) {
    println!("skipped: {why}");
}

/// A group that is killed and removed with the test.
struct TestGroup(Group);

impl TestGroup {
    fn new(hierarchies: &Hierarchies, limits: &Limits) -> Self {
        static GIVEN: AtomicU32 = AtomicU32::new(0);
        let number = GIVEN.fetch_add(1, Ordering::Relaxed);
        let name = format!("barograph.test-{}-{number}", std::process::id());
        TestGroup(Group::create(hierarchies, &name, limits).unwrap())
    }

    /// A shell in the group.
    fn run(&self, script: &str) -> Child {
        let words = self.0.enter_command();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["/bin/sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().unwrap()
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        self.0.kill_all().unwrap();
        self.0.remove(LONG).unwrap();
    }
}

/// Polls until `condition` holds; fails after a while.
fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "waited too long for: {what}");
        std::thread::yield_now();
    }
}

/// Watches a group until one stretch meets the condition.
#[track_caller]
fn until_one(group: &Group, used: f64, wanted: impl Fn(&CpuUse) -> bool) {
    one_of(STRETCHES, || {
        let seen = stretch(group, used);
        if wanted(&seen) { Ok(()) } else { Err(format!("{seen:?}")) }
    });
}

fn cpu(group: &Group) -> f64 {
    group.usage().cpu.unwrap().total.as_secs_f64()
}

/// Behaviour of a group during some of its CPU time.
#[derive(Debug)]
struct CpuUse {
    used: f64,
    wall: f64,
    periods: u64,
    throttled: u64,
}

/// Watches a group until it has used `used` more seconds.
fn stretch(group: &Group, used: f64) -> CpuUse {
    let (start, first) = (Instant::now(), group.usage());
    let (before, held) = (first.cpu.unwrap().total.as_secs_f64(), first.throttling.unwrap());
    until("it uses CPU time", || cpu(group) >= before + used);
    let last = group.usage();
    let now = last.throttling.unwrap();
    CpuUse {
        used: last.cpu.unwrap().total.as_secs_f64() - before,
        wall: start.elapsed().as_secs_f64(),
        periods: now.periods - held.periods,
        throttled: now.throttled - held.throttled,
    }
}

#[test]
fn a_group_is_made_entered_counted_and_removed() {
    let Some(hierarchies) = or_skip(&[]) else { return };
    let own = TestGroup::new(&hierarchies, &Limits::default());
    let mut child = own.run("exec cat /dev/zero > /dev/null");
    until("the child is inside", || own.0.processes() == [child.id()]);
    // It enters one hierarchy after another.
    let inside = |entrance: &Path| fs::read_to_string(entrance).unwrap().trim() == child.id().to_string();
    until("it is in every tree", || own.0.entrances().iter().all(|entrance| inside(entrance)));
    until("it uses the CPU", || cpu(&own.0) > 0.05);
    let all = hierarchies.list().len();
    assert_eq!((own.0.paths().len(), own.0.entrances().len()), (all, all));
    for entrance in own.0.entrances() {
        assert_eq!(fs::read_to_string(entrance).unwrap().trim(), child.id().to_string(), "in every tree");
    }
    assert!(!own.0.try_remove(), "somebody is in it");
    own.0.kill_all().unwrap();
    assert!(!child.wait().unwrap().success());
    own.0.remove(LONG).unwrap();
    assert!(own.0.paths().iter().all(|path| !path.exists()));
    own.0.remove(Duration::ZERO).unwrap();
    own.0.kill_all().unwrap();
}

#[test]
fn a_burner_gets_three_tenths_of_a_core() {
    let Some(hierarchies) = or_skip(&[Controller::Cpu]) else { return };
    let limits = Limits { cpus: Some(0.3), ..Limits::default() };
    let own = TestGroup::new(&hierarchies, &limits);
    let mut children = [own.run("while :; do :; done"), own.run("while :; do :; done")];
    until("both burn", || own.0.processes().len() == 2 && cpu(&own.0) > 0.1);
    // Other work on the machine reduces its share and never raises it; a further period of 30 ms may fall
    // into the window.
    until_one(&own.0, 1.0, |seen| seen.used <= 0.3 * seen.wall + 0.06);
    // The limit held it back, not other work: nearly every period was used up. The limit is low enough for a
    // machine with much other work.
    own.0.set_limits(&Limits { cpus: Some(0.1), ..Limits::default() }).unwrap();
    until_one(&own.0, 0.3, |seen| seen.throttled > 0 && seen.throttled * 10 >= seen.periods * 5);
    let throttling = own.0.usage().throttling.unwrap();
    assert!(throttling.time > Duration::ZERO, "{throttling:?}");
    own.0.set_limits(&Limits::default()).unwrap();
    // The amount depends on other work here; the absence of throttling does not.
    let free = stretch(&own.0, 0.5);
    assert_eq!(free.throttled, 0, "without the limit it burns on: {free:?}");
    own.0.kill_all().unwrap();
    children.iter_mut().for_each(|child| assert!(!child.wait().unwrap().success()));
}

#[test]
fn a_hog_is_killed_within_its_memory() {
    let Some(hierarchies) = or_skip(&[Controller::Memory]) else { return };
    let most = 64 << 20;
    let own = TestGroup::new(&hierarchies, &Limits { memory_bytes: Some(most), ..Limits::default() });
    // `tail` keeps all it has read until it sees a line end, and there is none.
    let mut child = own.run("head -c 400000000 /dev/zero | tail -n 1 > /dev/null; exit 0");
    child.wait().unwrap();
    let memory = own.0.usage().memory.unwrap();
    assert!(memory.out_of_memory_kills.unwrap() >= 1, "{memory:?}");
    assert!(memory.peak.unwrap() <= most, "{memory:?}");
    own.0.set_limits(&Limits { memory_bytes: Some(4 << 30), ..Limits::default() }).unwrap();
    own.0.set_limits(&Limits { memory_bytes: Some(most), ..Limits::default() }).unwrap();
    own.0.set_limits(&Limits::default()).unwrap();
    let killed = own.0.usage().memory.unwrap().out_of_memory_kills;
    let mut child = own.run("head -c 100000000 /dev/zero | tail -n 1 > /dev/null");
    assert!(child.wait().unwrap().success());
    assert_eq!(own.0.usage().memory.unwrap().out_of_memory_kills, killed, "without a limit there is room");
}

/// A folder on a disk of this machine; else prints that there is none.
fn on_disk() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let device = fs::metadata(folder.path()).unwrap().dev();
    let disk = format!("/sys/dev/block/{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    if Path::new(&disk).exists() {
        return Some(folder);
    }
    say_skipped("the folder of the build is on no block device");
    None
}

#[test]
fn writes_wait_for_the_rate_of_disks() {
    let Some(hierarchies) = or_skip(&[Controller::Io]) else { return };
    let Some(folder) = on_disk() else { return };
    let own = TestGroup::new(&hierarchies, &Limits::default());
    let files = ["blkio.throttle.write_bps_device", "io.max"];
    let files = own.0.paths().into_iter().flat_map(|group| files.map(|file| group.join(file)));
    let Some(limits) = files.into_iter().find(|file| file.exists()) else {
        say_skipped("the kernel has no limits of disks");
        return;
    };
    own.0.set_limits(&Limits { disk_bytes_s: Some(1 << 20), ..Limits::default() }).unwrap();
    assert!(fs::read_to_string(&limits).unwrap().contains("1048576"));
    let file = folder.path().join("written");
    let write = format!("dd if=/dev/zero of={} bs=256k count=16 oflag=dsync 2>/dev/null", file.display());
    // 4 MiB at 1 MiB a second, of which the first may be granted at once. Noise only makes it longer.
    let begin = Instant::now();
    assert!(own.run(&write).wait().unwrap().success());
    assert!(begin.elapsed() > Duration::from_secs(2), "{:?}", begin.elapsed());
    own.0.set_limits(&Limits::default()).unwrap();
    assert_eq!(fs::read_to_string(&limits).unwrap(), "", "no disk has a limit any more");
}

#[test]
fn a_limit_below_what_is_in_use_is_refused_or_ends_who_uses_it() {
    let Some(hierarchies) = or_skip(&[Controller::Memory]) else { return };
    let own = TestGroup::new(&hierarchies, &Limits::default());
    let mut child = own.run("{ head -c 60000000 /dev/zero; sleep 1000; } | tail -n 1 > /dev/null");
    let memory = || own.0.usage().memory.unwrap();
    until("`tail` has it all", || memory().current.unwrap() > 50 << 20);
    let limit = || {
        let files = own.0.paths().into_iter().map(|folder| folder.join("memory.limit_in_bytes"));
        files.map(fs::read_to_string).find_map(Result::ok)
    };
    let before = limit();
    match own.0.set_limits(&Limits { memory_bytes: Some(16 << 20), ..Limits::default() }) {
        Err(error) => {
            assert!(error.to_string().starts_with("write `16777216` to"), "{error}");
            assert!(before.is_some() && limit() == before, "a limit that was refused is as it was");
            assert_eq!(memory().out_of_memory_kills, Some(0));
        }
        Ok(()) => until("the kernel ended it", || memory().out_of_memory_kills.unwrap() >= 1),
    }
    own.0.kill_all().unwrap();
    assert!(!child.wait().unwrap().success());
}

#[test]
fn a_set_of_cores_holds_and_is_handed_down() {
    let Some(hierarchies) = or_skip(&[Controller::CpuSet]) else { return };
    let allowed = |group: &Group| {
        let words = group.enter_command();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status"]);
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        text.trim_start_matches("Cpus_allowed_list:").trim().to_owned()
    };
    let own = TestGroup::new(&hierarchies, &Limits { cpu_set: vec![0], ..Limits::default() });
    assert_eq!(allowed(&own.0), "0");
    let below = Group::create(&hierarchies, &format!("{}/unit", own.0.name()), &Limits::default()).unwrap();
    assert_eq!(allowed(&below), "0", "a group without a set of its own has that of the group above");
}

#[test]
fn a_frozen_group_stands_still_and_goes_on() {
    let Some(hierarchies) = or_skip(&[]) else { return };
    let own = TestGroup::new(&hierarchies, &Limits::default());
    if !own.0.can_freeze() {
        return say_skipped("groups cannot be frozen here");
    }
    let mut children = [own.run("setsid sh -c 'while :; do :; done'; :"), own.run("while :; do :; done")];
    until("both burn", || cpu(&own.0) > 0.1 && own.0.processes().len() >= 3);
    own.0.freeze().unwrap();
    let before = cpu(&own.0);
    // A busy process beside it shows that time passes for others.
    let other = TestGroup::new(&hierarchies, &Limits::default());
    let mut burner = other.run("while :; do :; done");
    until("the other has burned", || cpu(&other.0) > 0.2);
    assert!(cpu(&own.0) - before < 0.01, "it burned while it was frozen");
    own.0.thaw().unwrap();
    until("it goes on", || cpu(&own.0) > before + 0.05);
    own.0.freeze().unwrap();
    own.0.kill_all().unwrap();
    other.0.kill_all().unwrap();
    children.iter_mut().chain([&mut burner]).for_each(|child| assert!(!child.wait().unwrap().success()));
    until("a frozen group dies too", || own.0.processes().is_empty());
}

#[test]
fn daemons_in_groups_below_die_with_the_group() {
    let Some(hierarchies) = or_skip(&[]) else { return };
    let own = TestGroup::new(&hierarchies, &Limits::default());
    let below = Group::create(&hierarchies, &format!("{}/unit.1", own.0.name()), &Limits::default()).unwrap();
    let words = below.enter_command();
    // A process that forks for ever, each child in a session of its own, without environment and terminal.
    let script = "f() { setsid env -i sleep 1000 & }; i=0; while [ $i -lt 20 ]; do f; i=$((i+1)); done; wait";
    let mut child =
        Command::new(&words[0]).args(&words[1..]).args(["/bin/sh", "-c", script]).spawn().unwrap();
    until("all were born", || own.0.processes().len() >= 21);
    let pids = own.0.processes();
    own.0.kill_all().unwrap();
    child.wait().unwrap();
    until("all are gone", || own.0.processes().is_empty());
    assert!(pids.len() >= 21);
    own.0.remove(LONG).unwrap();
    assert!(below.paths().iter().all(|path| !path.exists()));
}

#[test]
fn a_tree_without_a_kill_switch_is_emptied_one_by_one() {
    let Some(hierarchies) = or_skip(&[Controller::Memory]) else { return };
    let own = TestGroup::new(&hierarchies, &Limits::default());
    let Some(folder) = own.0.paths().into_iter().find(|path| !path.join("cgroup.kill").exists()) else {
        return say_skipped("every tree has a kill switch");
    };
    let mut child = own.run("for i in 1 2 3 4 5; do setsid sleep 1000 & done; wait");
    until("all were born", || processes_in(&folder).len() >= 6);
    kill_folder(&folder).unwrap();
    child.wait().unwrap();
    until("all are gone", || processes_in(&folder).is_empty());
    remove_folder(&folder, LONG).unwrap();
    remove_folder(&folder, Duration::ZERO).unwrap();
    kill_folder(Path::new("/sys/fs/cgroup/no-such-group")).unwrap();
}

#[test]
fn a_name_that_is_there_and_one_below_nothing_are_refused() {
    let Some(hierarchies) = or_skip(&[]) else { return };
    let own = TestGroup::new(&hierarchies, &Limits::default());
    assert!(Group::create(&hierarchies, own.0.name(), &Limits::default()).is_err());
    assert!(own.0.paths().iter().all(|path| path.is_dir()), "the first one is as it was");
    let nowhere = format!("barograph.nowhere-{}/unit", std::process::id());
    assert!(Group::create(&hierarchies, &nowhere, &Limits::default()).is_err());
    let mut command = own.0.enter_command();
    command[4] = "/no/such/group/cgroup.procs".to_owned();
    let status =
        Command::new(&command[0]).args(&command[1..]).arg("true").stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(125), "a command does not run outside of its group");
}

#[test]
fn a_meter_goes_on_when_its_group_is_gone() {
    let Some(hierarchies) = or_skip(&[]) else { return };
    let own = TestGroup::new(&hierarchies, &Limits::default());
    let meter = Meter::open(&own.0.paths());
    assert!(!meter.is_empty() && meter.read().cpu.is_some());
    own.0.remove(LONG).unwrap();
    assert_eq!(meter.read().cpu, None);
    assert!(Meter::open(&own.0.paths()).is_empty());
}
