//! What each driver did in a measured window: which of them was the limit, when the drivers were.

use barograph_model::Check;
use barograph_model::words::millis;

use super::DriverSample;

/// The check of start lag, as the judge calls it.
const LAG: &str = "driver start lag";

/// The check of CPU time, as the judge calls it.
const BUSIEST: &str = "busiest driver worker";

/// Adds the next interval of every driver.
pub(crate) fn follow(window: &mut Vec<DriverSample>, next: &[DriverSample]) {
    for sample in next {
        match window.iter_mut().find(|known| known.driver == sample.driver) {
            Some(known) => known.follow(sample),
            None => window.push(sample.clone()),
        }
    }
}

/// Says which driver it was, where a check says that the drivers were the limit.
pub(crate) fn name_the_limit(checks: &mut [Check], window: &[DriverSample], seconds: f64) {
    let lag = |sample: &DriverSample| sample.lag.value_at_quantile(0.99);
    for check in checks.iter_mut().filter(|check| !check.ok) {
        let worst = match check.name.as_str() {
            LAG => window
                .iter()
                .max_by_key(|sample| lag(sample))
                .map(|sample| format!("{} with {}", sample.name, millis(lag(sample) as f64 / 1e3))),
            BUSIEST => window
                .iter()
                .max_by(|a, b| a.busiest_worker_cpu_s.total_cmp(&b.busiest_worker_cpu_s))
                .map(|sample| {
                    let percent = sample.busiest_worker_cpu_s / seconds.max(1e-9) * 100.0;
                    format!("{} with {percent:.0} %", sample.name)
                }),
            _ => None,
        };
        if let Some(worst) = worst {
            check.found.push_str(&format!("; most in {worst}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::Nanos;
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

    fn check(name: &str, ok: bool) -> Check {
        Check { name: name.to_owned(), found: "found".to_owned(), allowed: String::new(), ok }
    }

    #[test]
    fn a_check_that_fails_names_the_driver_that_was_the_limit() {
        let mut window = vec![sample(0, 40_000, 0.2)];
        follow(&mut window, &[sample(0, 40_000, 0.3), sample(1, 2_000, 0.95)]);
        follow(&mut window, &[sample(1, 2_000, 0.95)]);
        assert_eq!((window.len(), window[0].lag.len(), window[1].lag.len()), (2, 200, 200));
        let mut checks = [check(LAG, false), check(BUSIEST, false), check(LAG, true), check("other", false)];
        name_the_limit(&mut checks, &window, 2.0);
        let found: Vec<&str> = checks.iter().map(|c| c.found.as_str()).collect();
        assert_eq!(
            found,
            ["found; most in driver-1 with 40 ms", "found; most in driver-2 with 95 %", "found", "found"]
        );
        // The only driver is this process, and needs no name.
        let mut alone = [check(LAG, false)];
        name_the_limit(&mut alone, &[], 2.0);
        assert_eq!(alone[0].found, "found");
    }
}
