//! One figure at one moment, before any receiver's words are put to it.

use std::borrow::Cow;

use super::buckets::Times;

/// What a figure is called, in the manner of OpenTelemetry; Prometheus names follow from it by that project's rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metric {
    /// Such as `barograph.response`.
    pub(super) name: Cow<'static, str>,
    /// `s`, `By`, `1` for a share, something in braces for counts of it, or empty where the name says it.
    pub(super) unit: &'static str,
    /// What it means.
    pub(super) about: &'static str,
    /// Said once, as an answer is: it does not end with the run.
    pub(super) is_answer: bool,
}

impl Metric {
    pub(super) const fn new(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        Metric { name: Cow::Borrowed(name), unit, about, is_answer: false }
    }

    /// One that is said once.
    pub(super) const fn answer(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        Metric { name: Cow::Borrowed(name), unit, about, is_answer: true }
    }
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// As it is at the moment.
    Now(f64),
    /// Counted since the start of the load.
    Total(u64),
    /// Times since the start of the load.
    Times(Box<Times>),
}

/// A figure at a moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) metric: Metric,
    /// Such as the operation it is about.
    pub(super) labels: Vec<(&'static str, String)>,
    /// Nanoseconds since 1970, by the clock that the record began with.
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
