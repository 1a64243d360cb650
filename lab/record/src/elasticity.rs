//! Demand and supply of nodes over a run, and the metrics of elasticity that follow from them.

use barograph_model::{CapacityEnd, DemandCurve, Level, Metric, NodesHold};
use barograph_stats::elasticity::{Elasticity, LoadCourse, Steps};
use serde::{Deserialize, Serialize};

use crate::entry::nan;
use crate::{ExpectedFigures, IntervalRow, Run, UnitRecord};

/// Length of the steps by which instability is judged, where the record has no intervals, in seconds.
const LOOK_S: f64 = 1.0;

/// The demand curve of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DemandRecord {
    /// Tier whose nodes it counts.
    pub tier: String,
    /// Origin of the curve, in words.
    pub about: String,
    /// Unit of its loads.
    pub unit: UnitRecord,
    /// Numbers of nodes with the most load that each holds.
    pub nodes: Vec<NodesHoldRecord>,
}

/// A number of nodes with the most load that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodesHoldRecord {
    /// Number of nodes.
    pub count: u32,
    /// The load.
    #[serde(deserialize_with = "nan")]
    pub load: f64,
    /// Lower end of its 95 % interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end; absent if unknown, or if more was never tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl From<NodesHold> for NodesHoldRecord {
    fn from(of: NodesHold) -> Self {
        let high = of.within.map(|(_, high)| high).filter(|high| high.is_finite());
        NodesHoldRecord { count: of.nodes, load: of.load, low: of.within.map(|(low, _)| low), high }
    }
}

impl From<NodesHoldRecord> for NodesHold {
    fn from(of: NodesHoldRecord) -> Self {
        let within = of.low.map(|low| (low, of.high.unwrap_or(f64::INFINITY)));
        NodesHold { nodes: of.count, load: of.load, within }
    }
}

/// Nodes of the tier from an instant on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SupplyRecord {
    /// Seconds since the start of the load.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// The tier.
    pub tier: String,
    /// Nodes that are ready: the supply.
    pub ready: u32,
    /// Nodes that run, ready or not: what they cost.
    pub running: u32,
}

/// A change of the level of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelRecord {
    /// Its start, in seconds since the start of the load.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// The level that it leads to.
    #[serde(with = "crate::level")]
    pub level: Level,
    /// Its duration in seconds.
    #[serde(deserialize_with = "nan")]
    pub over_s: f64,
}

/// Nodes of a tier over a run, with what the load needed of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ElasticCourse {
    /// The tier.
    pub tier: String,
    /// First and last instant, in seconds since the start of the load.
    pub span: (f64, f64),
    /// Nodes that were ready.
    pub supply: Steps,
    /// Nodes that ran, ready or not.
    pub running: Steps,
    /// The fewest nodes that hold the load, by the estimates of the curve and by the lower and the upper ends
    /// of their intervals; `None` without a demand curve.
    pub demand: Option<[Steps; 3]>,
    /// Most nodes of the curve: more are demanded where the load is above all that was measured.
    pub most: u32,
}

/// A figure of elasticity.
#[derive(Clone, Debug, PartialEq)]
pub struct ElasticFigure {
    /// Its key: the name of the metric if it is one.
    pub id: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its value.
    pub value: f64,
    /// Range of the values within the intervals of the demand curve; `None` if it does not depend on them.
    pub within: Option<(f64, f64)>,
}

impl Run {
    /// Returns the nodes of the tier over time, if the plan asked for them.
    #[must_use]
    pub fn elastic_course(&self) -> Option<ElasticCourse> {
        let first = self.supplies().next()?;
        let (mut supply, mut running) = (Steps::new(first.ready), Steps::new(first.running));
        for of in self.supplies() {
            supply.set(of.at_s, of.ready);
            running.set(of.at_s, of.running);
        }
        let curve = self
            .demand()
            .and_then(|demand| DemandCurve::new(demand.nodes.iter().copied().map(NodesHold::from).collect()));
        let ends = [CapacityEnd::Estimate, CapacityEnd::Low, CapacityEnd::High];
        let course = self.load_course();
        Some(ElasticCourse {
            tier: first.tier.clone(),
            span: (0.0, self.load_end_s()?),
            supply,
            running,
            demand: curve.as_ref().map(|curve| ends.map(|end| course.demand(curve, end))),
            most: curve.map_or(0, |curve| curve.most()),
        })
    }

