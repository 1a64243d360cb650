//! Rates of counters, from one answer to the next.

use std::sync::Arc;

use crate::{Statistic, StatisticKind};

/// Successive answers of one service.
#[derive(Clone, Debug)]
pub struct Series {
    list: Arc<[Statistic]>,
    last: Option<(f64, Vec<Option<f64>>)>,
}

impl Series {
    /// Starts without an answer.
    #[must_use]
    pub fn new(list: Arc<[Statistic]>) -> Self {
        Series { list, last: None }
    }

    /// Takes an answer of second `at_s` and returns one value per statistic: gauges as they are, counters per
    /// second since the previous answer. A counter has no rate at its first answer, nor after it fell, which
    /// means that the service was restarted.
    pub fn take(&mut self, at_s: f64, values: &[Option<f64>]) -> Vec<Option<f64>> {
        let last = self.last.as_ref().filter(|(then, _)| at_s > *then);
        let kept = self.list.iter().enumerate().map(|(at, statistic)| {
            let now = values.get(at).copied().flatten()?;
            if statistic.kind == StatisticKind::Gauge {
                return Some(now);
            }
            let (then_s, then) = last?;
            let grown = now - then.get(at).copied().flatten()?;
            (grown >= 0.0).then(|| grown / (at_s - then_s))
        });
        let kept = kept.collect();
        self.last = Some((at_s, values.to_vec()));
        kept
    }

    /// Notes a missing answer: the next counts may belong to another life of the service.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list() -> Arc<[Statistic]> {
        let one = |name: &str, kind| Statistic {
            name: name.to_owned(),
            of: name.to_owned().try_into().unwrap(),
            kind,
            unit: "things".to_owned(),
            what: String::new(),
        };
        Arc::from([one("done", StatisticKind::Counter), one("open", StatisticKind::Gauge)])
    }

    #[test]
    fn counters_become_rates_and_gauges_stay() {
        let mut series = Series::new(list());
        assert_eq!(series.take(1.0, &[Some(100.0), Some(7.0)]), [None, Some(7.0)]);
        assert_eq!(series.take(3.0, &[Some(140.0), None]), [Some(20.0), None]);
        assert_eq!(series.take(4.0, &[Some(3.0), Some(1.0)]), [None, Some(1.0)], "it fell: another life");
        assert_eq!(series.take(4.0, &[Some(9.0), Some(1.0)]), [None, Some(1.0)], "no time has passed");
        assert_eq!(series.take(5.0, &[Some(9.0), Some(1.0)])[0], Some(0.0));
        series.forget();
        assert_eq!(series.take(6.0, &[Some(50.0), Some(1.0)])[0], None);
        assert_eq!(series.take(7.0, &[]), [None, None], "an answer that is too short is no panic");
    }

    proptest! {
        /// Rates times their spans add up to everything counted.
        #[test]
        fn nothing_is_lost_between_answers(steps in prop::collection::vec((1u32..50, 0u32..10_000), 1..40)) {
            let mut series = Series::new(list());
            let (mut at, mut count, mut sum) = (0.0, 5.0, 0.0);
            series.take(at, &[Some(count), None]);
            for (span, grown) in &steps {
                let span = f64::from(*span) / 10.0;
                at += span;
                count += f64::from(*grown);
                let rate = series.take(at, &[Some(count), None])[0].unwrap();
                prop_assert!(rate >= 0.0);
                sum += rate * span;
            }
            prop_assert!((sum - (count - 5.0)).abs() <= 1e-6 * count.max(1.0));
        }
    }
}
