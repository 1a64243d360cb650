//! Measures of a workload: counters of its operations, and figures computed from them.

use std::collections::HashSet;

use crate::{OpId, OpSpec};

/// Largest number of counters of a workload. Every activity and every interval has room for all of them.
pub const MOST_COUNTERS: usize = 12;

/// Index of a counter in its workload's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterId(pub u8);

/// Value of each counter of a workload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    values: [u64; MOST_COUNTERS],
    /// Counters in front that may differ from 0. Only these are added and cleared: each operation does both.
    used: u8,
}

impl PartialEq for Counters {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for Counters {}

impl Counters {
    /// Builds counters from values by counter index.
    #[must_use]
    pub const fn new(values: [u64; MOST_COUNTERS]) -> Self {
        Counters { values, used: MOST_COUNTERS as u8 }
    }

    /// Raises a counter by `count`.
    ///
    /// # Panics
    /// If the index is too large for any workload.
    #[inline]
    pub fn raise(&mut self, counter: CounterId, count: u64) {
        let value = &mut self.values[usize::from(counter.0)];
        *value = value.saturating_add(count);
        self.used = self.used.max(counter.0 + 1);
    }

    /// Returns the value of a counter; 0 if the index is too large for any workload.
    #[must_use]
    pub fn get(&self, counter: CounterId) -> u64 {
        self.values.get(usize::from(counter.0)).copied().unwrap_or(0)
    }

    /// Returns the values by counter index.
    #[must_use]
    pub const fn values(&self) -> &[u64; MOST_COUNTERS] {
        &self.values
    }

    /// Adds the values of `other`.
    pub fn add(&mut self, other: &Counters) {
        for (mine, theirs) in self.values.iter_mut().zip(&other.values[..usize::from(other.used)]) {
            *mine = mine.saturating_add(*theirs);
        }
        self.used = self.used.max(other.used);
    }

    /// Sets all counters to 0.
    pub fn clear(&mut self) {
        self.values[..usize::from(self.used)].fill(0);
        self.used = 0;
    }
}

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BetterWhen {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Only descriptive.
    Neither,
}

/// A counted amount of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Amount {
    /// The value of a counter.
    Counter(CounterId),
    /// Operations that ended, without cancelled ones: of one kind, or of all.
    Ended(Option<OpId>),
    /// Operations that ended well: of one kind, or of all.
    Good(Option<OpId>),
}

/// Divisor of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeasureDivisor {
    /// The length of the window in seconds.
    Second,
    /// Another amount of the window.
    Amount(Amount),
}

/// Formula of a measure: an amount, divided, times a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    /// Dividend.
    pub amount: Amount,
    /// Divisor.
    pub per: MeasureDivisor,
    /// Factor of the quotient.
    pub factor: f64,
}

impl Formula {
    /// Returns an amount per second.
    #[must_use]
    pub const fn per_second(amount: Amount) -> Self {
        Formula { amount, per: MeasureDivisor::Second, factor: 1.0 }
    }

    /// Returns an amount per minute.
    #[must_use]
    pub const fn per_minute(amount: Amount) -> Self {
        Formula { amount, per: MeasureDivisor::Second, factor: 60.0 }
    }

    /// Returns a counter per operation that ended.
    #[must_use]
    pub const fn per_operation(counter: CounterId) -> Self {
        Formula {
            amount: Amount::Counter(counter),
            per: MeasureDivisor::Amount(Amount::Ended(None)),
            factor: 1.0,
        }
    }

    /// Returns an amount in percent of another.
    #[must_use]
    pub const fn percent(amount: Amount, whole: Amount) -> Self {
        Formula { amount, per: MeasureDivisor::Amount(whole), factor: 100.0 }
    }

    /// Multiplies the formula by `factor`.
    #[must_use]
    pub const fn times(self, factor: f64) -> Self {
        Formula { factor: self.factor * factor, ..self }
    }

    fn amounts(&self) -> impl Iterator<Item = Amount> {
        let per = match self.per {
            MeasureDivisor::Second => None,
            MeasureDivisor::Amount(amount) => Some(amount),
        };
        [self.amount].into_iter().chain(per)
    }
}

/// A figure declared by a workload, in addition to those of every run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasureSpec {
    /// Name in records, study files and tables, in `snake_case`.
    pub id: &'static str,
    /// Name in sentences and table heads.
    pub title: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// Direction in which it is better.
    pub better: BetterWhen,
    /// Formula of its values.
    pub formula: Formula,
}

