//! Histograms with few counts.

use crate::interval::{Histogram, histogram};

/// Histogram that takes memory only for the times that were counted, for those that are kept in large
/// numbers. It makes [`Histogram`]s without loss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram {
    /// A time of each bin with a count, in microseconds, and the count; by time.
    counts: Vec<(u64, u32)>,
}

impl From<&Histogram> for SparseHistogram {
    fn from(whole: &Histogram) -> Self {
        let counts = whole.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value()));
        SparseHistogram { counts: counts.collect() }
    }
}

impl SparseHistogram {
    /// Returns all of its counts as a histogram.
    #[must_use]
    pub fn whole(&self) -> Histogram {
        let mut whole = histogram();
        for (time, count) in &self.counts {
            whole.saturating_record_n(*time, *count);
        }
        whole
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &SparseHistogram) {
        for (time, count) in &other.counts {
            match self.counts.binary_search_by_key(time, |(known, _)| *known) {
                Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(*count),
                Err(at) => self.counts.insert(at, (*time, *count)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::HIGHEST_MICROS;

    fn counted() -> impl Strategy<Value = Histogram> {
        let time = prop_oneof![0_u64..3_000, 0_u64..=HIGHEST_MICROS, Just(u64::MAX)];
        prop::collection::vec((time, 1_u32..1_000_000), 0..30).prop_map(|times| {
            let mut all = histogram();
            times.into_iter().for_each(|(time, count)| all.saturating_record_n(time, count));
            all
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_sums_are_those_of_histograms(mut one in counted(), other in counted()) {
            let mut sparse = SparseHistogram::from(&one);
            prop_assert!(sparse.whole() == one);
            sparse.add(&SparseHistogram::from(&other));
            one.add(&other).unwrap();
            prop_assert!(sparse.whole() == one);
            prop_assert_eq!(sparse, SparseHistogram::from(&one));
        }
    }
}
