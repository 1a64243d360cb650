//! `barograph new scenario`: its output passes `barograph check`, and nothing is overwritten.

use std::fs;
use std::path::Path;

use barograph_record::Run;
use barograph_testkit::one_of;

use crate::commands::{filled, serve};
use crate::going::{ProgramOutput, RunningProgram, until};
use crate::place::TestFolders;

fn new(place: &TestFolders, words: &[&str]) -> ProgramOutput {
    let words: Vec<&str> = ["new", "scenario"].iter().chain(words).copied().collect();
    RunningProgram::start(place.program(&words)).end()
}

fn repository(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
        .canonicalize()
        .unwrap()
        .display()
        .to_string()
}

#[test]
fn every_source_gives_a_scenario_that_can_be_checked() {
    let place = TestFolders::without_data();
    let sources = [
        ("--from-openapi", repository("docs/openapi/auction.json"), "PostLogin"),
        ("--from-har", repository("language/import/tests/har/shop.har"), "PostApiCartsLines"),
        ("--url", "http://127.0.0.1:8080/x".to_owned(), "Get"),
    ];
    for (way, source, operation) in &sources {
        let file = format!("{}.toml", operation);
        let made = new(&place, &[way, source, "-o", &file]);
        assert_eq!((made.code, made.out.as_str()), (Some(0), ""), "{made:?}");
        assert!(made.err.starts_with(&file) && made.err.contains("read it, edit it"), "{}", made.err);
        let scenario = format!("scenario={file}");
        // The command in the message: the built-in plan with these two settings.
        let words = ["check", "--set", "workload=scenario", "--set", &scenario];
        assert!(made.err.contains(&format!("--set workload=scenario --set {scenario}")), "{}", made.err);
        let checked = RunningProgram::start(place.program(&words)).end();
        assert_eq!(checked.code, Some(0), "{checked:?}");
        assert!(checked.out.contains(&format!("operation {operation}")), "{}", checked.out);
        assert!(checked.out.contains("behaviour main             begins with "), "{}", checked.out);
    }
    let again = new(&place, &["--url", "http://127.0.0.1/", "-o", "Get.toml"]);
    assert!(
        again.code == Some(2) && again.err.contains("an existing file is never overwritten"),
        "{again:?}"
    );
    let printed = new(&place, &["--url", "http://127.0.0.1/"]);
    assert!(printed.code == Some(0) && printed.out.contains("[operations.Get]"), "{printed:?}");
}

#[test]
fn sources_that_are_none_are_refused() {
    let place = TestFolders::without_data();
    let none = new(&place, &[]);
    assert!(none.code == Some(2) && none.err.contains("--from-openapi"), "{none:?}");
    let absent = new(&place, &["--from-har", "none.har"]);
    let expected = "barograph: read `none.har`\n  because: No such file or directory (os error 2)\n";
    assert_eq!((absent.code, absent.err.as_str()), (Some(2), expected));
    fs::write(place.root().join("x.json"), "{}").unwrap();
    let other = new(&place, &["--from-openapi", "x.json"]);
    let expected = "barograph: make a scenario from `x.json`\n  because: find `openapi: 3...` or `swagger: 2.0` in the \
        document; it says nothing of it\n";
    assert_eq!((other.code, other.err.as_str()), (Some(2), expected));
}

