//! Third-party receivers accept the figures and return them to queries: Prometheus, and for OpenTelemetry
//! VictoriaMetrics.

use std::sync::Arc;

use barograph_export::Sender;
use barograph_record::{Entry, Follower, Run};
use barograph_test_services as services;
use serde_json::Value;

use crate::record::{BEGAN_S, LOAD_START_S, NAMES, beginning, sample, second, written};

async fn get(url: &str) -> String {
    let provider = tokio_rustls::rustls::crypto::ring::default_provider();
    // Another test of this process may have named it.
    let _ = provider.install_default();
    reqwest::Client::new().get(url).send().await.unwrap().text().await.unwrap()
}

/// The series that a query gives at this second.
async fn found(base: &str, at_s: u64, query: &str) -> Vec<Value> {
    let time = at_s.to_string();
    let url =
        url::Url::parse_with_params(&format!("{base}/api/v1/query"), [("query", query), ("time", &time)]);
    let answer = get(url.unwrap().as_str()).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{query}: {answer}")).clone()
}

/// The value of a query at the end of the load of a run that began at this second; exactly one series must
/// match.
async fn ask(base: &str, began_s: u64, query: &str) -> f64 {
    let found = found(base, began_s + LOAD_START_S + 3, query).await;
    assert_eq!(found.len(), 1, "{query}: {found:?}");
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
        let found = ask(server.url(), BEGAN_S, &query.replace("{L", &format!("{{{labels}"))).await;
        assert_eq!(found, expected, "{query}");
    }
    let sum = ask(server.url(), BEGAN_S, &format!("barograph_response_seconds_sum{{{labels}}}")).await;
    assert!((sum / 25.15 - 1.0).abs() < 1e-3, "{sum}");
    // A second later the run is over: its answer is there, and its other series have ended.
    for (name, series) in [
        ("barograph_capacity", 1),
        ("barograph_trial_level", 1),
        ("barograph_users", 0),
        ("barograph_starts_total", 0),
        ("barograph_response_seconds_count", 0),
        ("barograph_probe_cpu_user_cores", 0),
    ] {
        let query = format!("{name}{{{labels}}}");
        let found = found(server.url(), BEGAN_S + LOAD_START_S + 4, &query).await;
        assert_eq!(found.len(), series, "{query}: {found:?}");
    }
}

/// The made-up run, ten years earlier: VictoriaMetrics rejects times more than two days in the future.
const EARLIER: (&str, u64) = ("2020-03-17T17:46:40Z", 1_584_467_200);

#[tokio::test]
async fn victoria_metrics_takes_the_figures_of_a_run_over_opentelemetry() {
    let Some(server) = services::or_skip(services::victoria_metrics()) else { return };
    let receiver = format!("otlp={}/opentelemetry/v1/metrics", server.url());
    let sender = Sender::start(receiver.parse().unwrap()).unwrap();
    let (started_at, began_s) = EARLIER;
    for mut entry in beginning() {
        if let Entry::Header(header) = &mut entry {
            started_at.clone_into(&mut header.started_at);
        }
        sender.entry(&entry);
    }
    for n in 0..3 {
        sender.interval(&second(n, n * 100), &NAMES);
        sender.probe(&sample((LOAD_START_S + n + 1) as f64));
    }
    let notes = sender.leave();
    assert!(notes.len() == 1 && notes[0].ends_with(" figures arrived"), "{notes:?}\n{}", server.log());
    // Makes received figures visible to queries.
    get(&format!("{}/internal/force_flush", server.url())).await;
    for (query, expected) in [
        ("sum({__name__=\"barograph.operations\"})", 300.0),
        ("{__name__=\"barograph.operations\",outcome=\"refused\",operation=\"Login\"}", 30.0),
        ("{__name__=\"barograph.requests\"}", 600.0),
        ("{__name__=\"barograph.response_count\"}", 300.0),
        // It stores each bucket separately, and names it by its ends.
        ("sum({__name__=\"barograph.response_bucket\"})", 300.0),
        ("{__name__=\"barograph.starts\"}", 300.0),
        ("{__name__=\"barograph.late\"}", 9.0),
        ("{__name__=\"barograph.users\",service\\.instance\\.id=\"20300317-174640-04f2\"}", 7.0),
        ("{__name__=\"barograph.busiest_worker\"}", 0.125),
        ("{__name__=\"barograph.phase\",phase=\"hold\"}", 1.0),
        ("{__name__=\"barograph.probe.cpu_user_cores\",subject=\"application-1\"}", 1.25),
    ] {
        let found = ask(server.url(), began_s, query).await;
        assert_eq!(found, expected, "{query}");
    }
    // Its own reading of the buckets: 1 to 100 ms once more than 101 to 200 ms; buckets are 4.4 % wide.
    for (share, expected) in [(0.5, 0.075), (200.0 / 300.0, 0.1), (1.0, 0.2)] {
        let query = format!(
            "histogram_quantile({share}, sum({{__name__=\"barograph.response_bucket\"}}) by (vmrange))"
        );
        let found = ask(server.url(), began_s, &query).await;
        assert!((found / expected - 1.0).abs() < 0.05, "{share}: {found}");
    }
}
