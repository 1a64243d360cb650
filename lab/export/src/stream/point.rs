//! Figures at points in time, independent of the receiver.

use std::borrow::Cow;

use super::buckets::Times;

/// Name and meaning of a figure, by the conventions of OpenTelemetry; Prometheus names follow from them by
/// that project's rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metric {
    /// The name, such as `barograph.response`.
    pub(super) name: Cow<'static, str>,
    /// `s`, `By`, `1` for a share, a word in braces for counts of it, or empty if the name contains it.
    pub(super) unit: &'static str,
    /// Its meaning.
    pub(super) about: &'static str,
    /// Whether it is final, like an answer: it does not end with the run.
    pub(super) is_answer: bool,
}

impl Metric {
    pub(super) const fn new(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        Metric { name: Cow::Borrowed(name), unit, about, is_answer: false }
    }

    /// A final figure.
    pub(super) const fn answer(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        Metric { name: Cow::Borrowed(name), unit, about, is_answer: true }
    }
}

/// Value of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// The present value.
    Now(f64),
    /// A count since the start of the load.
    Total(u64),
    /// Times since the start of the load.
    Times(Box<Times>),
}

/// A figure at a point in time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) metric: Metric,
    /// Labels, such as the operation.
    pub(super) labels: Vec<(&'static str, String)>,
    /// Nanoseconds since 1970, by the clock at the begin of the record.
    pub(super) at_ns: u64,
    pub(super) value: Value,
}

/// Figures that are sent together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Batch {
    /// Name of the run.
    pub(super) run: String,
    /// Version of the program.
    pub(super) tool: String,
    /// Start of the load, from which totals count; nanoseconds since 1970.
    pub(super) start_ns: u64,
    pub(super) points: Vec<Point>,
}
