//! `barograph job` and `barograph sort`: real commands with known ends, comparisons, interrupts; results of sorts.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::Value;

use crate::going::{ProgramOutput, RunningProgram};
use crate::http::result;
use crate::place::TestFolders;

/// Runs a load command with these words.
fn load(place: &TestFolders, words: &[&str]) -> ProgramOutput {
    let mut command = place.program(words);
    command.env("TMPDIR", place.root());
    RunningProgram::start(command).end()
}

fn measure(result: &Value, name: &str) -> f64 {
    let measures = result["measures"].as_array().unwrap();
    let measure = measures.iter().find(|measure| measure["measure"] == name).unwrap();
    measure["value"].as_f64().unwrap()
}

fn operation<'r>(result: &'r Value, name: &str) -> &'r Value {
    let all = result["operations"].as_array().unwrap();
    all.iter().find(|operation| operation["operation"] == name).unwrap_or_else(|| panic!("{name}: {result}"))
}

#[test]
fn a_command_is_run_ten_times_with_its_figures() {
    let place = TestFolders::without_data();
    let record = place.root().join("kept");
    let kept = record.to_str().unwrap();
    let script = "echo said; head -c 30000000 /dev/zero | tail -c 30000000 > /dev/null";
    let words =
        ["job", "--json", "-q", "--keep-record", kept, "--warm-up-runs", "2", "--", "sh", "-c", script];
    let result = result(&load(&place, &words), 0);
    assert_eq!(
        (&operation(&result, "Run")["count"], &operation(&result, "WarmUp")["count"]),
        (&10.into(), &2.into())
    );
    assert!(measure(&result, "run_s") > 0.001 && measure(&result, "run_peak_mib") > 25.0, "{result}");
    assert!(measure(&result, "run_user_s") + measure(&result, "run_system_s") > 0.001, "{result}");
    assert!(result.get("comparisons").is_none());
    let folder = fs::read_dir(&record).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(folder.join("Run.output.txt")).unwrap(), "said\n");
    let table = fs::read_to_string(folder.join("runs.csv")).unwrap();
    assert_eq!(table.lines().count(), 11, "a head and a line for each run that counts: {table}");
    assert!(
        table.lines().skip(1).all(|line| line.contains(",Run,") && line.ends_with("exit code 0,5,0")),
        "{table}"
    );
}

/// One command sleeps, the other five times as long: no noise of a machine hides that in ten pairs.
#[test]
fn commands_are_compared_round_by_round() {
    let place = TestFolders::without_data();
    let words =
        ["job", "sleep 0.02", "sleep 0.1", "sleep 0.02", "--name", "short", "--name", "long", "-n", "12"];
    let ended = load(&place, &[&words[..], &["--json", "-q"]].concat());
    let result = result(&ended, 0);
    let [long, same] = &result["comparisons"].as_array().unwrap()[..] else { panic!("{result}") };
    assert_eq!((&long["baseline"], &long["candidate"]), (&"short".into(), &"long".into()));
    let elapsed = &long["metrics"][0];
    assert_eq!((&elapsed["name"], &elapsed["pairs"]), (&"elapsed time".into(), &12.into()));
    assert_eq!(elapsed["finding"], "worse", "{elapsed}");
    assert!(elapsed["low"].as_f64().unwrap() > 1.0, "{elapsed}");
    assert_eq!(same["candidate"], "Run3");
    let text = load(&place, &[&words[..], &["-q"]].concat());
    assert!(text.out.contains("baseline   short\ncandidate  long"), "{}", text.out);
}

#[test]
fn a_failing_command_is_told_with_the_end_of_its_output() {
    let place = TestFolders::without_data();
    let words = ["job", "-n", "3", "--failure-pause", "0", "-q", "--shell", "echo no luck >&2; exit 3"];
    let ended = load(&place, &words);
    assert!(matches!(ended.code, Some(4 | 9)), "{ended:?}");
    assert!(ended.out.contains("Run refused: exit code 3 (3 times; it began: no luck)"), "{}", ended.out);
    let taken = load(&place, &[&words[..], &["--any-exit-code"]].concat());
    assert!(matches!(taken.code, Some(0 | 9)), "{taken:?}");
    let missing = load(&place, &["job", "-n", "1", "-q", "--", "/no/such/program"]);
    assert!(missing.out.contains("driver fault: not started: No such file"), "{}", missing.out);
}

#[test]
fn an_interrupt_and_a_kill_leave_no_process() {
    for signal in [Signal::INT, Signal::KILL] {
        let place = TestFolders::without_data();
        let pipe = place.root().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let script =
            format!("setsid sh -c 'echo $$ > {0}; exec sleep 1000' & echo $$ > {0}; wait", pipe.display());
        let mut command = place.program(&["job", "-n", "1", "-q", "--", "sh", "-c", &script]);
        command.env("TMPDIR", place.root());
        let going = RunningProgram::start(command);
        let mut pids = String::new();
        while pids.lines().count() < 2 {
            // Each writer may come when the other has closed.
            pids.push_str(&fs::read_to_string(&pipe).unwrap());
        }
        going.signal(signal);
        let ended = going.end();
        assert!(signal == Signal::KILL || ended.code == Some(7), "{ended:?}");
        for pid in pids.lines() {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            crate::going::until("the end of the command", || test_kill_process(pid).is_err().then_some(()));
        }
    }
}

#[test]
fn records_are_sorted_and_validated_and_nothing_is_left() {
    let place = TestFolders::without_data();
    let folder = place.root().join("data");
    fs::create_dir(&folder).unwrap();
    let words = ["--records", "50000", "--memory-mib", "1", "-n", "2", "--json", "-q"];
    let ended = load(&place, &[&["sort", folder.to_str().unwrap()][..], &words[..]].concat());
    let result = result(&ended, 0);
    for step in ["Generate", "Sort", "Validate"] {
        assert_eq!(
            (&operation(&result, step)["count"], &operation(&result, step)["errors"]),
            (&2.into(), &0.into())
        );
    }
    assert!(measure(&result, "sort_s") > 0.0 && measure(&result, "sorted_mb_per_s") > 0.0, "{result}");
    let [read, written] = ["sort_read_mb", "sort_written_mb"].map(|name| measure(&result, name));
    assert!(read >= 10.0 && read.fract() == 0.0 && read == written, "5 MB in several passes: {result}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_disk_that_is_too_small_is_told_before_anything_is_written() {
    let place = TestFolders::without_data();
    let ended = load(&place, &["sort", place.root().to_str().unwrap(), "--records", "1000000000000"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.err.contains("`sort.records`") && ended.err.contains("files of 300000.00 GB"),
        "{}",
        ended.err
    );
}
