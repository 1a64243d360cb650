//! `barograph compare` on generated records: output, refusals and exit codes.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::going::{ProgramOutput, RunningProgram};
use crate::place::TestFolders;

/// A run to be written, with all that a comparison reads.
struct RunFixture<'k> {
    id: &'k str,
    users: u32,
    /// p99 of the only operation, milliseconds.
    p99_ms: f64,
    valid: bool,
    passed: bool,
    /// Failed operations of 1,000.
    failed: u32,
    cpu: &'k str,
}

const RUN: RunFixture<'static> =
    RunFixture { id: "", users: 100, p99_ms: 100.0, valid: true, passed: true, failed: 0, cpu: "one" };

fn write(place: &TestFolders, kept: &RunFixture<'_>) {
    let dir = place.runs().join(kept.id);
    fs::create_dir_all(&dir).unwrap();
    let plan =
        format!("workload = \"auction\"\nruns = \"{}\"\nseed = 1\n[load]\nusers = {}\n", kept.id, kept.users);
    fs::write(dir.join("plan.toml"), plan).unwrap();
    let told = json!({ "workload": { "name": "auction", "version": 1 }, "host": { "cpu model": kept.cpu } });
    fs::write(dir.join("disclosure.json"), told.to_string()).unwrap();
    fs::write(dir.join("probe.csv"), "at_s,subject\n").unwrap();
    let lines = entries(kept).map(|entry| format!("{entry}\n"));
    fs::write(dir.join("run.jsonl"), lines.concat()).unwrap();
}

fn entries(kept: &RunFixture<'_>) -> [Value; 5] {
    let (id, p99) = (kept.id, kept.p99_ms);
    let started_at =
        format!("{}-{}-{}T{}:{}:{}Z", &id[..4], &id[4..6], &id[6..8], &id[9..11], &id[11..13], &id[13..15]);
    let operation = json!({
        "op": "Look", "count": 1000, "failed": kept.failed, "mix": 1.0, "mix_required": 0.0, "mix_tolerance": 0.0,
        "p50_ms": 1.0, "p90_ms": 2.0, "p99_ms": p99, "max_ms": 200.0, "service_p99_ms": p99, "judged_ms": p99,
        "limit_ms": 500.0, "over_limit": 0.0, "failures_allowed": 0.01, "judged": true, "time_ok": true,
        "mix_ok": true, "failures_ok": true,
    });
    let good = f64::from(1_000 - kept.failed) / 10.0;
    let window = json!({
        "users": kept.users, "from_s": 10.0, "to_s": 20.0, "throughput": good, "goodput": good, "requests_s": 100.0,
        "starts_s": 100.0, "late": 0, "dropped": 0, "skipped": 0, "lag_p50_ms": 0.1, "lag_p99_ms": 0.2, "passed": true,
        "valid": kept.valid, "ops": [operation], "checks": [],
    });
    let result = if kept.valid { "pass" } else { "invalid" };
    [
        json!({ "kind": "header", "v": 2, "id": id, "tool": "barograph 0", "started_at": started_at, "command": "" }),
        json!({ "kind": "expected", "workload": "auction", "profile": "p", "derived": null, "session_op": null, "rules": [{
            "op": "Look", "about": "", "quantile": 0.99, "limit_ms": 500.0, "judged": true, "mix": 0.0,
            "mix_tolerance": 0.0, "failures": 0.01 }] }),
        json!({ "kind": "trial", "n": 1, "purpose": "fixed", "level": kept.users, "result": result, "window": window,
            "resources": { "app_cores": 0.5, "driver_cores": 0.1 } }),
        json!({ "kind": "verdict", "capacity": null, "trial": 1, "passed": kept.passed, "valid": kept.valid, "sentence": "",
            "exit_code": 0, "reasons": ["somebody stole the CPU"], "resources": {}, "search": null }),
        json!({ "kind": "finished" }),
    ]
}

