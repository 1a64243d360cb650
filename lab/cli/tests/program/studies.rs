//! Studies through the program: dry runs, interrupts, kills and resuming, and refusals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use barograph_record::{Conclusions, Run, RunEnded, StudyEntry, read_study};
use rustix::process::Signal;
use serde_json::Value;

use crate::going::{ProgramOutput, RunningProgram, until};
use crate::place::{SIZE, TestFolders, fixed};

/// `barograph study` on the data and records of this place, at small scale.
fn study(place: &TestFolders, file: &Path, args: &[&str]) -> Command {
    let mut command = place.program(&["study"]);
    command.arg(file).args(args);
    command.arg("--set").arg(format!("data.dir={}", place.data().display()));
    for set in SIZE {
        command.args(["--set", set]);
    }
    command
}

/// A study of three short runs per block: two levels of load and the control.
fn short(place: &TestFolders, repeats: u32) -> PathBuf {
    let plan = place.root().join("p.toml");
    fs::write(&plan, "workload = \"auction\"\n").unwrap();
    let settings: Vec<String> = fixed(10, 2)
        .iter()
        .filter(|set| !set.starts_with("load.users"))
        .map(|set| {
            let (key, value) = set.split_once('=').unwrap();
            let value = if value == "fixed" { "\"fixed\"" } else { value };
            format!("{key} = {value}\n")
        })
        .collect();
    let file = place.root().join("s.toml");
    let text = format!(
        "question = \"Does the load matter?\"\nplan = \"p.toml\"\nrepeats = {repeats}\n[settings]\n{}\n[[factor]]\nname = \
         \"users\"\nlevels = [{{ name = \"10\", set = {{ load.users = 10 }} }}, {{ name = \"20\", set = {{ load.users = 20 \
         }} }}]\n[[metric]]\nof = \"throughput\"\n",
        settings.concat()
    );
    fs::write(&file, text).unwrap();
    file
}

/// Folder of the only study.
pub(crate) fn folder(place: &TestFolders) -> PathBuf {
    let names = barograph_record::list_studies(&place.runs()).unwrap();
    assert_eq!(names.len(), 1, "{names:?}");
    place.runs().join(&names[0])
}

/// Checks that a study completed: seconds are too short for many valid runs, so exit code 9 is as good as 0.
pub(crate) fn whole(place: &TestFolders, ended: &ProgramOutput) -> Conclusions {
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    let folder = folder(place);
    let entries = read_study(&folder).unwrap().entries;
    assert!(matches!(entries.last(), Some(StudyEntry::Finished {})), "{:?}", entries.last());
    let json = fs::read_to_string(folder.join("study.json")).unwrap();
    let conclusions: Conclusions = serde_json::from_str(&json).unwrap();
    assert!(conclusions.complete);
    let html = fs::read_to_string(folder.join("study.html")).unwrap();
    assert!(html.contains(&conclusions.id) && !html.contains("=\"http"));
    for entry in &entries {
        let StudyEntry::RunEnded(run) = entry else { continue };
        let record = folder.join("runs").join(&run.started.run);
        assert!(record.join("report.html").is_file(), "every run is an ordinary run: {}", record.display());
        assert!(!record.join("ledger.jsonl").exists() && !record.join("site").exists());
        assert!(!run.valid || run.stolen.is_some_and(|share| (0.0..=1.0).contains(&share)), "{run:?}");
        times_are_those_of_the_record(run, &record);
    }
    for of in &conclusions.percentiles {
        assert!(html.contains(&format!("Response time of {} by percentile", of.op)));
    }
    conclusions
}

