//! Time that a search by posterior takes to choose its next trial.
//!
//! The sum of the found capacities is printed beside the times: a change of speed alone must not affect it.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use barograph_model::{SearchBounds, SearchMethod, Share, TrialResult};
use barograph_stats::search::{RampEnd, Search, Step};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::say::say;

/// Default number of searches per line.
const SEARCHES: u64 = 50;
/// Trials of `quick`, `standard` and `full`.
const BUDGETS: [u32; 3] = [8, 19, 30];
/// Width of the edge as a share of the capacity.
const SOFTNESS: f64 = 0.01;
/// Share of spurious failures.
const SPURIOUS: f64 = 0.05;

/// Makes this number of searches with each budget.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let searches: u64 = match words {
        [] => SEARCHES,
        [number] => number.parse().with_context(|| format!("read `{number}` as a number"))?,
        _ => bail!("wanted is a number of searches, or nothing"),
    };
    let searches = searches.max(1);
    for budget in BUDGETS {
        let (mut times, mut found) = (Vec::new(), 0);
        for seed in 0..searches {
            found += u64::from(search(budget, seed, &mut times));
        }
        times.sort_unstable();
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e6;
        say(&format!(
            "{budget} trials, {searches} searches: median {:.0} µs per next, 95 % {:.0} µs, longest {:.0} µs; capacities add \
             up to {found}",
            at(0.5),
            at(0.95),
            at(1.0)
        ));
    }
    Ok(true)
}

/// One search after a ramp; returns its capacity.
fn search(budget: u32, seed: u64, times: &mut Vec<Duration>) -> u32 {
    let mut luck = Xoshiro256PlusPlus::seed_from_u64(seed);
    let capacity = 8_000.0 + 50_000.0 * luck.random::<f64>();
    let mut search = Search::new(SearchBounds {
        min: 1_000,
        max: 1_000_000,
        resolution: Share::ZERO,
        max_trials: budget,
        method: SearchMethod::Posterior,
    });
    search.ramp_ended((capacity * (0.95 + 0.25 * luck.random::<f64>())) as u32, RampEnd::GaveWay);
    while let Step::Trial { level, .. } = search.next() {
        let edge = (f64::from(level) / capacity).ln() / SOFTNESS;
        let passes = luck.random::<f64>() < (1.0 - SPURIOUS) / (1.0 + edge.exp());
        let result = if passes { TrialResult::Pass } else { TrialResult::Fail };
        let begun = Instant::now();
        // The next trial is chosen when a result is reported.
        search.tell(level, result);
        times.push(begun.elapsed());
    }
    search.answer().capacity.unwrap_or(0)
}
