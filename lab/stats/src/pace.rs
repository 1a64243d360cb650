//! Mean times of a pace: means of distributions of time, by summation over the normal curve.

use barograph_model::Distribution;

/// Standard deviations to either side over which the normal curve is summed …
const REACH: f64 = 8.0;
/// … and the number of steps. The error is far below a millionth.
const STEPS: u32 = 4_000;

/// The mean of the drawn times, in seconds, with the same cuts as in drawing.
pub(crate) fn mean_s(times: &Distribution) -> f64 {
    match times {
        Distribution::Constant(time) => time.as_secs_f64(),
        Distribution::Uniform { min, max } => (min.as_secs_f64() + max.as_secs_f64()) / 2.0,
        Distribution::Exponential { mean, max } => cut_exponential(mean.as_secs_f64(), max.as_secs_f64()),
        Distribution::ShiftedExponential { min, mean, max } => {
            let min = min.as_secs_f64();
            min + cut_exponential(mean.as_secs_f64() - min, max.as_secs_f64() - min)
        }
        Distribution::TruncatedNormal { mean, sd, min, max } => {
            let (mean, sd) = (mean.as_secs_f64(), sd.as_secs_f64());
            let within = |value: f64| (min.as_secs_f64()..=max.as_secs_f64()).contains(&value);
            let kept = |z: f64| within(mean + sd * z);
            let all = over_normal(|z| if kept(z) { 1.0 } else { 0.0 });
            let sum = over_normal(|z| if kept(z) { mean + sd * z } else { 0.0 });
            if all > 0.0 { sum / all } else { mean.clamp(min.as_secs_f64(), max.as_secs_f64()) }
        }
        Distribution::LogNormal { median, sigma, max } => {
            over_normal(|z| (median.as_secs_f64() * (sigma * z).exp()).min(max.as_secs_f64()))
        }
        Distribution::Empirical(values) => between_neighbours(values.iter().map(|v| v.as_secs_f64())),
    }
}

/// The mean of an exponential whose larger values are cut to `max`.
fn cut_exponential(mean: f64, max: f64) -> f64 {
    if mean > 0.0 { mean * (1.0 - (-max / mean).exp()) } else { 0.0 }
}

/// The mean of `f` over a standard normal draw.
fn over_normal(f: impl Fn(f64) -> f64) -> f64 {
    let width = 2.0 * REACH / f64::from(STEPS);
    let density = |z: f64| (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    (0..STEPS).map(|i| -REACH + (f64::from(i) + 0.5) * width).map(|z| f(z) * density(z) * width).sum()
}

/// Mean of draws that lie evenly between neighbouring values.
fn between_neighbours(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    match values.as_slice() {
        [] => 0.0,
        [only] => *only,
        several => {
            let pairs = several.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
            pairs.sum::<f64>() / (several.len() - 1) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::Nanos;

    use super::*;

    fn close(times: &Distribution, expected: f64) {
        let found = mean_s(times);
        assert!((found / expected - 1.0).abs() < 1e-3, "{times:?}: {found}, expected {expected}");
    }

    #[test]
    fn means_are_those_of_closed_forms() {
        let ms = Nanos::from_millis;
        close(&Distribution::Constant(ms(250)), 0.25);
        close(&Distribution::Uniform { min: ms(100), max: ms(300) }, 0.2);
        close(&Distribution::Exponential { mean: ms(1_000), max: ms(10_000) }, 1.0 - (-10.0_f64).exp());
        close(&Distribution::Exponential { mean: ms(1_000), max: ms(1_000) }, 1.0 - (-1.0_f64).exp());
        let shifted =
            |min, max| Distribution::ShiftedExponential { min: ms(min), mean: ms(5_000), max: ms(max) };
        close(&shifted(3_000, 25_000), 3.0 + 2.0 * (1.0 - (-11.0_f64).exp()));
        close(&shifted(5_000, 25_000), 5.0);
        let even = |min, max| Distribution::TruncatedNormal {
            mean: ms(5_000),
            sd: ms(1_250),
            min: ms(min),
            max: ms(max),
        };
        close(&even(2_500, 7_500), 5.0);
        // Half a normal curve: its mean is sd times the square root of 2 / pi above the middle.
        close(&even(5_000, 100_000), 5.0 + 1.25 * (2.0 / std::f64::consts::PI).sqrt());
        let log = |max| Distribution::LogNormal { median: ms(1_000), sigma: 0.5, max: ms(max) };
        close(&log(1_000_000), (0.125_f64).exp());
        assert!(mean_s(&log(1_000)) < 1.0);
        close(&Distribution::Empirical([ms(100), ms(200), ms(600)].into()), 0.275);
    }
}
