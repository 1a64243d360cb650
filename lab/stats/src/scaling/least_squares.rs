//! Least squares with parameters that have a lower bound: Levenberg and Marquardt, projected onto the bounds.
//!
//! Made for at most three parameters and a few dozen points.

/// Most parameters.
pub(super) const MOST: usize = 3;

/// A model of a curve in up to [`MOST`] parameters; those above `used` stay as they are.
pub(super) trait Curve {
    /// Value at `n` and its derivatives by the parameters.
    fn at(&self, n: f64, parameters: [f64; MOST]) -> (f64, [f64; MOST]);
}

/// Result of a fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct FitResult {
    pub(super) parameters: [f64; MOST],
    /// Sum of the squared residuals.
    pub(super) squares: f64,
}

/// Free parameters of a fit, with their bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeParameters {
    pub(super) varies: [bool; MOST],
    pub(super) low: [f64; MOST],
    pub(super) high: [f64; MOST],
}

/// Most steps of a fit; most fits take ten, and one with more does not converge.
const MOST_STEPS: usize = 300;
/// Damping beyond which no step improves the fit.
const MOST_DAMPING: f64 = 1e12;
/// Relative change of the sum of squares below which the fit has converged.
const SMALL: f64 = 1e-14;

/// Fits `curve` to points `(n, x)` from `start`, by least squares.
pub(super) fn fit(
    curve: &impl Curve,
    points: &[(f64, f64)],
    start: [f64; MOST],
    free: &FreeParameters,
) -> FitResult {
    let squares_of =
        |parameters| points.iter().map(|(n, x)| (x - curve.at(*n, parameters).0).powi(2)).sum::<f64>();
    let mut found = FitResult { parameters: start, squares: squares_of(start) };
    let mut damping = 1e-3;
    for _ in 0..MOST_STEPS {
        let (normal, slope) = normal_equations(curve, points, found.parameters);
        let moves = movable(free, found.parameters, slope);
        let Some(step) = damped_step(&normal, slope, moves, damping) else { break };
        let mut next = found.parameters;
        for i in 0..MOST {
            next[i] = (next[i] + step[i]).clamp(free.low[i], free.high[i]);
        }
        let squares = squares_of(next);
        if squares < found.squares {
            let gain = found.squares - squares;
            let before = found.squares;
            found = FitResult { parameters: next, squares };
            damping = (damping / 10.0).max(1e-12);
            if gain <= SMALL * before {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > MOST_DAMPING {
                break;
            }
        }
    }
    found
}

/// Standard errors of the free parameters that are not at a bound; NaN for the others, or if there are no
/// more points than parameters.
pub(super) fn errors(
    curve: &impl Curve,
    points: &[(f64, f64)],
    found: &FitResult,
    free: &FreeParameters,
) -> [f64; MOST] {
    let mut errors = [f64::NAN; MOST];
    let (normal, _) = normal_equations(curve, points, found.parameters);
    let moves: [bool; MOST] = std::array::from_fn(|i| {
        free.varies[i] && found.parameters[i] > free.low[i] && found.parameters[i] < free.high[i]
    });
    let count = moves.iter().filter(|m| **m).count();
    if points.len() <= count {
        return errors;
    }
    let variance = found.squares / (points.len() - count) as f64;
    for i in (0..MOST).filter(|i| moves[*i]) {
        let mut unit = [0.0; MOST];
        unit[i] = 1.0;
        if let Some(column) = damped_step(&normal, unit, moves, 0.0) {
            errors[i] = (variance * column[i]).sqrt();
        }
    }
    errors
}

/// J'J and J'r.
fn normal_equations(
    curve: &impl Curve,
    points: &[(f64, f64)],
    parameters: [f64; MOST],
) -> ([[f64; MOST]; MOST], [f64; MOST]) {
    let (mut normal, mut slope) = ([[0.0; MOST]; MOST], [0.0; MOST]);
    for (n, x) in points {
        let (value, derivatives) = curve.at(*n, parameters);
        for i in 0..MOST {
            slope[i] += derivatives[i] * (x - value);
            for j in 0..MOST {
                normal[i][j] += derivatives[i] * derivatives[j];
            }
        }
    }
    (normal, slope)
}

/// Whether a parameter may move: one at a bound only if the descent leads inside.
fn movable(free: &FreeParameters, parameters: [f64; MOST], slope: [f64; MOST]) -> [bool; MOST] {
    std::array::from_fn(|i| {
        free.varies[i]
            && !(parameters[i] <= free.low[i] && slope[i] < 0.0)
            && !(parameters[i] >= free.high[i] && slope[i] > 0.0)
    })
}

/// Solves (A + damping diag A) step = slope in the movable parameters, by Gauss with pivots. Parameters are
/// scaled by their diagonal first, because they differ by many orders. `None` without a unique solution.
fn damped_step(
    normal: &[[f64; MOST]; MOST],
    slope: [f64; MOST],
    moves: [bool; MOST],
    damping: f64,
) -> Option<[f64; MOST]> {
    let at: Vec<usize> = (0..MOST).filter(|i| moves[*i]).collect();
    let scale: Vec<f64> = at.iter().map(|i| normal[*i][*i].sqrt()).collect();
    if at.is_empty() || scale.iter().any(|s| !s.is_finite() || *s == 0.0) {
        return None;
    }
    let size = at.len();
    let mut rows = vec![vec![0.0; size + 1]; size];
    for (r, row) in rows.iter_mut().enumerate() {
        for c in 0..size {
            row[c] = normal[at[r]][at[c]] / scale[r] / scale[c];
        }
        row[r] *= 1.0 + damping;
        row[size] = slope[at[r]] / scale[r];
    }
    for column in 0..size {
        let pivot =
            (column..size).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        if rows[column][column].abs() < 1e-14 {
            return None;
        }
        let above = rows[column].clone();
        for row in &mut rows[column + 1..] {
            let factor = row[column] / above[column];
            for (cell, up) in row.iter_mut().zip(&above) {
                *cell -= factor * up;
            }
        }
    }
    let mut step = [0.0; MOST];
    for r in (0..size).rev() {
        let known: f64 = (r + 1..size).map(|c| rows[r][c] * step[at[c]] * scale[c]).sum();
        step[at[r]] = (rows[r][size] - known) / rows[r][r] / scale[r];
    }
    Some(step)
}
