//! The universal scalability law: X(n) = gamma n / (1 + contention (n - 1) + coherency n (n - 1)).
//!
//! *Contention* is the part that waits for its turn, and limits the rate; *coherency* is the part that has to
//! be agreed on with all others, and makes the rate fall again. `gamma` is the fitted rate of one, not the
//! measured one.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::least_squares::{Curve, FitResult, FreeParameters, MOST, errors, fit as least_squares};
use super::{Point, levels, usable};
use crate::compare::BootstrapInterval;
use crate::compare::summary;

/// Number of resamplings of residuals for bands: each fits the curve, so fewer than for simple statistics.
const DRAWS: usize = 2_000;
/// Seed of the resampling.
const SEED: u64 = 0x0000_5ca1_ab1e;
/// Largest reported peak, in multiples of the largest `n` measured.
const SEES: f64 = 2.0;
/// Starting points of the search for the least squares, for contention and coherency.
const STARTS: [(f64, f64); 8] =
    [(0.01, 1e-4), (0.0, 0.0), (0.001, 1e-6), (0.1, 0.0), (0.1, 1e-3), (0.5, 1e-2), (0.0, 0.05), (0.9, 0.0)];

/// Index of the speed of one among the parameters.
const GAMMA: usize = 0;
/// Index of contention among the parameters.
const CONTENTION: usize = 1;
/// Index of coherency among the parameters.
const COHERENCY: usize = 2;

/// Fit of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Part of the work that waits for its turn, 0 to 1.
    pub contention: f64,
    /// Part of the work per other participant for agreement among all of them.
    pub coherency: f64,
    /// Rate of one.
    pub gamma: f64,
    /// Standard error of `contention`; NaN if it is at its bound or there are too few points.
    pub contention_error: f64,
    /// Standard error of `coherency`.
    pub coherency_error: f64,
    /// Standard error of `gamma`.
    pub gamma_error: f64,
    /// The `n` with the highest rate. Absent if that is further than twice the largest `n` measured, or
    /// infinite.
    pub peak_n: Option<f64>,
    /// The highest rate; absent with `peak_n`.
    pub peak_x: Option<f64>,
    /// Upper bound of the rate by contention alone: gamma / contention.
    pub limit: Option<f64>,
    /// The `n` at which contention alone takes half of the linear gain: 1 / contention.
    pub optimal_n: Option<f64>,
    /// The part of the variance of the rates that the curve explains.
    pub explained: f64,
    /// Largest `n` measured.
    pub largest_n: f64,
    /// Points used.
    pub points: usize,
}

impl Fit {
    /// The rate of the curve at `n`.
    #[must_use]
    pub fn at(&self, n: f64) -> f64 {
        Law.at(n, self.parameters()).0
    }

    fn parameters(&self) -> [f64; MOST] {
        [self.gamma, self.contention, self.coherency]
    }
}

/// The curve at one `n` with its 95 % bands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Number of units.
    pub n: f64,
    /// The fitted rate.
    pub x: f64,
    /// Lower end for the curve.
    pub low: f64,
    /// Upper end for the curve.
    pub high: f64,
    /// Lower end for one more measurement, its noise included.
    pub measured_low: f64,
    /// Upper end for one more measurement.
    pub measured_high: f64,
}

/// Bands of the curve, and intervals of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// The curve at the requested `n`.
    pub curve: Vec<Band>,
    /// 95 % interval of contention.
    pub contention: BootstrapInterval,
    /// 95 % interval of coherency.
    pub coherency: BootstrapInterval,
    /// 95 % interval of the `n` of the peak; absent if the upper end is further out than can be reported.
    pub peak_n: Option<BootstrapInterval>,
}

struct Law;

impl Curve for Law {
    fn at(&self, n: f64, p: [f64; MOST]) -> (f64, [f64; MOST]) {
        let below = 1.0 + p[CONTENTION] * (n - 1.0) + p[COHERENCY] * n * (n - 1.0);
        let value = p[GAMMA] * n / below;
        let by_contention = -value * (n - 1.0) / below;
        (value, [n / below, by_contention, by_contention * n])
    }
}

/// Fits the law by least squares, contention from 0 to 1 and coherency from 0. `None` with fewer than three
/// different `n`, since there are three parameters.
#[must_use]
pub fn fit(points: &[Point]) -> Option<Fit> {
    let sorted = usable(points);
    (levels(&sorted) >= MOST).then(|| fit_sorted(&sorted, true))
}

/// Amdahl's law as a case of this one.
pub(super) fn fit_without_coherency(points: &[Point]) -> Option<Fit> {
    let sorted = usable(points);
    (levels(&sorted) >= 2).then(|| fit_sorted(&sorted, false))
}

fn free(coherency: bool) -> FreeParameters {
    FreeParameters {
        varies: [true, true, coherency],
        low: [0.0; MOST],
        high: [f64::INFINITY, 1.0, f64::INFINITY],
    }
}

/// Scales the rates to be around one, for the sake of the fit.
fn scaled(sorted: &[Point]) -> (Vec<(f64, f64)>, f64) {
    let unit = sorted.iter().map(|p| p.x).fold(0.0, f64::max);
    (sorted.iter().map(|p| (p.n, p.x / unit)).collect(), unit)
}

fn fit_sorted(sorted: &[Point], coherency: bool) -> Fit {
    let (points, unit) = scaled(sorted);
    let free = free(coherency);
    let steepest = points.iter().map(|(n, x)| x / n).fold(0.0, f64::max);
    let starts = STARTS.iter().map(|(a, b)| [steepest, *a, if coherency { *b } else { 0.0 }]);
    let found = starts
        .map(|start| least_squares(&Law, &points, start, &free))
        .min_by(|a, b| a.squares.total_cmp(&b.squares))
        .expect("there are starts");
    let errors = errors(&Law, &points, &found, &free);
    describe(&points, unit, &found, errors)
}

