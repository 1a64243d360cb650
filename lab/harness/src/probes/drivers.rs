//! Resource use of the drivers: this process, or remote drivers, each over its own time by its own clock.

use barograph_probe::{ProcessRates, ProcessSample};
use barograph_record::ProbeRow;

use crate::connections;
use crate::fleet::DriverSample;

/// Sample of the drivers of a load.
#[derive(Clone)]
pub(super) struct Drivers {
    /// This process: the driver, or the leader of remote drivers.
    own: ProcessSample,
    /// Remote drivers, always in the same order.
    each: Vec<NamedDriver>,
}

#[derive(Clone)]
struct NamedDriver {
    name: String,
    process: ProcessSample,
    connections: Option<u64>,
}

/// CPU use of all drivers together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DriverCpu {
    /// Busy cores.
    pub(super) cores: f64,
    /// CPU seconds.
    pub(super) cpu_s: f64,
}

impl Drivers {
    /// Builds a sample from this process and the remote drivers. A driver without new figures keeps those of
    /// `before`.
    pub(super) fn now(own: ProcessSample, drivers: &[DriverSample], before: Option<&Drivers>) -> Self {
        let mut each = before.map_or_else(Vec::new, |before| before.each.clone());
        for sample in drivers {
            let now = NamedDriver {
                name: sample.name.clone(),
                process: sample.process,
                connections: sample.connections,
            };
            match each.iter_mut().find(|known| known.name == now.name) {
                Some(known) => {
                    *known = NamedDriver { connections: now.connections.or(known.connections), ..now }
                }
                None => each.push(now),
            }
        }
        Drivers { own, each }
    }

    /// Use of each driver since `from`, over its own time: samples are not simultaneous, and a driver that
    /// skips an interval reports two in the next.
    fn since<'a>(&'a self, from: &Drivers) -> Vec<(&'a str, ProcessRates)> {
        if self.each.is_empty() {
            return vec![("driver", self.own.since(&from.own))];
        }
        let each = self.each.iter().zip(&from.each);
        each.map(|(now, then)| (now.name.as_str(), now.process.since(&then.process))).collect()
    }

    /// Use of all drivers since `from`.
    pub(super) fn used(&self, from: &Drivers) -> DriverCpu {
        let mut used = DriverCpu::default();
        for (_, rates) in self.since(from) {
            used.cores += cores(&rates);
            used.cpu_s += cores(&rates) * rates.seconds;
        }
        used
    }

    /// Busy cores of the drivers and of the leading process since `from`.
    pub(super) fn all_cores(&self, from: &Drivers) -> f64 {
        let leading = if self.each.is_empty() { 0.0 } else { cores(&self.own.since(&from.own)) };
        self.used(from).cores + leading
    }

    /// Resident memory of all drivers, in bytes.
    pub(super) fn resident_bytes(&self) -> u64 {
        match self.each.as_slice() {
            [] => self.own.resident_bytes,
            each => each.iter().map(|driver| driver.process.resident_bytes).sum(),
        }
    }

    /// Open connections of all drivers; `None` if one is unknown.
    pub(super) fn connections(&self) -> Option<u64> {
        match self.each.as_slice() {
            [] => connections::open(),
            each => each.iter().map(|driver| driver.connections).sum(),
        }
    }

    /// A row for all drivers together; with several, also one for this process and one for each.
    pub(super) fn rows(&self, at_s: f64, before: &Drivers) -> Vec<ProbeRow> {
        let each = self.since(before);
        let all = process_row("driver", at_s, &together(&each));
        if self.each.is_empty() {
            // A sample of the process shows only the table of its first thread.
            return vec![ProbeRow { fds: connections::files(), ..all }];
        }
        let mut rows = vec![all, process_row("harness", at_s, &self.own.since(&before.own))];
        rows.extend(each.iter().map(|(name, rates)| process_row(name, at_s, rates)));
        rows
    }
}

fn cores(rates: &ProcessRates) -> f64 {
    rates.cpu_user_cores + rates.cpu_system_cores
}

