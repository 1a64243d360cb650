//! OpenTelemetry over HTTP: sent messages are decoded with the official definitions. `service` tests a
//! third-party receiver, beside Prometheus.

use std::sync::Arc;

use barograph_export::Sender;
use barograph_record::Run;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogramDataPoint, metric::Data, number_data_point,
};
use prost::Message;

use crate::receivers::Keeper;
use crate::record::{BEGAN_S, LOAD_START_S, written};

/// Writes the made-up record with a sender to `keeper`; returns its last note.
fn sent(keeper: &Keeper) -> String {
    let root = tempfile::tempdir().unwrap();
    let sender = Sender::start(format!("otlp={}", keeper.url).parse().unwrap()).unwrap();
    let run = Run::open(&written(root.path(), vec![Arc::new(sender)])).unwrap();
    let (_, note) = run.notes().last().unwrap();
    note.to_owned()
}

/// A quantile of an exponential histogram: the upper bound of the bucket it falls in.
fn quantile(point: &ExponentialHistogramDataPoint, share: f64) -> f64 {
    let buckets = point.positive.as_ref().unwrap();
    let wanted = (share * point.count as f64).ceil() as u64;
    let mut below = 0;
    let i = buckets.bucket_counts.iter().position(|count| {
        below += count;
        below >= wanted
    });
    let base = 2_f64.powf(2_f64.powi(-point.scale));
    base.powi(buckets.offset + i32::try_from(i.unwrap()).unwrap() + 1)
}

#[test]
fn histograms_are_whole_and_count_from_the_start_of_the_load() {
    let keeper = Keeper::start("200 OK", b"");
    let note = sent(&keeper);
    assert!(note.ends_with(" figures arrived"), "{note}");
    let requests = keeper.requests();
    assert!(requests.iter().all(|r| r.path == "/v1/metrics"));
    assert!(
        requests[0].heads.contains(&"content-type: application/x-protobuf".to_owned()),
        "{:?}",
        requests[0].heads
    );
    let decoded: Vec<ExportMetricsServiceRequest> =
        requests.iter().map(|r| ExportMetricsServiceRequest::decode(&r.body[..]).unwrap()).collect();
    let resource = decoded[0].resource_metrics[0].resource.as_ref().unwrap();
    assert!(resource.attributes.iter().any(|a| a.key == "service.name"));
    // The third interval is the last.
    let find = |name: &str| {
        let all = decoded[2].resource_metrics[0].scope_metrics[0].metrics.iter();
        all.clone()
            .find(|metric| metric.name == name)
            .unwrap_or_else(|| panic!("{name} is not in {all:?}"))
            .clone()
    };
    let response = find("barograph.response");
    assert_eq!(response.unit, "s");
    let Some(Data::ExponentialHistogram(response)) = response.data else { panic!("{response:?}") };
    assert_eq!(response.aggregation_temporality, 2, "cumulative");
    let point = &response.data_points[0];
    assert_eq!((point.count, point.zero_count), (300, 0));
    assert_eq!(point.start_time_unix_nano, (BEGAN_S + LOAD_START_S) * 1_000_000_000);
    assert_eq!(point.time_unix_nano, (BEGAN_S + LOAD_START_S + 3) * 1_000_000_000);
    // 1 to 100 ms once more than 101 to 200 ms.
    let sum = point.sum.unwrap();
    assert!((sum / (5.050 + 20.100) - 1.0).abs() < 1e-3, "{sum}");
    let (median, highest) = (quantile(point, 200.0 / 300.0), quantile(point, 1.0));
    assert!(
        (1.0..1.045).contains(&(median / 0.1)) && (1.0..1.045).contains(&(highest / 0.2)),
        "{median} {highest}"
    );
    let Some(Data::Sum(operations)) = find("barograph.operations").data else {
        panic!("operations are counted")
    };
    assert!(operations.is_monotonic);
    let totals: i64 = operations
        .data_points
        .iter()
        .map(|point| match point.value {
            Some(number_data_point::Value::AsInt(n)) => n,
            ref other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!(totals, 300);
    let Some(Data::Gauge(users)) = find("barograph.users").data else { panic!("users are as they are") };
    assert_eq!(users.data_points[0].value, Some(number_data_point::Value::AsDouble(7.0)));
    // The second sample waited for the third interval.
    let Some(Data::Gauge(memory)) = find("barograph.probe.rss_bytes").data else {
        panic!("samples are there")
    };
    assert_eq!(memory.data_points[0].time_unix_nano, (BEGAN_S + LOAD_START_S + 2) * 1_000_000_000);
    let last = &decoded.last().unwrap().resource_metrics[0].scope_metrics[0].metrics;
    assert!(last.iter().any(|metric| metric.name == "barograph.capacity"), "the answer goes too: {last:?}");
}

#[test]
fn what_a_receiver_did_not_take_is_counted() {
    let partial =
        ExportMetricsPartialSuccess { rejected_data_points: 3, error_message: "too many labels".to_owned() };
    let answer = ExportMetricsServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let keeper = Keeper::start("200 OK", answer.leak());
    let note = sent(&keeper);
    // Three of each of the four requests.
    assert!(
        note.contains(": 12 of ") && note.contains(", 12 refused; the last failure: too many labels"),
        "{note}"
    );
}
