//! Values of statistics, added up while an answer is parsed.

use crate::Statistic;

/// Sums so far, one per statistic.
pub(crate) struct Sums<'a> {
    wanted: &'a [Statistic],
    found: Vec<Option<f64>>,
}

impl<'a> Sums<'a> {
    pub(crate) fn new(wanted: &'a [Statistic]) -> Self {
        Sums { wanted, found: vec![None; wanted.len()] }
    }

    /// Returns the statistics.
    pub(crate) fn wanted(&self) -> &'a [Statistic] {
        self.wanted
    }

    /// Whether any statistic has this name.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.wanted.iter().any(|statistic| statistic.of.name() == name)
    }

    /// Adds a value without labels.
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        self.add_labelled(name, |_| None, value);
    }

    /// Adds a value whose labels `of` returns. A name that is present only with other labels counts as 0:
    /// nothing of that kind has happened yet.
    pub(crate) fn add_labelled<'l>(&mut self, name: &str, of: impl Fn(&str) -> Option<&'l str>, value: f64) {
        for (statistic, found) in self.wanted.iter().zip(&mut self.found) {
            if statistic.of.name() == name && value.is_finite() {
                let found = found.get_or_insert(0.0);
                if statistic.of.fits(&of) {
                    *found += value;
                }
            }
        }
    }

    /// Adds a value of a table. Other rows say nothing about it: if no row matches, the value is unknown.
    pub(crate) fn add_cell<'l>(&mut self, column: &str, of: impl Fn(&str) -> Option<&'l str>, value: f64) {
        for (statistic, found) in self.wanted.iter().zip(&mut self.found) {
            if statistic.of.name() == column && value.is_finite() && statistic.of.fits(&of) {
                *found = Some(found.unwrap_or(0.0) + value);
            }
        }
    }

    /// Returns the values, `None` for a name that was not in the answer.
    pub(crate) fn finish(self) -> Vec<Option<f64>> {
        self.found
    }
}
