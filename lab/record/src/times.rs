//! Response times by percentile, compact enough to be stored with a study.

use std::collections::HashMap;

use barograph_stats::Histogram;
use barograph_stats::interval::histogram;
use serde::{Deserialize, Serialize};

use crate::{LogReader, Run, WindowRecord, tag};

/// Shares of operations that took longer, for one nine: about evenly spaced on a scale of nines, with the
/// median, p75 and p95 among them. In percent, as integers divided by powers of ten are the closest to such
/// shares.
const LONGER: [f64; 10] = [100.0, 80.0, 65.0, 50.0, 40.0, 30.0, 25.0, 20.0, 15.0, 12.0];

/// Returns the share of operations that took longer than the time at this index of [`TimesRecord::ms`].
#[must_use]
pub fn longer_at(place: usize) -> f64 {
    let nines = i32::try_from(place / LONGER.len()).unwrap_or(i32::MAX);
    LONGER[place % LONGER.len()] / 10f64.powi(nines.saturating_add(2))
}

/// Response times of one operation in the window that decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimesRecord {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended.
    pub count: u64,
    /// Judged quantile; absent if its time is not judged.
    pub quantile: Option<f64>,
    /// The limit of that quantile in milliseconds.
    pub limit_ms: Option<f64>,
    /// At index `i`, the longest time in milliseconds of all operations except the share [`longer_at`]`(i)`.
    /// The first is the shortest time; the last belongs to a share of at least one operation.
    pub ms: Vec<f64>,
}

impl LogReader {
    /// Returns the times of each operation in these windows together, by its name in the log ([`tag`]).
    /// Invalid lines are skipped; compare the number of times with [`OpRecord::count`](crate::OpRecord) to detect
    /// gaps.
    #[must_use]
    pub fn in_windows(&self, windows: &[&WindowRecord]) -> HashMap<String, Histogram> {
        let mut found: HashMap<String, Histogram> = HashMap::new();
        for line in self.histograms().flatten() {
            let to_s = line.from_s + line.seconds;
            if windows.iter().any(|window| window.holds(line.from_s, to_s)) {
                match found.entry(line.op).or_insert_with(histogram).add(&line.histogram) {
                    // Histograms with other bounds were not written by this program.
                    Ok(()) | Err(_) => {}
                }
            }
        }
        found
    }
}

impl Run {
    /// Returns the response times of each operation in these windows together; see [`LogReader::in_windows`].
    /// Empty without a log.
    #[must_use]
    pub fn times_in(&self, windows: &[&WindowRecord]) -> HashMap<String, Histogram> {
        self.response_log().map_or_else(|_| HashMap::new(), |log| log.in_windows(windows))
    }

    /// Returns the response times of these operations in the window that decides. Operations that did not
    /// end, or whose log is incomplete, are left out.
    #[must_use]
    pub fn response_times(&self, ops: &[&str]) -> Vec<TimesRecord> {
        let Some(trial) = self.deciding_trial() else { return Vec::new() };
        let found = self.times_in(&[&trial.window]);
        let rules = self.expected().map_or(&[][..], |expected| &expected.rules);
        let kept = |op: &&str| {
            let op = *op;
            let times = found.get(&tag(op))?;
            let judged = trial.window.ops.iter().find(|kept| kept.op == op)?;
            let limit_ms = judged.limit_ms;
            let rule = rules.iter().find(|rule| rule.op == op).filter(|_| limit_ms.is_some());
            (times.len() == judged.count && !times.is_empty()).then(|| TimesRecord {
                op: op.to_owned(),
                count: times.len(),
                quantile: rule.map(|rule| rule.quantile),
                limit_ms,
                ms: by_percentile(times),
            })
        };
        ops.iter().filter_map(kept).collect()
    }
}

/// Times by percentile, as long as at least one operation took longer.
fn by_percentile(times: &Histogram) -> Vec<f64> {
    // Tolerance for shares without an exact binary form.
    let is_one = |share: &f64| share * times.len() as f64 > 1.0 - 1e-6;
    let ms = |share: f64| times.value_at_quantile(1.0 - share) as f64 / 1e3;
    (0..).map(longer_at).take_while(is_one).map(ms).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_the_median_and_each_nine_among_them() {
        let expected = [(0, 1.0), (3, 0.5), (6, 0.25), (10, 0.1), (13, 0.05), (20, 0.01), (30, 0.001)];
        for (place, share) in expected {
            assert_eq!(longer_at(place), share, "{place}");
        }
        assert!((0..60).all(|place| longer_at(place + 1) < longer_at(place)));
    }

    #[test]
    fn times_are_told_up_to_one_operation() {
        let mut times = histogram();
        (1..=1_000).for_each(|micros| times.record(micros).unwrap());
        let ms = by_percentile(&times);
        assert_eq!(ms.len(), 31, "up to one in a thousand");
        assert_eq!((ms[0], ms[3], ms[10], ms[20], ms[30]), (0.001, 0.5, 0.9, 0.99, 0.999));
        assert_eq!(by_percentile(&histogram()), Vec::<f64>::new());
    }
}
