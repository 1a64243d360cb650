//! Followers of a run while it goes on, and exports of its record.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use barograph_record::Run;
use barograph_test_services as services;
use serde_json::Value;

use crate::going::{PATIENCE, RunningProgram};
use crate::http::{http, site};
use crate::place::{TestFolders, fixed};

/// Sends a request to a server of this machine; the answer is left to be read.
fn ask(base: &str, path: &str) -> BufReader<TcpStream> {
    let address = base.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    BufReader::new(stream)
}

/// States of the live page at `base`, one after another until the program ends.
pub(crate) fn states(base: &str) -> impl Iterator<Item = Value> {
    let lines = ask(base, "/events").lines().map(Result::unwrap);
    lines.filter_map(|line| Some(serde_json::from_str(line.strip_prefix("data: ")?).unwrap()))
}

/// Latest value of a metric, summed over all series; the series of an ended run have none now.
fn value(prometheus: &str, metric: &str) -> f64 {
    let mut text = String::new();
    let query = format!("/api/v1/query?query=last_over_time({metric}%5B1h%5D)");
    ask(prometheus, &query).read_to_string(&mut text).unwrap();
    let json = &text[text.find('{').unwrap()..=text.rfind('}').unwrap()];
    let answer: Value = serde_json::from_str(json).unwrap();
    let series = answer["data"]["result"].as_array().unwrap();
    assert!(!series.is_empty(), "{metric}: {answer}");
    series.iter().map(|series| series["value"][1].as_str().unwrap().parse::<f64>().unwrap()).sum()
}

fn kept(place: &TestFolders) -> Run {
    let folder = place.root().join("kept");
    let ids = barograph_record::list(&folder).unwrap();
    Run::open(&folder.join(ids[0].as_str())).unwrap()
}

fn last_note(run: &Run) -> String {
    run.notes().last().unwrap().1.to_owned()
}

#[test]
fn a_run_is_seen_while_it_goes_on() {
    let (place, site) = (TestFolders::without_data(), site());
    let url = site.url("/delay/2");
    let going = RunningProgram::start(place.program(&[
        "http",
        &url,
        "-c",
        "4",
        "-d",
        "10s",
        "--live",
        "--keep-record",
        "kept",
        "--report",
        "page.html",
    ]));
    let line = going.says("live      http://127.0.0.1:");
    let base = line.trim_start_matches("live").trim().to_owned();
    let (mut counts, mut last) = (Vec::new(), Value::Null);
    for state in states(&base) {
        if state["phase"] == "hold" && state["ops"][0]["count"].as_u64() > counts.last().copied() {
            counts.extend(state["ops"][0]["count"].as_u64());
        }
        last = state;
    }
    let ended = going.end();
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    assert!(counts.len() >= 2, "figures grow while it runs: {counts:?}");
    let run = kept(&place);
    let words = last["ended"].to_string();
    assert!(words.contains("page.html") && words.contains(&run.header.id), "{words}");
    assert_eq!(last["trials"].as_array().unwrap().len(), run.trials().count());
    assert!(last["verdict"].is_string(), "{last}");
    assert_eq!(run.disclosure.as_ref().unwrap()["watched_by"]["live_page"], true);
}

#[test]
fn figures_of_a_run_arrive_at_prometheus() {
    let Some(prometheus) = services::or_skip(services::prometheus()) else { return };
    let (place, site) = (TestFolders::without_data(), site());
    let (url, receiver) = (site.url("/hello"), format!("prometheus={}", prometheus.url()));
    let words = [url.as_str(), "-c", "4", "-d", "2s", "--keep-record", "kept", "--export-to", &receiver];
    let ended = http(&place, &words);
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    let run = kept(&place);
    let note = last_note(&run);
    assert!(
        note.starts_with(&format!("export to {receiver}/api/v1/write: ")) && note.ends_with("arrived"),
        "{note}"
    );
    assert_eq!(
        run.disclosure.as_ref().unwrap()["watched_by"]["export_to"][0],
        format!("{receiver}/api/v1/write")
    );
    let ended_ops = || run.intervals().flat_map(|interval| interval.ops.clone());
    let count: u64 = ended_ops().map(|op| op.count).sum();
    assert!(count > 0);
    assert_eq!(value(prometheus.url(), "barograph_response_seconds_count"), count as f64);
    assert_eq!(
        value(prometheus.url(), "barograph_requests_total"),
        ended_ops().map(|op| op.requests).sum::<u64>() as f64
    );
}

