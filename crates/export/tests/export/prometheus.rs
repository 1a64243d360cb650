//! Prometheus itself takes what is sent, and is asked for it.

use std::sync::Arc;

use barograph_export::Sender;
use barograph_record::Run;
use barograph_testkit::services;
use serde_json::Value;

use crate::record::{BEGAN_S, LOAD_START_S, written};

/// The value of a query at the end of the load; one series must answer.
async fn ask(base: &str, query: &str) -> f64 {
    let time = (BEGAN_S + LOAD_START_S + 3).to_string();
    let url =
        url::Url::parse_with_params(&format!("{base}/api/v1/query"), [("query", query), ("time", &time)]);
    let provider = tokio_rustls::rustls::crypto::ring::default_provider();
    // Another test of this process may have named it.
    let _ = provider.install_default();
    let answer =
        reqwest::Client::new().get(url.unwrap().as_str()).send().await.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let found = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
    assert_eq!(found.len(), 1, "{query}: {answer}");
    found[0]["value"][1].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn prometheus_takes_the_figures_of_a_run() {
    let Some(server) = services::or_skip(services::prometheus()) else { return };
    let root = tempfile::tempdir().unwrap();
    let sender = Sender::start(format!("prometheus={}", server.url()).parse().unwrap()).unwrap();
    let run = Run::open(&written(root.path(), vec![Arc::new(sender)])).unwrap();
    let (_, note) = run.notes().last().unwrap();
    assert!(note.ends_with(" figures arrived"), "{note}\n{}", server.log());
    let labels = format!("run=\"{}\",job=\"barograph\"", run.header.id);
    for (query, expected) in [
        ("sum(barograph_operations_total{L})", 300.0),
        ("barograph_operations_total{L,outcome=\"refused\",operation=\"Login\"}", 30.0),
        ("barograph_requests_total{L}", 600.0),
        ("barograph_response_seconds_count{L}", 300.0),
        // Up to 100 ms: all of the second interval and half of the third.
        ("barograph_response_seconds_bucket{L,le=\"0.1\"}", 200.0),
        ("barograph_response_seconds_bucket{L,le=\"0.05\"}", 100.0),
        ("barograph_response_seconds_bucket{L,le=\"+Inf\"}", 300.0),
        ("barograph_starts_total{L}", 300.0),
        ("barograph_late_total{L}", 9.0),
        ("barograph_users{L}", 7.0),
        ("barograph_busiest_worker_ratio{L}", 0.125),
        ("barograph_phase{L,phase=\"hold\"}", 1.0),
        ("barograph_probe_cpu_user_cores{L,subject=\"application-1\"}", 1.25),
        ("barograph_trial_level{L}", 1000.0),
        ("barograph_capacity{L}", 1000.0),
    ] {
        let found = ask(server.url(), &query.replace("{L", &format!("{{{labels}"))).await;
        assert_eq!(found, expected, "{query}");
    }
    let sum = ask(server.url(), &format!("barograph_response_seconds_sum{{{labels}}}")).await;
    assert!((sum / 25.15 - 1.0).abs() < 1e-3, "{sum}");
}
