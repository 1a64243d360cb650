//! Figures of windows from the statistics of services and loads.

use std::collections::BTreeMap;

use barograph_model::{Joined, StatisticMetric};

use crate::metric::WindowFigures;
use crate::{Run, STATE, StatisticRow};

/// Part of the figures of a load that is the only one.
const DRIVER: &str = "driver";

/// Statistic of every sample of states, also of those in which no session was in any.
const SAMPLES: &str = "state_samples";

impl WindowFigures<'_> {
    /// Returns a statistic in these windows. Of copies of a load a rate is that of all together; of other several
    /// loads each has its own.
    pub(crate) fn statistic(&self, of: &StatisticMetric) -> Option<f64> {
        let Run { loads, .. } = self.run();
        if !loads.is_empty() {
            let are_copies = self.run().tiles().is_some_and(crate::TilesRecord::are_copies);
            let of_load =
                |load: &Run| load.figures_in(load.deciding_trial().into_iter().collect()).statistic(of);
            let is_rate = barograph_model::is_rate(of.unit);
            return loads.iter().map(of_load).sum::<Option<f64>>().filter(|_| are_copies && is_rate);
        }
        let start = self.run().load_start_s()?;
        let windows: Vec<(f64, f64)> = self
            .windows()
            .iter()
            .map(|trial| (start + trial.window.from_s, start + trial.window.to_s))
            .collect();
        // Each part has a series of its own: several of a tier are added up.
        let mut parts: BTreeMap<&str, Vec<&StatisticRow>> = BTreeMap::new();
        for row in &self.run().statistics {
            let is_wanted = of.is_of(&row.statistic) || of.is_of_states() && row.statistic == SAMPLES;
            if is_wanted && is_of_tier(&row.part, of.tier, self.run().load.as_deref()) {
                parts.entry(&row.part).or_default().push(row);
            }
        }
        parts
            .values()
            .map(|rows| of_part(of, rows, &windows))
            .sum::<Option<f64>>()
            .filter(|_| !parts.is_empty())
    }
}

/// Whether a part is of a tier, or of the load itself for an empty one. Parts of one of several loads are called after it.
fn is_of_tier(part: &str, tier: &str, load: Option<&str>) -> bool {
    if tier.is_empty() {
        return part == load.unwrap_or(DRIVER);
    }
    let own = load.and_then(|load| part.strip_prefix(load)?.strip_prefix('-'));
    let number = own.unwrap_or(part).strip_prefix(tier);
    number.is_some_and(|number| {
        let digits = number.strip_prefix('-').unwrap_or(number);
        number.is_empty() || digits.len() < number.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The values of a part in windows as one. A value is about the time since the one before it, and belongs to the window in
/// which the middle of that time lies.
fn of_part(of: &StatisticMetric, rows: &[&StatisticRow], windows: &[(f64, f64)]) -> Option<f64> {
    let mut at_once: Vec<(f64, f64)> = Vec::new();
    for row in rows {
        // States that were not seen yet have no row, and samples have one always.
        let value = if of.is_of_states() && row.kind != STATE { 0.0 } else { row.value };
        match at_once.last_mut() {
            Some((at_s, sum)) if *at_s == row.at_s => *sum += value,
            _ => at_once.push((row.at_s, value)),
        }
    }
    let before = std::iter::once(None).chain(at_once.iter().map(|(at_s, _)| Some(*at_s)));
    let within = at_once.iter().zip(before).filter_map(|((at_s, value), before)| {
        let before = before.unwrap_or(*at_s);
        let middle = f64::midpoint(before, *at_s);
        let is_within = windows.iter().any(|(from, to)| (*from..=*to).contains(&middle));
        is_within.then_some((*value, at_s - before))
    });
    let within: Vec<(f64, f64)> = within.collect();
    match of.joined {
        Joined::Highest => within.iter().map(|(value, _)| *value).reduce(f64::max),
        Joined::Mean => {
            let weight: f64 = within.iter().map(|(_, weight)| weight).sum();
            let sum: f64 = within.iter().map(|(value, weight)| value * weight).sum();
            (weight > 0.0).then(|| sum / weight)
        }
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::BetterWhen;

    use super::*;

    fn metric(of: &'static [&'static str], joined: Joined) -> StatisticMetric {
        StatisticMetric {
            id: "x",
            title: "x",
            unit: "x",
            better: BetterWhen::Lower,
            tier: "database",
            of,
            joined,
        }
    }

    fn rows(all: &[(f64, &str, &str, f64)]) -> Vec<StatisticRow> {
        let row = |(at_s, statistic, kind, value): &(f64, &str, &str, f64)| StatisticRow {
            at_s: *at_s,
            part: "database-1".to_owned(),
            statistic: (*statistic).to_owned(),
            kind: (*kind).to_owned(),
            unit: String::new(),
            value: *value,
        };
        all.iter().map(row).collect()
    }

    fn found(of: &StatisticMetric, rows: &[StatisticRow], windows: &[(f64, f64)]) -> Option<f64> {
        of_part(of, &rows.iter().collect::<Vec<_>>(), windows)
    }

    #[test]
    fn values_are_weighted_by_their_time_and_belong_to_windows() {
        let mean = metric(&["wal_bytes"], Joined::Mean);
        let all = [(1.0, 900.0), (2.0, 10.0), (4.0, 40.0), (5.0, 100.0)];
        let all = rows(&all.map(|(at_s, value)| (at_s, "wal_bytes", "rate", value)));
        // 10/s for a second and 40/s for two.
        assert_eq!(found(&mean, &all, &[(1.2, 4.2)]), Some(30.0));
        assert_eq!(found(&mean, &all, &[(1.2, 2.0), (4.2, 5.0)]), Some(55.0));
        assert_eq!(found(&mean, &all, &[(7.0, 9.0)]), None);
        let highest = metric(&["wal_bytes"], Joined::Highest);
        assert_eq!(found(&highest, &all, &[(1.2, 4.2)]), Some(40.0));
    }

    #[test]
    fn states_that_were_not_seen_are_zero() {
        let all = rows(&[
            (1.0, "state_samples", "gauge", 10.0),
            (2.0, "state_samples", "gauge", 10.0),
            (3.0, "lock/row", "state", 2.0),
            (3.0, "lock/table", "state", 1.0),
            (3.0, "state_samples", "gauge", 10.0),
        ]);
        assert_eq!(found(&metric(&["lock/"], Joined::Mean), &all, &[(1.0, 3.0)]), Some(1.5));
        let never: Vec<StatisticRow> = all.into_iter().filter(|row| row.kind != "state").collect();
        assert_eq!(found(&metric(&["lock/"], Joined::Mean), &never, &[(1.0, 3.0)]), Some(0.0));
    }

    #[test]
    fn parts_belong_to_a_tier_and_a_load() {
        for (part, tier, load, is_of) in [
            ("database-1", "database", None, true),
            ("database", "database", None, true),
            ("database-x", "database", None, false),
            ("standby-1", "database", None, false),
            ("store-2-database-1", "database", Some("store-2"), true),
            ("store-2-database", "database", Some("store-2"), true),
            ("store-2-database-1", "database", Some("store-1"), false),
            ("driver", "", None, true),
            ("store-2", "", Some("store-2"), true),
            ("driver", "", Some("store-2"), false),
        ] {
            assert_eq!(is_of_tier(part, tier, load), is_of, "{part} {tier} {load:?}");
        }
    }
}
