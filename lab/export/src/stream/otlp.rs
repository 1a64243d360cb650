//! OpenTelemetry metrics over HTTP: the official messages in protobuf. Sums and histograms are cumulative;
//! histograms are exponential, made from whole ones.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::Metric as Message;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, exponential_histogram_data_point, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;

use super::buckets::{SCALE, Times};
use super::point::{Batch, Metric, Point, Value};

/// Header of the content type.
pub(super) const HEADERS: [(&str, &str); 1] = [("content-type", "application/x-protobuf")];

/// Counts since the start, not since the last request.
const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// The body of a request.
pub(super) fn body(batch: &Batch) -> Vec<u8> {
    let resource = Resource {
        attributes: vec![
            attribute("service.name", "barograph"),
            attribute("service.version", &batch.tool),
            attribute("service.instance.id", &batch.run),
        ],
        ..Resource::default()
    };
    let scope = InstrumentationScope { name: "barograph".to_owned(), ..InstrumentationScope::default() };
    let metrics = metrics(batch);
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }];
    let resource_metrics =
        vec![ResourceMetrics { resource: Some(resource), scope_metrics, ..ResourceMetrics::default() }];
    ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
}

/// Number of points refused by a receiver that accepted the rest, with the reason.
pub(super) fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let answer = ExportMetricsServiceResponse::decode(answer).ok()?;
    let partial = answer.partial_success?;
    let points = u64::try_from(partial.rejected_data_points).unwrap_or(0);
    (points > 0).then_some((points, partial.error_message))
}

/// One message per metric, with the points of all its labels.
fn metrics(batch: &Batch) -> Vec<Message> {
    let mut by_name: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    for point in &batch.points {
        by_name.entry(&point.metric.name).or_default().push(point);
    }
    let message = |points: Vec<&Point>| {
        let Metric { name, unit, about, .. } = &points.first()?.metric;
        Some(Message {
            name: name.clone().into_owned(),
            description: (*about).to_owned(),
            unit: (*unit).to_owned(),
            data: Some(data(batch, &points)?),
            ..Message::default()
        })
    };
    by_name.into_values().filter_map(message).collect()
}

/// The points of one metric, all of the kind of the first.
fn data(batch: &Batch, points: &[&Point]) -> Option<metric::Data> {
    Some(match &points.first()?.value {
        Value::Now(_) => {
            let data_points = points.iter().filter_map(|point| number(batch, point)).collect();
            metric::Data::Gauge(Gauge { data_points })
        }
        Value::Total(_) => metric::Data::Sum(Sum {
            data_points: points.iter().filter_map(|point| number(batch, point)).collect(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        Value::Times(_) => metric::Data::ExponentialHistogram(ExponentialHistogram {
            data_points: points.iter().filter_map(|point| histogram(batch, point)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    })
}

fn number(batch: &Batch, point: &Point) -> Option<NumberDataPoint> {
    let (value, start_time_unix_nano) = match point.value {
        Value::Now(value) => (number_data_point::Value::AsDouble(value), 0),
        // Far below 2^63.
        Value::Total(total) => (number_data_point::Value::AsInt(total as i64), batch.start_ns),
        Value::Times(_) => return None,
    };
    Some(NumberDataPoint {
        attributes: attributes(point),
        start_time_unix_nano,
        time_unix_nano: point.at_ns,
        value: Some(value),
        ..NumberDataPoint::default()
    })
}

fn histogram(batch: &Batch, point: &Point) -> Option<ExponentialHistogramDataPoint> {
    let Value::Times(times) = &point.value else { return None };
    let Times { count, sum_s, .. } = **times;
    let (offset, counts) = times.exponential();
    let positive = exponential_histogram_data_point::Buckets { offset, bucket_counts: counts.to_vec() };
    Some(ExponentialHistogramDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: batch.start_ns,
        time_unix_nano: point.at_ns,
        count,
        sum: Some(sum_s),
        scale: SCALE,
        positive: Some(positive),
        ..ExponentialHistogramDataPoint::default()
    })
}

fn attributes(point: &Point) -> Vec<KeyValue> {
    point.labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}
