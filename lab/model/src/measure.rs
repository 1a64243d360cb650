//! Measures of a workload: what its operations count, and the figures made of it.

use std::collections::HashSet;

use crate::{OpId, OpSpec};

/// Counters of a workload at the most. Every activity and every interval has room for all of them.
pub const MOST_COUNTERS: usize = 8;

/// Index of a counter in its workload's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterId(pub u8);

/// The value of each counter of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters([u64; MOST_COUNTERS]);

impl Counters {
    /// Of values by counter index.
    #[must_use]
    pub const fn new(values: [u64; MOST_COUNTERS]) -> Self {
        Counters(values)
    }

    /// Raises a counter by `count`.
    ///
    /// # Panics
    /// When no workload can have this counter.
    pub fn raise(&mut self, counter: CounterId, count: u64) {
        let value = &mut self.0[usize::from(counter.0)];
        *value = value.saturating_add(count);
    }

    /// The value of a counter; 0 of one that no workload can have.
    #[must_use]
    pub fn get(&self, counter: CounterId) -> u64 {
        self.0.get(usize::from(counter.0)).copied().unwrap_or(0)
    }

    /// By counter index.
    #[must_use]
    pub const fn values(&self) -> &[u64; MOST_COUNTERS] {
        &self.0
    }

    /// Adds what others counted.
    pub fn add(&mut self, other: &Counters) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// Whether more or less of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It only describes.
    Neither,
}

/// Something that is counted in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Amount {
    /// The value of a counter.
    Counter(CounterId),
    /// Operations that ended, cancelled ones left out: of one kind, or of all.
    Ended(Option<OpId>),
    /// Operations that ended well: of one kind, or of all.
    Good(Option<OpId>),
}

/// What an amount is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Per {
    /// The length of the window in seconds.
    Second,
    /// Another amount of the window.
    Amount(Amount),
}

/// How a measure is computed: an amount, divided, times a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    /// What is counted.
    pub amount: Amount,
    /// What it is divided by.
    pub per: Per,
    /// What the quotient is multiplied by.
    pub factor: f64,
}

impl Formula {
    /// An amount per second.
    #[must_use]
    pub const fn per_second(amount: Amount) -> Self {
        Formula { amount, per: Per::Second, factor: 1.0 }
    }

    /// An amount per minute.
    #[must_use]
    pub const fn per_minute(amount: Amount) -> Self {
        Formula { amount, per: Per::Second, factor: 60.0 }
    }

    /// A counter per operation that ended.
    #[must_use]
    pub const fn per_operation(counter: CounterId) -> Self {
        Formula { amount: Amount::Counter(counter), per: Per::Amount(Amount::Ended(None)), factor: 1.0 }
    }

    /// One amount in percent of another.
    #[must_use]
    pub const fn percent(amount: Amount, whole: Amount) -> Self {
        Formula { amount, per: Per::Amount(whole), factor: 100.0 }
    }

    /// The same, multiplied by `factor`.
    #[must_use]
    pub const fn times(self, factor: f64) -> Self {
        Formula { factor: self.factor * factor, ..self }
    }

    fn amounts(&self) -> impl Iterator<Item = Amount> {
        let per = match self.per {
            Per::Second => None,
            Per::Amount(amount) => Some(amount),
        };
        [self.amount].into_iter().chain(per)
    }
}

/// A figure that a workload declares beside those that every run has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasureSpec {
    /// The name in records, study files and tables, in `snake_case`.
    pub id: &'static str,
    /// The name in sentences and heads of tables.
    pub title: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// How it is computed.
    pub formula: Formula,
}

/// A measure of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Which.
    pub spec: MeasureSpec,
    /// How much, in its unit; `None` where it would be divided by nothing.
    pub value: Option<f64>,
}

/// A workload's declaration of counters and measures that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongMeasures {
    /// More counters than there is room for.
    #[error("{0} counters, at most {MOST_COUNTERS} are possible")]
    TooManyCounters(usize),
    /// A measure is made of a counter or an operation that the workload does not have.
    #[error("measure `{0}` of a counter or an operation that is not declared")]
    Unknown(&'static str),
    /// An id that is not in snake case, that another measure has, or that is the name of a metric of every run.
    #[error("measure id `{0}`, which is taken or not in snake case")]
    Id(&'static str),
}

/// Checks what a workload declares.
///
/// # Errors
/// The first thing that cannot be.
pub fn check_measures(
    counters: &[&str],
    measures: &[MeasureSpec],
    ops: &[OpSpec],
) -> Result<(), WrongMeasures> {
    if counters.len() > MOST_COUNTERS {
        return Err(WrongMeasures::TooManyCounters(counters.len()));
    }
    let exists = |amount: Amount| match amount {
        Amount::Counter(counter) => usize::from(counter.0) < counters.len(),
        Amount::Ended(op) | Amount::Good(op) => op.is_none_or(|op| op.index() < ops.len()),
    };
    let mut ids = HashSet::new();
    for measure in measures {
        let is_taken = crate::Metric::of_name(measure.id).is_some() || !ids.insert(measure.id);
        if is_taken || !is_snake_case(measure.id) {
            return Err(WrongMeasures::Id(measure.id));
        }
        if !measure.formula.amounts().all(exists) {
            return Err(WrongMeasures::Unknown(measure.id));
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
            better: Better::Higher,
            formula: Formula::percent(HITS, LOOKUPS),
        }
    }

    fn check(counters: &[&str], measures: &[MeasureSpec]) -> Result<(), WrongMeasures> {
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
        assert_eq!(sum.values(), &[0, u64::MAX, 0, 0, 0, 0, 0, 4]);
        assert_eq!((sum.get(CounterId(7)), sum.get(CounterId(8))), (4, 0));
    }

    #[test]
    fn a_declaration_is_checked() {
        let counters = ["hits", "lookups"];
        assert_eq!(check(&counters, &[hit_share("hit_share")]), Ok(()));
        assert_eq!(check(&["hits"; 9], &[]), Err(WrongMeasures::TooManyCounters(9)));
        assert_eq!(check(&["hits"], &[hit_share("hit_share")]), Err(WrongMeasures::Unknown("hit_share")));
        let of_op = |op| Formula::per_minute(Amount::Good(Some(OpId(op))));
        let of_op = |op| MeasureSpec { formula: of_op(op), ..hit_share("orders") };
        assert_eq!(check(&counters, &[of_op(0)]), Ok(()));
        assert_eq!(check(&counters, &[of_op(1)]), Err(WrongMeasures::Unknown("orders")));
        for id in ["throughput", "hitShare", "2nd", ""] {
            assert_eq!(check(&counters, &[hit_share(id)]), Err(WrongMeasures::Id(id)));
        }
        let twice = [hit_share("a"), hit_share("a")];
        assert_eq!(check(&counters, &twice), Err(WrongMeasures::Id("a")));
    }

    #[test]
    fn factors_multiply() {
        assert_eq!(
            Formula::per_minute(HITS).times(0.5),
            Formula { factor: 30.0, ..Formula::per_second(HITS) }
        );
    }
}