/// A measure of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasureValue {
    /// The measure.
    pub spec: MeasureSpec,
    /// Value in its unit; `None` if it would be divided by zero.
    pub value: Option<f64>,
}

/// Defect in a workload's declaration of counters and measures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMeasures {
    /// More counters than [`MOST_COUNTERS`].
    #[error("{0} counters, at most {MOST_COUNTERS} are possible")]
    TooManyCounters(usize),
    /// A measure of a counter or an operation that the workload does not have.
    #[error("measure `{0}` of a counter or an operation that is not declared")]
    Unknown(&'static str),
    /// An id that is not in snake case, that another measure has, or that is the name of a general metric.
    #[error("measure id `{0}`, which is taken or not in snake case")]
    Id(&'static str),
}

/// Checks the declaration of a workload.
///
/// # Errors
/// The first defect.
pub fn check_measures(
    counters: &[&str],
    measures: &[MeasureSpec],
    ops: &[OpSpec],
) -> Result<(), InvalidMeasures> {
    if counters.len() > MOST_COUNTERS {
        return Err(InvalidMeasures::TooManyCounters(counters.len()));
    }
    let exists = |amount: Amount| match amount {
        Amount::Counter(counter) => usize::from(counter.0) < counters.len(),
        Amount::Ended(op) | Amount::Good(op) => op.is_none_or(|op| op.index() < ops.len()),
    };
    let mut ids = HashSet::new();
    for measure in measures {
        let is_taken = crate::Metric::of_name(measure.id).is_some() || !ids.insert(measure.id);
        if is_taken || !is_snake_case(measure.id) {
            return Err(InvalidMeasures::Id(measure.id));
        }
        if !measure.formula.amounts().all(exists) {
            return Err(InvalidMeasures::Unknown(measure.id));
        }
    }
    Ok(())
}

fn is_snake_case(id: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(is_of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HITS: Amount = Amount::Counter(CounterId(0));
    const LOOKUPS: Amount = Amount::Counter(CounterId(1));

    fn hit_share(id: &'static str) -> MeasureSpec {
        MeasureSpec {
            id,
            title: "hit share",
            unit: "%",
            better: BetterWhen::Higher,
            formula: Formula::percent(HITS, LOOKUPS),
        }
    }

    fn check(counters: &[&str], measures: &[MeasureSpec]) -> Result<(), InvalidMeasures> {
        check_measures(counters, measures, &[OpSpec { name: "Get", about: "looks up" }])
    }

    #[test]
    fn counters_are_raised_and_added_and_never_wrap() {
        let mut counters = Counters::default();
        counters.raise(CounterId(1), 3);
        counters.raise(CounterId(1), u64::MAX);
        counters.raise(CounterId(7), 2);
        let mut sum = counters;
        sum.add(&counters);
        assert_eq!(sum.values()[..8], [0, u64::MAX, 0, 0, 0, 0, 0, 4]);
        assert_eq!((sum.get(CounterId(7)), sum.get(CounterId(MOST_COUNTERS as u8))), (4, 0));
        assert_eq!(sum, Counters::new(*sum.values()), "equal values, raised or given");
        sum.clear();
        assert_eq!(sum, Counters::default());
    }

    #[test]
    fn a_declaration_is_checked() {
        let counters = ["hits", "lookups"];
        assert_eq!(check(&counters, &[hit_share("hit_share")]), Ok(()));
        let too_many = ["hits"; MOST_COUNTERS + 1];
        assert_eq!(check(&too_many, &[]), Err(InvalidMeasures::TooManyCounters(MOST_COUNTERS + 1)));
        assert_eq!(check(&["hits"], &[hit_share("hit_share")]), Err(InvalidMeasures::Unknown("hit_share")));
        let of_op = |op| Formula::per_minute(Amount::Good(Some(OpId(op))));
        let of_op = |op| MeasureSpec { formula: of_op(op), ..hit_share("orders") };
        assert_eq!(check(&counters, &[of_op(0)]), Ok(()));
        assert_eq!(check(&counters, &[of_op(1)]), Err(InvalidMeasures::Unknown("orders")));
        for id in ["throughput", "hitShare", "2nd", ""] {
            assert_eq!(check(&counters, &[hit_share(id)]), Err(InvalidMeasures::Id(id)));
        }
        let twice = [hit_share("a"), hit_share("a")];
        assert_eq!(check(&counters, &twice), Err(InvalidMeasures::Id("a")));
    }

    #[test]
    fn factors_multiply() {
        assert_eq!(
            Formula::per_minute(HITS).times(0.5),
            Formula { factor: 30.0, ..Formula::per_second(HITS) }
        );
    }
}