/// A run of two loads, each with the figures of `kept`, the second twice as slow.
fn write_two(place: &TestFolders, kept: &RunFixture<'_>) {
    write(place, kept);
    let dir = place.runs().join(kept.id);
    let of_run =
        entries(kept).into_iter().filter(|entry| ["header", "verdict", "finished"].contains(&kind(entry)));
    let mut of_run: Vec<Value> = of_run.collect();
    of_run.insert(1, json!({ "kind": "loads", "names": ["users", "guests"] }));
    of_run.insert(2, json!({ "kind": "load_started", "at_s": 0.0 }));
    let text = |entries: &[Value]| entries.iter().map(|entry| format!("{entry}\n")).collect::<String>();
    fs::write(dir.join("run.jsonl"), text(&of_run)).unwrap();
    for (name, times) in [("users", 1.0), ("guests", 2.0)] {
        let of_load = entries(&RunFixture { p99_ms: kept.p99_ms * times, ..*kept });
        fs::create_dir_all(dir.join("loads").join(name)).unwrap();
        fs::write(dir.join("loads").join(name).join("run.jsonl"), text(&of_load)).unwrap();
    }
    let plan = format!(
        "seed = 1\n[[loads]]\nname = \"users\"\nload.users = {}\n[[loads]]\nname = \"guests\"\n",
        kept.users
    );
    fs::write(dir.join("plan.toml"), plan).unwrap();
}

fn kind(entry: &Value) -> &str {
    entry["kind"].as_str().unwrap_or_default()
}

