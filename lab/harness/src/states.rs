//! States of a service, sampled at a steady rate over a connection of their own and kept as means of an interval.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_model::Nanos;
use barograph_record::{STATE, StatisticRow};
use barograph_service_metrics::{AskError, Sampled, StatisticsClient};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::clock::RunClock;

/// Most states of a part, a bound on memory. Further ones are added up.
const MOST_STATES: usize = 64;

/// The state of those beyond [`MOST_STATES`].
const OTHER: &str = "other/other";

/// Samples of a part.
pub(crate) struct PartStates {
    unit: String,
    clock: RunClock,
    sums: Arc<Mutex<Sums>>,
    sampling: JoinHandle<()>,
}

/// Samples since the end of the last interval.
#[derive(Default)]
struct Sums {
    samples: u32,
    /// Samples without an answer.
    failures: u32,
    took: Nanos,
    /// Sums by state. A state that was seen stays.
    states: BTreeMap<String, f64>,
    /// The last sample without an answer.
    failed: Option<AskError>,
    /// What the service denied, in words.
    denied: Vec<String>,
}

impl Drop for PartStates {
    fn drop(&mut self) {
        self.sampling.abort();
    }
}

impl PartStates {
    /// Starts to sample. Samples that a slow answer leaves no time for are skipped.
    pub(crate) fn begin(mut asker: StatisticsClient, sampled: Sampled, clock: RunClock) -> Self {
        let unit = sampled.unit.clone();
        let sums: Arc<Mutex<Sums>> = Arc::default();
        let (shared, watch) = (Arc::clone(&sums), clock.clone());
        let sampling = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_millis(sampled.every_ms));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                ticks.tick().await;
                let begun = watch.now();
                let states = asker.states(&sampled).await;
                let took = watch.now() - begun;
                let mut sums = shared.lock().unwrap_or_else(PoisonError::into_inner);
                sums.add(states, took);
                sums.denied.extend(asker.take_denied());
            }
        });
        PartStates { unit, clock, sums, sampling }
    }

    /// The means since the last call, what the service denied, and the last error. A part without an answer has no
    /// values.
    pub(crate) fn next(&self, part: &str) -> (Vec<StatisticRow>, Vec<String>, Option<AskError>) {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = self.rows(part, &mut sums);
        (rows, std::mem::take(&mut sums.denied), sums.failed.take())
    }

    fn rows(&self, part: &str, sums: &mut Sums) -> Vec<StatisticRow> {
        let samples = f64::from(std::mem::take(&mut sums.samples));
        let failures = std::mem::take(&mut sums.failures);
        let took = std::mem::replace(&mut sums.took, Nanos::ZERO);
        let at_s = self.clock.now().as_secs_f64();
        let row = |statistic: &str, kind: &str, unit: &str, value: f64| StatisticRow {
            at_s,
            part: part.to_owned(),
            statistic: statistic.to_owned(),
            kind: kind.to_owned(),
            unit: unit.to_owned(),
            value,
        };
        let mut failed = Vec::new();
        if failures > 0 {
            failed.push(row("state_samples_failed", "gauge", "samples", f64::from(failures)));
        }
        if samples == 0.0 {
            return failed;
        }
        let states = sums.states.iter_mut();
        let mut rows: Vec<StatisticRow> =
            states.map(|(state, sum)| row(state, STATE, &self.unit, std::mem::take(sum) / samples)).collect();
        rows.push(row("state_samples", "gauge", "samples", samples));
        rows.push(row("state_sample_ms", "gauge", "ms", took.as_secs_f64() * 1e3 / samples));
        rows.append(&mut failed);
        rows
    }
}

impl Sums {
    fn add(&mut self, states: Result<Vec<(String, f64)>, AskError>, took: Nanos) {
        let states = match states {
            Ok(states) => states,
            Err(why) => {
                self.failed = Some(why);
                self.failures += 1;
                return;
            }
        };
        self.samples += 1;
        self.took = self.took + took;
        for (state, number) in states {
            let is_known = self.states.contains_key(&state) || self.states.len() < MOST_STATES;
            *self.states.entry(if is_known { state } else { OTHER.to_owned() }).or_default() += number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(all: &[(&str, f64)]) -> Result<Vec<(String, f64)>, AskError> {
        Ok(all.iter().map(|(state, number)| ((*state).to_owned(), *number)).collect())
    }

    #[test]
    fn further_states_are_added_up() {
        let mut sums = Sums::default();
        for number in 0..MOST_STATES + 6 {
            sums.add(states(&[(&format!("a/{number}"), 1.0), ("a/0", 1.0)]), Nanos(5));
        }
        assert_eq!((sums.states.len(), sums.states[OTHER]), (MOST_STATES + 1, 6.0));
        assert_eq!((sums.states["a/0"], sums.samples), (71.0, 70));
    }

    #[tokio::test]
    async fn means_are_those_of_the_samples_and_a_state_that_ended_is_0() {
        let (clock, sums) = (RunClock::start(), Arc::<Mutex<Sums>>::default());
        let sampling = tokio::spawn(async {});
        let part = PartStates { unit: "sessions".to_owned(), clock, sums: Arc::clone(&sums), sampling };
        let values = || {
            let (rows, denied, failed) = part.next("database-1");
            assert!(failed.is_none() && denied.is_empty());
            rows.into_iter().map(|row| (row.statistic, row.kind, row.value)).collect::<Vec<_>>()
        };
        assert_eq!(values(), []);
        let add = |all: &[(&str, f64)]| sums.lock().unwrap().add(states(all), Nanos::from_millis(2));
        add(&[("lock/row", 3.0)]);
        add(&[("lock/row", 1.0), ("io/read", 1.0)]);
        let row = |name: &str, kind: &str, value: f64| (name.to_owned(), kind.to_owned(), value);
        let rest = |samples| [row("state_samples", "gauge", samples), row("state_sample_ms", "gauge", 2.0)];
        let expected = [row("io/read", STATE, 0.5), row("lock/row", STATE, 2.0)];
        assert_eq!(values(), [&expected[..], &rest(2.0)].concat());
        add(&[("lock/row", 4.0)]);
        let expected = [row("io/read", STATE, 0.0), row("lock/row", STATE, 4.0)];
        assert_eq!(values(), [&expected[..], &rest(1.0)].concat());
        let late = AskError::Late { at: "127.0.0.1:5432".to_owned() };
        sums.lock().unwrap().add(Err(late), Nanos::from_millis(2));
        sums.lock().unwrap().denied.push("others".to_owned());
        let (rows, denied, why) = part.next("database-1");
        assert_eq!(denied, ["others"]);
        assert!(part.next("database-1").1.is_empty(), "a missing right has one message");
        let rows: Vec<_> = rows.into_iter().map(|row| (row.statistic, row.kind, row.value)).collect();
        assert_eq!(rows, [row("state_samples_failed", "gauge", 1.0)]);
        assert!(why.is_some());
    }
}
