//! Filled data: simultaneous runs do not disturb each other, and foreign files are neither used nor removed.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use barograph_record::Run;
use barograph_testkit::one_of;
use rustix::process::Signal;

use crate::going::{RunningProgram, until};
use crate::place::{SIZE, TestFolders, fixed};

#[test]
fn two_runs_may_fill_the_same_data_at_the_same_moment() {
    let place = TestFolders::without_data();
    let both = [0, 1].map(|_| RunningProgram::start(place.run(None, &fixed(5, 1))));
    for going in both {
        let ended = going.end();
        assert!(matches!(ended.code, Some(0 | 4 | 9)), "{ended:?}");
    }
    let runs: Vec<Run> = place.records().iter().map(|dir| Run::open(dir).unwrap()).collect();
    assert!(runs.iter().any(|run| !run.fill().unwrap().reused), "one of them filled");
    assert!(runs.iter().all(|run| run.fill().unwrap().max_users == 60));
    assert_eq!(fs::read_dir(place.data()).unwrap().count(), 1, "one data set and nothing else");
    place.assert_nothing_left();
}

#[test]
fn a_folder_that_no_fill_has_finished_is_refused_and_kept() {
    let place = TestFolders::without_data();
    let sets = SIZE.map(|s| s.to_owned());
    let checked = RunningProgram::start({
        let mut command = place.program(&["check"]);
        command
            .args(sets.iter().flat_map(|s| ["--set", s]))
            .arg("--set")
            .arg(format!("data.dir={}", place.data().display()));
        command
    });
    let words = checked.end().out;
    let dir = words.lines().find_map(|l| l.split_once("to be filled first: ")).unwrap().1.to_owned();
    let treasure = std::path::Path::new(&dir).join("thesis.txt");
    fs::create_dir_all(&dir).unwrap();
    fs::write(&treasure, "years of work").unwrap();
    let ended = RunningProgram::start(place.run(None, &fixed(5, 1))).end();
    let expected = format!(
        "barograph: the plan cannot be run\n--set: `data.dir` = {}\n  \
         allowed: a folder in which `{dir}` is a whole data set, or absent\n  \
         to do:   remove `{dir}`, which no fill has finished, or choose another data.dir\n",
        place.data().display()
    );
    assert_eq!((ended.code, ended.err), (Some(2), expected));
    assert_eq!(fs::read_to_string(&treasure).unwrap(), "years of work");
}

#[test]
fn a_killed_fill_of_a_sqlite_file_goes_on() {
    let place = TestFolders::without_data();
    let enough = Cell::new(2_000_000);
    one_of(3, || {
        let folder = tempfile::TempDir::new_in(place.root()).unwrap();
        let at = |name: &str| folder.path().join(name);
        let url = format!("sqlite://{}", at("orders.db").display());
        let words = ["sql", &url, "-n", "50", "-c", "1", "-q", "--set", "order_entry.scale=0.3"];
        let start = || {
            let mut command = place.program(&words);
            command.env("TMPDIR", folder.path());
            RunningProgram::start(command)
        };
        let filling = start();
        // In a short file the first piece may not be whole.
        let has_rows = || fs::metadata(at("orders.db.part")).is_ok_and(|file| file.len() > enough.get());
        until("some pieces", || (has_rows() || at("orders.db").exists()).then_some(()));
        filling.signal(Signal::KILL);
        filling.end();
        // With a second name nothing else can have its number.
        if fs::hard_link(at("orders.db.part"), at("killed")).is_err() {
            return Err("the fill ended before the kill".to_owned());
        }
        let ended = start().end();
        if ended.code == Some(9) {
            return Err("a busy machine made the figures of the load invalid".to_owned());
        }
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let number = |name: &str| fs::metadata(at(name)).unwrap().ino();
        enough.set(enough.get() * 2);
        if number("orders.db") == number("killed") { Ok(()) } else { Err("it began anew".to_owned()) }
    });
}