#[test]
fn runs_of_several_loads_are_compared_load_by_load() {
    let place = TestFolders::without_data();
    write_two(&place, &RunFixture { id: ONE, ..RUN });
    write_two(&place, &RunFixture { id: OTHER, p99_ms: 130.0, ..RUN });
    let ended = compare(&place, ONE, OTHER, &["--format", "json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told: Value = serde_json::from_str(&ended.out).unwrap();
    let metrics = told["metrics"].as_array().unwrap().iter();
    let found: Vec<(&str, f64)> =
        metrics.map(|m| (m["name"].as_str().unwrap(), m["baseline"].as_f64().unwrap())).collect();
    assert_eq!(
        found,
        [
            ("users/throughput", 100.0),
            ("users/Look p99", 100.0),
            ("guests/throughput", 100.0),
            ("guests/Look p99", 200.0)
        ]
    );
    write_two(&place, &RunFixture { id: "20301120-204500-0003", users: 200, ..RUN });
    let unlike = compare(&place, ONE, "20301120-204500-0003", &[]);
    assert!(unlike.code == Some(2) && unlike.err.contains("loads[0].load.users: 100"), "{unlike:?}");
    let allowed = compare(&place, ONE, "20301120-204500-0003", &["--allow", "loads[0].load"]);
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
}

/// Writes eight runs of each side in turns; `change` alters the candidate's. Returns their names.
fn turns(place: &TestFolders, change: impl Fn(usize, RunFixture<'_>) -> RunFixture<'_>) -> [String; 2] {
    let side = |candidate: usize| -> String {
        let ids: Vec<String> =
            (0..8).map(|i| format!("20301120-18{:02}00-{candidate:04x}", 2 * i + candidate)).collect();
        for (i, id) in ids.iter().enumerate() {
            let kept = RunFixture { id, p99_ms: 100.0 + i as f64, ..RUN };
            write(place, &if candidate == 1 { change(i, kept) } else { kept });
        }
        ids.join(",")
    };
    [side(0), side(1)]
}

/// Writes eight runs of each side in turns, the candidate's p99 `ratio` times the baseline's. Returns their
/// names.
fn in_turns(place: &TestFolders, ratio: f64) -> [String; 2] {
    turns(place, |i, kept| RunFixture { p99_ms: 100.0 * ratio * (1.0 + 0.002 * (i * 3 % 8) as f64), ..kept })
}

fn compare(place: &TestFolders, baseline: &str, candidate: &str, more: &[&str]) -> ProgramOutput {
    let mut command: Command = place.program(&["compare", baseline, candidate]);
    command.args(more);
    RunningProgram::start(command).end()
}

const ONE: &str = "20301120-184500-0001";
const OTHER: &str = "20301120-194500-0002";

#[test]
fn one_run_a_side_is_undecided_and_says_what_to_do() {
    let place = TestFolders::without_data();
    write(&place, &RunFixture { id: ONE, ..RUN });
    write(&place, &RunFixture { id: OTHER, p99_ms: 130.0, cpu: "two", ..RUN });
    let ended = compare(&place, ONE, OTHER, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for words in [
        "+30.0 %",
        "? undecided",
        "another machine: cpu model one and two",
        "Of 2,000 operations none failed",
        "Nothing is known about the noise",
        "Undecided: one run each.",
        "barograph study",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    assert_eq!(compare(&place, ONE, OTHER, &["--strict"]).code, Some(10));
    // By their paths, too.
    let path = |id| place.runs().join(id).display().to_string();
    assert_eq!(compare(&place, &path(ONE), &path(OTHER), &[]).out, ended.out);
}

#[test]
fn pairs_give_verdicts_and_codes() {
    let place = TestFolders::without_data();
    let [baseline, candidate] = in_turns(&place, 1.3);
    let worse = compare(&place, &baseline, &candidate, &["--format", "json"]);
    assert_eq!(worse.code, Some(5), "{worse:?}");
    let told: Value = serde_json::from_str(&worse.out).unwrap();
    assert_eq!(told["counts"], json!({ "worse": 1, "undecided": 0, "equivalent": 3, "better": 0 }));
    let names: Vec<&str> =
        told["metrics"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    let cpu = ["application CPU per operation", "driver CPU per operation"];
    assert_eq!(names, ["throughput", "Look p99", cpu[0], cpu[1]]);
    let look = &told["metrics"][1];
    assert_eq!(
        (&look["finding"], &look["pairs"], &look["margin"]),
        (&json!("worse"), &json!(8), &json!(0.01))
    );
    // Signed ranks of eight pairs of one sign: 2 / 2^8, times four metrics.
    assert_eq!((look["p"].as_f64(), look["p_holm"].as_f64()), (Some(2.0 / 256.0), Some(8.0 / 256.0)));
    assert_eq!(told["warnings"], json!([]));
    // In the other direction it is better, and 40 % does not count with a margin that large.
    assert_eq!(compare(&place, &candidate, &baseline, &["--strict"]).code, Some(0));
    let wide = compare(&place, &baseline, &candidate, &["--margin", "40%", "--strict"]);
    assert!(wide.code == Some(0) && wide.out.contains("4 equivalent"), "{wide:?}");
}

/// From 100 operations per second to none: the largest possible difference.
#[test]
fn a_candidate_that_fails_everything_is_worse() {
    let place = TestFolders::without_data();
    let [baseline, candidate] = turns(&place, |_, kept| RunFixture { failed: 1_000, passed: false, ..kept });
    let ended = compare(&place, &baseline, &candidate, &["--format", "json"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let told: Value = serde_json::from_str(&ended.out).unwrap();
    let throughput = &told["metrics"][0];
    assert_eq!((&throughput["finding"], &throughput["pairs"]), (&json!("worse"), &json!(8)), "{throughput}");
    assert_eq!((&throughput["candidate"], &throughput["ratio"]), (&json!(0.0), &json!(0.0)));
    assert_eq!(told["breaks_rules"], json!(true));
    // CPU per successful operation is unknown if none succeeded.
    let cpu = ["application CPU per operation", "driver CPU per operation"];
    assert_eq!(told["missing"], json!(cpu));
}

#[test]
fn a_candidate_that_broke_rules_or_lacks_a_metric_does_not_pass() {
    let place = TestFolders::without_data();
    let [baseline, candidate] =
        turns(&place, |i, kept| RunFixture { passed: i != 3, failed: u32::from(i == 3), ..kept });
    let broken = compare(&place, &baseline, &candidate, &[]);
    let said = "The candidate broke rules that the baseline kept.";
    assert!(broken.code == Some(5) && broken.out.contains(said), "{broken:?}");
    let junit = compare(&place, &baseline, &candidate, &["--format", "junit"]);
    assert!(junit.out.contains("name=\"rules\"><failure message=\"broken, and the baseline kept all\"/>"));
    // In the other direction the baseline broke a rule.
    assert_eq!(compare(&place, &candidate, &baseline, &[]).code, Some(0));
    write(&place, &RunFixture { id: ONE, ..RUN });
    write(&place, &RunFixture { id: OTHER, passed: false, ..RUN });
    assert_eq!(compare(&place, ONE, OTHER, &[]).code, Some(5), "one run each");
    write(&place, &RunFixture { id: OTHER, ..RUN });
    let file = place.runs().join(OTHER).join("run.jsonl");
    let without = fs::read_to_string(&file).unwrap().replace("\"app_cores\":0.5,", "");
    fs::write(&file, without).unwrap();
    let lacking = compare(&place, ONE, OTHER, &[]);
    let said = "Only one side has: application CPU per operation.";
    assert!(lacking.code == Some(9) && lacking.out.contains(said), "{lacking:?}");
}

#[test]
fn other_forms_for_other_readers() {
    let place = TestFolders::without_data();
    let [baseline, candidate] = in_turns(&place, 1.3);
    let junit = compare(&place, &baseline, &candidate, &["--format", "junit"]);
    assert!(
        junit.code == Some(5) && junit.out.contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"0\""),
        "{junit:?}"
    );
    let page = compare(&place, &baseline, &candidate, &["--format", "markdown"]);
    assert!(page.out.contains("| Look p99 | ms |") && page.out.contains("▼ worse"), "{page:?}");
}

/// Writes a search by posterior with this capacity and interval.
fn write_search(place: &TestFolders, id: &str, (capacity, low, high): (u32, f64, f64), at_least: bool) {
    write(place, &RunFixture { id, ..RUN });
    let file = place.runs().join(id).join("run.jsonl");
    let estimate = json!({
        "capacity": capacity, "low": low, "high": high, "safe": low as u32, "beyond": if at_least { 0.6 } else { 0.0 },
        "softness": 0.01, "spurious": 0.02, "curve": [], "valid": 15, "invalid": 0, "confirmation": null, "above": null,
        "cross_check": null, "repeats": null,
    });
    let search = json!({
        "highest_pass": capacity, "lowest_fail": capacity + 100, "bounded_by": "a higher level failed",
        "at_least": at_least, "trials": 15, "confirmed": true, "method": "posterior", "estimate": estimate,
    });
    let lines = fs::read_to_string(&file).unwrap();
    let changed = lines.lines().map(|line| {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        if entry["kind"] == "verdict" {
            (entry["capacity"], entry["search"]) = (json!(capacity), search.clone());
        }
        format!("{entry}\n")
    });
    fs::write(&file, changed.collect::<String>()).unwrap();
}

#[test]
fn two_searches_are_held_against_each_other_by_their_intervals() {
    let place = TestFolders::without_data();
    write_search(&place, ONE, (11_100, 10_800.0, 11_400.0), false);
    write_search(&place, OTHER, (10_200, 10_000.0, 10_400.0), false);
    let apart = compare(&place, ONE, OTHER, &[]);
    assert_eq!(apart.code, Some(0), "{apart:?}");
    for words in [
        "11,100 (10,800 to 11,400)",
        "10,200 (10,000 to 10,400)",
        "? undecided",
        "Undecided: the two searches differ by more than their trials leave open (capacity −8.1 %, 95 % interval ",
        "what the trials of these two searches leave open",
    ] {
        assert!(apart.out.contains(words), "{words}: {}", apart.out);
    }
    let told: Value = serde_json::from_str(&compare(&place, ONE, OTHER, &["--format", "json"]).out).unwrap();
    assert_eq!(told["metrics"][0]["believed"]["candidate"]["low"], json!(10_000.0));
    let strict = compare(&place, OTHER, ONE, &["--strict"]);
    assert_eq!(strict.code, Some(10), "{strict:?}");
    // Nothing above the capacity was tried, so it may be anything from there on.
    write_search(&place, OTHER, (10_200, 10_100.0, 12_700.0), true);
    let open = compare(&place, ONE, OTHER, &["--strict"]);
    assert_eq!(open.code, Some(10), "{open:?}");
    for words in ["10,200 (10,100 or more)", "Undecided: capacity −8.1 %", "its capacity is 10,200 at least"]
    {
        assert!(open.out.contains(words), "{words}: {}", open.out);
    }
}

#[test]
fn runs_without_a_figure_in_common_are_no_success() {
    let place = TestFolders::without_data();
    write(&place, &RunFixture { id: ONE, ..RUN });
    write_search(&place, OTHER, (10_200, 10_000.0, 10_400.0), false);
    for more in [&[][..], &["--strict"]] {
        let ended = compare(&place, ONE, OTHER, more);
        assert!(ended.code == Some(9) && ended.out.contains("Only one side has: throughput"), "{ended:?}");
    }
}

#[test]
fn several_searches_a_side_are_pairs_and_each_pair_says_what_it_knows() {
    let place = TestFolders::without_data();
    let side = |candidate: u32| -> String {
        let ids: Vec<String> =
            (0..6).map(|i| format!("20301120-18{:02}00-{candidate:04x}", 2 * i + candidate)).collect();
        for (i, id) in (0..).zip(&ids) {
            let capacity = 10_000 + 1_000 * candidate + 10 * i;
            let low = f64::from(capacity) - 200.0;
            write_search(&place, id, (capacity, low, low + 400.0), false);
        }
        ids.join(",")
    };
    let ended = compare(&place, &side(0), &side(1), &[]);
    assert!(ended.code == Some(0) && ended.out.contains("1 better (of 1 metric, 6 pairs"), "{ended:?}");
    assert!(ended.out.contains("Pair 6 by itself: 11,050 (10,850 to 11,250) against 10,050"), "{ended:?}");
}

/// All searches ended at the highest level allowed: equal figures say nothing about the capacities.
#[test]
fn capacities_that_are_only_bounds_are_neither_the_same_nor_less() {
    let place = TestFolders::without_data();
    let side = |minute: u32, capacity: u32, is_bound: bool| -> String {
        let ids: Vec<String> =
            (0..6).map(|i| format!("20301120-18{:02}00-{minute:04x}", 2 * i + minute)).collect();
        for id in &ids {
            let (low, high) = (f64::from(capacity) - 200.0, f64::from(capacity) + 200.0);
            write_search(&place, id, (capacity, low, high), is_bound);
        }
        ids.join(",")
    };
    let (baseline, same) = (side(0, 10_000, true), side(1, 10_000, true));
    let found = compare(&place, &baseline, &same, &["--strict"]);
    assert!(found.code == Some(10) && found.out.contains("1 undecided (of 1 metric, 6 pairs"), "{found:?}");
    let less = compare(&place, &baseline, &side(1, 9_000, true), &[]);
    assert!(less.code == Some(0) && less.out.contains("1 undecided"), "{less:?}");
    // A capacity that is not a bound may be less than one that is.
    let surely = compare(&place, &baseline, &side(1, 9_000, false), &[]);
    assert!(surely.code == Some(5) && surely.out.contains("1 worse"), "{surely:?}");
}

#[test]
fn unlike_runs_are_refused_key_by_key_unless_allowed() {
    let place = TestFolders::without_data();
    write(&place, &RunFixture { id: ONE, ..RUN });
    write(&place, &RunFixture { id: OTHER, users: 200, ..RUN });
    let refused = compare(&place, ONE, OTHER, &[]);
    let expected = format!(
        "barograph: compare `{ONE}` with `{OTHER}`: they differ in what was not allowed to differ\n  load.users: 100 in the \
         baseline, 200 in the candidate\nIf that is what is compared, allow it: --allow load.users\n"
    );
    assert_eq!((refused.code, refused.err), (Some(2), expected));
    assert_eq!(refused.out, "");
    assert_eq!(compare(&place, ONE, OTHER, &["--allow", "seed,load"]).code, Some(0));
}

#[test]
fn what_cannot_be_believed_is_left_out_and_named() {
    let place = TestFolders::without_data();
    let [baseline, candidate] = in_turns(&place, 1.3);
    let bad = candidate.split(',').next().unwrap();
    write(&place, &RunFixture { id: bad, valid: false, ..RUN });
    let rest = compare(&place, &baseline, &candidate, &[]);
    let said =
        format!("a pair is left out: {bad} is not valid, its figures say nothing: somebody stole the CPU");
    assert!(rest.out.contains(&said) && rest.out.contains("7 pairs"), "{rest:?}");
    let alone = compare(&place, baseline.split(',').next().unwrap(), bad, &[]);
    assert!(alone.code == Some(9) && alone.err.contains("no pair can be used"), "{alone:?}");
}

#[test]
fn runs_that_make_no_pairs_or_are_not_there() {
    let place = TestFolders::without_data();
    write(&place, &RunFixture { id: ONE, ..RUN });
    write(&place, &RunFixture { id: OTHER, ..RUN });
    let odd = compare(&place, &format!("{ONE},{OTHER}"), ONE, &[]);
    assert!(
        odd.code == Some(2) && odd.err.contains("pair 2 runs of the baseline with 1 of the candidate"),
        "{odd:?}"
    );
    let none = compare(&place, ONE, "20301120-184500-dead", &[]);
    let missing = Path::new("runs/20301120-184500-dead/run.jsonl").display().to_string();
    assert!(none.code == Some(2) && none.err.contains(&missing), "{none:?}");
}