    /// Level of the load over time.
    fn load_course(&self) -> LoadCourse {
        let mut course = LoadCourse::new();
        for change in self.levels() {
            course.change(change.at_s, f64::from(change.level), change.over_s);
        }
        course
    }

    /// End of the load: the start of the last drain, or of what there is.
    fn load_end_s(&self) -> Option<f64> {
        let rows = self.each_load().first()?.intervals();
        let last = rows.map(|row| row.to_s).fold(0.0, f64::max);
        let drain =
            self.phases().into_iter().rfind(|span| span.phase == barograph_model::Phase::Drain.name());
        let drained = drain.zip(self.load_start_s()).map(|(drain, start)| drain.from_s - start);
        Some(drained.unwrap_or(last)).filter(|end| *end > 0.0)
    }

    /// Returns the figures of elasticity; empty if the plan did not ask for them. One of several loads has
    /// none of its own.
    #[must_use]
    pub fn elastic_figures(&self) -> Vec<ElasticFigure> {
        let Some(course) = self.elastic_course().filter(|_| self.load.is_none()) else { return Vec::new() };
        let mut figures = course.figures(self.look_s());
        let plain = |id, title, unit, value| ElasticFigure { id, title, unit, value, within: None };
        let violated = self.violated_s(course.span);
        let share = 100.0 * violated / (course.span.1 - course.span.0);
        figures.push(plain(Metric::ViolationTime.name(), "time in violation of QoS", "%", share));
        figures.push(plain("violation_s", "time in violation of QoS", "s", violated));
        let cost = course.running.integral(course.span);
        figures.push(plain(Metric::NodeSeconds.name(), "cost", "node-seconds", cost));
        figures
    }

    /// Returns a metric of elasticity.
    pub(crate) fn elastic_metric(&self, metric: Metric) -> Option<f64> {
        self.elastic_figures()
            .into_iter()
            .find(|figure| figure.id == metric.name())
            .map(|figure| figure.value)
    }

    /// Length of an interval of the run.
    fn look_s(&self) -> f64 {
        let mut lengths: Vec<f64> =
            self.each_load().iter().flat_map(Run::intervals).map(IntervalRow::seconds).collect();
        lengths.sort_by(f64::total_cmp);
        lengths.get(lengths.len() / 2).copied().filter(|length| *length > 0.0).unwrap_or(LOOK_S)
    }

    /// Seconds of intervals in which a load broke a rule for response time or failures.
    fn violated_s(&self, (from, to): (f64, f64)) -> f64 {
        let mut spans: Vec<(f64, f64)> = Vec::new();
        for load in self.each_load() {
            let Some(expected) = load.expected() else { continue };
            let broken = load.intervals().filter(|row| breaks(row, expected));
            spans.extend(broken.map(|row| (row.from_s.max(from), row.to_s.min(to))));
        }
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut sum, mut reached) = (0.0, from);
        for (a, b) in spans {
            sum += (b - a.max(reached)).max(0.0);
            reached = b.max(reached);
        }
        sum
    }
}

/// Whether more operations of an interval were over their limit, or failed, than a rule allows.
fn breaks(row: &IntervalRow, expected: &ExpectedFigures) -> bool {
    row.ops.iter().filter(|op| op.count > 0).any(|op| {
        let rule = expected.rules.iter().find(|rule| rule.op == op.op && rule.is_judged());
        rule.is_some_and(|rule| {
            let (count, slow) = (op.count as f64, op.over_limit as f64);
            let too_slow = rule.limit_ms.is_some() && slow > (1.0 - rule.quantile) * count;
            too_slow || op.failed as f64 > rule.failures * count
        })
    })
}

