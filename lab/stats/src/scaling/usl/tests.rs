//! Against published data and fits, and planted curves.

use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

fn points(n: &[f64], x: &[f64]) -> Vec<Point> {
    n.iter().zip(x).map(|(n, x)| Point::new(*n, *x)).collect()
}

/// SPEC SDM 91 on a large server.
fn specsdm91() -> Vec<Point> {
    points(
        &[1.0, 18.0, 36.0, 72.0, 108.0, 144.0, 216.0],
        &[64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2],
    )
}

/// A ray tracer on a large server.
fn raytracer() -> Vec<Point> {
    points(
        &[1.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0, 48.0, 64.0],
        &[20.0, 78.0, 130.0, 170.0, 190.0, 200.0, 210.0, 230.0, 260.0, 280.0, 310.0],
    )
}

/// Asserts equality to the digits of `expected`.
fn reads(found: f64, expected: &str) {
    let digits = expected.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
    let value: f64 = expected.parse().unwrap();
    let unit = 10f64.powf(value.abs().log10().floor() + 1.0 - digits as f64);
    assert!((found - value).abs() <= 0.5001 * unit, "{found} is not {expected}");
}

#[test]
fn specsdm91_as_published() {
    let found = fit(&specsdm91()).unwrap();
    reads(found.contention, "0.02773");
    reads(found.coherency, "0.0001044");
    reads(found.gamma, "90.00");
    reads(found.contention_error, "0.00912");
    reads(found.coherency_error, "0.0000199");
    reads(found.gamma_error, "14.21");
    reads(found.peak_n.unwrap(), "96.52");
    reads(found.peak_x.unwrap(), "1884");
    reads(found.limit.unwrap(), "3246");
    reads(found.optimal_n.unwrap(), "36.06");
    assert!(found.explained > 0.98 && found.points == 7, "{found:?}");
}

#[test]
fn a_curve_without_noise_is_found_again() {
    let data = points(&[1.0, 2.0, 4.0, 6.0, 8.0, 10.0], &[1.0, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557]);
    let found = fit(&data).unwrap();
    reads(found.contention, "0.020");
    reads(found.coherency, "0.020");
    reads(found.gamma, "1.000");
    assert!(found.peak_n.unwrap() > 6.9 && found.peak_n.unwrap() < 7.1);
}

#[test]
fn a_curve_without_a_peak_says_so() {
    let found = fit(&raytracer()).unwrap();
    reads(found.contention, "0.0578");
    assert!(found.coherency < 1e-5, "{found:?}");
    reads(found.gamma, "21.85");
    reads(found.limit.unwrap(), "378.2");
    assert_eq!((found.peak_n, found.peak_x), (None, None));
}

#[test]
fn too_little_says_nothing() {
    assert_eq!(fit(&points(&[1.0, 2.0, 2.0], &[1.0, 2.0, 2.1])), None);
    let three = points(&[1.0, 2.0, 4.0], &[100.0, 185.0, 300.0]);
    let found = fit(&three).unwrap();
    assert!(found.contention_error.is_nan() && (found.at(4.0) - 300.0).abs() < 0.1, "{found:?}");
    assert_eq!(bands(&three, &[8.0], 0), None);
}

/// The published standard errors come from a formula; those of the draws are near them.
#[test]
fn intervals_of_the_draws_hold_the_fit_and_are_repeatable() {
    let found = bands(&specsdm91(), &[96.52], 0).unwrap();
    assert!(found.contention.low < 0.0277 && 0.0277 < found.contention.high, "{found:?}");
    assert!((found.coherency.error / 1.99e-5 - 1.0).abs() < 0.6, "{found:?}");
    let peak = found.peak_n.unwrap();
    assert!(peak.low < 96.5 && 96.5 < peak.high && peak.high - peak.low < 60.0, "{peak:?}");
    let band = found.curve[0];
    assert!(band.measured_low <= band.low && band.low < band.x && band.x < band.high, "{band:?}");
    assert_eq!(Some(found), bands(&specsdm91(), &[96.52], 0));
}

/// A draw without a peak counts as one whose peak is further out than all others.
#[test]
fn draws_without_a_peak_leave_the_upper_end_open() {
    let peaks = |count: u32| (0..count).map(|i| 20.0 + f64::from(i) / 100.0).collect::<Vec<f64>>();
    let all = of_peaks(peaks(1_000), 1_000).unwrap();
    assert!((all.low - 20.25).abs() < 0.01 && (all.high - 29.74).abs() < 0.01, "{all:?}");
    // A hundredth without one: the upper end stays at the place it had.
    let most = of_peaks(peaks(990), 1_000).unwrap();
    assert!((most.low - 20.25).abs() < 0.01 && (most.high - 29.74).abs() < 0.01, "{most:?}");
    assert!(most.error.is_finite() && most.error < all.error, "{most:?}");
    assert_eq!(of_peaks(peaks(960), 1_000), None, "the upper end is among those without");
    assert_eq!(of_peaks(Vec::new(), 1_000), None);
}

/// The largest `n` is held back; a band from the others holds it about as often as stated.
#[test]
fn the_band_holds_a_measurement_that_was_held_back() {
    let (mut held, rounds) = (0, 200);
    for seed in 0..rounds {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut measure = |n: f64| {
            let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            Point::new(n, Law.at(n, [100.0, 0.03, 0.0005]).0 + 15.0 * normal)
        };
        let seen: Vec<Point> =
            [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0].iter().flat_map(|n| [measure(*n), measure(*n)]).collect();
        let back = measure(32.0);
        let band = bands_with(&seen, &[32.0], 0, 300).unwrap().curve[0];
        held += u32::from(band.measured_low <= back.x && back.x <= band.measured_high);
    }
    assert!(held >= 178, "{held} of {rounds} held");
}

proptest! {
    #[test]
    fn planted_parameters_are_found(a in 0.0f64..0.5, b in 0.0f64..0.01, g in 0.01f64..1e5) {
        let n = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let data: Vec<Point> = n.iter().map(|n| Point::new(*n, Law.at(*n, [g, a, b]).0)).collect();
        let found = fit(&data).unwrap();
        for point in &data {
            prop_assert!((found.at(point.n) / point.x - 1.0).abs() < 1e-4, "{:?}", found);
        }
        prop_assert!((found.contention - a).abs() < 1e-3 && (found.coherency - b).abs() < 1e-4, "{:?}", found);
    }

    #[test]
    fn the_unit_of_the_rate_does_not_matter(unit in 1e-6f64..1e6) {
        let other: Vec<Point> = specsdm91().iter().map(|p| Point::new(p.n, p.x * unit)).collect();
        let (one, other) = (fit(&specsdm91()).unwrap(), fit(&other).unwrap());
        prop_assert!((one.contention / other.contention - 1.0).abs() < 1e-4);
        prop_assert!((one.peak_x.unwrap() * unit / other.peak_x.unwrap() - 1.0).abs() < 1e-4);
    }
}
