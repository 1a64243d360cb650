//! Elasticity: how well the number of nodes that run follows the number that the load needs.
//!
//! Demand and supply are numbers of nodes that change in steps. The metrics are those of Herbst and others for
//! the SPEC Research Group: accuracy and time share of under- and over-provisioning, instability, jitter, the
//! distance from a supply that always equals the demand, and the speed-up against a baseline.

mod course;
mod rule;
mod steps;
#[cfg(test)]
mod tests;

pub use course::LoadCourse;
pub use rule::{Scaler, TargetRule};
pub use steps::Steps;

/// Seconds of a minute, in which jitter is counted.
const MINUTE_S: f64 = 60.0;

/// Order of the distance from the ideal: the number of provisioning metrics that it joins.
const ORDER: f64 = 4.0;

/// Part of a step within which two instants count as equal.
const SAME: f64 = 1e-9;

/// Metrics of elasticity over a time. Shares and accuracies are in percent, and ideally 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// Length of the time.
    pub seconds: f64,
    /// Missing nodes as a part of those demanded, over time.
    pub under_accuracy: f64,
    /// Surplus nodes as a part of those demanded, over time.
    pub over_accuracy: f64,
    /// Share of the time with too few nodes.
    pub under_time: f64,
    /// Share of the time with too many nodes.
    pub over_time: f64,
    /// Share of the time in which demand and supply did not change in the same direction.
    pub instability: f64,
    /// Changes of supply less those of demand, per minute: below 0 it is sluggish, above 0 nervous.
    pub jitter_per_min: f64,
    /// Number of changes of demand.
    pub demand_changes: u32,
    /// Number of changes of supply.
    pub supply_changes: u32,
}

impl Elasticity {
    /// Compares the supply with the demand in the time between two instants, in seconds. Instability looks at
    /// both every `every_s` seconds. `None` without time.
    #[must_use]
    pub fn of(demand: &Steps, supply: &Steps, (from, to): (f64, f64), every_s: f64) -> Option<Self> {
        let seconds = to - from;
        if !(seconds > 0.0 && seconds.is_finite() && every_s > 0.0) {
            return None;
        }
        let (mut under, mut over, mut under_s, mut over_s) = (0.0, 0.0, 0.0, 0.0);
        for (a, b) in pieces(demand, supply, (from, to)) {
            let (needed, there) = (f64::from(demand.at(a)), f64::from(supply.at(a)));
            let length = b - a;
            if there < needed {
                under += (needed - there) / needed * length;
                under_s += length;
            } else if there > needed {
                // Surplus of a demand of none counts in whole nodes.
                over += (there - needed) / needed.max(1.0) * length;
                over_s += length;
            }
        }
        let percent = |part: f64| 100.0 * part / seconds;
        let (demand_changes, supply_changes) = (demand.changes((from, to)), supply.changes((from, to)));
        let surplus_changes = f64::from(supply_changes) - f64::from(demand_changes);
        Some(Elasticity {
            seconds,
            under_accuracy: percent(under),
            over_accuracy: percent(over),
            under_time: percent(under_s),
            over_time: percent(over_s),
            instability: instability(demand, supply, (from, to), every_s),
            jitter_per_min: surplus_changes / (seconds / MINUTE_S),
            demand_changes,
            supply_changes,
        })
    }

    /// The four metrics of provisioning: accuracies and time shares.
    #[must_use]
    pub fn provisioning(&self) -> [f64; 4] {
        [self.under_accuracy, self.over_accuracy, self.under_time, self.over_time]
    }

    /// Minkowski distance, of order 4, of the metrics of provisioning from those of a supply that always
    /// equals the demand.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        distance(&self.provisioning(), ORDER)
    }

    /// Geometric mean of the ratios of a baseline's metrics to these: above 1 this one is better. `None` if
    /// one of the metrics is zero on a side, as a ratio means nothing then.
    #[must_use]
    pub fn speed_up_over(&self, baseline: &Elasticity) -> Option<f64> {
        let pairs = baseline.provisioning().into_iter().zip(self.provisioning());
        let ratios: Option<Vec<f64>> =
            pairs.map(|(base, own)| (base > 0.0 && own > 0.0).then(|| (base / own).ln())).collect();
        let logs = ratios?;
        Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }
}

/// Minkowski distance of metrics from zero.
#[must_use]
pub fn distance(metrics: &[f64], order: f64) -> f64 {
    metrics.iter().map(|metric| metric.abs().powf(order)).sum::<f64>().powf(1.0 / order)
}

/// Stretches of a time in which neither of the two changes.
fn pieces(demand: &Steps, supply: &Steps, (from, to): (f64, f64)) -> Vec<(f64, f64)> {
    let within = |at: &f64| *at > from && *at < to;
    let mut ends: Vec<f64> = demand.instants().chain(supply.instants()).filter(within).collect();
    ends.extend([from, to]);
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    ends.windows(2).map(|two| (two[0], two[1])).collect()
}

/// Share of looks, in percent, since whose previous one demand and supply changed in different directions.
fn instability(demand: &Steps, supply: &Steps, (from, to): (f64, f64), every_s: f64) -> f64 {
    let looks = ((to - from) / every_s * (1.0 + SAME)).floor();
    if looks < 1.0 {
        return 0.0;
    }
    // A change at the very instant of a look is seen by it, however the instant was computed.
    let at = |look: f64| from + (look + SAME) * every_s;
    let direction = |steps: &Steps, look: f64| steps.at(at(look)).cmp(&steps.at(at(look - 1.0)));
    let (mut look, mut apart) = (1.0, 0.0);
    while look <= looks {
        if direction(demand, look) != direction(supply, look) {
            apart += 1.0;
        }
        look += 1.0;
    }
    100.0 * apart / looks
}