/// Checks that a study's response times are those by which the run was judged.
fn times_are_those_of_the_record(ended: &RunEnded, record: &Path) {
    let run = Run::open(record).unwrap();
    let response = ended.figures.iter().filter(|figure| figure.name.starts_with("response_"));
    assert!(response.count() == 0 || !ended.times.is_empty(), "{ended:?}");
    for times in &ended.times {
        // `LOAD/OPERATION` if there are several loads.
        let (load, name) = match times.op.split_once('/').filter(|_| !run.loads.is_empty()) {
            Some((load, name)) => (Some(load), name),
            None => (None, times.op.as_str()),
        };
        let ops = &run.of(load).unwrap().deciding_trial().unwrap().window.ops;
        let op = ops.iter().find(|op| op.op == name).unwrap();
        assert_eq!((times.count, times.limit_ms), (op.count, op.limit_ms));
        for (place, ms) in [(3, op.p50_ms), (10, op.p90_ms), (13, op.p95_ms), (20, op.p99_ms)] {
            assert!(times.ms.get(place).is_none_or(|kept| *kept == ms), "{place}: {times:?} {op:?}");
        }
    }
}

fn ended_runs(folder: &Path) -> usize {
    let entries = read_study(folder).unwrap_or_default().entries;
    entries.iter().filter(|entry| matches!(entry, StudyEntry::RunEnded(run) if !run.interrupted)).count()
}

#[test]
fn a_study_answers_in_every_form() {
    let place = TestFolders::new();
    let file = short(&place, 1);
    let ended = RunningProgram::start(study(&place, &file, &[])).end();
    let conclusions = whole(&place, &ended);
    assert!(ended.out.starts_with("Does the load matter?\n"), "{}", ended.out);
    assert!(ended.err.contains("run 1: block 1 of 1, "), "{}", ended.err);
    assert_eq!(conclusions.configurations.len(), 3);
    let made: u32 = conclusions.configurations.iter().map(|c| c.valid + c.dropped).sum();
    assert!((3..=6).contains(&made), "one of each, and once more where it was not valid: {made}");
    // A complete study is concluded again from its entries, without a run.
    let id = folder(&place).file_name().unwrap().to_str().unwrap().to_owned();
    for (format, begin) in [
        ("json", "{\n  \"v\": 1,"),
        ("markdown", "## Does the load matter?"),
        ("junit", "<?xml version=\"1.0\""),
    ] {
        let again =
            RunningProgram::start(place.program(&["study", "--resume", &id, "--format", format])).end();
        assert!(again.code == ended.code && again.out.starts_with(begin), "{again:?}");
    }
    let gated = RunningProgram::start(place.program(&["study", "--resume", &id, "--gate", "--strict"])).end();
    let expected = if ended.code == Some(0) { Some(10) } else { ended.code };
    assert_eq!(gated.code, expected, "one block decides nothing: {gated:?}");
    assert_eq!(ended_runs(&folder(&place)) as u32, made);
    let listed = RunningProgram::start(place.program(&["list", "runs"])).end();
    assert!(listed.out.ends_with(&format!("{id}  complete\n")), "{}", listed.out);
    told_from_its_folder_alone(&place, &id, &file, &ended);
    place.assert_nothing_left();
}

#[test]
fn a_warm_up_and_a_divided_metric_are_told_before_and_after() {
    let place = TestFolders::new();
    let file = short(&place, 1);
    let text =
        fs::read_to_string(&file).unwrap().replace("repeats = 1\n", "repeats = 1\nwarm_up_blocks = 1\n");
    let per = "[[metric]]\nof = \"throughput\"\nper = \"load.users\"\n";
    fs::write(&file, format!("{text}{per}")).unwrap();
    let dry = RunningProgram::start(study(&place, &file, &["--dry-run"])).end();
    for words in [
        "\nwarm-up   1 of 3 runs: 3 runs, recorded and not judged\nblocks    1 of 3 runs: 3 runs, ",
        "\norder     warm-up block 1: ",
        "\n          block 1: ",
        "throughput per load.users (operations/s per load.users), more is better",
        "\n          load.users is 10 for users 10; 20 for users 20\n",
    ] {
        assert!(dry.code == Some(0) && dry.out.contains(words), "{words:?}: {dry:?}");
    }
    let ended = RunningProgram::start(study(&place, &file, &[])).end();
    let conclusions = whole(&place, &ended);
    assert!(ended.err.contains("run 1: warm-up block 1 of 1, not judged, "), "{}", ended.err);
    assert!(ended.err.contains("run 4: block 1 of 1, "), "{}", ended.err);
    assert!(ended.out.contains("Runs, besides 3 of warm-up, not judged\n"), "{}", ended.out);
    assert!(conclusions.configurations.iter().all(|configuration| configuration.warm_up == 1));
    for entry in read_study(&folder(&place)).unwrap().entries {
        let StudyEntry::RunEnded(run) = entry else { continue };
        let users = if run.started.configuration == "users 20" { 20.0 } else { 10.0 };
        let [whole, divided] = ["throughput", "throughput per load.users"].map(|label| run.figure(label));
        assert_eq!(divided, whole.map(|throughput| throughput / users), "{run:?}");
    }
    place.assert_nothing_left();
}

