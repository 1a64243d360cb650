//! Samples of host, driver and application beside every interval, and the averages over a window.

use barograph_model::Nanos;
use barograph_probe::{HostProbe, HostSample, ProbeError, ProcessProbe, ProcessSample};
use barograph_record::{ProbeRow, Resources};

use crate::connections;

/// Below so many users what the driver needs in any case (histograms, buffers) is most of its memory, and divided by them
/// it would say nothing of a user.
const FEWEST_USERS: u32 = 1_000;

/// All probes of a run.
pub(crate) struct Probes {
    host: HostProbe,
    driver: ProcessProbe,
    /// `None` where the application is no process of this machine.
    app: Option<ProcessProbe>,
    last: Sample,
    driver_rss_before_load: u64,
    /// Most users there have been at the end of an interval.
    most_users: u32,
}

/// Host, driver and application at one instant. The application may be gone.
#[derive(Clone)]
pub(crate) struct Sample {
    host: HostSample,
    driver: ProcessSample,
    app: Option<ProcessSample>,
}

impl Probes {
    pub(crate) fn new(app: Option<u32>, now: Nanos) -> Result<Self, ProbeError> {
        let mut host = HostProbe::new()?;
        let mut driver = ProcessProbe::of_this_process()?;
        let mut app = app.map(ProcessProbe::new).transpose()?;
        let last =
            Sample { host: host.sample(now)?, driver: driver.sample(now)?, app: sample_of(&mut app, now) };
        let driver_rss_before_load = last.driver.resident_bytes;
        Ok(Probes { host, driver, app, last, driver_rss_before_load, most_users: 0 })
    }

    /// The latest sample, for the start of a window.
    pub(crate) fn mark(&self) -> Sample {
        self.last.clone()
    }

    /// Takes a sample with `users` active; gives the rows since the one before.
    pub(crate) fn sample(&mut self, now: Nanos, users: u32) -> Result<Vec<ProbeRow>, ProbeError> {
        let new = Sample {
            host: self.host.sample(now)?,
            driver: self.driver.sample(now)?,
            app: sample_of(&mut self.app, now),
        };
        self.most_users = self.most_users.max(users);
        let at_s = now.as_secs_f64();
        // The process alone would show the table of its first thread.
        let driver = ProbeRow {
            fds: connections::files(),
            ..process_row("driver", at_s, &new.driver, &self.last.driver)
        };
        let mut rows = vec![host_row(at_s, &new.host, &self.last.host), driver];
        if let (Some(app), Some(before)) = (&new.app, &self.last.app) {
            rows.push(process_row("app", at_s, app, before));
        }
        self.last = new;
        Ok(rows)
    }

    /// What was used between `from` and the latest sample, with `users` active at its end, for so many requests.
    pub(crate) fn resources(&self, from: &Sample, users: u32, requests: u64) -> Resources {
        let host = self.last.host.since(&from.host);
        let driver = self.last.driver.since(&from.driver);
        let driver_cores = driver.cpu_user_cores + driver.cpu_system_cores;
        let app = self.last.app.as_ref().zip(from.app.as_ref()).map(|(now, then)| now.since(then));
        let app_cores = app.map(|a| a.cpu_user_cores + a.cpu_system_cores);
        let per = |cores: f64| (cores > 0.0 && users > 0).then(|| f64::from(users) / cores);
        let grown = self.last.driver.resident_bytes.saturating_sub(self.driver_rss_before_load);
        Resources {
            host_cores: Some(f64::from(self.last.host.cores)),
            host_busy_cores: Some(host.cpu_user_cores + host.cpu_system_cores + host.cpu_irq_cores),
            app_cores,
            driver_cores: Some(driver_cores),
            users_per_app_core: app_cores.and_then(per),
            users_per_driver_core: per(driver_cores),
            driver_cpu_us_per_request: (requests > 0)
                .then(|| driver_cores * driver.seconds * 1e6 / requests as f64),
            app_rss_bytes: app.map(|a| a.resident_bytes),
            driver_rss_bytes: Some(self.last.driver.resident_bytes),
            // Memory of users that are gone is kept for others, so it is divided by the most there have been.
            driver_bytes_per_user: (self.most_users >= FEWEST_USERS)
                .then(|| grown as f64 / f64::from(self.most_users)),
            driver_connections: connections::open(),
        }
    }

    /// Cores in use at the latest interval: driver, application.
    pub(crate) fn rows_to_line(rows: &[ProbeRow]) -> String {
        let cores = |subject: &str| {
            rows.iter().find(|r| r.subject == subject).and_then(ProbeRow::cores).unwrap_or(0.0)
        };
        format!(
            "cores: application {:.2}, driver {:.2}, host {:.2}",
            cores("app"),
            cores("driver"),
            cores("host")
        )
    }
}

/// A process that is gone has no sample.
fn sample_of(probe: &mut Option<ProcessProbe>, now: Nanos) -> Option<ProcessSample> {
    probe.as_mut().and_then(|probe| probe.sample(now).ok())
}

fn host_row(at_s: f64, now: &HostSample, before: &HostSample) -> ProbeRow {
    let r = now.since(before);
    let cores = f64::from(now.cores).max(1.0);
    let percent = |p: Option<barograph_model::Share>| p.map(|s| s.get() * 100.0);
    ProbeRow {
        at_s,
        subject: "host".into(),
        cpu_user_cores: Some(r.cpu_user_cores),
        cpu_system_cores: Some(r.cpu_system_cores + r.cpu_irq_cores),
        rss_bytes: Some(r.memory_used_bytes),
        net_rx_bytes_s: r.loopback.map(|n| n.received_bytes_per_s),
        net_tx_bytes_s: r.loopback.map(|n| n.sent_bytes_per_s),
        disk_read_bytes_s: r.disk.map(|d| d.read_bytes_per_s),
        disk_write_bytes_s: r.disk.map(|d| d.written_bytes_per_s),
        steal_share: Some(r.cpu_steal_cores / cores),
        psi_cpu: percent(r.pressure.cpu),
        psi_memory: percent(r.pressure.memory),
        psi_io: percent(r.pressure.io),
        tcp_retransmits: r.tcp_retransmits_per_s.map(|n| (n * r.seconds).round() as u64),
        ..ProbeRow::default()
    }
}

fn process_row(subject: &str, at_s: f64, now: &ProcessSample, before: &ProcessSample) -> ProbeRow {
    let r = now.since(before);
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
    use super::*;

    #[test]
    fn memory_is_divided_by_the_most_users_there_have_been() {
        let mut probes = Probes::new(None, Nanos::ZERO).unwrap();
        let before = probes.mark();
        // Touched, so that it is resident; kept, as an allocator keeps what users leave behind.
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        probes.sample(Nanos::from_secs(1), 999).unwrap();
        assert_eq!(probes.resources(&before, 999, 1).driver_bytes_per_user, None, "too few to say");
        probes.sample(Nanos::from_secs(2), 8_000).unwrap();
        probes.sample(Nanos::from_secs(3), 2_000).unwrap();
        let used = probes.resources(&before, 2_000, 1);
        let grown = used.driver_rss_bytes.unwrap().saturating_sub(probes.driver_rss_before_load);
        assert!(grown >= held.len() as u64 / 2, "{grown}");
        assert_eq!(used.driver_bytes_per_user, Some(grown as f64 / 8_000.0));
        assert!(used.users_per_driver_core.is_none_or(|per| per > 0.0));
    }
}
