//! Rules of a measured window.

use barograph_model::{Bound, Distribution, Nanos, Profile, QosRule, Rule, Share, Strategy, Subject};
use barograph_spec::Plan;

use crate::operation::{Limits, Operation, stationary};
use crate::plan::SocialPlan;

/// The judged quantile of response times.
const QUANTILE: Share = Share::percent(90.0);

/// Largest share of failed operations.
const FAILURES: Share = Share::percent(0.1);

/// Tolerance of a share of the mix, in parts of all operations.
const MIX_TOLERANCE: f64 = 0.02;

/// Tolerance of the mean cycle.
const CYCLE_TOLERANCE: f64 = 0.02;

/// Standard errors of the mean cycle that chance alone may explain.
const ERRORS: f64 = 3.0;

/// Standard deviation of a cycle, relative to its mean.
const SPREAD: f64 = 0.95;

/// The cycle of users has at most this multiple of its mean.
pub(crate) const LONGEST: f64 = 5.0;

/// Requirements on measures.
const MEASURES: [(&str, Bound); 6] = [
    ("home_pictures", Bound::Within { value: 10.0, tolerance: Share::percent(5.0) }),
    ("home_pictures_loaded", Bound::AtLeast(2.5)),
    ("home_picture_bytes", Bound::AtLeast(15_000.0)),
    ("search_pictures", Bound::AtLeast(0.001)),
    ("event_pictures", Bound::AtLeast(1.0)),
    ("attendance", Bound::AtLeast(6.0)),
];

/// The profile of a plan.
pub(crate) fn profile(name: &'static str, limits: Limits, plan: &PlanFacts) -> Profile {
    let mix = stationary();
    let rule = |operation: Operation| {
        let share = mix[operation as usize];
        QosRule {
            op: operation.op(),
            quantile: QUANTILE,
            limit: Some(operation.limit(limits)),
            judged: true,
            mix: Share::new(share).unwrap_or_default(),
            // A tolerance is at most the share itself.
            mix_tolerance: Share::new((MIX_TOLERANCE / share).min(1.0)).unwrap_or_default(),
            failures: FAILURES,
        }
    };
    let mut profile = Profile::usual(name, &Operation::ALL.map(rule), None);
    profile.rules.extend(MEASURES.map(|(id, bound)| Rule { subject: Subject::Measure(id), bound }));
    profile.rules.extend(plan.cycle_rule());
    profile
}

/// Facts of a plan that rules depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanFacts {
    cycle: Nanos,
    /// Operations of a window; `None` if they differ from window to window.
    operations: Option<f64>,
}

impl PlanFacts {
    pub(crate) fn of(plan: &Plan) -> Self {
        let cycle = SocialPlan::of(plan).cycle;
        let operations = match &plan.strategy {
            Strategy::Fixed { .. } => {
                let window_s = plan.durations.window.as_secs_f64();
                Some(f64::from(plan.most_users()) * window_s / mean_s(cycle))
            }
            _ => None,
        };
        PlanFacts { cycle, operations }
    }

    /// The rule of the mean cycle: 2 %, and the chance of a window of this size. Loads that change from window to
    /// window have the check of start rates alone.
    fn cycle_rule(&self) -> Option<Rule> {
        let by_chance = ERRORS * SPREAD / self.operations?.max(1.0).sqrt();
        let tolerance = Share::new((CYCLE_TOLERANCE + by_chance).min(1.0)).unwrap_or_default();
        let bound = Bound::Within { value: mean_s(self.cycle), tolerance };
        Some(Rule { subject: Subject::Measure("mean_cycle_s"), bound })
    }
}

/// The cycle of an operation, from its start to that of the next one: negative exponential, shifted where it has a
/// least value.
pub(crate) fn distribution(operation: Operation, mean: Nanos) -> Distribution {
    let of_mean = |part: f64| Nanos::from_secs_f64(mean.as_secs_f64() * part);
    let max = of_mean(LONGEST);
    match operation.least_cycle() {
        0.0 => Distribution::Exponential { mean, max },
        least => Distribution::ShiftedExponential { min: of_mean(least), mean, max },
    }
}

/// The mean of all cycles with their cut, in the stationary mix.
pub(crate) fn mean_s(mean: Nanos) -> f64 {
    let of = |operation: Operation| {
        let least = operation.least_cycle();
        let above = 1.0 - least;
        least + above * (1.0 - (-(LONGEST - least) / above).exp())
    };
    let mix = stationary();
    mean.as_secs_f64() * Operation::ALL.into_iter().map(|one| mix[one as usize] * of(one)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_cycle_is_the_published_one() {
        assert!((mean_s(Nanos::from_secs(5)) - 4.97).abs() < 0.005);
        let cycle = |operation| distribution(operation, Nanos::from_secs(5));
        let (mean, max) = (Nanos::from_secs(5), Nanos::from_secs(25));
        assert_eq!(cycle(Operation::Home), Distribution::Exponential { mean, max });
        for (operation, least_s) in [(Operation::AddPerson, 2), (Operation::AddEvent, 3)] {
            let min = Nanos::from_secs(least_s);
            assert_eq!(cycle(operation), Distribution::ShiftedExponential { min, mean, max });
        }
    }

    #[test]
    fn a_share_may_differ_by_two_points() {
        let facts = PlanFacts { cycle: Nanos::from_secs(5), operations: Some(48_000.0) };
        let profile = profile("classic", Limits::Classic, &facts);
        let Some(Bound::Within { value, tolerance }) = profile.mix(Operation::Home.op()) else {
            panic!("no mix")
        };
        assert!((value * tolerance.get() - 0.02).abs() < 1e-9);
        let Bound::Within { tolerance, .. } = facts.cycle_rule().unwrap().bound else {
            panic!("no tolerance")
        };
        assert!((tolerance.get() - 0.033).abs() < 0.0005, "{tolerance}");
        assert_eq!(PlanFacts { operations: None, ..facts }.cycle_rule(), None);
    }
}
