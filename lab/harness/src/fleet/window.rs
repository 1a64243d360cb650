//! Figures of each driver in a measured window, to name the driver that was the limit.

use barograph_model::{Check, CheckId};

use super::DriverSample;

/// Adds the next interval of every driver.
pub(crate) fn follow(window: &mut Vec<DriverSample>, next: &[DriverSample]) {
    for sample in next {
        match window.iter_mut().find(|known| known.driver == sample.driver) {
            Some(known) => known.follow(sample),
            None => window.push(sample.clone()),
        }
    }
}

/// Names the driver with the largest figure in each check that the drivers failed.
pub(crate) fn name_the_limit(checks: &mut [Check], window: &[DriverSample], seconds: f64) {
    let lag_ms = |sample: &DriverSample| sample.lag.whole().value_at_quantile(0.99) as f64 / 1e3;
    let busy = |sample: &DriverSample| sample.busiest_worker_cpu_s / seconds.max(1e-9);
    for check in checks.iter_mut().filter(|check| !check.ok) {
        let figure: &dyn Fn(&DriverSample) -> f64 = match check.id {
            CheckId::StartLag => &lag_ms,
            CheckId::BusiestWorker => &busy,
            _ => continue,
        };
        let worst = window.iter().max_by(|a, b| figure(a).total_cmp(&figure(b)));
        check.driver = worst.map(|sample| (sample.name.clone(), figure(sample)));
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::{CheckFacts, Nanos};
    use barograph_stats::Interval;

    use super::*;
    use crate::fleet::message::Facts;

    fn sample(driver: usize, lag_us: u64, busiest: f64) -> DriverSample {
        let mut interval = Interval::new(0);
        interval.to = Nanos::from_secs(1);
        interval.lag.saturating_record_n(lag_us, 100);
        interval.busiest_worker_cpu_s = busiest;
        DriverSample::new(driver, format!("driver-{}", driver + 1), &interval, &Facts::default())
    }

    fn check(id: CheckId, ok: bool) -> Check {
        Check::new(id, CheckFacts::NothingEnded, ok)
    }

    #[test]
    fn a_check_that_fails_names_the_driver_that_was_the_limit() {
        let mut window = vec![sample(0, 40_000, 0.2)];
        follow(&mut window, &[sample(0, 40_000, 0.3), sample(1, 2_000, 0.95)]);
        follow(&mut window, &[sample(1, 2_000, 0.95)]);
        assert_eq!((window.len(), window[0].lag.whole().len(), window[1].lag.whole().len()), (2, 200, 200));
        let (lag, busiest) = (CheckId::StartLag, CheckId::BusiestWorker);
        let mut checks =
            [check(lag, false), check(busiest, false), check(lag, true), check(CheckId::Clock, false)];
        name_the_limit(&mut checks, &window, 2.0);
        let found: Vec<String> = checks.iter().map(Check::found).collect();
        let none = "no operation ended";
        let expected = [
            format!("{none}; most in driver-1 with 40 ms"),
            format!("{none}; most in driver-2 with 95 %"),
            none.to_owned(),
            none.to_owned(),
        ];
        assert_eq!(found, expected);
        // A single driver is this process and needs no name.
        let mut alone = [check(lag, false)];
        name_the_limit(&mut alone, &[], 2.0);
        assert_eq!(alone[0].driver, None);
    }
}