#[test]
fn every_run_of_a_study_is_seen_at_one_address() {
    let place = TestFolders::new();
    let file = short(&place, 1);
    let going = RunningProgram::start(study(&place, &file, &["--live"]));
    let line = going.says("live      http://127.0.0.1:");
    // One stream, from before the first run to the end of the study.
    let mut seen: Vec<(String, String)> = Vec::new();
    let mut last = Value::Null;
    for state in crate::export::states(line.trim_start_matches("live").trim()) {
        let [turn, run] = ["turn", "run"].map(|key| state[key].as_str().unwrap().to_owned());
        if !run.is_empty() && seen.last().is_none_or(|(_, before)| *before != run) {
            seen.push((turn, run));
        }
        last = state;
    }
    let ended = going.end();
    whole(&place, &ended);
    let pages = ended.err.lines().filter(|told| told.starts_with("live ")).count();
    assert_eq!(pages, 1, "the page is served once: {}", ended.err);
    let made: Vec<String> = read_study(&folder(&place))
        .unwrap()
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            StudyEntry::RunEnded(run) => Some(run.started.run),
            _ => None,
        })
        .collect();
    assert!(made.len() >= 3, "{made:?}");
    assert_eq!(seen.iter().map(|(_, run)| run).collect::<Vec<_>>(), made.iter().collect::<Vec<_>>());
    for ((turn, _), number) in seen.iter().zip(1..) {
        assert!(turn.starts_with(&format!("run {number} of ")), "{seen:?}");
    }
    assert_eq!(seen[0].0, "run 1 of 3");
    let told = last["ended"].to_string();
    assert!(told.contains("/study.html") && told.contains("record  "), "{last}");
    assert!(last["lines"].to_string().contains("record  "), "what became of each run is told: {last}");
    for run in made {
        let run = Run::open(&folder(&place).join("runs").join(run)).unwrap();
        assert_eq!(run.disclosure.unwrap()["watched_by"]["live_page"], true);
    }
}

/// The study keeps its port: another study with the same address is refused, and creates nothing.
#[test]
fn an_address_that_a_study_serves_is_refused_to_another() {
    let place = TestFolders::new();
    let file = short(&place, 1);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let ended = RunningProgram::start(study(&place, &file, &[&format!("--live={address}")])).end();
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.err.contains(&format!("serve the live page on {address}")), "{ended:?}");
    assert!(!place.runs().exists(), "nothing is begun");
}

