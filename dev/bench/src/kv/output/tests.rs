//! Output of real runs, shortened to the relevant lines and a few around them.

use std::path::PathBuf;

use super::super::tools::Verb;
use super::*;

const CSV: &str = r#""test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"GET","930697.62","1.268","0.328","0.991","4.263","6.255","6.399"
"#;

const MEMTIER: &str = r#"{
	"configuration":{
		"server": "127.0.0.1"
		,"unix socket": null
	}
	,"ALL STATS":{
		"Runtime":{ "Total duration": 1009 ,"Interrupted": "false" }
		,"Gets":{ "Count": 212430 ,"Ops/sec": 210522.87 ,"Misses/sec": 0.00 }
		,"Totals":{
			"Count": 212430
			,"Ops/sec": 210522.87
			,"Connection Errors": 0
			,"Average Latency": 7.113
			,"Min Latency": 0.752
			,"Max Latency": 28.671
			,"Time-Serie": {"0":{ "Count": 210522, "p50.00": 6.2 }}
			,"Percentile Latencies": {
				"p50.00": 6.239
				,"p90.00": 14.399
				,"p95.00": 16.127
				,"p99.00": 26.111
				,"Histogram log format": "HISTFAAA"
			}
		}
	}
}"#;

const BAROGRAPH: &str = r#"{"request":"GET on redis://127.0.0.1:7001","unit":"starts/s","level":20000,"users":50,
"seconds":3.0,"requests":60001,"requests_per_s":20000.3,"mean_ms":0.2,"p50_ms":0.1,"p90_ms":0.3,"p95_ms":0.4,
"p99_ms":0.9,"p999_ms":1.5,"max_ms":2.5,"service":{"p50_ms":0.1},"errors":2,"error_share":0.0,
"achieved_rate":19999.5,"lag_p50_ms":0.01,"lag_p99_ms":0.05,"cpu_us_per_request":12.5,"valid":true}"#;

fn job(rate: Option<u32>) -> Job {
    let (verb, folder) = (Verb::Get, PathBuf::new());
    Job {
        port: 1,
        verb,
        value_bytes: 100,
        connections: 50,
        pipeline: 1,
        seconds: 3,
        rate,
        count: 40_000,
        folder,
    }
}

#[test]
fn columns_of_csv_are_found_by_their_titles() {
    let expected = ToolReport {
        commands: 40_000,
        per_s: 930_697.62,
        p50_ms: Some(0.991),
        p95_ms: Some(4.263),
        p99_ms: Some(6.255),
        max_ms: Some(6.399),
        ..ToolReport::default()
    };
    assert_eq!(csv(CSV, &job(None)).unwrap(), expected);
    // Proxies do not support CONFIG.
    let warned = format!("WARNING: Could not fetch server CONFIG\n{CSV}");
    assert_eq!(csv(&warned, &job(None)).unwrap(), expected);
}

#[test]
fn memtier_has_totals() {
    let expected = ToolReport {
        commands: 212_430,
        per_s: 210_522.87,
        p50_ms: Some(6.239),
        p90_ms: Some(14.399),
        p95_ms: Some(16.127),
        p99_ms: Some(26.111),
        max_ms: Some(28.671),
        ..ToolReport::default()
    };
    assert_eq!(memtier(MEMTIER, &job(None)).unwrap(), expected);
}

#[test]
fn with_a_rate_ours_counts_starts() {
    let read = barograph(BAROGRAPH, &job(None)).unwrap();
    assert_eq!((read.commands, read.per_s, read.failed), (60_001, 20_000.3, 2));
    assert_eq!((read.p90_ms, read.p99_ms, read.lag_p99_ms), (Some(0.3), Some(0.9), Some(0.05)));
    assert_eq!(read.own_cpu_us, Some(12.5));
    assert!((barograph(BAROGRAPH, &job(Some(20_000))).unwrap().per_s - 19_999.5).abs() < 1e-9);
}

#[test]
fn what_cannot_be_read_is_named() {
    let titles = CSV.lines().next().unwrap();
    for (why, words) in [
        (csv("Could not connect", &job(None)).unwrap_err(), "no line of titles"),
        (csv(titles, &job(None)).unwrap_err(), "no line after the titles"),
        (csv("\"test\",\"x\"\n\"GET\",\"1\"", &job(None)).unwrap_err(), "no column rps"),
        (csv("\"test\",\"rps\"\n\"GET\",\"-nan\"", &job(None)).unwrap_err(), "no number in column rps"),
        (csv("\"test\",\"rps\"\n\"GET\",\"?\"", &job(None)).unwrap_err(), "no number in column rps"),
        (memtier("{}", &job(None)).unwrap_err(), "no totals"),
        (memtier(r#"{"ALL STATS":{"Totals":{}}}"#, &job(None)).unwrap_err(), "no number at Count"),
        (barograph("{}", &job(None)).unwrap_err(), "no number at requests"),
        (barograph("failed", &job(None)).unwrap_err(), "not JSON"),
    ] {
        assert!(why.to_string().contains(words), "{why}");
    }
}
