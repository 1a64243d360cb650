//! Snapshots of loaded stores: every run begins with the same bytes, and an incomplete snapshot is never
//! used.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use barograph_record::{Run, SnapshotRecord};
use barograph_testkit::one_of;
use rustix::process::Signal;

use crate::data::shared_data;
use crate::deployments::{like, nothing_left, plan, possible, sound};
use crate::going::{RunningProgram, until};
use crate::place::TestFolders;

/// A place with the shared data and snapshots of its own.
fn place() -> TestFolders {
    let place = TestFolders::without_data();
    fs::create_dir(place.data()).unwrap();
    for entry in fs::read_dir(shared_data()).unwrap().flatten() {
        if entry.file_name() != "snapshots" {
            std::os::unix::fs::symlink(entry.path(), place.data().join(entry.file_name())).unwrap();
        }
    }
    place
}

fn snapshots(place: &TestFolders) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.data().join("snapshots")).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Every file below a folder with its content, without the time of a snapshot's last use.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

fn kept(run: &Run) -> &SnapshotRecord {
    run.topology()
        .unwrap()
        .snapshot
        .as_ref()
        .unwrap_or_else(|| panic!("{:?}", run.notes().collect::<Vec<_>>()))
}

fn has_load_job(run: &Run) -> bool {
    run.topology().unwrap().parts.iter().any(|part| part.name == "load-1")
}

/// The latest of all runs, once `going` has ended as it should.
fn ended_well(place: &TestFolders, going: RunningProgram) -> Run {
    let ended = going.end();
    let run = Run::open(place.records().last().unwrap()).unwrap();
    sound(&run, &ended);
    run
}

/// Output of `check` on the stores.
fn outlook(place: &TestFolders, more: &[&str]) -> String {
    let mut command = place.checks(&plan("auction.toml"));
    for set in like("minimal", "process").iter().map(String::as_str).chain(more.iter().copied()) {
        command.args(["--set", set]);
    }
    let checked = RunningProgram::start(command).end();
    let line = checked.out.lines().find_map(|line| line.strip_prefix("stores    "));
    line.unwrap_or_else(|| panic!("{checked:?}")).to_owned()
}

#[test]
fn runs_begin_with_the_same_stores_whoever_loaded_them() {
    let place = place();
    let sets = like("minimal", "process");
    if !possible(&place, &sets) {
        return;
    }
    assert!(outlook(&place, &[]).starts_with("loaded, and kept for later runs in "));
    // Two at the same time: both load, and one of them is done first.
    let both = [0, 1].map(|_| RunningProgram::start(place.run(None, &sets)));
    let ended = both.map(RunningProgram::end);
    let first: Vec<Run> = place.records().iter().map(|dir| Run::open(dir).unwrap()).collect();
    first.iter().for_each(|run| sound(run, &ended[0]));
    let [whole] = &snapshots(&place)[..] else { panic!("{:?}", snapshots(&place)) };
    let before = contents(whole);
    assert!(before.keys().any(|path| path.ends_with("units/relational-1/PG_VERSION")));
    let makers: Vec<&Run> = first.iter().filter(|run| run.topology().unwrap().snapshot.is_some()).collect();
    assert!((1..=2).contains(&makers.len()), "whoever came second found it, or was told that it is there");
    let maker = makers.iter().find(|run| !kept(run).reused).unwrap();
    assert!(has_load_job(maker) && kept(maker).load_s > 0.0 && kept(maker).bytes > 1_000_000);
    for _ in 0..2 {
        let run = ended_well(&place, RunningProgram::start(place.run(None, &sets)));
        let snapshot = kept(&run);
        assert!(snapshot.reused && !has_load_job(&run));
        assert_eq!((&snapshot.key, &snapshot.made_by), (&kept(maker).key, &maker.header.id));
        assert!(run.notes().any(|(_, text)| text.contains("of loading are left out")));
        assert!(contents(whole) == before, "the run that began with it has changed it");
    }
    let there = format!("as run {} loaded them", maker.header.id);
    assert!(outlook(&place, &[]).starts_with(&there));
    for other in ["deploy.flavour=vanilla", "data.history=0.2", "seed=2", "deploy.relational_memory_mib=900"]
    {
        assert!(outlook(&place, &[other]).starts_with("loaded, and kept for later runs"), "{other}");
    }
    assert!(
        outlook(&place, &["platform=namespace"]).starts_with(&there),
        "folders lie there as they do here"
    );
    assert!(outlook(&place, &["data.snapshots=0"]).starts_with("loaded in every run"));
    assert!(
        outlook(&place, &["platform=vm"]).contains("on platform vm their folders are not on this machine")
    );
    let clean = ["clean", "--snapshots", "--data", place.data().to_str().unwrap()];
    let cleaned = RunningProgram::start(place.program(&clean)).end();
    assert_eq!(cleaned.out, format!("removed snapshot {}\n", whole.display()));
    assert!(snapshots(&place).is_empty());
    nothing_left(&place);
}

#[test]
fn half_a_snapshot_is_removed_and_the_next_run_makes_a_whole_one() {
    let place = place();
    let sets = like("minimal", "process");
    if !possible(&place, &sets) {
        return;
    }
    // Meeting it in progress takes luck within milliseconds, so it is tried repeatedly.
    one_of(40, || {
        let going = RunningProgram::start(place.run(None, &sets));
        until("a snapshot that is being written", || (!snapshots(&place).is_empty()).then_some(()));
        going.signal(Signal::KILL);
        assert_eq!(going.end().code, None);
        until("the end of all processes", || place.processes().is_empty().then_some(()));
        let found = snapshots(&place);
        if found.iter().any(|path| path.to_string_lossy().ends_with(".part")) {
            return Ok(());
        }
        for whole in &found {
            fs::remove_dir_all(whole).unwrap();
        }
        Err(format!("it was not met while it wrote, and left {found:?}"))
    });
    assert!(outlook(&place, &[]).starts_with("loaded, and kept for later runs"), "half a one is none");
    let run = ended_well(&place, RunningProgram::start(place.run(None, &sets)));
    assert!(!kept(&run).reused);
    let [whole] = &snapshots(&place)[..] else { panic!("{:?}", snapshots(&place)) };
    assert!(whole.join("snapshot.json").is_file());
    let cleaned = RunningProgram::start(place.program(&["clean"])).end();
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    nothing_left(&place);
}

#[test]
fn a_standby_and_shared_pictures_come_back_with_the_stores() {
    let place = place();
    let mut sets = like("full", "process");
    let more = ["deploy.standby=true", "deploy.events=ferretdb", "deploy.bus=nats", "deploy.flavour=tuned"];
    sets.extend(more.map(str::to_owned));
    if !possible(&place, &sets) {
        return;
    }
    for reused in [false, true] {
        let run = ended_well(&place, RunningProgram::start(place.run(None, &sets)));
        let snapshot = kept(&run);
        assert_eq!(snapshot.reused, reused);
        assert_eq!(snapshot.parts, ["events-1", "relational-1"]);
        assert!(run.topology().unwrap().parts.iter().any(|part| part.name == "relational-2"));
    }
    let [whole] = &snapshots(&place)[..] else { panic!("{:?}", snapshots(&place)) };
    assert!(whole.join("folders/pictures/full").is_dir());
    nothing_left(&place);
}
