//! The smaller commands: serve, fill, list, check, show, report.

use std::fs;
use std::path::Path;
use std::process::Command;

use barograph_auction_api::routes;
use barograph_http::{Client, Method, Policy, Request, ResolvedTarget};
use rustix::process::Signal;

use crate::data::shared_data;
use crate::going::{RunningProgram, until};
use crate::place::{TestFolders, fixed};

/// Status and body of a GET.
fn get(at: &str, path: &str) -> (u16, String) {
    let answer = barograph_reactor::block_on(async {
        let connections = Client::new(&ResolvedTarget::at(at.parse().unwrap(), Policy::PerUser(1))).user(0);
        let request = Request { method: Method::GET, path: format_args!("{path}"), headers: &[], body: None };
        let answer = connections.send(&request).await.unwrap();
        (answer.status, String::from_utf8(answer.body().to_vec()).unwrap())
    });
    answer.unwrap()
}

/// The only filled data set.
pub(crate) fn filled() -> std::path::PathBuf {
    let mut there = fs::read_dir(shared_data()).unwrap().map(|entry| entry.unwrap().path());
    // Other tests keep snapshots of loaded stores beside it.
    there.find(|path| path.join("marker.json").exists()).unwrap()
}

pub(crate) fn serve(place: &TestFolders, data: &Path) -> Command {
    let mut command = place.program(&["serve", "auction", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(data).arg("--state").arg(place.root().join("state"));
    command
}

#[test]
fn the_application_serves_on_its_own_until_it_is_asked_to_end() {
    let place = TestFolders::new();
    let ready = place.root().join("ready");
    let mut command = serve(&place, &filled());
    command.stdout(fs::File::create(&ready).unwrap());
    let going = RunningProgram::start_quiet(command);
    let line = until("readiness", || fs::read_to_string(&ready).ok().filter(|l| l.ends_with('\n')));
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["ready"], true);
    let address = line["address"].as_str().unwrap();
    assert_eq!(get(address, &routes::health()).0, 200);
    let (status, document) = get(address, &format!("{}{}", routes::BASE, routes::OPENAPI));
    assert!(status == 200 && document.contains("\"openapi\""), "{status} {document}");
    going.signal(Signal::TERM);
    assert_eq!(going.end().code, Some(0));
}

#[test]
fn serve_without_data_says_how_to_fill() {
    let place = TestFolders::new();
    let ended = RunningProgram::start(serve(&place, place.root())).end();
    let root = place.root().display();
    let expected = format!(
        "barograph: serve the data in `{root}`: it holds no whole data set; \
         `barograph fill auction --data {root} --size nano` makes one\n"
    );
    assert_eq!((ended.code, ended.out.as_str(), ended.err), (Some(2), "", expected));
}

#[test]
fn serve_at_a_port_in_use_says_so() {
    let place = TestFolders::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let mut command = place.program(&["serve", "auction", "--state", "state", "--listen", &at]);
    command.arg("--data").arg(filled());
    let ended = RunningProgram::start(command).end();
    let expected = format!(
        "barograph: listen at {at}: choose a free port with --listen, or port 0\n  \
         because: Address already in use (os error 98)\n"
    );
    assert_eq!((ended.code, ended.err), (Some(2), expected));
}

#[test]
fn fill_makes_a_data_set_once_and_refuses_another_in_its_place() {
    let place = TestFolders::new();
    let fill = |images: &str| {
        let args =
            ["fill", "auction", "--data", "mine", "--size", "nano", "--history", "0.1", "--images", images];
        RunningProgram::start(place.program(&args)).end()
    };
    let first = fill("0.02");
    assert!(first.code == Some(0) && first.out.starts_with("filled in mine: "), "{first:?}");
    let second = fill("0.02");
    assert!(second.code == Some(0) && second.out.starts_with("found in mine: "), "{second:?}");
    let other = fill("0.03");
    assert!(other.code != Some(0) && other.err.contains("choose another folder or remove it"), "{other:?}");
    let ended =
        RunningProgram::start(place.program(&["fill", "auction", "--data", "x", "--size", "huge"])).end();
    let expected = "barograph: there is no size `huge`: `barograph list sizes` shows them\n";
    assert_eq!((ended.code, ended.err.as_str()), (Some(2), expected));
    assert!(!place.root().join("x").exists());
}

#[test]
fn the_lists_name_what_there_is() {
    let place = TestFolders::new();
    let plans = place.root().join("plans");
    fs::create_dir(&plans).unwrap();
    fs::write(plans.join("mine.toml"), "# What mine is for.\nseed = 2\n").unwrap();
    // The file that makes it small for tests is not a plan.
    fs::write(plans.join("mine.smoke.toml"), "seed = 3\n").unwrap();
    let words = [
        (
            "workloads",
            &[
                "auction  users of ",
                "  version 1, profiles official2",
                "  GetNextBid ",
                "scenario  users as ",
            ][..],
        ),
        ("platforms", &["process\n"]),
        ("sizes", &["nano            60 users", "run30k       30000 users"]),
        ("plans", &["plans/mine.toml                What mine is for.\n"]),
        (
            "keys",
            &[
                "load.strategy = \"search\"               # one of search, fixed, path\n",
                "load.users = 1000                      # a whole number from 1 to 1000000\n",
                // A key that an empty plan does not use is there as a comment.
                "# load.rate = 1000                     # a number from 0.001 to 10000000 with three decimals at most\n",
                "# target.url =                         # ",
            ],
        ),
    ];
    for (what, expected) in words {
        let ended = RunningProgram::start(place.program(&["list", what])).end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for words in expected {
            assert!(ended.out.contains(words), "{what}: {words:?} is not in\n{}", ended.out);
        }
    }
    let plans = RunningProgram::start(place.program(&["list", "plans"])).end();
    assert_eq!(plans.out.lines().count(), 1, "{}", plans.out);
    // The output of `list keys` is itself a plan.
    let keys = RunningProgram::start(place.program(&["list", "keys"])).end().out;
    fs::write(place.root().join("keys.toml"), &keys).unwrap();
    let checked = RunningProgram::start(place.program(&["check", "keys.toml"])).end();
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains("load      search for the most users that pass"), "{}", checked.out);
    assert!(!place.runs().exists(), "a check creates nothing");
}

