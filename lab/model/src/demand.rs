//! The demand curve: the fewest nodes that hold each load.

/// A number of nodes, and the most load that it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodesHold {
    /// Number of nodes.
    pub nodes: u32,
    /// Most load, in the unit of the curve.
    pub load: f64,
    /// 95 % interval of that load; its upper end is infinite if more was never tried. `None` if unknown.
    pub within: Option<(f64, f64)>,
}

/// Which end of the intervals a demand is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityEnd {
    /// The estimates.
    Estimate,
    /// The lower ends: nodes hold less, and demand is higher.
    Low,
    /// The upper ends: nodes hold more, and demand is lower.
    High,
}

/// The fewest nodes that hold each load, for the numbers of nodes that were measured. It has at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct DemandCurve {
    points: Vec<NodesHold>,
}

impl DemandCurve {
    /// Makes a curve. `None` if there is no point, if two have the same number of nodes, if a number of nodes
    /// or a load is not above zero, or if an estimate lies outside of its interval.
    #[must_use]
    pub fn new(mut points: Vec<NodesHold>) -> Option<Self> {
        points.sort_by_key(|point| point.nodes);
        let is_fit = |point: &NodesHold| {
            let holds = |(low, high): (f64, f64)| 0.0 <= low && low <= point.load && point.load <= high;
            point.nodes > 0 && point.load > 0.0 && point.load.is_finite() && point.within.is_none_or(holds)
        };
        let distinct = points.windows(2).all(|two| two[0].nodes < two[1].nodes);
        (!points.is_empty() && distinct && points.iter().all(is_fit)).then_some(DemandCurve { points })
    }

    /// The points, by number of nodes.
    #[must_use]
    pub fn points(&self) -> &[NodesHold] {
        &self.points
    }

    /// The most load of each number of nodes that is the fewest for some load, rising in both. Nodes that
    /// hold no more than fewer ones are left out, so the demand never falls with the load.
    #[must_use]
    pub fn steps(&self, end: CapacityEnd) -> Vec<(f64, u32)> {
        let mut steps: Vec<(f64, u32)> = Vec::new();
        for point in &self.points {
            let load = match (end, point.within) {
                (CapacityEnd::Low, Some((low, _))) => low,
                (CapacityEnd::High, Some((_, high))) => high,
                _ => point.load,
            };
            if steps.last().is_none_or(|(most, _)| load > *most) {
                steps.push((load, point.nodes));
            }
        }
        steps
    }

    /// The fewest nodes that hold a load. Above the most that was measured it is one more than the most
    /// nodes, and only a lower bound ([`DemandCurve::most`]).
    #[must_use]
    pub fn nodes_for(&self, load: f64, end: CapacityEnd) -> u32 {
        let steps = self.steps(end);
        let holds = steps.iter().find(|(most, _)| *most >= load);
        holds.map_or_else(|| self.most() + 1, |(_, nodes)| *nodes)
    }

    /// The most nodes that were measured.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.points.last().map_or(0, |point| point.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(nodes: u32, load: f64, within: Option<(f64, f64)>) -> NodesHold {
        NodesHold { nodes, load, within }
    }

    fn curve() -> DemandCurve {
        let points = vec![
            point(2, 190.0, Some((180.0, 200.0))),
            point(1, 100.0, Some((90.0, 110.0))),
            point(3, 185.0, None),
            point(4, 300.0, Some((250.0, f64::INFINITY))),
        ];
        DemandCurve::new(points).unwrap()
    }

    #[test]
    fn the_fewest_nodes_that_hold_a_load_are_demanded() {
        let demanded = |load: f64| {
            [CapacityEnd::Low, CapacityEnd::Estimate, CapacityEnd::High]
                .map(|end| curve().nodes_for(load, end))
        };
        for (load, nodes) in [
            (0.0, [1, 1, 1]),
            (90.0, [1, 1, 1]),
            (100.0, [2, 1, 1]),
            (110.0, [2, 2, 1]),
            (182.0, [3, 2, 2]),
            (200.0, [4, 4, 2]),
            (260.0, [5, 4, 4]),
            (301.0, [5, 5, 4]),
        ] {
            assert_eq!(demanded(load), nodes, "{load}");
        }
        assert_eq!(curve().steps(CapacityEnd::Estimate), [(100.0, 1), (190.0, 2), (300.0, 4)]);
    }

    #[test]
    fn a_curve_has_points_that_differ_and_hold_something() {
        for wrong in [
            vec![],
            vec![point(1, 1.0, None), point(1, 2.0, None)],
            vec![point(0, 1.0, None)],
            vec![point(1, 0.0, None)],
            vec![point(1, f64::INFINITY, None)],
            vec![point(1, 5.0, Some((6.0, 7.0)))],
            vec![point(1, 5.0, Some((1.0, 4.0)))],
            vec![point(1, 5.0, Some((f64::NAN, 6.0)))],
        ] {
            assert_eq!(DemandCurve::new(wrong.clone()), None, "{wrong:?}");
        }
    }
}
