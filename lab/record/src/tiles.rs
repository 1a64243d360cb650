//! The tiles of a run, and their score.

use barograph_model::Level;
use barograph_model::words::listed;
use barograph_stats::score::{Score, fairness, geometric_mean, scored_window};
use serde::{Deserialize, Serialize};

use crate::entry::nan;
use crate::{ActionRecord, OperationRatioRecord, OperationReferenceRecord, ResultRecord, Trial};

/// The tiles of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TilesRecord {
    /// Origin of the reference rates; empty without a reference.
    pub reference: String,
    /// Whether tiles are loaded one after another.
    pub one_by_one: bool,
    /// The loads, in the order of the plan.
    pub loads: Vec<TileLoadRecord>,
    /// Operations on the infrastructure that have a part in the score; empty in older records.
    #[serde(default)]
    pub operations: Vec<OperationReferenceRecord>,
}

/// A load of a tile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TileLoadRecord {
    /// Name of the load.
    pub load: String,
    /// Name of the load within its tile: the same in each.
    pub member: String,
    /// Number of the tile, from 1.
    pub tile: u32,
    /// Level of the load in a whole tile.
    #[serde(with = "crate::level")]
    pub whole: Level,
    /// Name of the rate that is scored: `throughput`, `goodput`, `requests`, or the id of a measure. Absent
    /// for a load without a part in the score.
    pub of: Option<String>,
    /// Rate of the reference; absent for a load without a part in the score.
    pub rate: Option<f64>,
}

/// Score of the tiles. Absent in a verdict unless every load passed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreRecord {
    /// Score of the median window.
    #[serde(deserialize_with = "nan")]
    pub score: f64,
    /// Lower end of the 95 % interval of the mean over the windows; absent for a single window.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Tiles of load; a fraction counts as the part of its load.
    #[serde(deserialize_with = "nan")]
    pub tiles: f64,
    /// Number of the trial whose window is scored.
    pub trial: u32,
    /// Score of each window of this level in which every load passed.
    pub windows: Vec<WindowScoreRecord>,
    /// Smallest ratio in the scored window.
    #[serde(deserialize_with = "nan")]
    pub least_ratio: f64,
    /// Load with the smallest ratio.
    pub least_load: String,
    /// Jain's fairness index of the ratios in the scored window: 1 if all are equal.
    #[serde(deserialize_with = "nan")]
    pub fairness: f64,
    /// Ratios of the scored window.
    pub terms: Vec<RatioRecord>,
    /// Part of the applications, which the operations are added to; absent in the class without operations, and in
    /// older records.
    #[serde(default)]
    pub applications: Option<f64>,
    /// Ratios of operations on the infrastructure, over all windows that count; empty in older records.
    #[serde(default)]
    pub operations: Vec<OperationRatioRecord>,
}

/// Score of one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowScoreRecord {
    /// Number of the trial.
    pub trial: u32,
    /// Its score.
    #[serde(deserialize_with = "nan")]
    pub score: f64,
}

/// Rate of a load against that of the reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RatioRecord {
    /// Name of the load.
    pub load: String,
    /// Number of its tile.
    pub tile: u32,
    /// Name of the rate.
    pub of: String,
    /// The rate.
    #[serde(deserialize_with = "nan")]
    pub rate: f64,
    /// Rate of the reference.
    #[serde(deserialize_with = "nan")]
    pub reference: f64,
    /// Their ratio.
    #[serde(deserialize_with = "nan")]
    pub ratio: f64,
}

/// A rate of a window by name; `None` for a measure that it does not have.
fn rate_of(trial: &Trial, of: &str) -> Option<f64> {
    let window = &trial.window;
    match of {
        "throughput" => Some(window.throughput),
        "goodput" => Some(window.goodput),
        "requests" => Some(window.requests_s),
        id => window.measure(id),
    }
}

