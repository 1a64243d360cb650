//! Sorts by jobs on clusters: right results, a lost worker, a failing job, and nothing left.

use std::path::{Path, PathBuf};

use barograph_record::Run;

use crate::deployments::nothing_left;
use crate::going::{ProgramOutput, RunningProgram};
use crate::http::result;
use crate::place::TestFolders;
use crate::plans::{command, lacks};

fn plan(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans").join(name)
}

/// Keys of a run of one sort on two workers.
fn keys(more: &[&str]) -> Vec<String> {
    let keys = [
        "load.operations=3",
        "driver.interval_ms=250",
        "driver.timeout_s=600",
        "deploy.workers=2",
        "sort.threads=2",
        "sort.memory_mib=1024",
    ];
    keys.iter().chain(more).map(|key| (*key).to_owned()).collect()
}

/// A run that ended; `None` where the engine is missing.
fn ran(name: &str, more: &[&str]) -> Option<(TestFolders, Run, ProgramOutput)> {
    let (place, plan, sets) = (TestFolders::without_data(), plan(name), keys(more));
    if lacks(&place, &plan, &sets) {
        return None;
    }
    let ended = RunningProgram::start(command(&place, "run", &plan, &sets)).end();
    let run = place.record();
    nothing_left(&place);
    assert!(!run.dir.join("common").exists(), "the files of the job are removed");
    Some((place, run, ended))
}

/// Operations that ended, and those of them that failed.
fn counts(run: &Run) -> (u64, u64) {
    let all = run.intervals().flat_map(|interval| &interval.ops);
    all.fold((0, 0), |(count, failed), op| (count + op.count, failed + op.failed))
}

#[test]
fn one_line_sorts_on_a_cluster() {
    let place = TestFolders::without_data();
    if lacks(&place, &plan("sort-spark.toml"), &[]) {
        return;
    }
    let options = "--threads 1 --memory-mib 512 --records 20000 -n 1 --timeout 600 --json -q --flush";
    let words: Vec<&str> = ["sort", "--engine", "spark"].into_iter().chain(options.split(' ')).collect();
    let mut command = place.program(&words);
    command.env("TMPDIR", place.root());
    let ended = RunningProgram::start(command).end();
    let result = result(&ended, 0);
    let measures = result["measures"].as_array().unwrap();
    let value = |name: &str| {
        let found = measures.iter().find(|measure| measure["measure"] == name);
        found.map(|measure| measure["value"].as_f64().unwrap())
    };
    assert!(value("sort_s").unwrap() > 0.5 && value("client_cpu_s").unwrap() > 0.1, "{result}");
    let overhead = value("overhead_percent").unwrap();
    assert!(overhead > 0.0 && overhead < 100.0, "{result}");
    assert_eq!(value("sort_read_mb"), None, "passes are those of this program: {result}");
    let left = std::fs::read_dir(place.root()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().starts_with("barograph-")).count(), 0);
}

/// Jobs that lose a worker are done again by the other one, or fail with a reason.
fn loses_a_worker(name: &str) {
    let kill = "actions=[{ at_s = 8, unit = \"worker-2\", act = \"kill\" }]";
    // Records for longer than the moment of the kill.
    let Some((_, run, ended)) = ran(name, &["sort.records=3000000", kill]) else { return };
    let actions: Vec<_> = run.actions().collect();
    assert!(actions.len() == 1 && actions[0].failed.is_none(), "{actions:?} {ended:?}");
    match counts(&run) {
        (3, 0) => {}
        (_, failed) => {
            assert!(failed > 0, "{ended:?}");
            let said = format!("{}{}", ended.out, ended.err);
            assert!(said.contains("Sort refused: the job failed, exit code"), "{ended:?}");
        }
    }
}

#[test]
fn a_job_on_spark_loses_a_worker() {
    loses_a_worker("sort-spark.toml");
}

#[test]
fn a_job_on_hadoop_loses_a_worker() {
    loses_a_worker("sort-hadoop.toml");
}
