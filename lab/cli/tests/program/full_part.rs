//! The disk of one part is full during the load, and free again; other disks of the machine are not affected.

use std::fs;

use barograph_record::{ActionRecord, Run};
use barograph_testkit::one_of;
use rustix::process::Signal;

use crate::deployments::{like, nothing_left, possible};
use crate::going::{RunningProgram, until};
use crate::place::TestFolders;

/// Times at which the disk is filled and freed, in seconds of the load.
const FULL_FROM: f64 = 4.0;
const FREE_FROM: f64 = 18.0;

/// Largest number of tries.
const TRIES: usize = 3;

fn faults(part: &str) -> String {
    format!(
        "actions=[{{at_s={FULL_FROM},unit=\"{part}\",act=\"fill-disk\"}},\
         {{at_s={FREE_FROM},unit=\"{part}\",act=\"free-disk\"}},\
         {{at_s={},unit=\"{part}\",act=\"start\"}}]",
        FREE_FROM + 0.5
    )
}

/// Operations that write.
const WRITING: [&str; 2] = ["Login", "JoinAuction"];

/// Writing operations that ended in these seconds of the load: successful and failed.
fn ended(run: &Run, from: f64, to: f64) -> (u64, u64) {
    let within = run.intervals().filter(|interval| interval.from_s >= from && interval.to_s <= to);
    let ops = within.flat_map(|interval| &interval.ops).filter(|op| WRITING.contains(&op.op.as_str()));
    ops.fold((0, 0), |(well, failed), op| (well + op.count - op.failed, failed + op.failed))
}

/// PostgreSQL cannot write for some seconds. It may end, depending on what it had to write, and is started
/// again then. Returns what came too late, in words; `None` if this machine lacks a requirement.
fn fills_up_and_is_freed(platform: &str) -> Option<Vec<String>> {
    let place = TestFolders::new();
    let mut sets = like("minimal", platform);
    sets.extend(["load.users=60", "load.window_s=30"].map(str::to_owned));
    sets.push("deploy.relational_disk_mib=512".to_owned());
    sets.push(faults("relational-1"));
    if !possible(&place, &sets) {
        return None;
    }
    let going = RunningProgram::start(place.run(None, &sets));
    going.says("relational-1 has a file system of its own of 512 MiB");
    let ended_as = going.end();
    let run = place.record();
    assert!(run.complete && run.interrupted().is_none() && run.damage.is_empty(), "{ended_as:?}");
    let kept: Vec<&ActionRecord> = run.actions().collect();
    assert!(kept[0].act.starts_with("fill-disk: ") && kept[0].failed.is_none(), "{kept:?}");
    assert!(kept[1].act == "free-disk" && kept[1].failed.is_none(), "{kept:?}");
    let again = kept[2].failed.as_deref();
    assert!(kept[2].act == "start" && again.is_none_or(|why| why.starts_with("it runs")), "{kept:?}");
    let (before, during) = (ended(&run, 0.0, FULL_FROM), ended(&run, FULL_FROM, FREE_FROM));
    assert_eq!(before.1, 0, "{before:?}");
    let last = run.intervals().map(|interval| interval.to_s).fold(0.0, f64::max);
    // The first second may still contain operations that began before the disk was free and the service
    // ready.
    let ready = kept[1..3].iter().map(|fault| fault.at_s + fault.took_s).fold(0.0, f64::max);
    let after = ended(&run, ready + 1.5, last);
    let in_time = [
        ("nothing succeeds before the disk is full", before.0 > 0),
        ("nothing failed on a full disk", during.1 > 0),
        ("nothing succeeds on a disk that is free again", after.0 > 0 && after.1 == 0),
    ];
    let missed: Vec<String> = in_time
        .iter()
        .filter(|(_, seen)| !seen)
        .map(|(what, _)| format!("{what}: {before:?}, {during:?}, {after:?}"))
        .collect();
    if !missed.is_empty() {
        nothing_left(&place);
        return Some(missed);
    }
    // Failures count, so it did not pass; the data checks afterwards were made and reported.
    let verdict = run.verdict().unwrap();
    assert!(!verdict.passed && ended_as.code != Some(0), "{verdict:?}");
    assert!(run.phases().iter().any(|phase| phase.phase == "verify" && phase.outcome.is_some()));
    let about_data = verdict.reasons.iter().any(|reason| reason.contains("data"));
    assert!(about_data || verdict.reasons.iter().any(|reason| reason.contains("failed")), "{verdict:?}");
    let log = fs::read_to_string(run.dir.join("services/relational-1.log")).unwrap();
    assert!(log.contains("No space left on device"), "{log}");
    nothing_left(&place);
    Some(missed)
}

/// Users write rarely, so their operations in these seconds and the time to recovery are judged in one of
/// several tries: a busy machine can only make them later.
fn postgresql_fills_up_on(platform: &str) {
    one_of(TRIES, || match fills_up_and_is_freed(platform) {
        Some(missed) if !missed.is_empty() => Err(missed.join("; ")),
        Some(_) | None => Ok(()),
    });
}

#[test]
fn postgresql_fills_up_as_a_process() {
    postgresql_fills_up_on("process");
}

#[test]
fn postgresql_fills_up_in_a_namespace() {
    postgresql_fills_up_on("namespace");
}

#[test]
fn postgresql_fills_up_in_a_container() {
    postgresql_fills_up_on("container");
}

#[test]
fn a_full_disk_of_a_killed_program_is_cleaned() {
    let place = TestFolders::new();
    let mut sets = like("minimal", "process");
    sets.push("load.window_s=600".to_owned());
    sets.push("actions=[{at_s=1,unit=\"relational-1\",act=\"fill-disk\"}]".to_owned());
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(None, &sets));
    going.says("action: fill-disk: ");
    going.signal(Signal::KILL);
    assert_eq!(going.end().code, None);
    // Things that still end by themselves may keep `clean` from some others, which the next one finds.
    let mut removed = String::new();
    until("a broom that finds everything", || {
        let cleaned = RunningProgram::start(place.program(&["clean"])).end();
        removed.push_str(&cleaned.out);
        (cleaned.code == Some(0) && !cleaned.out.contains("still running")).then_some(())
    });
    assert!(removed.contains("removed mount "), "{removed}");
    until("the end of all processes", || place.processes().is_empty().then_some(()));
    nothing_left(&place);
}

#[test]
fn a_platform_without_such_disks_refuses_the_fault() {
    let place = TestFolders::new();
    let mut sets = like("minimal", "container-in-vm");
    sets.push(faults("relational-1"));
    let ended = RunningProgram::start(place.run(None, &sets)).end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for wanted in ["`actions[0].act` = \"fill-disk\"", "whose parts can have file systems of their own"] {
        assert!(ended.err.contains(wanted), "{}", ended.err);
    }
}