impl TilesRecord {
    /// Returns the number of tiles.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.loads.iter().map(|load| load.tile).max().unwrap_or(0)
    }

    /// Whether all loads are copies of one, a tile each.
    #[must_use]
    pub fn are_copies(&self) -> bool {
        self.loads.windows(2).all(|pair| pair[0].member == pair[1].member)
    }

    /// Returns the tiles of load in a window, from a trial of each load: 2.5 for two whole tiles and half of
    /// a third.
    #[must_use]
    pub fn tiles_in(&self, trials: &[&Trial]) -> f64 {
        let part = |tile: u32| {
            let own = self.loads.iter().zip(trials).filter(|(load, _)| load.tile == tile);
            let parts: Vec<f64> =
                own.map(|(load, trial)| f64::from(trial.level) / f64::from(load.whole)).collect();
            parts.iter().sum::<f64>() / parts.len().max(1) as f64
        };
        (1..=self.count()).map(part).sum()
    }

    /// Returns the ratios of a window, from a trial of each load. Loads without load in it are left out.
    #[must_use]
    pub fn ratios(&self, trials: &[&Trial]) -> Vec<RatioRecord> {
        let loaded = self.loads.iter().zip(trials).filter(|(_, trial)| trial.level > Level::ZERO);
        let ratio = |(load, trial): (&TileLoadRecord, &&Trial)| {
            let (of, reference) = (load.of.clone()?, load.rate?);
            let rate = rate_of(trial, &of).unwrap_or(0.0);
            let (tile, load) = (load.tile, load.load.clone());
            Some(RatioRecord { load, tile, of, rate, reference, ratio: rate / reference })
        };
        loaded.filter_map(ratio).collect()
    }

    /// Returns the score of each tile in a window, from a trial of each load. `None` unless all tiles have the
    /// same load.
    #[must_use]
    pub fn each_score(&self, trials: &[&Trial]) -> Option<Vec<f64>> {
        let of_tile = |tile: u32| {
            let own = self.loads.iter().zip(trials).filter(move |(load, _)| load.tile == tile);
            own.map(|(load, trial)| (&load.member, &load.of, load.rate, trial.level)).collect::<Vec<_>>()
        };
        let first = of_tile(1);
        let are_alike = (2..=self.count()).all(|tile| of_tile(tile) == first);
        let terms = self.ratios(trials);
        let of_tile = |tile: u32| {
            let own: Vec<f64> =
                terms.iter().filter(|term| term.tile == tile).map(|term| term.ratio).collect();
            geometric_mean(&own)
        };
        if are_alike { (1..=self.count()).map(of_tile).collect() } else { None }
    }

    /// Returns the score of the last level at which every load passed, from the trials of each load and all
    /// actions of the run. `None` without such a window or without a reference.
    #[must_use]
    pub fn score(&self, trials: &[Vec<Trial>], actions: &[ActionRecord]) -> Option<ScoreRecord> {
        let rows = trials.iter().map(Vec::len).min().unwrap_or(0);
        let windows = (0..rows).map(|at| trials.iter().map(|of| &of[at]).collect::<Vec<&Trial>>());
        let all_pass = |window: &Vec<&Trial>| window.iter().all(|trial| trial.result == ResultRecord::Pass);
        let passed: Vec<Vec<&Trial>> = windows.filter(all_pass).collect();
        let last = passed.last()?.clone();
        let levels = |window: &[&Trial]| -> Vec<Level> { window.iter().map(|trial| trial.level).collect() };
        let level = levels(&last);
        let counted: Vec<Vec<&Trial>> = passed.into_iter().filter(|window| levels(window) == level).collect();
        let spans: Vec<(f64, f64)> =
            counted.iter().map(|window| (window[0].window.from_s, window[0].window.to_s)).collect();
        let operations = OperationRatioRecord::of(&self.operations, &spans, actions);
        let each: Vec<Score> =
            counted.iter().map(|window| parts(&self.ratios(window), &operations)).collect::<Option<_>>()?;
        let scores: Vec<f64> = each.iter().map(Score::total).collect();
        let found = scored_window(&scores)?;
        let (scored, both) = (&counted[found.window], each[found.window]);
        let terms = self.ratios(scored);
        let least = terms.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
        let numbers = counted.iter().map(|window| window[0].n);
        let each = numbers.zip(&scores).map(|(trial, score)| WindowScoreRecord { trial, score: *score });
        let (low, high) = (found.estimate.low, found.estimate.high);
        let ratios: Vec<f64> = terms.iter().map(|term| term.ratio).collect();
        Some(ScoreRecord {
            score: found.estimate.value,
            low: high.is_finite().then_some(low),
            high: high.is_finite().then_some(high),
            tiles: self.tiles_in(scored),
            trial: scored[0].n,
            windows: each.collect(),
            least_ratio: least.ratio,
            least_load: least.load.clone(),
            fairness: fairness(&ratios)?,
            terms,
            applications: both.operations.and(Some(both.applications)),
            operations,
        })
    }
}

