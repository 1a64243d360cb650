//! Namespaces for a user without root: the program starts itself again, with no other visible difference.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use barograph_record::Run;
use barograph_test_services::skip;
use rustix::process::Signal;

use crate::deployments::{like, nothing_left};
use crate::going::{RunningProgram, until};
use crate::place::TestFolders;

/// An unprivileged user.
const USER: u32 = 65_534;

/// A place that belongs to the user, with a copy of the shared data beside it.
fn place() -> Option<TestFolders> {
    if !rustix::process::geteuid().is_root() {
        skip("another user can only be taken by root");
        return None;
    }
    let place = TestFolders::with_data_of_its_own();
    // Users usually may reach their own folder and the program.
    for folder in
        [place.root(), Path::new(env!("CARGO_BIN_EXE_barograph"))].iter().flat_map(|p| p.ancestors())
    {
        let mode = fs::metadata(folder).unwrap().mode();
        if mode & 0o5 != 0o5 {
            if !folder.starts_with(place.root()) {
                skip(&format!("user {USER} may not see {}", folder.display()));
                return None;
            }
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let owned = Command::new("chown").args(["-R", &format!("{USER}:{USER}")]).arg(place.root()).status();
    assert!(owned.unwrap().success());
    Some(place)
}

/// The command as that user.
fn as_user(command: &Command) -> Command {
    let mut other = Command::new("setpriv");
    let (user, group) = (format!("--reuid={USER}"), format!("--regid={USER}"));
    other.args([&user, &group, "--clear-groups", "--"]);
    other.arg(command.get_program()).args(command.get_args());
    other.current_dir(command.get_current_dir().unwrap());
    other
}

/// Whether this user can make the deployment; prints what is missing if not.
fn possible(place: &TestFolders, sets: &[String]) -> bool {
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/auction-minimal.toml");
    let mut command = place.checks(&plan.canonicalize().unwrap());
    for set in sets {
        command.args(["--set", set]);
    }
    let checked = RunningProgram::start(as_user(&command)).end();
    if let Some(missing) = checked.out.lines().find(|line| line.starts_with("missing ")) {
        skip(missing);
        return false;
    }
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains("inside a user namespace: no limits by control groups"), "{}", checked.out);
    true
}

/// Checks that every file of a run belongs to the user.
fn belongs_to_the_user(run: &Run) {
    let mut folders = vec![run.dir.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let facts = entry.metadata().unwrap();
            assert_eq!(facts.uid(), USER, "{}", entry.path().display());
            if facts.is_dir() {
                folders.push(entry.path());
            }
        }
    }
}

fn runs(topology: &str) {
    let Some(place) = place() else { return };
    let sets = like(topology, "namespace");
    if !possible(&place, &sets) {
        return;
    }
    let ended = RunningProgram::start(as_user(&place.run(None, &sets))).end();
    let run = place.record();
    let verdict = run.verdict().unwrap_or_else(|| panic!("{ended:?}"));
    assert_eq!(ended.code, Some(verdict.exit_code.into()), "{ended:?}");
    // A load of seconds does not reach the plan's mix, so it did not pass.
    assert!(run.complete && run.interrupted().is_none(), "{ended:?}");
    assert_eq!(run.intervals().flat_map(|interval| &interval.ops).map(|op| op.failed).sum::<u64>(), 0);
    let facts = &run.topology().unwrap().facts;
    let fact = |name: &str| facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert_eq!(fact("network rights"), Some("a user namespace"));
    assert_eq!(fact("units are held together by"), Some("namespaces of processes"));
    assert!(run.intervals().flat_map(|interval| &interval.ops).map(|op| op.count).sum::<u64>() > 0);
    belongs_to_the_user(&run);
    nothing_left(&place);
}

#[test]
fn a_node_alone_runs_in_a_namespace_without_root() {
    runs("embedded");
}

#[test]
fn a_node_on_postgresql_runs_in_namespaces_without_root() {
    runs("minimal");
}

#[test]
fn a_signal_reaches_the_program_inside_and_its_code_comes_back() {
    let Some(place) = place() else { return };
    let mut sets = like("embedded", "namespace");
    if !possible(&place, &sets) {
        return;
    }
    sets.push("load.window_s=600".to_owned());
    let going = RunningProgram::start(as_user(&place.run(None, &sets)));
    going.enters("hold");
    going.signal(Signal::INT);
    let ended = going.end();
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert!(place.record().complete);
    nothing_left(&place);
}

#[test]
fn what_a_killed_program_leaves_is_cleaned_by_its_user() {
    let Some(place) = place() else { return };
    let mut sets = like("minimal", "namespace");
    if !possible(&place, &sets) {
        return;
    }
    sets.push("load.window_s=600".to_owned());
    let going = RunningProgram::start(as_user(&place.run(None, &sets)));
    going.enters("hold");
    going.signal(Signal::KILL);
    assert_eq!(going.end().code, None);
    until("a broom that finds everything", || {
        let cleaned = RunningProgram::start(as_user(&place.program(&["clean"]))).end();
        (cleaned.code == Some(0) && !cleaned.out.contains("still running")).then_some(())
    });
    until("the end of all processes", || place.processes().is_empty().then_some(()));
    nothing_left(&place);
}

#[test]
fn a_live_page_that_nobody_could_reach_is_refused() {
    let Some(place) = place() else { return };
    let mut command = place.run(None, &like("embedded", "namespace"));
    command.args(["--live", "--export-to", "prometheus=http://127.0.0.1:9090"]);
    let ended = RunningProgram::start(as_user(&command)).end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for said in ["`--live`", "`--export-to`", "runs that stay in the machine's network"] {
        assert!(ended.err.contains(said), "{}", ended.err);
    }
    assert_eq!(place.records().len(), 0);
}

#[test]
fn limits_that_cannot_be_kept_are_missing_before_anything_runs() {
    let Some(place) = place() else { return };
    let mut sets = like("embedded", "namespace");
    if !possible(&place, &sets) {
        return;
    }
    sets.push("deploy.application_cpus=0.5".to_owned());
    let ended = RunningProgram::start(as_user(&place.run(None, &sets))).end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("cannot be limited without control groups"), "{}", ended.err);
    assert_eq!(place.records().len(), 0);
}