#[test]
fn a_search_keeps_its_trials_and_its_record_can_be_shown_again() {
    let place = TestFolders::new();
    let load = "min_users=5 max_users=30 max_trials=3 ramp_s=5 warm_up_s=1 window_s=4 step_s=1 settle_s=1 confirm_s=4 drain_s=1";
    let sets: Vec<String> = load.split(' ').map(|s| format!("load.{s}")).collect();
    let ran = RunningProgram::start(place.run(None, &sets)).end();
    assert!(matches!(ran.code, Some(0 | 4 | 9)), "{ran:?}");
    let run = place.record();
    let verdict = run.verdict().unwrap();
    let search = verdict.search.as_ref().unwrap();
    let trials: Vec<_> = run.trials().map(|t| (t.n, t.level.whole())).collect();
    assert_eq!(trials.len(), search.trials as usize);
    assert!((1..=3).contains(&trials.len()) && trials[0].0 == 1, "{trials:?}");
    assert!(trials.iter().all(|(_, users)| (5..=30).contains(users)), "{trials:?}");
    assert_eq!(ran.err.matches("so far: ").count(), trials.len(), "{}", ran.err);
    assert!(ran.err.contains(", trial 1 of at most 3\n"), "{}", ran.err);
    let says = |args: &[&str]| {
        let ended = RunningProgram::start(place.program(args)).end();
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        ended.out
    };
    let id = run.header.id.as_str();
    assert_eq!(says(&["list", "runs"]), format!("{id}  {}\n", verdict.sentence));
    let table = says(&["show"]);
    assert!(table.contains(&verdict.sentence) && ran.out.starts_with(&table), "{table}");
    assert_eq!(says(&["show", id]), table);
    assert_eq!(says(&["show", run.dir.to_str().unwrap()]), table);
    let page = run.dir.join("report.html");
    let first = fs::read_to_string(&page).unwrap();
    fs::remove_file(&page).unwrap();
    says(&["report"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), first, "the report follows from the record alone");
    place.assert_nothing_left();
}

#[test]
fn a_record_that_is_not_there_is_refused() {
    let place = TestFolders::new();
    let ended = RunningProgram::start(place.program(&["show"])).end();
    let expected = "barograph: find a run in `runs`; `barograph run` makes one\n";
    assert_eq!((ended.code, ended.err.as_str()), (Some(2), expected));
    let ended = RunningProgram::start(place.program(&["report", "nobody"])).end();
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.starts_with("barograph: read `runs/nobody/run.jsonl`\n  because: "), "{}", ended.err);
}

#[test]
fn a_record_cut_off_in_mid_line_can_be_shown() {
    let place = TestFolders::new();
    let ran = RunningProgram::start(place.run(None, &fixed(10, 2))).end();
    assert!(matches!(ran.code, Some(0 | 4 | 9)), "{ran:?}");
    let path = place.records()[0].join("run.jsonl");
    let whole = fs::read(&path).unwrap();
    let middle = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(10).unwrap().0 + 5;
    fs::write(&path, &whole[..middle]).unwrap();
    assert_eq!(place.record().damage.len(), 1);
    let ended = RunningProgram::start(place.program(&["show"])).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = RunningProgram::start(place.program(&["list", "runs"])).end();
    assert!(ended.out.ends_with("  no verdict: it did not come to its end\n"), "{}", ended.out);
}

#[test]
fn completions_and_manual_pages_have_every_command() {
    let place = TestFolders::without_data();
    let said = RunningProgram::start(place.program(&["completions", "bash"])).end();
    assert!(said.code == Some(0) && said.out.contains("barograph__"), "{}", said.err);
    assert_eq!(RunningProgram::start(place.program(&["manual", "man"])).end().code, Some(0));
    for name in ["run", "share", "serve-auction", "http"] {
        let page = fs::read_to_string(place.root().join(format!("man/barograph-{name}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
}