#[test]
fn files_are_read_with_their_marks_and_those_beside_them() {
    let place = TestFolders::without_data();
    let document = "\u{feff}openapi: 3.0.0\npaths: {/a: {$ref: 'more/a.yaml'}}\n";
    fs::write(place.root().join("api.yaml"), document).unwrap();
    fs::create_dir(place.root().join("more")).unwrap();
    fs::write(place.root().join("more/a.yaml"), "get: {responses: {}}\n").unwrap();
    let made = new(&place, &["--from-openapi", "api.yaml", "-o", "made.toml"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    // A scenario that cannot run is written nevertheless, for correction.
    let refused = new(&place, &["--from-openapi", "api.yaml", "--target", "nowhere", "-o", "wrong.toml"]);
    let why = "barograph: pass the check of scenarios; correct what was written\n  because: wrong.toml:";
    assert!(refused.code == Some(2) && refused.err.starts_with(why), "{refused:?}");
    let written = fs::read_to_string(place.root().join("wrong.toml")).unwrap();
    assert!(written.contains("path = \"/a\"") && written.contains("url = \"nowhere\""), "{written}");
}

/// Removes operations from the document that generated users must not do: stopping the node, removing their
/// account, reading a stream as an answer, sending a picture as text; and those that need an id that no
/// answer contains, or an item of another user.
fn without_special(place: &TestFolders, document: &str) -> String {
    let special = [
        ("/auction/live/auction/prepareForShutdown", "get"),
        ("/auction/live/auction/release", "get"),
        ("/auction/user/{id}", "delete"),
        ("/auction/bid/auction/{auctionId}/events", "get"),
        ("/auction/item/{id}/image", "post"),
        ("/auction/item/{id}", "put"),
        ("/auction/image/{imageId}/{size}", "get"),
        ("/auction/item/auctioneer/{id}", "get"),
    ];
    let text = fs::read_to_string(document).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let paths = document["paths"].as_object_mut().unwrap();
    for (path, verb) in special {
        let verbs = paths[path].as_object_mut().unwrap();
        assert!(verbs.remove(verb).is_some(), "{verb} {path}");
        if verbs.is_empty() {
            paths.remove(path);
        }
    }
    let file = place.root().join("auction.json");
    fs::write(&file, document.to_string()).unwrap();
    file.display().to_string()
}

/// Largest number of tries.
const TRIES: usize = 4;

/// Runs the plan of this place without failures, and returns the operations that never occurred.
fn never_done(place: &TestFolders) -> Vec<String> {
    let before = place.records();
    let ran = RunningProgram::start(place.program(&["run", "plan.toml"])).end();
    assert!(matches!(ran.code, Some(0 | 9)), "{ran:?}");
    let record = place.records().into_iter().find(|record| !before.contains(record)).unwrap();
    let run = Run::open(&record).unwrap();
    let ops = &run.trials().next().unwrap().window.ops;
    let failed: Vec<_> = ops.iter().filter(|op| op.failed > 0).map(|op| &op.op).collect();
    assert!(ops.len() == 29 && failed.is_empty(), "{failed:?}\n{}", ran.out);
    ops.iter().filter(|op| op.count == 0).map(|op| op.op.clone()).collect()
}

/// The importer cannot know accounts and unused names. With those filled in, every call of the auction
/// succeeds, on ids from its own answers.
#[test]
fn the_auctions_document_runs_against_the_auction() {
    let place = TestFolders::new();
    let ready = place.root().join("ready");
    let mut command = serve(&place, &filled());
    command.stdout(fs::File::create(&ready).unwrap());
    let application = RunningProgram::start_quiet(command);
    let line = until("readiness", || fs::read_to_string(&ready).ok().filter(|l| l.ends_with('\n')));
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let target = format!("http://{}", line["address"].as_str().unwrap());
    let document = without_special(&place, &repository("docs/openapi/auction.json"));
    let made = new(&place, &["--from-openapi", &document, "--target", &target, "-o", "made.toml"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let edited = fs::read_to_string(place.root().join("made.toml"))
        .unwrap()
        .replace("name = \"name\"", "name = \"{accounts}\"")
        .replace("password = \"password\"", "password = \"barograph\"")
        .replace(
            "lastName = \"lastName\", name = \"{accounts}\"",
            "lastName = \"lastName\", name = \"{fresh}\"",
        )
        .replacen("name = \"{fresh}\"", "name = \"{fresh}@auction.example\"", 1)
        .replace("name = \"{fresh}\"", "name = \"{accounts}\"")
        .replace("mean = \"1 s\", max = \"10 s\"", "mean = \"20 ms\", max = \"1 s\"")
        + "\n[data.accounts]\nfile = \"accounts.txt\"\npick = \"unique\"\n[values.fresh]\nkind = \"uuid\"\n";
    fs::write(place.root().join("edited.toml"), edited).unwrap();
    let accounts: String = (1..=3).map(|id| format!("user{id:07}@auction.example\n")).collect();
    fs::write(place.root().join("accounts.txt"), accounts).unwrap();
    let plan = "workload = \"scenario\"\nscenario = \"edited.toml\"\n[load]\nstrategy = \"fixed\"\nusers = 3\nramp_s = 0\n\
        warm_up_s = 0\nwindow_s = 6\ndrain_s = 2\n[driver]\ninterval_ms = 500\n";
    fs::write(place.root().join("plan.toml"), plan).unwrap();
    // On a busy machine the window may end before every random operation has occurred.
    one_of(TRIES, || {
        let never = never_done(&place);
        if never.is_empty() { Ok(()) } else { Err(format!("never done: {never:?}")) }
    });
    drop(application);
}
