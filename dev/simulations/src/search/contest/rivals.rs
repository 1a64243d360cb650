//! Search methods of other tools: doubling until a level fails, then halving the gap. A failed level is never
//! tried again.

use super::{MOST_TRIALS, RESOLUTION, SearchResult};

/// Searches by bisection. `passes` makes the trials of a level and returns whether it passed, and the number
/// of trials.
pub(super) fn bisection(bounds: (u32, u32), mut passes: impl FnMut(f64) -> (bool, u32)) -> SearchResult {
    let (min, max) = (f64::from(bounds.0), f64::from(bounds.1));
    let (mut pass, mut fail): (f64, Option<f64>) = (0.0, None);
    let mut trials = 0;
    while trials < MOST_TRIALS {
        let level = match fail {
            None if pass == 0.0 => min,
            None => (pass * 2.0).min(max),
            Some(fail) if pass == 0.0 => fail / 2.0,
            Some(fail) if fail - pass <= fail * RESOLUTION.get() => break,
            Some(fail) => f64::midpoint(pass, fail),
        };
        let (passed, made) = passes(level);
        trials += made;
        match (passed, fail) {
            (true, None) if level >= max => {
                pass = level;
                break;
            }
            (true, _) => pass = level,
            (false, _) => fail = Some(level),
        }
    }
    SearchResult { capacity: pass, interval: None, trials, confirmed: false, drifted: false }
}