/// Score of the ratios of a window, and of operations over all windows.
fn parts(terms: &[RatioRecord], operations: &[OperationRatioRecord]) -> Option<Score> {
    let tiles = terms.iter().map(|term| term.tile).max()?;
    let of_tile = |tile: u32| -> Vec<f64> {
        terms.iter().filter(|term| term.tile == tile).map(|term| term.ratio).collect()
    };
    let each: Vec<Vec<f64>> = (1..=tiles).map(of_tile).filter(|ratios| !ratios.is_empty()).collect();
    let operations: Vec<f64> = operations.iter().map(|operation| operation.ratio).collect();
    Score::of(&each, &operations)
}

impl ScoreRecord {
    /// Returns the name: `2.07 @ 2 tiles`.
    #[must_use]
    pub fn name(&self) -> String {
        Score::name(self.score, self.tiles)
    }

    /// Returns the score with its interval and what is beside it, as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let interval = match self.low.zip(self.high) {
            Some((low, high)) => {
                format!(" (95 % interval {low:.2} to {high:.2} from {} windows)", self.windows.len())
            }
            None => " (one window, no interval)".to_owned(),
        };
        let parts = self.parts().map(|of| {
            format!("applications {:.2} and operations {:.2}", of.applications, of.operations.unwrap_or(0.0))
        });
        let beside = [
            format!("least ratio {:.2} ({})", self.least_ratio, self.least_load),
            format!("fairness {:.3}", self.fairness),
        ];
        let beside: Vec<&str> = parts.iter().chain(&beside).map(String::as_str).collect();
        format!("Score {}{interval}, {}.", self.name(), listed(&beside))
    }

    /// Returns both parts of the score; `None` in the class without operations.
    #[must_use]
    pub fn parts(&self) -> Option<Score> {
        let ratios: Vec<f64> = self.operations.iter().map(|operation| operation.ratio).collect();
        Some(Score { applications: self.applications?, operations: geometric_mean(&ratios) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles() -> TilesRecord {
        let load = |member: &str, tile: u32, rate: f64| TileLoadRecord {
            load: format!("{member}-{tile}"),
            member: member.to_owned(),
            tile,
            whole: 10.into(),
            of: Some("throughput".to_owned()),
            rate: Some(rate),
        };
        let standby = TileLoadRecord { of: None, rate: None, ..load("standby", 1, 0.0) };
        TilesRecord {
            reference: "r".to_owned(),
            one_by_one: true,
            operations: Vec::new(),
            loads: vec![
                load("a", 1, 10.0),
                load("b", 1, 40.0),
                standby,
                load("a", 2, 10.0),
                load("b", 2, 40.0),
            ],
        }
    }

    fn trial(n: u32, level: u32, throughput: f64, result: ResultRecord) -> Trial {
        let text = serde_json::json!({
            "n": n, "purpose": "fixed", "level": level, "result": result,
            "window": {
                "users": 1, "from_s": 0, "to_s": 1, "throughput": throughput, "goodput": 0.5, "requests_s": 3.0,
                "lag_p50_ms": 0, "lag_p99_ms": 0, "passed": true, "valid": true, "ops": [], "checks": [],
            },
        });
        serde_json::from_value(text).unwrap()
    }

    /// Windows with these throughputs of the four scored loads.
    fn windows(of: &[[f64; 4]], result: ResultRecord) -> Vec<Vec<Trial>> {
        let load = |at: usize, level: u32| -> Vec<Trial> {
            (1..).zip(of).map(|(n, rates)| trial(n, level, rates[at], result)).collect()
        };
        let standby = (1..).zip(of).map(|(n, _)| trial(n, 10, 0.0, result)).collect();
        vec![load(0, 10), load(1, 10), standby, load(2, 5), load(3, 5)]
    }

    #[test]
    fn the_median_window_is_scored_with_what_stands_beside_it() {
        let of = [[10.0, 40.0, 5.0, 20.0], [12.0, 48.0, 5.0, 20.0], [11.0, 44.0, 5.0, 20.0]];
        let score = tiles().score(&windows(&of, ResultRecord::Pass), &[]).unwrap();
        assert!((score.score - 1.6).abs() < 1e-9, "{score:?}");
        assert_eq!((score.trial, score.windows.len(), score.terms.len()), (3, 3, 4));
        assert_eq!((score.least_ratio, score.least_load.as_str()), (0.5, "a-2"));
        assert_eq!(score.tiles, 1.5);
        assert!(score.low.unwrap() < 1.6 && score.high.unwrap() > 1.6);
        assert!(
            score
                .sentence()
                .starts_with("Score 1.60 @ 1.5 tiles (95 % interval 1.35 to 1.85 from 3 windows), ")
        );
    }

    #[test]
    fn operations_are_a_fifth_of_the_score() {
        let mut tiles = tiles();
        let operation = |act: &str, per_hour| OperationReferenceRecord { act: act.to_owned(), per_hour };
        tiles.operations = vec![operation("move", 7200.0), operation("scale", 3600.0)];
        let act = |name: &str| ActionRecord {
            at_s: 0.2,
            took_s: 0.5,
            name: name.to_owned(),
            ..ActionRecord::default()
        };
        let of = [[10.0, 40.0, 10.0, 40.0]];
        let score = tiles.score(&windows(&of, ResultRecord::Pass), &[act("move"), act("scale")]).unwrap();
        // Two tiles at 1, of which the second has half its load; ratios 0.5 and 1.
        let operations = 0.5_f64.sqrt();
        assert!((score.score - (0.8 * 2.0 + 0.2 * operations)).abs() < 1e-9, "{score:?}");
        assert_eq!((score.applications, score.operations.len()), (Some(2.0), 2));
        let sentence = score.sentence();
        assert!(sentence.contains(", applications 2.00 and operations 0.71, least ratio "), "{sentence}");
        let none = tiles.score(&windows(&of, ResultRecord::Pass), &[]).unwrap();
        assert!((none.score - 1.6).abs() < 1e-9, "{none:?}");
    }

    #[test]
    fn limits_are_a_gate_and_a_load_without_load_has_no_ratio() {
        let of = [[10.0, 40.0, 10.0, 40.0]];
        assert_eq!(tiles().score(&windows(&of, ResultRecord::Fail), &[]), None);
        assert_eq!(tiles().score(&windows(&of, ResultRecord::Invalid), &[]), None);
        let mut idle = windows(&of, ResultRecord::Pass);
        for load in &mut idle[3..] {
            load[0].level = Level::ZERO;
        }
        let score = tiles().score(&idle, &[]).unwrap();
        assert_eq!((score.terms.len(), score.low), (2, None));
        assert!((score.score - 1.0).abs() < 1e-9);
        assert!(
            score
                .sentence()
                .contains("(one window, no interval), least ratio 1.00 (a-1) and fairness 1.000.")
        );
    }

    #[test]
    fn tiles_have_scores_of_their_own_where_they_have_the_same_load() {
        let mut tiles = tiles();
        tiles.loads.remove(2);
        let of = [10.0, 40.0, 5.0, 80.0];
        let mut trials: Vec<Trial> = of.iter().map(|rate| trial(1, 10, *rate, ResultRecord::Pass)).collect();
        let each = tiles.each_score(&trials.iter().collect::<Vec<_>>()).unwrap();
        assert!((each[0] - 1.0).abs() < 1e-9 && (each[1] - 1.0).abs() < 1e-9 && each.len() == 2, "{each:?}");
        trials[3].level = 5.into();
        assert_eq!(tiles.each_score(&trials.iter().collect::<Vec<_>>()), None);
        tiles.loads.pop();
        assert_eq!(tiles.each_score(&trials[..3].iter().collect::<Vec<_>>()), None);
    }

    #[test]
    fn a_rate_is_a_figure_of_the_window_or_a_measure() {
        let trial = trial(1, 1, 2.0, ResultRecord::Pass);
        let of = ["throughput", "goodput", "requests", "orders"].map(|of| rate_of(&trial, of));
        assert_eq!(of, [Some(2.0), Some(0.5), Some(3.0), None]);
    }
}
