//! The summary of a load command.

use barograph_record::OpRecord;
use barograph_stats::interval::histogram;

use super::*;

const REQUEST: Noun = Noun { one: "request", several: "requests" };

fn trial() -> Trial {
    let text = r#"{"n":1,"purpose":"fixed","unit":"starts_per_second","level":5000,"result":"pass","window":{
        "users":12,"from_s":1.0,"to_s":11.0,"throughput":4990.0,"goodput":4980.0,"requests_s":4999.0,
        "starts_s":4999.5,"late":3,"dropped":0,"skipped":0,"lag_p50_ms":0.01,"lag_p99_ms":0.06,
        "passed":true,"valid":true,"checks":[],"ops":[{"op":"Get","count":49990,"failed":90,"mix":1,
        "mix_required":0,"mix_tolerance":0,"mean_ms":0.25,"p50_ms":0.21,"p90_ms":0.4,"p95_ms":0.5,"p99_ms":1.234,"p999_ms":12.5,"max_ms":2040.0,
        "service_mean_ms":0.24,"service_p50_ms":0.2,"service_p90_ms":0.39,"service_p95_ms":0.49,"service_p99_ms":1.2,"service_p999_ms":12.0,
        "service_max_ms":900.0,"judged_ms":1.234,"limit_ms":null,"over_limit":0,"failures_allowed":0.01,
        "judged":true,"time_ok":true,"mix_ok":true,"failures_ok":true}]},
        "resources":{"driver_cores":0.061,"driver_cpu_us_per_request":12.34,"driver_rss_bytes":12582912,
        "driver_bytes_per_user":null,"driver_connections":12}}"#;
    serde_json::from_str(text).unwrap()
}

fn row(from_s: f64, good: u64, refused: u64) -> IntervalRow {
    let text = format!(
        r#"{{"from_s":{from_s},"to_s":{},"users":12,"starts":5000,"lag_p50_ms":0,"lag_p99_ms":0,"in_flight":1,
        "worker_cpu":0,"busiest_worker":0,"ops":[{{"op":"Get","count":{},"failed":{refused},"p50_ms":0,"p99_ms":0,
        "max_ms":0,"over_limit":0,"requests":{},"outcomes":[{{"name":"good","count":{good}}},
        {{"name":"refused","count":{refused}}}]}}]}}"#,
        from_s + 1.0,
        good + refused,
        good + refused
    );
    serde_json::from_str(&text).unwrap()
}

fn verdict() -> Verdict {
    let text = r#"{"unit":"starts_per_second","capacity":null,"trial":1,"passed":true,"valid":true,
        "sentence":"5,000 starts/s were carried.","exit_code":0,"reasons":[],"resources":{},"search":null}"#;
    serde_json::from_str(text).unwrap()
}

fn summary() -> Summary {
    let rows = [row(1.0, 4_900, 45), row(2.0, 5_000, 45)];
    let rows: Vec<&IntervalRow> = rows.iter().collect();
    of(&trial(), &rows, &verdict())
}

fn of(trial: &Trial, rows: &[&IntervalRow], verdict: &Verdict) -> Summary {
    let only = &trial.window.ops[0];
    Summary::of_window(
        trial,
        (rows, (Times::response(only), Times::service(only))),
        verdict,
        "GET http://127.0.0.1/",
    )
}

#[test]
fn the_table_has_every_figure_with_its_unit() {
    let expected = "\
GET http://127.0.0.1/

                       p50       p90       p99     p99.9       max
response time       210 µs    400 µs   1.23 ms   12.5 ms    2.04 s
service time        200 µs    390 µs   1.20 ms   12.0 ms    900 ms

requests        4,999/s   9,990 in 10.0 s   good and in time 4,980/s
failed          90 (0.180 %)   refused 90
load            5,000 starts/s   started 5,000/s   late 3   dropped 0   start lag p99 60 µs
driver          12.3 µs CPU per request   0.0610 cores   12.0 MiB memory
verdict         passed, valid

5,000 starts/s were carried.";
    assert_eq!(summary().text(REQUEST), expected);
}