impl ElasticCourse {
    /// Metrics against the demand, empty without one. Instability looks every `every_s` seconds.
    fn figures(&self, every_s: f64) -> Vec<ElasticFigure> {
        let Some(demands) = &self.demand else { return Vec::new() };
        let of = |demand: &Steps, supply: &Steps| Elasticity::of(demand, supply, self.span, every_s);
        let all: Vec<Elasticity> = demands.iter().filter_map(|demand| of(demand, &self.supply)).collect();
        let (Some(own), Some(fixed)) =
            (all.first(), of(&demands[0], &Steps::new(self.supply.at(self.span.0))))
        else {
            return Vec::new();
        };
        let figure = |metric: Metric, value: fn(&Elasticity) -> f64| {
            let values = || all.iter().map(value);
            let within = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
            let (id, title, unit) = (metric.name(), metric.words(), metric.unit());
            ElasticFigure { id, title, unit, value: value(own), within: Some(within) }
        };
        let plain = |id, title, unit, value| ElasticFigure { id, title, unit, value, within: None };
        let mut figures = vec![
            figure(Metric::UnderAccuracy, |of| of.under_accuracy),
            figure(Metric::OverAccuracy, |of| of.over_accuracy),
            figure(Metric::UnderTime, |of| of.under_time),
            figure(Metric::OverTime, |of| of.over_time),
            figure(Metric::Instability, |of| of.instability),
            ElasticFigure {
                id: "jitter",
                title: "jitter",
                unit: "changes/min",
                ..figure(Metric::Instability, |of| of.jitter_per_min)
            },
            figure(Metric::ElasticDeviation, Elasticity::deviation),
            plain("fixed_deviation", "elastic deviation of the nodes at the start", "%", fixed.deviation()),
        ];
        let speed_up = own.speed_up_over(&fixed);
        let title = "elastic speed-up over the nodes at the start";
        figures.extend(speed_up.map(|times| plain("elastic_speed_up", title, "times", times)));
        let seconds = |steps: &Steps| steps.integral(self.span);
        let needed = demands.iter().map(seconds);
        let within = (needed.clone().fold(f64::INFINITY, f64::min), needed.fold(0.0, f64::max));
        figures.push(ElasticFigure {
            within: Some(within),
            ..plain("demanded_node_seconds", "demand", "node-seconds", seconds(&demands[0]))
        });
        figures
    }

    /// Seconds for which the load was above all that the demand curve knows, so that the demand is a lower
    /// bound.
    #[must_use]
    pub fn beyond_s(&self) -> f64 {
        let Some([demand, ..]) = &self.demand else { return 0.0 };
        let above = demand.pieces(self.span).filter(|(_, _, nodes)| *nodes > self.most);
        above.map(|(from, to, _)| to - from).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpRow, Rule};

    fn interval(count: u64, over_limit: u64, failed: u64) -> IntervalRow {
        let op = serde_json::json!({
            "op": "Ask", "count": count, "failed": failed, "p50_ms": 1, "p99_ms": 1, "max_ms": 1,
            "over_limit": over_limit, "requests": count, "outcomes": [],
        });
        let op: OpRow = serde_json::from_value(op).unwrap();
        let row = serde_json::json!({
            "from_s": 0, "to_s": 1, "users": 1, "starts": count, "lag_p50_ms": 0, "lag_p99_ms": 0, "in_flight": 0,
            "worker_cpu": 0, "busiest_worker": 0, "ops": [],
        });
        IntervalRow { ops: vec![op], ..serde_json::from_value(row).unwrap() }
    }

    #[test]
    fn an_interval_breaks_a_rule_that_more_operations_break_than_it_allows() {
        let rule = Rule {
            op: "Ask".to_owned(),
            about: String::new(),
            quantile: 0.9,
            limit_ms: Some(10.0),
            judged: Some(true),
            mix: 0.0,
            mix_tolerance: 0.0,
            failures: 0.01,
        };
        let expected = |rule: &Rule| ExpectedFigures {
            workload: String::new(),
            profile: String::new(),
            unit: UnitRecord::Users,
            target: None,
            derived: None,
            session_op: None,
            rules: vec![rule.clone()],
            counters: vec![],
        };
        for (count, over_limit, failed, broken) in
            [(0, 0, 0, false), (100, 9, 1, false), (100, 11, 0, true), (100, 0, 2, true), (10, 2, 0, true)]
        {
            let row = interval(count, over_limit, failed);
            assert_eq!(breaks(&row, &expected(&rule)), broken, "{count}, {over_limit}, {failed}");
            let unlimited = Rule { limit_ms: None, failures: 1.0, ..rule.clone() };
            assert!(!breaks(&row, &expected(&unlimited)));
        }
    }

    #[test]
    fn a_point_of_the_curve_is_kept_with_an_open_end() {
        for within in [None, Some((1.0, 3.0)), Some((1.0, f64::INFINITY))] {
            let point = NodesHold { nodes: 2, load: 2.0, within };
            assert_eq!(NodesHold::from(NodesHoldRecord::from(point)), point);
        }
    }
}
