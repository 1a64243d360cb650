//! Prometheus remote-write 1.0: series with labels, compressed with Snappy.
//!
//! Histograms are sent as cumulative buckets with bounds (`_bucket`, `_sum`, `_count`), which every version
//! of Prometheus accepts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use prost::Message;

use super::buckets::{BOUNDS_US, Times};
use super::point::{Batch, Metric, Point, Value};

/// Headers of the content type and the protocol's version.
pub(super) const HEADERS: [(&str, &str); 3] = [
    ("content-type", "application/x-protobuf"),
    ("content-encoding", "snappy"),
    ("x-prometheus-remote-write-version", "0.1.0"),
];

/// The bits of the value that ends a series: a NaN of its own.
const ENDED: u64 = 0x7ff0_0000_0000_0002;

/// Messages of `prompb`, as far as needed. Their numbers are those of the protocol.
#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    /// 1 counter, 2 gauge, 3 histogram.
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    family: String,
    #[prost(string, tag = "4")]
    help: String,
    #[prost(string, tag = "5")]
    unit: String,
}

/// The body of a request.
pub(super) fn body(batch: &Batch) -> Vec<u8> {
    let mut request = WriteRequest { timeseries: Vec::new(), metadata: Vec::new() };
    for point in &batch.points {
        describe(&mut request.metadata, point);
        series(&mut request.timeseries, &batch.run, point);
    }
    compressed(&request)
}

fn compressed(request: &WriteRequest) -> Vec<u8> {
    let bytes = request.encode_to_vec();
    snap::raw::Encoder::new().compress_vec(&bytes).expect("a batch is far below the 4 GiB that Snappy takes")
}

/// A metric and its labels.
type SeriesKey = (Cow<'static, str>, Vec<(&'static str, String)>);

/// Series known to a receiver that end with the run. Otherwise it would show their last values for minutes,
/// and add up those of successive runs.
#[derive(Debug, Default)]
pub(super) struct OpenSeries {
    run: String,
    points: BTreeMap<SeriesKey, Point>,
    /// The time of their latest point, in nanoseconds since 1970.
    latest_ns: u64,
}

impl OpenSeries {
    /// Records figures accepted by a receiver. Answers stay valid after the run.
    pub(super) fn took(&mut self, batch: &Batch) {
        self.run.clone_from(&batch.run);
        for point in batch.points.iter().filter(|point| !point.metric.is_answer) {
            self.latest_ns = self.latest_ns.max(point.at_ns);
            let which = (point.metric.name.clone(), point.labels.clone());
            self.points.entry(which).or_insert_with(|| point.clone());
        }
    }

    /// The body of a request that ends them all, a millisecond after the latest point. `None` without series.
    pub(super) fn end(&self) -> Option<Vec<u8>> {
        let mut request = WriteRequest { timeseries: Vec::new(), metadata: Vec::new() };
        for point in self.points.values() {
            series(&mut request.timeseries, &self.run, point);
        }
        let timestamp = millis(self.latest_ns) + 1;
        for sample in request.timeseries.iter_mut().flat_map(|series| &mut series.samples) {
            *sample = Sample { value: f64::from_bits(ENDED), timestamp };
        }
        (!request.timeseries.is_empty()).then(|| compressed(&request))
    }
}

/// Nanoseconds since 1970 in milliseconds; they fit for 292 million years.
fn millis(at_ns: u64) -> i64 {
    (at_ns / 1_000_000) as i64
}

/// The name by Prometheus's rule for OpenTelemetry: dots become underscores, the unit and `total` follow.
fn name(metric: &Metric, value: &Value) -> String {
    let mut name = metric.name.replace('.', "_");
    name.push_str(match (metric.unit, value) {
        ("s", _) => "_seconds",
        ("By", _) => "_bytes",
        ("1", Value::Now(_)) => "_ratio",
        _ => "",
    });
    if matches!(value, Value::Total(_)) {
        name.push_str("_total");
    }
    name
}

fn describe(metadata: &mut Vec<Metadata>, point: &Point) {
    let family = name(&point.metric, &point.value);
    if metadata.iter().any(|known| known.family == family) {
        return;
    }
    let kind = match point.value {
        Value::Total(_) => 1,
        Value::Now(_) => 2,
        Value::Times(_) => 3,
    };
    let (help, unit) = (point.metric.about.to_owned(), point.metric.unit.to_owned());
    metadata.push(Metadata { kind, family, help, unit });
}

fn series(all: &mut Vec<TimeSeries>, run: &str, point: &Point) {
    let family = name(&point.metric, &point.value);
    let timestamp = millis(point.at_ns);
    let mut push = |suffix: &str, bound: Option<String>, value: f64| {
        let label = |name: &str, value: &str| Label { name: name.to_owned(), value: value.to_owned() };
        let mut labels = vec![label("__name__", &format!("{family}{suffix}")), label("job", "barograph")];
        labels.push(label("run", run));
        labels.extend(point.labels.iter().map(|(name, value)| label(name, value)));
        labels.extend(bound.map(|bound| label("le", &bound)));
        // The protocol requires the order of their names.
        labels.sort_by(|a, b| a.name.cmp(&b.name));
        all.push(TimeSeries { labels, samples: vec![Sample { value, timestamp }] });
    };
    match &point.value {
        Value::Now(value) => push("", None, *value),
        Value::Total(total) => push("", None, *total as f64),
        Value::Times(times) => buckets(times, push),
    }
}

