//! Values of a workload's measures in a window.

use barograph_model::{Amount, Formula, MeasureDivisor, MeasureSpec, MeasureValue, OpId, Outcome};

use crate::interval::{Interval, OpStats};

/// The measures of a window, each with its value.
#[must_use]
pub(crate) fn measured(measures: &[MeasureSpec], window: &Interval) -> Vec<MeasureValue> {
    measures.iter().map(|spec| MeasureValue { spec: *spec, value: value(&spec.formula, window) }).collect()
}

/// Value of a formula; `None` if it would divide by zero.
fn value(formula: &Formula, window: &Interval) -> Option<f64> {
    let per = match formula.per {
        MeasureDivisor::Second => window.seconds(),
        MeasureDivisor::Amount(amount) => of(amount, window) as f64,
    };
    (per > 0.0).then(|| of(formula.amount, window) as f64 / per * formula.factor)
}

fn of(amount: Amount, window: &Interval) -> u64 {
    let good = |op: &OpStats| op.outcomes[Outcome::Good.index()];
    match amount {
        Amount::Counter(counter) => window.counters.get(counter),
        Amount::Ended(op) => sum(window, op, OpStats::count),
        Amount::Good(op) => sum(window, op, good),
    }
}

/// Sum of a count over one operation, or over all.
fn sum(window: &Interval, op: Option<OpId>, count: impl Fn(&OpStats) -> u64) -> u64 {
    match op {
        Some(op) => window.ops.get(op.index()).map_or(0, count),
        None => window.ops.iter().map(count).sum(),
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::{CounterId, Nanos};

    use super::*;

    const BYTES: CounterId = CounterId(0);
    const LOOKUPS: CounterId = CounterId(1);

    /// Two seconds in which 6 operations of one kind ended well, 2 failed, and 4 of another kind ended well.
    fn window() -> Interval {
        let mut window = Interval::new(2);
        window.to = Nanos::from_secs(2);
        window.ops[0].outcomes[Outcome::Good.index()] = 6;
        window.ops[0].outcomes[Outcome::Refused.index()] = 2;
        window.ops[1].outcomes[Outcome::Good.index()] = 4;
        window.ops[1].outcomes[Outcome::Cancelled.index()] = 9;
        window.counters.raise(BYTES, 3_000_000);
        window
    }

    #[test]
    fn each_formula_has_its_value() {
        let bytes = Amount::Counter(BYTES);
        let first = Some(OpId(0));
        let cases = [
            (Formula::per_second(bytes).times(1e-6), Some(1.5)),
            (Formula::per_minute(Amount::Good(first)), Some(180.0)),
            (Formula::per_second(Amount::Ended(None)), Some(6.0)),
            (Formula::per_operation(BYTES), Some(250_000.0)),
            (Formula::percent(Amount::Good(first), Amount::Ended(first)), Some(75.0)),
            (Formula::percent(bytes, Amount::Counter(LOOKUPS)), None),
        ];
        for (formula, expected) in cases {
            assert_eq!(value(&formula, &window()), expected, "{formula:?}");
        }
        assert_eq!(value(&Formula::per_second(bytes), &Interval::new(2)), None, "no time has passed");
    }
}
