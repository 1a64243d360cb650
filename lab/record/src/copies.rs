//! Copies of one load: the rates of each, and of all together.

use barograph_model::words::figure;
use barograph_model::{ChosenWindow, is_rate};

use crate::{Run, TilesRecord, Trial};

/// Rates that a window of any load has.
type WindowRate = (&'static str, &'static str, fn(&Trial) -> f64);

/// Their names, titles and values.
const OF_WINDOWS: [WindowRate; 3] = [
    ("throughput", "operations", |trial| trial.window.throughput),
    ("goodput", "operations within their limits", |trial| trial.window.goodput),
    ("requests", "requests", |trial| trial.window.requests_s),
];

/// A rate of several copies of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct CopiesRate {
    /// Name: `throughput`, `goodput`, `requests`, or the id of a measure.
    pub of: String,
    /// Name in sentences.
    pub title: String,
    /// Unit.
    pub unit: String,
    /// Value of each copy; `None` if it was not measured.
    pub each: Vec<Option<f64>>,
}

impl CopiesRate {
    /// Returns the rates of copies, from a trial of each: those of every window, and the measures of the
    /// workload that are amounts per time.
    #[must_use]
    pub fn of(trials: &[&Trial]) -> Vec<Self> {
        let of_windows = OF_WINDOWS.iter().map(|(of, title, value)| CopiesRate {
            of: (*of).to_owned(),
            title: (*title).to_owned(),
            unit: "per second".to_owned(),
            each: trials.iter().map(|trial| Some(value(trial))).collect(),
        });
        let declared = trials.first().into_iter().flat_map(|trial| &trial.window.measures);
        let measures = declared.filter(|measure| is_rate(&measure.unit)).map(|measure| CopiesRate {
            of: measure.id.clone(),
            title: measure.title.clone(),
            unit: measure.unit.clone(),
            each: trials.iter().map(|trial| trial.window.measure(&measure.id)).collect(),
        });
        of_windows.chain(measures).collect()
    }

    /// Returns the rate of all copies together; `None` if it was not measured for each.
    #[must_use]
    pub fn total(&self) -> Option<f64> {
        self.each.iter().copied().sum()
    }

    /// Returns the rates that say most about copies: that of all operations, and the first measure.
    pub fn shown(rates: &[Self]) -> impl Iterator<Item = &Self> {
        rates.iter().take(1).chain(rates.get(OF_WINDOWS.len()))
    }

    /// Returns the total of the last rate that is shown, as a sentence.
    #[must_use]
    pub fn sentence(rates: &[Self]) -> Option<String> {
        let rate = Self::shown(rates).last()?;
        let total = figure(rate.total()?);
        Some(format!("All {} together: {total} {} {}.", rate.each.len(), rate.title, rate.unit))
    }
}

impl Run {
    /// Returns the rates of the loads in their deciding windows; empty unless all are copies of one.
    #[must_use]
    pub fn rates_of_copies(&self) -> Vec<CopiesRate> {
        self.rates_of_copies_in(ChosenWindow::Deciding)
    }

    /// Returns the rates of the loads in a window of each; empty unless all are copies of one.
    pub(crate) fn rates_of_copies_in(&self, window: ChosenWindow) -> Vec<CopiesRate> {
        let trials: Option<Vec<&Trial>> = self.loads.iter().map(|load| load.chosen_trial(window)).collect();
        trials.filter(|_| self.are_copies()).map_or_else(Vec::new, |trials| CopiesRate::of(&trials))
    }

    /// Whether its loads are copies of one.
    pub(crate) fn are_copies(&self) -> bool {
        self.tiles().is_some_and(TilesRecord::are_copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(throughput: f64, orders: Option<f64>) -> Trial {
        let measure = |id: &str, unit: &str, value: Option<f64>| serde_json::json!({ "id": id, "title": "orders", "unit": unit, "better": "higher", "value": value });
        let text = serde_json::json!({
            "n": 1, "purpose": "fixed", "level": 1, "result": "pass",
            "window": {
                "users": 1, "from_s": 0, "to_s": 1, "throughput": throughput, "goodput": 0.5, "requests_s": 3.0,
                "lag_p50_ms": 0, "lag_p99_ms": 0, "passed": true, "valid": true, "ops": [], "checks": [],
                "measures": [measure("share", "%", Some(7.0)), measure("opm", "per minute", orders)],
            },
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn rates_add_up_and_shares_do_not() {
        let trials = [trial(2.0, Some(1_200.0)), trial(3.0, Some(30.4))];
        let rates = CopiesRate::of(&trials.iter().collect::<Vec<_>>());
        let totals: Vec<(&str, Option<f64>)> =
            rates.iter().map(|rate| (rate.of.as_str(), rate.total())).collect();
        let expected = [("throughput", 5.0), ("goodput", 1.0), ("requests", 6.0), ("opm", 1_230.4)];
        assert_eq!(totals, expected.map(|(of, total)| (of, Some(total))));
        assert_eq!(CopiesRate::sentence(&rates).unwrap(), "All 2 together: 1,230 orders per minute.");
    }

    #[test]
    fn a_copy_without_a_figure_leaves_no_total() {
        let trials = [trial(2.0, None), trial(3.0, Some(30.4))];
        let rates = CopiesRate::of(&trials.iter().collect::<Vec<_>>());
        assert_eq!((&rates[3].each[..], rates[3].total()), (&[None, Some(30.4)][..], None));
        assert_eq!(CopiesRate::sentence(&rates), None);
    }
}
