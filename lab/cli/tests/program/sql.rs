//! Databases under load in one line.

use std::fs;

use barograph_test_services::{or_skip, postgres};

use crate::going::RunningProgram;
use crate::http::result;
use crate::place::TestFolders;

#[test]
fn a_server_is_filled_loaded_and_checked_in_one_line() {
    let Some(server) = or_skip(postgres()) else { return };
    let place = TestFolders::without_data();
    // The server takes any password.
    let url = format!("postgres://postgres:s3cret@127.0.0.1:{}/orders", server.port());
    let kept = place.root().join("kept");
    for form in ["statements", "stored"] {
        let words = ["sql", &url, "-n", "300", "-c", "3", "--form", form, "--json", "-q"];
        let mut command = place.program(&words);
        command.args(["--set", "order_entry.scale=0.01"]).arg("--keep-record").arg(&kept);
        let ended = RunningProgram::start(command).end();
        let result = result(&ended, 0);
        let names = result["operations"].as_array().unwrap().iter().map(|op| op["operation"].as_str());
        let all = ["NewOrder", "Payment", "OrderStatus", "Delivery", "StockLevel"].map(Some);
        assert_eq!(names.collect::<Vec<_>>(), all, "{result}");
        let (done, failed) = (&result["requests"], &result["errors"]);
        assert_eq!((done.as_u64(), failed.as_u64()), (Some(300), Some(0)), "{result}");
        assert!(result["verdict"].as_str().unwrap().contains("this is no TPC result"), "{result}");
    }
    for record in fs::read_dir(&kept).unwrap() {
        let told = fs::read_to_string(record.unwrap().path().join("run.jsonl")).unwrap();
        assert!(told.contains("postgres:***@127.0.0.1") && !told.contains("s3cret"), "{told}");
    }
    let other = ["sql", &url, "--seed", "2", "-q", "--set", "order_entry.scale=0.01"];
    let ended = RunningProgram::start(place.program(&other)).end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.err.contains("was filled otherwise: warehouses = 1, scale = 0.01, seed = 1"),
        "{}",
        ended.err
    );
    assert!(!ended.err.contains("s3cret"), "{}", ended.err);
    place.assert_nothing_left();
}