/// A whole run of the auction, with its phases, parts and all operations: on the page as it goes on, at
/// Prometheus as recorded.
#[test]
fn a_run_of_the_auction_is_seen_and_sent() {
    let Some(prometheus) = services::or_skip(services::prometheus()) else { return };
    let (place, receiver) = (TestFolders::new(), format!("prometheus={}", prometheus.url()));
    let mut command = place.run(None, &fixed(40, 6));
    command.args(["--live", "--export-to", &receiver]);
    let going = RunningProgram::start(command);
    let line = going.says("live      http://127.0.0.1:");
    let (mut phases, mut held, mut last) = (Vec::new(), Value::Null, Value::Null);
    for state in states(line.trim_start_matches("live").trim()) {
        let phase = state["phase"].as_str().unwrap_or_default().to_owned();
        if phases.last() != Some(&phase) {
            phases.push(phase);
        }
        if state["phase"] == "hold" {
            held = state.clone();
        }
        last = state;
    }
    let ended = going.end();
    assert!(matches!(ended.code, Some(0 | 4 | 9)), "{ended:?}");
    // A late or slow reader may miss short phases, and sees the others in their order.
    let at = |phase: &str| phases.iter().position(|seen| seen == phase);
    assert!(at("hold").is_some() && at("hold") < at("remove").or(Some(usize::MAX)), "{phases:?}");
    assert!(last["parts"].to_string().contains("application"), "{last}");
    let run = place.record();
    let window = &run.trials().last().unwrap().window;
    let counted = |name: &str| window.ops.iter().find(|op| op.op == name).map_or(0, |op| op.count);
    let shown = held["ops"].as_array().unwrap().iter().map(|op| (op["name"].as_str(), op["count"].as_u64()));
    let shown: Vec<(&str, u64)> = shown.map(|(name, count)| (name.unwrap(), count.unwrap())).collect();
    assert!(shown.iter().any(|(_, count)| *count > 0), "{held}");
    assert!(shown.iter().all(|(name, count)| *count <= counted(name)), "{held}");
    let requests: u64 = run.intervals().flat_map(|interval| interval.ops.clone()).map(|op| op.requests).sum();
    assert!(requests > 0);
    assert_eq!(value(prometheus.url(), "barograph_requests_total"), requests as f64);
    assert!(
        run.notes().any(|(_, note)| note.starts_with("export to prometheus=") && note.ends_with("arrived"))
    );
    place.assert_nothing_left();
}

#[test]
fn a_receiver_that_is_down_does_not_fail_the_run() {
    let (place, site) = (TestFolders::without_data(), site());
    let url = site.url("/hello");
    let words = [
        url.as_str(),
        "-c",
        "2",
        "-d",
        "1s",
        "--keep-record",
        "kept",
        "--export-to",
        "otlp=http://127.0.0.1:1",
    ];
    let ended = http(&place, &words);
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    let note = last_note(&kept(&place));
    assert!(note.contains("figures did not arrive") && note.contains("Connection refused"), "{note}");
}

#[test]
fn a_record_becomes_tables() {
    let (place, site) = (TestFolders::without_data(), site());
    let ended = http(&place, &[&site.url("/hello"), "-c", "2", "-d", "1s", "--keep-record", "kept"]);
    assert!(matches!(ended.code, Some(0 | 9)), "{ended:?}");
    let run = kept(&place);
    let exported = |words: &[&str]| {
        let words: Vec<&str> = ["export", "--runs", "kept"].iter().chain(words).copied().collect();
        RunningProgram::start(place.program(&words)).end()
    };
    let csv = exported(&[]);
    assert_eq!((csv.code, csv.err.as_str()), (Some(0), ""), "{csv:?}");
    let table = fs::read_to_string(run.dir.join("csv/interval_operations.csv")).unwrap();
    let mut lines = table.lines();
    let column = lines.next().unwrap().split(',').position(|head| head == "count").unwrap();
    let counted: u64 = lines.map(|line| line.split(',').nth(column).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(counted, run.intervals().flat_map(|interval| &interval.ops).map(|op| op.count).sum::<u64>());
    assert!(!run.dir.join("csv/histograms.csv").exists());
    // The unfinished table of a killed export is removed once it cannot be in use.
    let half = run.dir.join("csv/.rules.csv.part");
    fs::write(&half, "run,oper").unwrap();
    let clean = || RunningProgram::start(place.program(&["clean", "--runs", "kept"])).end();
    assert!(clean().code == Some(0) && half.exists());
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    fs::File::options().write(true).open(&half).unwrap().set_modified(long_ago).unwrap();
    let cleaned = clean();
    assert!(cleaned.code == Some(0) && !half.exists(), "{cleaned:?}");
    assert!(cleaned.out.contains("removed half a file"), "{}", cleaned.out);
    let parquet = exported(&[run.header.id.as_str(), "--format", "parquet", "--to", "out", "--histograms"]);
    assert_eq!(parquet.code, Some(0), "{parquet:?}");
    let files: Vec<PathBuf> =
        fs::read_dir(place.root().join("out")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), parquet.out.lines().count());
    for path in files {
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{}", path.display());
    }
}

#[test]
fn what_cannot_be_watched_or_exported_says_what_to_write() {
    let place = TestFolders::without_data();
    for (words, says) in [
        (
            &["http", "http://127.0.0.1:1/", "--export-to", "http://127.0.0.1:9090"][..],
            "prometheus=URL or otlp=URL",
        ),
        (
            &["http", "http://127.0.0.1:1/", "--export-to", "otlp=http://me:hunter2@h"],
            "must not hold a name or a password",
        ),
        (&["run", "--live=everywhere"], "an address is written as in 127.0.0.1:8090"),
        (&["export", "--runs", "none"], "find a run in `none`"),
        (&["export", "--format", "xlsx"], "possible values: csv, parquet"),
    ] {
        let ended = RunningProgram::start(place.program(words)).end();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(says), "{says} is not in\n{}", ended.err);
    }
    let site = site();
    let ended = http(&place, &[&site.url("/hello"), "-d", "1s", "--live=0.0.0.0:0"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("only loopback is allowed") && ended.err.contains("ssh -L"), "{}", ended.err);
}
