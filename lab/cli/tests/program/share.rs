//! Records as one file: packed, read by every command, and refused if they contain private data.

use std::fs;
use std::path::PathBuf;

use crate::going::{ProgramOutput, RunningProgram};
use crate::http::{http, site};
use crate::place::TestFolders;

/// The record of a short run, in the folder `kept`.
fn record(place: &TestFolders) -> PathBuf {
    let site = site();
    let ended = http(place, &[&site.url("/hello"), "-c", "2", "-d", "2s", "--keep-record", "kept"]);
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    let ids = barograph_record::list(&place.root().join("kept")).unwrap();
    place.root().join("kept").join(ids[0].as_str())
}

fn says(place: &TestFolders, words: &[&str]) -> ProgramOutput {
    RunningProgram::start(place.program(words)).end()
}

#[test]
fn a_shared_record_is_read_by_every_command() {
    let place = TestFolders::without_data();
    let folder = record(&place);
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let in_folder = format!("kept/{id}");
    let shared = says(&place, &["share", &in_folder, "-o", "run.tar.zst"]);
    assert_eq!(shared.code, Some(0), "{shared:?}");
    let first = fs::read(place.root().join("run.tar.zst")).unwrap();
    assert_eq!(says(&place, &["share", &in_folder, "-o", "run.tar.zst"]).code, Some(0));
    assert_eq!(
        fs::read(place.root().join("run.tar.zst")).unwrap(),
        first,
        "the same record is the same file"
    );

    let shown = says(&place, &["show", "run.tar.zst"]);
    assert_eq!((shown.code, &shown.out), (Some(0), &says(&place, &["show", &in_folder]).out), "{shown:?}");
    assert_eq!(says(&place, &["report", "run.tar.zst"]).code, Some(0));
    let page = fs::read_to_string(place.root().join(&id).join("report.html")).unwrap();
    assert_eq!(says(&place, &["report", &in_folder]).code, Some(0));
    assert_eq!(page, fs::read_to_string(folder.join("report.html")).unwrap());
    assert_eq!(says(&place, &["export", "run.tar.zst"]).code, Some(0));
    assert!(place.root().join(&id).join("csv/intervals.csv").is_file());
    let words = ["compare", "run.tar.zst", in_folder.as_str(), "--format", "json"];
    let compared = says(&place, &words);
    assert_eq!(compared.out, says(&place, &["compare", &in_folder, &in_folder, "--format", "json"]).out);
    let left = fs::read_dir(std::env::temp_dir()).unwrap().filter_map(Result::ok);
    let is_ours = |name: &str| name.starts_with("barograph-shared-");
    let unpacked = left.filter(|entry| is_ours(&entry.file_name().to_string_lossy()));
    let of_this_run = unpacked.filter(|entry| entry.path().join(&id).exists());
    assert_eq!(of_this_run.count(), 0, "what was unpacked is removed");
}

#[test]
fn what_should_stay_on_the_machine_is_told_and_refused() {
    let place = TestFolders::without_data();
    let folder = record(&place);
    let name = format!("kept/{}", folder.file_name().unwrap().to_str().unwrap());
    let log = folder.join("services/a.log");
    fs::write(&log, "fine\nat /tmp/x/y\npassword = hunter22\n").unwrap();
    let refused = says(&place, &["share", &name, "-o", "x.tar.zst"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("services/a.log:2  path  /tmp/x/y"), "{}", refused.err);
    assert!(refused.err.contains("services/a.log:3  password\n"), "{}", refused.err);
    assert!(refused.err.contains("`--allow password,path`") && !refused.err.contains("hunter22"));
    assert!(!place.root().join("x.tar.zst").exists());
    let still = says(&place, &["share", &name, "-o", "x.tar.zst", "--allow", "path"]);
    assert_eq!(still.code, Some(2), "{still:?}");
    let shared = says(&place, &["share", &name, "-o", "x.tar.zst", "--allow", "password,path"]);
    assert_eq!(shared.code, Some(0), "{shared:?}");
}

#[test]
fn what_is_no_shared_record_is_refused() {
    let place = TestFolders::without_data();
    fs::write(place.root().join("x.tar.zst"), "no archive").unwrap();
    for words in
        [&["show", "x.tar.zst"][..], &["report", "x.tar.zst"], &["compare", "x.tar.zst", "x.tar.zst"]]
    {
        let refused = says(&place, words);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains("x.tar.zst"), "{}", refused.err);
    }
    assert_eq!(fs::read_dir(place.root()).unwrap().count(), 1);
}