/// Checks that the conclusions are printed and drawn again after file and plan are gone.
fn told_from_its_folder_alone(place: &TestFolders, id: &str, file: &Path, ended: &ProgramOutput) {
    fs::remove_file(file).unwrap();
    fs::remove_file(place.root().join("p.toml")).unwrap();
    let shown = RunningProgram::start(place.program(&["show", id])).end();
    assert!(shown.code == Some(0) && shown.out == ended.out, "{shown:?}");
    let of_study = ["study.html", "study.json"].map(|name| folder(place).join(name));
    let before = of_study.each_ref().map(|path| fs::read_to_string(path).unwrap());
    for path in &of_study {
        fs::remove_file(path).unwrap();
    }
    let exported = RunningProgram::start(place.program(&["export", id])).end();
    assert!(exported.code == Some(0) && exported.out.contains("csv/comparisons.csv\n"), "{exported:?}");
    let runs = fs::read_to_string(folder(place).join("csv/study_runs.csv")).unwrap();
    assert_eq!(runs.lines().count(), ended_runs(&folder(place)) + 1, "{runs}");
    let refused = RunningProgram::start(place.program(&["export", id, "--histograms"])).end();
    assert!(refused.code == Some(2) && refused.err.contains("leave --histograms out"), "{refused:?}");
    let reported = RunningProgram::start(place.program(&["report", id])).end();
    let page = format!("report  {}\n", of_study[0].display());
    assert!(reported.code == Some(0) && page.ends_with(&reported.out["report  ".len()..]), "{reported:?}");
    assert_eq!(of_study.each_ref().map(|path| fs::read_to_string(path).unwrap()), before);
}

/// Resumes the study of this place, which ends with the missing runs.
fn goes_on(place: &TestFolders, before: usize) {
    let folder = folder(place);
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let ended = RunningProgram::start(place.program(&["study", "--resume", &id])).end();
    let conclusions = whole(place, &ended);
    assert_eq!(conclusions.blocks, 2);
    assert!(ended.err.contains(&format!("{id} goes on after {before} runs")), "{}", ended.err);
    // Every place of every block completed once, or was repeated because it was not valid.
    let entries = read_study(&folder).unwrap().entries;
    let mut slots = std::collections::BTreeMap::new();
    for entry in &entries {
        let StudyEntry::RunEnded(run) = entry else { continue };
        if !run.interrupted {
            *slots.entry((run.started.block, run.started.configuration.clone())).or_insert(0) += 1;
        }
    }
    assert!(slots.len() == 6 && slots.values().all(|n| (1..=2).contains(n)), "{slots:?}");
    place.assert_nothing_left();
}

#[test]
fn an_interrupted_study_goes_on_where_it_was() {
    let place = TestFolders::new();
    let file = short(&place, 2);
    let going = RunningProgram::start(study(&place, &file, &[]));
    going.says("run 2: ");
    until("the second run", || (ended_runs(&folder(&place)) >= 1).then_some(()));
    going.signal(Signal::INT);
    let ended = going.end();
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert!(ended.err.contains("again   barograph study --resume study-"), "{}", ended.err);
    let before = ended_runs(&folder(&place));
    assert!((1..6).contains(&before), "{before}");
    goes_on(&place, before);
}

#[test]
fn a_killed_study_goes_on_where_it_was() {
    let place = TestFolders::new();
    let file = short(&place, 2);
    let going = RunningProgram::start(study(&place, &file, &[]));
    going.says("run 2: ");
    going.application();
    let id = folder(&place).file_name().unwrap().to_str().unwrap().to_owned();
    let twice = RunningProgram::start(place.program(&["study", "--resume", &id])).end();
    assert!(twice.code == Some(2) && twice.err.contains("it is still going on"), "{twice:?}");
    going.signal(Signal::KILL);
    assert_eq!(going.end().code, None);
    until("the end of the application", || place.processes().is_empty().then_some(()));
    let cleaned = RunningProgram::start(place.program(&["clean"])).end();
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    goes_on(&place, ended_runs(&folder(&place)));
}

#[test]
fn what_changed_since_a_study_was_begun_is_refused() {
    let place = TestFolders::new();
    let file = short(&place, 1);
    let ended = RunningProgram::start(study(&place, &file, &[])).end();
    whole(&place, &ended);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("load.users = 20", "load.users = 21")).unwrap();
    let id = folder(&place).file_name().unwrap().to_str().unwrap().to_owned();
    let again = RunningProgram::start(place.program(&["study", "--resume", &id])).end();
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("changed what is run since it was begun"), "{}", again.err);
}