/// Sum of all; open files are unknown if those of one are.
fn together(each: &[(&str, ProcessRates)]) -> ProcessRates {
    let mut all = ProcessRates::default();
    for (_, rates) in each {
        all.seconds = all.seconds.max(rates.seconds);
        all.cpu_user_cores += rates.cpu_user_cores;
        all.cpu_system_cores += rates.cpu_system_cores;
        all.resident_bytes += rates.resident_bytes;
        all.threads += rates.threads;
        all.voluntary_switches_per_s += rates.voluntary_switches_per_s;
        all.involuntary_switches_per_s += rates.involuntary_switches_per_s;
    }
    all.open_files = each.iter().map(|(_, rates)| rates.open_files).sum();
    all
}

fn process_row(subject: &str, at_s: f64, r: &ProcessRates) -> ProbeRow {
    ProbeRow {
        at_s,
        subject: subject.into(),
        cpu_user_cores: Some(r.cpu_user_cores),
        cpu_system_cores: Some(r.cpu_system_cores),
        rss_bytes: Some(r.resident_bytes),
        threads: Some(r.threads),
        fds: r.open_files,
        ctx_switches_s: Some(r.voluntary_switches_per_s + r.involuntary_switches_per_s),
        ..ProbeRow::default()
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::Nanos;
    use barograph_stats::SparseHistogram;

    use super::*;

    /// Sample of a driver whose clock shows `at_s` and which has used `cpu_ms` so far.
    fn driver(driver: usize, at_s: u64, cpu_ms: u64) -> DriverSample {
        let process = ProcessSample {
            at: Nanos::from_secs(at_s),
            cpu_user: Nanos::from_millis(cpu_ms),
            resident_bytes: 10,
            open_files: Some(7),
            ..ProcessSample::default()
        };
        DriverSample {
            driver,
            name: format!("driver-{driver}"),
            process,
            connections: Some(3),
            lag: SparseHistogram::default(),
            busiest_worker_cpu_s: 0.0,
        }
    }

    #[test]
    fn each_driver_is_counted_over_its_own_time() {
        let own = ProcessSample::default();
        let first = Drivers::now(own, &[driver(1, 0, 0), driver(2, 100, 0)], None);
        // The first driver reports nothing in the first interval, and two intervals in the second.
        let second = Drivers::now(own, &[driver(2, 101, 500)], Some(&first));
        let third = Drivers::now(own, &[driver(1, 2, 2_000), driver(2, 102, 1_000)], Some(&second));
        assert_eq!(second.used(&first), DriverCpu { cores: 0.5, cpu_s: 0.5 });
        assert_eq!(third.used(&second), DriverCpu { cores: 1.5, cpu_s: 2.5 });
        assert_eq!(third.used(&first), DriverCpu { cores: 1.5, cpu_s: 3.0 });
        assert_eq!((third.resident_bytes(), third.connections()), (20, Some(6)));
        let rows = third.rows(2.0, &second);
        let subjects: Vec<&str> = rows.iter().map(|row| row.subject.as_str()).collect();
        assert_eq!(subjects, ["driver", "harness", "driver-1", "driver-2"]);
        let cores: Vec<Option<f64>> = rows.iter().map(ProbeRow::cores).collect();
        assert_eq!(cores, [Some(1.5), Some(0.0), Some(1.0), Some(0.5)]);
        assert_eq!((rows[0].rss_bytes, rows[0].fds), (Some(20), Some(14)));
    }

    #[test]
    fn this_process_alone_is_the_driver() {
        let at = |at_s, cpu_ms| driver(0, at_s, cpu_ms).process;
        let then = Drivers::now(at(1, 100), &[], None);
        let now = Drivers::now(at(3, 1_100), &[], Some(&then));
        assert_eq!(now.used(&then), DriverCpu { cores: 0.5, cpu_s: 1.0 });
        assert_eq!(now.all_cores(&then), 0.5);
        assert_eq!(now.rows(3.0, &then).len(), 1);
    }
}