/// A histogram as the series of its buckets, each of which counts all times up to its bound.
fn buckets(times: &Times, mut push: impl FnMut(&str, Option<String>, f64)) {
    let mut below = 0;
    for (bound, count) in BOUNDS_US.iter().zip(times.bounded) {
        below += count;
        push("_bucket", Some((*bound as f64 / 1e6).to_string()), below as f64);
    }
    push("_bucket", Some("+Inf".to_owned()), times.count as f64);
    push("_sum", None, times.sum_s);
    push("_count", None, times.count as f64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use barograph_stats::interval::histogram;

    fn point(metric: Metric, value: Value) -> Point {
        Point { metric, labels: vec![("operation", "Buy".to_owned())], at_ns: 1_500_000_000, value }
    }

    #[test]
    fn names_follow_the_rule() {
        let named = |metric_name, unit, value| name(&Metric::new(metric_name, unit, ""), &value);
        assert_eq!(
            named("barograph.start_lag", "s", Value::Times(Box::new(Times::new()))),
            "barograph_start_lag_seconds"
        );
        assert_eq!(named("barograph.requests", "{request}", Value::Total(1)), "barograph_requests_total");
        assert_eq!(named("barograph.busiest_worker", "1", Value::Now(1.0)), "barograph_busiest_worker_ratio");
        assert_eq!(named("barograph.probe.rss_bytes", "", Value::Now(1.0)), "barograph_probe_rss_bytes");
    }

    #[test]
    fn a_body_reads_back_with_sorted_labels_and_cumulative_buckets() {
        let mut times = Times::new();
        let mut seen = histogram();
        for micros in [150, 150, 3_000, 115_000_000] {
            seen.record(micros).unwrap();
        }
        times.add(&seen);
        let points = vec![
            point(Metric::new("barograph.response", "s", "how long"), Value::Times(Box::new(times))),
            point(Metric::new("barograph.users", "{user}", "how many"), Value::Now(7.0)),
        ];
        let batch = Batch { run: "r1".to_owned(), tool: "t".to_owned(), start_ns: 0, points };
        let bytes = snap::raw::Decoder::new().decompress_vec(&body(&batch)).unwrap();
        let request = WriteRequest::decode(&bytes[..]).unwrap();
        let families: Vec<(i32, &str)> =
            request.metadata.iter().map(|m| (m.kind, m.family.as_str())).collect();
        assert_eq!(families, [(3, "barograph_response_seconds"), (2, "barograph_users")]);
        let text = |series: &TimeSeries| {
            let labels = series.labels.iter().map(|l| format!("{}={}", l.name, l.value)).collect::<Vec<_>>();
            (labels.join(","), series.samples[0].value, series.samples[0].timestamp)
        };
        let all: Vec<_> = request.timeseries.iter().map(text).collect();
        let bucket = |le: &str| {
            let labels = format!(
                "__name__=barograph_response_seconds_bucket,job=barograph,le={le},operation=Buy,run=r1"
            );
            all.iter().find(|(found, ..)| *found == labels).unwrap_or_else(|| panic!("{le} in {all:?}")).1
        };
        assert_eq!(
            ["0.0001", "0.0002", "0.002", "0.005", "100", "+Inf"].map(bucket),
            [0.0, 2.0, 2.0, 3.0, 3.0, 4.0]
        );
        let users = "__name__=barograph_users,job=barograph,operation=Buy,run=r1".to_owned();
        assert!(all.contains(&(users, 7.0, 1_500)));
        assert_eq!(all.len(), BOUNDS_US.len() + 3 + 1);
    }

    #[test]
    fn series_end_once_after_their_last_samples_and_answers_do_not() {
        let mut begun = OpenSeries::default();
        assert_eq!(begun.end(), None);
        for at_ns in [2_500_000_000, 1_500_000_000] {
            let points = vec![
                Point { at_ns, ..point(Metric::new("barograph.users", "{user}", ""), Value::Now(7.0)) },
                point(Metric::new("barograph.response", "s", ""), Value::Times(Box::new(Times::new()))),
                point(Metric::answer("barograph.passed", "{run}", ""), Value::Now(1.0)),
            ];
            begun.took(&Batch { run: "r1".to_owned(), tool: "t".to_owned(), start_ns: 0, points });
        }
        let bytes = snap::raw::Decoder::new().decompress_vec(&begun.end().unwrap()).unwrap();
        let request = WriteRequest::decode(&bytes[..]).unwrap();
        // The buckets of one histogram with its sum and count, and the users.
        assert_eq!(request.timeseries.len(), BOUNDS_US.len() + 3 + 1);
        for series in &request.timeseries {
            assert!(series.labels.iter().all(|label| label.value != "barograph_passed"), "{series:?}");
            assert!(series.labels.is_sorted_by(|a, b| a.name < b.name), "{series:?}");
            let samples: Vec<_> = series.samples.iter().map(|s| (s.value.to_bits(), s.timestamp)).collect();
            assert_eq!(samples, [(ENDED, 2_501)]);
        }
    }
}
