//! A second estimate of the capacity, from more than pass or fail: the distance of the judged quantile from
//! its limit. A straight line through `ln(quantile / limit)` over `ln(level)` crosses zero at the capacity.

use barograph_model::TrialResult;

use crate::search::{CrossCheck, Trial};

/// Largest distance of levels from the capacity, as a logarithm: farther away the curve is not a line.
const NEAR: f64 = 0.25;

/// Number of trials nearest to the capacity that are fitted. They are chosen by level and not by margin: of
/// trials chosen for small margins, those at high levels are the lucky ones and those at low levels the
/// unlucky ones, and the line through them is too flat.
const MOST: usize = 12;

/// Fewest trials that give a line with an error.
const FEWEST: usize = 5;
/// Fewest levels of these trials.
const FEWEST_LEVELS: usize = 3;

/// Two-sided 95 % quantiles of Student's t for 3 to 10 degrees of freedom.
const T_95: [f64; MOST - 4] = [3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// Fits the line; `None` if there is too little to fit, or if it does not rise. `believed` is the posterior
/// of passes and fails: lower end, median and upper end of the capacity.
pub(super) fn cross_check(trials: &[Trial], believed: [f64; 3]) -> Option<CrossCheck> {
    let [least, capacity, most] = believed;
    let known = trials.iter().filter(|trial| trial.result != TrialResult::Invalid);
    let known = known.filter_map(|trial| Some((f64::from(trial.level).ln(), trial.margin?)));
    let distance = |x: f64| (x - capacity.ln()).abs();
    let mut near: Vec<(f64, f64)> = known.filter(|(x, _)| distance(*x) <= NEAR).collect();
    near.sort_by(|a, b| distance(a.0).total_cmp(&distance(b.0)));
    near.truncate(MOST);
    let mut levels: Vec<u64> = near.iter().map(|(x, _)| x.to_bits()).collect();
    levels.sort_unstable();
    levels.dedup();
    if near.len() < FEWEST || levels.len() < FEWEST_LEVELS {
        return None;
    }
    let count = near.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| near.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_m) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = near.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let slope = near.iter().map(|(x, m)| (x - mean_x) * (m - mean_m)).sum::<f64>() / spread;
    if !(slope > 0.0 && slope.is_finite()) {
        return None;
    }
    let at = mean_x - mean_m / slope;
    let squares: f64 = near.iter().map(|(x, m)| (m - mean_m - slope * (x - mean_x)).powi(2)).sum();
    let noise = (squares / (count - 2.0)).sqrt();
    // The error of the crossing: that of the line's height there, divided by its slope.
    let error = noise / slope * (1.0 / count + (at - mean_x).powi(2) / spread).sqrt();
    let half = T_95[near.len() - FEWEST] * error;
    let (low, high) = ((at - half).exp(), (at + half).exp());
    let disagrees = high < least || most < low;
    Some(CrossCheck { capacity: at.exp(), low, high, trials: near.len() as u32, disagrees })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Purpose, TrialObservation};

    const AROUND: [f64; 3] = [4_900.0, 5_000.0, 5_100.0];

    fn trial(level: u32, margin: f64) -> Trial {
        let observed = TrialObservation { margin: Some(margin), ..TrialResult::Pass.into() };
        Trial::new(level, Purpose::Search, &observed)
    }

    /// Response times that rise with the tenth power of the load and reach their limit at 5,000.
    fn line(noise: f64) -> Vec<Trial> {
        let margin =
            |level: u32, n: i32| 10.0 * (f64::from(level) / 5_000.0).ln() + noise * f64::from(n % 3 - 1);
        [4_500, 4_800, 4_900, 5_050, 5_100, 5_300]
            .iter()
            .zip(0..)
            .map(|(l, n)| trial(*l, margin(*l, n)))
            .collect()
    }

    #[test]
    fn a_line_is_read_exactly() {
        let found = cross_check(&line(0.0), AROUND).unwrap();
        assert!((found.capacity - 5_000.0).abs() < 1e-6 && found.high - found.low < 1e-3, "{found:?}");
        assert!(!found.disagrees && found.trials == 6);
        assert!(cross_check(&line(0.0), [5_200.0, 5_300.0, 5_400.0]).unwrap().disagrees);
    }

    #[test]
    fn noise_widens_it() {
        let found = cross_check(&line(0.3), AROUND).unwrap();
        assert!(found.low < 5_000.0 && 5_000.0 < found.high && found.high - found.low > 50.0, "{found:?}");
    }

    #[test]
    fn too_little_and_nonsense_say_nothing() {
        assert_eq!(cross_check(&line(0.0)[..4], AROUND), None);
        let falling: Vec<Trial> = line(0.0).iter().map(|t| trial(t.level, -t.margin.unwrap())).collect();
        assert_eq!(cross_check(&falling, AROUND), None);
        assert_eq!(cross_check(&vec![trial(5_000, 0.1); 9], AROUND), None);
        assert_eq!(cross_check(&line(0.0), [7_000.0, 8_000.0, 9_000.0]), None, "too far away");
    }

    /// Margins that scatter by as much as their limit is away do not flatten the line when trials are chosen by level.
    #[test]
    fn the_line_is_as_steep_as_the_margins_are() {
        // Of each level one margin above the line and one below it; chosen for small margins, only the inner ones would stay.
        let levels = [4_600, 4_700, 4_800, 4_900, 5_000, 5_100, 5_200, 5_300, 5_400];
        let margin = |level: u32, noise: f64| 10.0 * (f64::from(level) / 5_000.0).ln() + noise;
        let trials: Vec<Trial> =
            levels.iter().flat_map(|l| [0.8, -0.8].map(|noise| trial(*l, margin(*l, noise)))).collect();
        // 2 % to the side: the line still crosses at 5,000 when its slope is right.
        let found = cross_check(&trials, [4_700.0, 4_900.0, 5_100.0]).unwrap();
        assert!((found.capacity / 5_000.0 - 1.0).abs() < 1e-9 && found.trials == 12, "{found:?}");
    }
}