fn describe(points: &[(f64, f64)], unit: f64, found: &FitResult, errors: [f64; MOST]) -> Fit {
    let [gamma, contention, coherency] = found.parameters;
    let largest_n = points.last().map_or(f64::NAN, |(n, _)| *n);
    let mean = points.iter().map(|(_, x)| x).sum::<f64>() / points.len() as f64;
    let scatter: f64 = points.iter().map(|(_, x)| (x - mean).powi(2)).sum();
    let peak_n = peak(found.parameters, largest_n);
    Fit {
        contention,
        coherency,
        gamma: gamma * unit,
        contention_error: errors[CONTENTION],
        coherency_error: errors[COHERENCY],
        gamma_error: errors[GAMMA] * unit,
        peak_n,
        peak_x: peak_n.map(|n| Law.at(n, found.parameters).0 * unit),
        limit: (contention > 0.0).then(|| gamma * unit / contention),
        optimal_n: (contention > 0.0).then(|| 1.0 / contention),
        explained: 1.0 - found.squares / scatter,
        largest_n,
        points: points.len(),
    }
}

fn peak([_, contention, coherency]: [f64; MOST], largest_n: f64) -> Option<f64> {
    let at = ((1.0 - contention) / coherency).sqrt();
    (at.is_finite() && at <= SEES * largest_n).then_some(at.max(1.0))
}

/// Bands of the fitted curve at `at`, by resampling its residuals: for rates with noise of one size over all
/// `n`. `taken` is the number of parameters removed from the points before, such as the means of blocks:
/// residuals are smaller by those too. `None` if [`fit`] is `None`, or without more points than parameters,
/// which leaves no residuals.
#[must_use]
pub fn bands(points: &[Point], at: &[f64], taken: usize) -> Option<Bands> {
    bands_with(points, at, taken, DRAWS)
}

fn bands_with(points: &[Point], at: &[f64], taken: usize, draws: usize) -> Option<Bands> {
    let sorted = usable(points);
    if levels(&sorted) < MOST || sorted.len() <= MOST + taken {
        return None;
    }
    let fitted = fit_sorted(&sorted, true);
    let (_, unit) = scaled(&sorted);
    let start = [fitted.gamma / unit, fitted.contention, fitted.coherency];
    // Residuals of a fit are smaller than the noise, by the parameters that it chose.
    let widen = (sorted.len() as f64 / (sorted.len() - MOST - taken) as f64).sqrt();
    let curve: Vec<f64> = sorted.iter().map(|p| Law.at(p.n, start).0).collect();
    let residuals: Vec<f64> = sorted.iter().zip(&curve).map(|(p, x)| (p.x / unit - x) * widen).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut residual = || residuals[random.random_range(0..residuals.len())];
    let mut drawn = BootstrapDraws::new(at.len());
    for _ in 0..draws {
        let again: Vec<(f64, f64)> = sorted.iter().zip(&curve).map(|(p, x)| (p.n, x + residual())).collect();
        let parameters = least_squares(&Law, &again, start, &free(true)).parameters;
        drawn.contention.push(parameters[CONTENTION]);
        drawn.coherency.push(parameters[COHERENCY]);
        drawn.peak_n.extend(peak(parameters, fitted.largest_n));
        for (i, n) in at.iter().enumerate() {
            let x = Law.at(*n, parameters).0;
            drawn.curve[i].push(x);
            drawn.measured[i].push((x + residual()).max(0.0));
        }
    }
    drawn.bands(&fitted, at, (unit, draws))
}

/// Results of the resampling.
struct BootstrapDraws {
    contention: Vec<f64>,
    coherency: Vec<f64>,
    peak_n: Vec<f64>,
    curve: Vec<Vec<f64>>,
    measured: Vec<Vec<f64>>,
}

impl BootstrapDraws {
    fn new(places: usize) -> Self {
        let (contention, coherency, peak_n) = (Vec::new(), Vec::new(), Vec::new());
        BootstrapDraws {
            contention,
            coherency,
            peak_n,
            curve: vec![Vec::new(); places],
            measured: vec![Vec::new(); places],
        }
    }

    fn bands(self, fitted: &Fit, at: &[f64], (unit, draws): (f64, usize)) -> Option<Bands> {
        let mut curve = Vec::with_capacity(at.len());
        for ((n, line), measured) in at.iter().zip(self.curve).zip(self.measured) {
            let (line, measured) = (summary(line, draws)?, summary(measured, draws)?);
            curve.push(Band {
                n: *n,
                x: fitted.at(*n),
                low: line.low * unit,
                high: line.high * unit,
                measured_low: measured.low * unit,
                measured_high: measured.high * unit,
            });
        }
        Some(Bands {
            curve,
            contention: summary(self.contention, draws)?,
            coherency: summary(self.coherency, draws)?,
            peak_n: of_peaks(self.peak_n, draws),
        })
    }
}

/// The interval of peaks. A draw without a peak has it further out than all others, or nowhere; without these
/// draws the upper end would be too low.
fn of_peaks(mut found: Vec<f64>, draws: usize) -> Option<BootstrapInterval> {
    let error = summary(found.clone(), draws)?.error;
    found.resize(draws, f64::INFINITY);
    let all = summary(found, draws).filter(|all| all.high.is_finite())?;
    Some(BootstrapInterval { error, ..all })
}

#[cfg(test)]
mod tests;