/// Checks that it is refused and creates nothing. Returns the refusal.
fn refused(place: &TestFolders, file: &Path, args: &[&str]) -> String {
    let mut command = place.program(&["study"]);
    command.arg(file).args(args);
    let ended = RunningProgram::start(command).end();
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    assert!(!place.runs().exists());
    ended.err
}

/// Drivers that keep connections and drivers that close them are not comparable.
#[test]
fn a_driver_that_would_differ_by_itself_is_refused() {
    let place = TestFolders::without_data();
    let file = short(&place, 1);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("name = \"20\"", "name = \"200\"").replace("load.users = 20 ", "load.users = 200 "),
    )
    .unwrap();
    // Enough for the connections of 200 users, and for idle ones too if there are 10.
    let with_few_files = |args: &[&str]| {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "ulimit -n 1000 && exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_barograph"),
            "study",
            "--dry-run",
        ]);
        command.arg(&file).args(args).current_dir(place.root());
        RunningProgram::start(command).end()
    };
    let ended = with_few_files(&[]);
    let expected = "s.toml: `driver.workers` = 1 for users 10; 2 for users 200\n  allowed: the same in all \
                    configurations, since no factor varies it\n  to do:   ";
    assert!(ended.code == Some(2) && ended.err.contains(expected), "{ended:?}");
    let ended = with_few_files(&["--set", "driver.connections=close"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn studies_that_cannot_be_are_refused_before_anything_is_created() {
    let place = TestFolders::without_data();
    let file = short(&place, 1);
    let err = refused(&place, &file, &["--set", "load.users=5"]);
    let expected = "barograph: the study cannot be carried out\n--set: `load.users` = 5\n  allowed: keys that no factor \
                    varies; this one is varied by `users`\n";
    assert!(err.starts_with(expected), "{err}");
    // Nor by the table above it.
    let err = refused(&place, &file, &["--set", "load={users=5}"]);
    assert!(err.contains("--set: `load` = {users=5}\n") && err.contains("varied by `users`"), "{err}");
    assert!(refused(&place, &file, &["--resume", "some"]).contains("cannot be used with"));
    let err = refused(&place, &file, &["--only", "users=30"]);
    assert!(err.contains("--only: `users=30`\n  allowed: levels among 10, 20\n"), "{err}");
    let text = fs::read_to_string(&file).unwrap();
    let wrong = place.root().join("w.toml");
    fs::write(&wrong, text.replace("of = \"throughput\"", "of = \"response_p99\"\noperation = \"Fly\""))
        .unwrap();
    let err = refused(&place, &wrong, &[]);
    assert!(err.contains("w.toml: `metric[0].operation` = \"Fly\"\n  allowed: one of HomePage, "), "{err}");
    fs::write(&wrong, text.replace("of = \"throughput\"", "of = \"capacity\"")).unwrap();
    assert!(refused(&place, &wrong, &[]).contains("capacity with load.strategy = \"search\" only"));
    let divided =
        |key: &str| text.replace("of = \"throughput\"", &format!("of = \"throughput\"\nper = \"{key}\""));
    fs::write(&wrong, divided("load.usres")).unwrap();
    let err = refused(&place, &wrong, &[]);
    let expected = "w.toml: `metric[0].per` = \"load.usres\"\n  allowed: a key of the configurations' plans that is a number \
                    above 0 (it is a number in none of them)\n";
    assert!(err.contains(expected), "{err}");
    fs::write(&wrong, divided("deploy.application_cpus")).unwrap();
    assert!(refused(&place, &wrong, &[]).contains("a number above 0 (it is 0 in all of them)"));
    fs::write(&wrong, text.replace("load.users = 20", "load.usres = 20")).unwrap();
    let err = refused(&place, &wrong, &[]);
    assert!(err.starts_with("barograph: check configuration `users 20` of the study\n"), "{err}");
    assert!(err.contains("w.toml:") && err.contains("did you mean `load.users`?"), "{err}");
    let err = refused(&place, Path::new("none.toml"), &[]);
    assert!(err.starts_with("barograph: read study `none.toml`; `barograph list studies` shows"), "{err}");
}
