//! The level of the load over time, and the demand that follows from it.

use barograph_model::{CapacityEnd, DemandCurve};

use super::Steps;

/// Level of the load over time: changes that take no time or go evenly, and constant between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadCourse {
    /// Levels at instants in the order of time; between two of them the level changes evenly.
    points: Vec<(f64, f64)>,
}

impl LoadCourse {
    /// No load so far.
    #[must_use]
    pub fn new() -> Self {
        LoadCourse::default()
    }

    /// The level at an instant; at that of a jump, the new one.
    #[must_use]
    pub fn level(&self, s: f64) -> f64 {
        let end = self.points.partition_point(|(at, _)| *at <= s);
        let Some(before) = end.checked_sub(1) else { return 0.0 };
        let (a, from) = self.points[before];
        let Some((b, to)) = self.points.get(end) else { return from };
        from + (to - from) * (s - a) / (b - a)
    }

    /// Begins a change to a level. A change in progress ends where it is.
    pub fn change(&mut self, at_s: f64, level: f64, over_s: f64) {
        let now = self.level(at_s);
        let end = self.points.partition_point(|(at, _)| *at < at_s);
        self.points.truncate(end);
        self.points.push((at_s, now));
        self.points.push((at_s + over_s.max(0.0), level));
    }

    /// The fewest nodes that hold the load at any time.
    #[must_use]
    pub fn demand(&self, curve: &DemandCurve, end: CapacityEnd) -> Steps {
        let steps = curve.steps(end);
        let mut demand = Steps::new(curve.nodes_for(0.0, end));
        if let Some((at, level)) = self.points.first() {
            demand.set(*at, curve.nodes_for(*level, end));
        }
        for two in self.points.windows(2) {
            let ((a, from), (b, to)) = (two[0], two[1]);
            let when = |load: f64| a + (load - from) / (to - from) * (b - a);
            if b > a && to > from {
                for (at, (load, _)) in steps.iter().enumerate() {
                    if (from..to).contains(load) {
                        let above = steps.get(at + 1).map_or_else(|| curve.most() + 1, |(_, nodes)| *nodes);
                        demand.set(when(*load), above);
                    }
                }
            } else if b > a {
                for (load, nodes) in steps.iter().rev().filter(|(load, _)| (to..from).contains(load)) {
                    demand.set(when(*load), *nodes);
                }
            }
            demand.set(b, curve.nodes_for(to, end));
        }
        demand
    }
}
