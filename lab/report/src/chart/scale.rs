//! Scales from values to places on the paper, with ticks at round values.

/// Maps values to pixels, evenly or by their logarithm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    from_px: f64,
    to_px: f64,
    log: bool,
}

impl Scale {
    /// Evenly from `range.0` at `px.0` to `range.1` at `px.1`. An empty range is widened, so that there is
    /// always a scale.
    pub(crate) fn linear(range: (f64, f64), px: (f64, f64)) -> Self {
        let low = if range.0.is_finite() { range.0 } else { 0.0 };
        let high = if range.1.is_finite() && range.1 > low { range.1 } else { low + 1.0 };
        Scale { low, high, from_px: px.0, to_px: px.1, log: false }
    }

    /// By logarithm; both ends are kept above zero.
    pub(crate) fn log(range: (f64, f64), px: (f64, f64)) -> Self {
        let low = if range.0.is_finite() { range.0.max(1e-6) } else { 1e-3 };
        let high = if range.1.is_finite() && range.1 > low * 1.01 { range.1 } else { low * 10.0 };
        Scale { low, high, from_px: px.0, to_px: px.1, log: true }
    }

    /// The place of `value`, clamped to the scale; `None` for NaN.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            return None;
        }
        let value = value.clamp(self.low, self.high);
        let part = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        Some(self.from_px + part * (self.to_px - self.from_px))
    }

    /// Round values inside the scale, about `wanted` of them.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.log { self.log_ticks(wanted) } else { self.linear_ticks(wanted) }
    }

    /// The same for quantities in whole numbers: no tick stands between two of them.
    pub(crate) fn whole_ticks(&self, wanted: usize) -> Vec<f64> {
        self.ticks(wanted).into_iter().filter(|tick| (tick - tick.round()).abs() < 1e-9).collect()
    }

    /// Ticks at round steps of minutes and seconds.
    pub(crate) fn clock_ticks(&self, wanted: usize) -> Vec<f64> {
        const STEPS: [f64; 14] =
            [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0];
        let rough = (self.high - self.low) / wanted.max(1) as f64;
        let step =
            STEPS.into_iter().find(|s| *s >= rough).unwrap_or_else(|| (rough / 7200.0).ceil() * 7200.0);
        self.multiples(step)
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / wanted.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough * 0.999);
        self.multiples(step.unwrap_or(power * 10.0))
    }

    fn multiples(&self, step: f64) -> Vec<f64> {
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step * (1.0 + 1e-9)).floor() as i64;
        (first..=last).take(200).map(|i| i as f64 * step).collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let parts: &[f64] = match wanted as f64 {
            w if decades * 3.0 <= w => &[1.0, 2.0, 5.0],
            w if decades * 2.0 <= w => &[1.0, 3.0],
            _ => &[1.0],
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        (first..=last)
            .flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)))
            .filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001)
            .collect()
    }
}

/// The smallest round value not below `value`, for the upper end of a scale.
pub(crate) fn round_up(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|candidate| *candidate >= value * 0.9999)
        .unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_land_where_they_belong() {
        let even = Scale::linear((0.0, 10.0), (100.0, 0.0));
        assert_eq!(even.at(5.0), Some(50.0));
        assert_eq!(even.at(99.0), Some(0.0));
        assert_eq!(even.at(f64::NAN), None);
        let log = Scale::log((0.01, 100.0), (0.0, 400.0));
        assert!((log.at(1.0).unwrap() - 200.0).abs() < 1e-9);
        assert_eq!(log.at(0.0), Some(0.0));
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale::linear((0.0, 13_000.0), (0.0, 1.0)).ticks(6), [0.0, 5000.0, 10_000.0]);
        assert_eq!(Scale::linear((0.0, 290.0), (0.0, 1.0)).clock_ticks(6), [0.0, 60.0, 120.0, 180.0, 240.0]);
        assert_eq!(Scale::linear((1.0, 4.0), (0.0, 1.0)).whole_ticks(12), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Scale::linear((0.0, 900.0), (0.0, 1.0)).whole_ticks(4), [0.0, 500.0]);
        let log = |wanted| {
            let ticks = Scale::log((0.01, 2.0), (0.0, 1.0)).ticks(wanted);
            ticks.iter().map(|t| format!("{t:.2}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(log(3), "0.01 0.10 1.00");
        assert_eq!(log(5), "0.01 0.03 0.10 0.30 1.00");
        assert_eq!(log(9), "0.01 0.02 0.05 0.10 0.20 0.50 1.00 2.00");
        assert_eq!([round_up(0.0), round_up(9.1), round_up(11_900.0)], [1.0, 10.0, 12_000.0]);
    }

    #[test]
    fn nonsense_still_gives_a_scale() {
        for scale in [
            Scale::linear((f64::NAN, f64::NAN), (0.0, 1.0)),
            Scale::linear((5.0, 5.0), (0.0, 1.0)),
            Scale::log((0.0, 0.0), (0.0, 1.0)),
            Scale::log((f64::INFINITY, f64::NAN), (0.0, 1.0)),
        ] {
            assert!(scale.at(1.0).unwrap().is_finite());
            assert!(scale.ticks(5).len() < 200);
        }
    }
}
