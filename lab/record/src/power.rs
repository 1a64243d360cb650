//! Power and energy of the machine, by source.

use crate::probe::{POWER, power_of};
use crate::{ProbeRow, Run, WindowRecord};

/// Longest time beyond the first or last sample for which its power counts.
const LONGEST_REACH_S: f64 = 3.0;

/// Shortest time before the load with a mean power.
const SHORTEST_IDLE_S: f64 = 1.0;

/// Scopes that contain the whole machine, the widest first.
const WHOLE: [&str; 3] = ["meter", "chassis", "psys"];

/// Scopes of RAPL that add up to the processors with their memory.
const PROCESSORS: [&str; 2] = ["package", "dram"];

/// Power of the machine over a time.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerFigures {
    /// Its scope: `meter`, `chassis`, `psys`, `package`, or `package + dram`.
    pub scope: String,
    /// Mean power.
    pub watts: f64,
    /// Energy.
    pub joules: f64,
}

/// Returns the scope of a source of power: the part of its name before the first hyphen.
#[must_use]
pub fn scope_of(source: &str) -> &str {
    source.split_once('-').map_or(source, |(scope, _)| scope)
}

impl Run {
    /// Returns the names of all sources of power, in the order of their first samples.
    #[must_use]
    pub fn power_sources(&self) -> Vec<&str> {
        let mut sources = Vec::new();
        for source in self.probes.iter().filter_map(|row| row.subject.strip_prefix(POWER)) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        sources
    }

    /// Returns the energy of a source in joules, times in seconds since the run began. `None` if a part of it
    /// is unknown.
    #[must_use]
    pub fn energy_j(&self, source: &str, (from_s, to_s): (f64, f64)) -> Option<f64> {
        let own = |row: &&ProbeRow| row.subject.strip_prefix(POWER) == Some(source);
        let rows: Vec<&ProbeRow> = self.probes.iter().filter(own).collect();
        let within = |row: &&&ProbeRow| row.at_s > from_s && row.at_s <= to_s;
        if rows.iter().filter(within).any(|row| row.energy_j.is_none()) {
            return None;
        }
        Some(energy_until(&rows, to_s)? - energy_until(&rows, from_s)?)
    }

    /// Returns the power of the machine in a window; see [`Run::power_over`].
    #[must_use]
    pub fn power_in(&self, window: &WindowRecord) -> Option<PowerFigures> {
        let start = self.load_start_s()?;
        self.power_over((window.from_s + start, window.to_s + start))
    }

    /// Returns the power of the machine before the load, with the target deployed and filled. `None` if it was
    /// not measured.
    #[must_use]
    pub fn idle_power(&self) -> Option<PowerFigures> {
        self.power_over(self.idle_span()?)
    }

    /// Returns the time before the load in which power was measured, in seconds since the run began.
    #[must_use]
    pub fn idle_span(&self) -> Option<(f64, f64)> {
        let start = self.load_start_s()?;
        let first = self.widest()?.1.first().map(|source| power_of(source))?;
        let own = self.probes.iter().filter(|row| row.subject == first && row.at_s <= start);
        let mut times = own.map(|row| row.at_s);
        let from = times.next()?;
        let to = times.next_back()?;
        (to - from >= SHORTEST_IDLE_S).then_some((from, to))
    }

    /// Returns the power of the machine by the sources of the widest scope, times in seconds since the run
    /// began. `None` without a source, or if the energy is not known.
    #[must_use]
    pub fn power_over(&self, span: (f64, f64)) -> Option<PowerFigures> {
        let (scope, sources) = self.widest()?;
        let energies: Option<Vec<f64>> =
            sources.into_iter().map(|source| self.energy_j(source, span)).collect();
        let joules = energies?.into_iter().sum::<f64>();
        let seconds = span.1 - span.0;
        (seconds > 0.0).then(|| PowerFigures { scope, watts: joules / seconds, joules })
    }

    /// Scope and sources of the widest scope.
    fn widest(&self) -> Option<(String, Vec<&str>)> {
        let sources = self.power_sources();
        if let Some(whole) = WHOLE.iter().find_map(|wide| sources.iter().find(|of| scope_of(of) == *wide)) {
            return Some((scope_of(whole).to_owned(), vec![*whole]));
        }
        let there = PROCESSORS.into_iter().filter(|wide| sources.iter().any(|of| scope_of(of) == *wide));
        let scopes = there.collect::<Vec<_>>();
        let own = sources.into_iter().filter(|of| scopes.contains(&scope_of(of))).collect();
        (scopes.first() == Some(&PROCESSORS[0])).then(|| (scopes.join(" + "), own))
    }
}

/// Energy at an instant, between samples by their mean power.
fn energy_until(rows: &[&ProbeRow], at_s: f64) -> Option<f64> {
    let after = rows.partition_point(|row| row.at_s < at_s);
    match (after.checked_sub(1).and_then(|before| rows.get(before)), rows.get(after)) {
        (Some(a), Some(b)) => {
            let part = (at_s - a.at_s) / (b.at_s - a.at_s);
            Some(a.energy_j? + (b.energy_j? - a.energy_j?) * part)
        }
        (Some(only), None) | (None, Some(only)) => {
            let beyond_s = at_s - only.at_s;
            let watts = if beyond_s == 0.0 { 0.0 } else { only.watts? };
            (beyond_s.abs() <= LONGEST_REACH_S).then_some(only.energy_j? + watts * beyond_s)
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at_s: f64, watts: Option<f64>, energy_j: Option<f64>) -> ProbeRow {
        ProbeRow { at_s, subject: power_of("meter"), watts, energy_j, ..ProbeRow::default() }
    }

    #[test]
    fn energy_between_samples_is_that_of_their_mean_power() {
        let rows = [
            row(10.0, None, Some(0.0)),
            row(12.0, Some(50.0), Some(100.0)),
            row(13.0, Some(80.0), Some(180.0)),
            row(20.0, Some(90.0), None),
            row(21.0, Some(90.0), Some(270.0)),
        ];
        let rows: Vec<&ProbeRow> = rows.iter().collect();
        let until = |at_s| energy_until(&rows, at_s);
        assert_eq!([10.0, 11.0, 12.25, 13.0].map(until), [Some(0.0), Some(50.0), Some(120.0), Some(180.0)]);
        assert_eq!([15.0, 20.5, 21.0].map(until), [None, None, None], "within a gap, and beside its end");
        let rows = &rows[..3];
        let until = |at_s| energy_until(rows, at_s);
        assert_eq!([14.0, 16.5, 9.0].map(until), [Some(260.0), None, None]);
        assert_eq!(energy_until(&[], 1.0), None);
    }
}
