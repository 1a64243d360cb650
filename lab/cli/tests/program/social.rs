//! The social site as a whole program, with its pictures in a bucket.

use std::fs;
use std::path::Path;

use barograph_test_s3::{S3, SECRET};

use crate::going::RunningProgram;
use crate::place::TestFolders;
use crate::plans::{command, in_order};

/// Files in a folder and below it.
fn files_in(folder: &Path) -> usize {
    let of = |entry: fs::DirEntry| match entry.file_type().unwrap().is_dir() {
        true => files_in(&entry.path()),
        false => 1,
    };
    fs::read_dir(folder).unwrap().map(|entry| of(entry.unwrap())).sum()
}

#[test]
fn pictures_and_documents_can_be_in_a_bucket() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(S3::start());
    let place = TestFolders::without_data();
    let plan = place.root().join("site.toml");
    let text = "workload = \"social\"\n[load]\nstrategy = \"fixed\"\nusers = 4\nramp_s = 1\nwarm_up_s = 1\nwindow_s = 4\n\
                drain_s = 2\n[driver]\ninterval_ms = 250\n[social]\nusers = 4\npeople_each = 10\ncycle_s = 0.1\n";
    fs::write(&plan, text).unwrap();
    let in_bucket = |url: String| [format!("deploy.files={url}")];
    let ended = RunningProgram::start(command(&place, "run", &plan, &in_bucket(server.url()))).end();
    in_order(&place.record(), &ended);
    assert!(!ended.err.contains("data is not right"), "{ended:?}");
    // A picture and a thumbnail of each person, and a document more of each event.
    assert!(files_in(&server.folder()) > 2 * 40, "{ended:?}");
    let missing = server.url_of("nothing", SECRET);
    let ended = RunningProgram::start(command(&place, "run", &plan, &in_bucket(missing))).end();
    assert!(ended.err.contains("there is no such bucket"), "{ended:?}");
    assert!(!ended.err.contains(SECRET), "{ended:?}");
    place.assert_nothing_left();
}