#[test]
fn a_pause_after_failures_and_an_interrupt_are_told() {
    let mut summary = summary();
    (summary.failure_pause_s, summary.interrupted) = (Some(1.0), true);
    let text = summary.text(REQUEST);
    assert!(
        text.contains("\n                users paused for 1.00 s after each (--failure-pause)\nverdict "),
        "{text}"
    );
    assert!(
        text.contains("verdict         passed, valid\n                interrupted after 10.0 s of this\n"),
        "{text}"
    );
    for quiet in [None, Some(0.0)] {
        summary.failure_pause_s = quiet;
        assert!(!summary.text(REQUEST).contains("paused"));
    }
}

#[test]
fn reasons_have_the_failures_of_the_whole_load_and_say_how_many_are_not_of_the_window() {
    let mut summary = summary();
    let reason = |why: &str, count| FailureReason {
        operation: "Get",
        outcome: "refused",
        why: why.to_owned(),
        count,
        answer: String::new(),
    };
    summary.failures = vec![reason("status 500", 89), reason("status 503", 1)];
    let text = summary.text(REQUEST);
    let lines = "\nreasons         Get refused: status 500 (89 times)\n                Get refused: status 503 (once)\nverdict ";
    assert!(text.contains(lines), "{text}");
    summary.failures[0].count = 1_089;
    let text = summary.text(REQUEST);
    assert!(text.contains("(once)\n                1,000 of these were outside of this window\n"), "{text}");
}

#[test]
fn the_end_of_a_number_of_operations_is_told() {
    let of_asked = |asked: u64| of(&Trial { operations: Some(asked), ..trial() }, &[], &verdict());
    let ended = of_asked(49_990);
    assert_eq!((ended.elapsed_s, ended.ended_by_time), (Some(10.0), false));
    assert!(!ended.text(REQUEST).contains("the time was up"));
    let late = of_asked(50_000);
    assert_eq!((late.elapsed_s, late.ended_by_time), (None, true));
    let text = late.text(REQUEST);
    assert!(text.contains("\n                the time was up before 50,000 requests had ended\n"), "{text}");
    assert_eq!(summary().asked, None);
}

#[test]
fn measures_have_a_line_each() {
    let mut summary = summary();
    let measure = |id: &str, unit: &str, value| Measure {
        measure: id.to_owned(),
        title: id.replace('_', " "),
        unit: unit.to_owned(),
        value,
    };
    summary.measures = vec![measure("hit_share", "%", Some(75.0)), measure("lock_wait", "ms", None)];
    let expected = "memory\nmeasures        hit share: 75.0 %\n                lock wait: – ms\nverdict ";
    let text = summary.text(REQUEST);
    assert!(text.contains(expected), "{text}");
}

#[test]
fn markdown_is_the_table_in_a_block() {
    let mut summary = summary();
    summary.reasons = vec!["```".to_owned()];
    let expected = format!("```text\n{}\n```", summary.text(REQUEST).replace("```", "'''"));
    assert_eq!(summary.markdown(REQUEST), expected);
    assert_eq!(summary.markdown(REQUEST).matches("```").count(), 2);
}

/// Figures with a second operation, half as frequent and slower, and one that the load does not do.
fn of_two(times: (Times, Times)) -> Summary {
    let (mut trial, mut row) = (trial(), row(1.0, 4_900, 45));
    let put = OpRecord {
        op: "Put".to_owned(),
        count: 25_010,
        failed: 10,
        p99_ms: 20.0,
        ..trial.window.ops[0].clone()
    };
    let unused = OpRecord { op: "Unused".to_owned(), count: 0, failed: 0, judged: false, ..put.clone() };
    trial.window.ops.extend([put, unused]);
    row.ops.push(barograph_record::OpRow { op: "Put".to_owned(), ..row.ops[0].clone() });
    Summary::of_window(&trial, (&[&row], times), &verdict(), "two")
}

