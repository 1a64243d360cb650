//! The values of statistics, added up while an answer is read.

use crate::Statistic;

/// What has been found so far, one place for each statistic.
pub(crate) struct Sums<'a> {
    wanted: &'a [Statistic],
    found: Vec<Option<f64>>,
}

impl<'a> Sums<'a> {
    pub(crate) fn new(wanted: &'a [Statistic]) -> Self {
        Sums { wanted, found: vec![None; wanted.len()] }
    }

    /// The statistics.
    pub(crate) fn wanted(&self) -> &'a [Statistic] {
        self.wanted
    }

    /// Whether any statistic is of this name.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.wanted.iter().any(|statistic| statistic.of.name() == name)
    }

    /// A value without labels.
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        self.add_labelled(name, |_| None, value);
    }

    /// A value whose labels `of` knows. A name that is there with other labels only is 0: nothing of that kind has
    /// happened yet.
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

    /// A value of a table, whose other rows say nothing of this one: where no row fits, nothing is known.
    pub(crate) fn add_cell<'l>(&mut self, column: &str, of: impl Fn(&str) -> Option<&'l str>, value: f64) {
        for (statistic, found) in self.wanted.iter().zip(&mut self.found) {
            if statistic.of.name() == column && value.is_finite() && statistic.of.fits(&of) {
                *found = Some(found.unwrap_or(0.0) + value);
            }
        }
    }

    /// The values, `None` for a name that was not in the answer.
    pub(crate) fn finish(self) -> Vec<Option<f64>> {
        self.found
    }
}