#[test]
fn several_operations_have_a_line_each_and_one_together() {
    let unknown = Times::merged(&[], Times::response, &histogram());
    let together = Times { p50_ms: 0.21, p99_ms: 12.5, ..unknown };
    let summary = of_two((together, together));
    let expected = "\
two

response time   per second    failed       p50       p90       p99     p99.9       max
Get                  4,999        90    210 µs    400 µs   1.23 ms   12.5 ms    2.04 s
Put                  2,501        10    210 µs    400 µs   20.0 ms   12.5 ms    2.04 s
together             7,500       100    210 µs         –   12.5 ms         –         –

commands        4,999/s   9,890 in 10.0 s   good and in time 4,980/s
failed          100 (0.133 %)   refused 90
";
    let text = summary.text(Noun { one: "command", several: "commands" });
    assert!(text.starts_with(expected) && text.contains("12.3 µs CPU per command"), "{text}");
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!((&json["errors"], &json["outcomes"]["good"]), (&100.into(), &9_800.into()));
    assert!(json["p90_ms"].is_null(), "it is not known");
    assert_eq!(
        (&json["operations"][1]["operation"], &json["operations"][1]["p99_ms"]),
        (&"Put".into(), &20.0.into())
    );
}

#[test]
fn what_cannot_be_believed_is_said_before_the_reasons() {
    let mut summary = summary();
    (summary.valid, summary.passed, summary.level_changed) = (false, false, true);
    summary.reasons = vec!["the driver was the limit".to_owned()];
    let text = summary.text(REQUEST);
    assert!(text.contains("verdict         not passed, not valid: the figures above cannot be believed\n"));
    assert!(text.contains("the load was changed by hand while this was measured\n"));
    assert!(text.ends_with("5,000 starts/s were carried.\n  the driver was the limit"));
}

/// An upper end beyond the allowed levels would be that of the prior.
#[test]
fn an_interval_without_a_known_end_has_none() {
    let interval = |at_least: bool, beyond: f64| {
        let mut told = serde_json::to_value(verdict()).unwrap();
        told["search"] = serde_json::json!({
            "highest_pass": 100, "lowest_fail": null, "bounded_by": "more", "at_least": at_least, "trials": 9,
            "confirmed": true, "method": "posterior",
            "estimate": {
                "capacity": 110.0, "low": 90.0, "high": 120.0, "safe": 90, "beyond": beyond, "softness": 0.01,
                "spurious": 0.02, "curve": [], "valid": 9, "invalid": 0, "confirmation": null, "above": null,
                "cross_check": null, "repeats": null,
            },
        });
        let rows = [row(1.0, 4_900, 45)];
        let rows: Vec<&IntervalRow> = rows.iter().collect();
        let verdict: Verdict = serde_json::from_value(told).unwrap();
        of(&trial(), &rows, &verdict).search.unwrap().interval
    };
    assert_eq!(interval(false, 0.025), Some([Some(90.0), Some(120.0)]));
    assert_eq!(interval(false, 0.03), Some([Some(90.0), None]));
    assert_eq!(interval(true, 0.0), Some([Some(90.0), None]));
}

/// The keys are documented in docs/http-command.md.
#[test]
fn the_keys_of_the_json_are_stable() {
    let json = serde_json::to_value(summary()).unwrap();
    let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    // Their order is not part of the promise.
    keys.sort_unstable();
    let expected = "achieved_rate bytes_per_user connections cpu_us_per_request driver_cores dropped elapsed_s ended_by_time error_share \
        errors failure_pause_s failures goodput_per_s interrupted lag_p50_ms lag_p99_ms late level level_changed max_ms mean_ms measures operations operations_asked outcomes p50_ms p90_ms p95_ms \
        p999_ms p99_ms passed reasons request requests requests_per_s rss_mib search seconds service skipped traffic unit users \
        valid verdict";
    assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(json["rss_mib"], 12.0);
    assert_eq!((&json["mean_ms"], &json["p95_ms"]), (&0.25.into(), &0.5.into()));
    assert_eq!((&json["service"]["mean_ms"], &json["service"]["p95_ms"]), (&0.24.into(), &0.49.into()));
    assert_eq!(json["service"]["p999_ms"], 12.0);
    assert_eq!(json["outcomes"]["refused"], 90);
    assert!(json["bytes_per_user"].is_null());
    let operation = json["operations"][0].as_object().unwrap();
    let expected = "operation count count_per_s requests requests_per_s mean_ms p50_ms p90_ms p95_ms p99_ms p999_ms max_ms \
        service errors error_share outcomes";
    assert_eq!(operation.keys().collect::<Vec<_>>(), expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!((&operation["count"], &operation["p99_ms"]), (&49_990.into(), &1.234.into()));
}
