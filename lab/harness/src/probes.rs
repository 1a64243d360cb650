//! Samples of host, driver and application beside every interval, and their means over a window.

mod drivers;
mod guests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use barograph_model::Nanos;
use barograph_platform::Accounts as Places;
use barograph_probe::{HostProbe, HostSample, ProbeError, ProcessProbe, ProcessSample};
use barograph_record::{APPLICATION, ProbeRow, Resources, application_of};
use barograph_stats::judge::host::HostUse;

use crate::clock::RunClock;
use crate::deploy::{self, Deployment, StartedPart};
use crate::fleet::DriverSample;
use crate::parts::{PartProbe, PartSample};
use crate::{HarnessError, outside};
use drivers::{DriverCpu, Drivers};
pub(crate) use guests::Guests;

/// Smallest number of users for a figure of memory per user; below it, the driver's fixed memory (histograms,
/// buffers) dominates.
const FEWEST_USERS: u32 = 1_000;

/// Accounts of the host and of this process.
pub(crate) trait Accounts {
    /// Takes a sample of both.
    fn sample(&mut self, now: Nanos) -> Result<(HostSample, ProcessSample), ProbeError>;
}

/// Accounts kept by the kernel.
pub(crate) struct KernelAccounts {
    host: HostProbe,
    process: ProcessProbe,
}

impl KernelAccounts {
    pub(crate) fn new() -> Result<Self, ProbeError> {
        Ok(KernelAccounts { host: HostProbe::new()?, process: ProcessProbe::of_this_process()? })
    }
}

impl Accounts for KernelAccounts {
    fn sample(&mut self, now: Nanos) -> Result<(HostSample, ProcessSample), ProbeError> {
        let process = self.process.sample(now)?;
        Ok((self.host.sample(now)?, process))
    }
}

/// All probes of a run.
pub(crate) struct Probes {
    /// Accounts of the host and of this process: the driver, or the harness beside several drivers.
    accounts: Box<dyn Accounts>,
    /// Probes of the deployment; empty if the target existed already.
    parts: Vec<PartProbe>,
    /// Name of each load that deploys beside others.
    pub(crate) applications: Vec<Option<String>>,
    last: Sample,
    driver_rss_before_load: u64,
    /// Largest number of users at the end of an interval so far.
    most_users: u32,
    /// Whether the run's own use of the host can be separated from that of others.
    pub(crate) apart: outside::Separability,
}

/// Sample of host, drivers and application parts.
#[derive(Clone)]
pub(crate) struct Sample {
    host: HostSample,
    drivers: Drivers,
    parts: Vec<PartSample>,
}

impl Probes {
    /// Starts all probes. `drivers` are remote drivers; empty if this process is the driver.
    pub(crate) fn new(
        app: Option<&Deployment>,
        clock: &RunClock,
        drivers: &[DriverSample],
    ) -> Result<Self, HarnessError> {
        let mut accounts = clock.accounts()?;
        let now = clock.now();
        let parts = app.map_or_else(Vec::new, |app| probes(app, now));
        let (host, own) = accounts.sample(now)?;
        let drivers = Drivers::now(own, drivers, None);
        let last = Sample { host, drivers, parts: marks(&parts) };
        let driver_rss_before_load = last.drivers.resident_bytes();
        let applications = Vec::new();
        Ok(Probes {
            accounts,
            parts,
            applications,
            last,
            driver_rss_before_load,
            most_users: 0,
            apart: Ok(()),
        })
    }

    /// Follows a part that was started again.
    pub(crate) fn started_again(&mut self, name: &str, accounts: &Places) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.name() == name) {
            part.started_again(accounts);
        }
    }

    /// Returns the number of processors of the host.
    pub(crate) fn processors(&self) -> u32 {
        self.last.host.cores
    }

    /// Returns the latest sample, for the start of a window.
    pub(crate) fn mark(&self) -> Sample {
        self.last.clone()
    }

    /// Takes a sample with `users` active and returns the rows since the one before.
    pub(crate) fn sample(
        &mut self,
        now: Nanos,
        users: u32,
        drivers: &[DriverSample],
    ) -> Result<Vec<ProbeRow>, ProbeError> {
        let (host, own) = self.accounts.sample(now)?;
        let drivers = Drivers::now(own, drivers, Some(&self.last.drivers));
        let parts: Vec<ProbeRow> = self.parts.iter_mut().map(|part| part.sample(now)).collect();
        let new = Sample { host, drivers, parts: marks(&self.parts) };
        self.most_users = self.most_users.max(users);
        let at_s = now.as_secs_f64();
        let mut rows = vec![host_row(at_s, &new.host, &self.last.host)];
        rows.extend(new.drivers.rows(at_s, &self.last.drivers));
        let nodes = self.parts.iter().zip(&parts).filter(|(part, _)| part.is_node);
        rows.extend(together(nodes.clone().map(|(_, row)| row)));
        let named = self.applications.iter().enumerate().filter_map(|(at, name)| Some((at, name.as_ref()?)));
        rows.extend(named.filter_map(|(at, name)| {
            let own = nodes.clone().filter(|(part, _)| part.load == Some(at)).map(|(_, row)| row);
            Some(ProbeRow { subject: application_of(name), ..together(own)? })
        }));
        rows.extend(parts);
        self.last = new;
        Ok(rows)
    }

    /// Returns the use between `from` and the latest sample, with `users` active at its end, for `requests`
    /// requests.
    pub(crate) fn resources(&self, from: &Sample, users: u32, requests: u64) -> Resources {
        let host = self.last.host.since(&from.host);
        let DriverCpu { cores: driver_cores, cpu_s: driver_cpu_s } = self.last.drivers.used(&from.drivers);
        let app = self.application(from, |_| true);
        let app_cores = app.as_ref().and_then(ProbeRow::cores);
        let per = |cores: f64| (cores > 0.0 && users > 0).then(|| f64::from(users) / cores);
        let driver_rss = self.last.drivers.resident_bytes();
        let grown = driver_rss.saturating_sub(self.driver_rss_before_load);
        Resources {
            host_cores: Some(f64::from(self.last.host.cores)),
            host_busy_cores: Some(host.cpu_user_cores + host.cpu_system_cores + host.cpu_irq_cores),
            app_cores,
            driver_cores: Some(driver_cores),
            users_per_app_core: app_cores.and_then(per),
            users_per_driver_core: per(driver_cores),
            driver_cpu_us_per_request: (requests > 0).then(|| driver_cpu_s * 1e6 / requests as f64),
            app_rss_bytes: app.and_then(|app| app.rss_bytes),
            driver_rss_bytes: Some(driver_rss),
            // Memory of departed users is kept for new ones, so it is divided by the largest number of users
            // so far.
            driver_bytes_per_user: (self.most_users >= FEWEST_USERS)
                .then(|| grown as f64 / f64::from(self.most_users)),
            driver_connections: self.last.drivers.connections(),
        }
    }

    /// Returns the use by the application nodes of a load between `from` and the latest sample: cores, and
    /// bytes of memory.
    pub(crate) fn used_by(&self, from: &Sample, load: usize) -> (Option<f64>, Option<u64>) {
        let app = self.application(from, |of| of == Some(load));
        (app.as_ref().and_then(ProbeRow::cores), app.and_then(|app| app.rss_bytes))
    }

    /// Sum over the application nodes of some loads since `from`.
    fn application(&self, from: &Sample, of: impl Fn(Option<usize>) -> bool) -> Option<ProbeRow> {
        let parts = self.parts.iter().zip(&from.parts).filter(|(part, _)| part.is_node && of(part.load));
        let nodes: Vec<ProbeRow> = parts.map(|(part, then)| part.since(then)).collect();
        together(nodes.iter())
    }

    /// Returns the use of the host between `from` and the latest sample, with the share of others.
    pub(crate) fn host_use(&self, from: &Sample) -> HostUse {
        let own = self.last.drivers.all_cores(&from.drivers);
        let each = self.parts.iter().zip(&from.parts);
        let parts: Vec<ProbeRow> = each
            .map(|(part, then)| ProbeRow { subject: part.name().to_owned(), ..part.since(then) })
            .collect();
        let host = self.last.host.since(&from.host);
        outside::host_use(self.last.host.cores, &host, own, &parts, &self.apart)
    }

    /// Formats the cores in use in the latest interval, of application, driver and host as far as they are
    /// known: a run without nodes of an application has none of it.
    pub(crate) fn rows_to_line(rows: &[ProbeRow]) -> String {
        let used = [("app", "application"), ("driver", "driver"), ("host", "host")];
        let used = used.into_iter().filter_map(|(subject, name)| {
            let cores = rows.iter().find(|row| row.subject == subject)?.cores()?;
            Some(format!("{name} {cores:.2}"))
        });
        match &used.collect::<Vec<_>>()[..] {
            [] => "cores unknown".to_owned(),
            used => format!("cores: {}", used.join(", ")),
        }
    }
}

/// One probe for each service of a deployment.
fn probes(app: &Deployment, now: Nanos) -> Vec<PartProbe> {
    let mut machines: Vec<Places> = Vec::new();
    let shared = shared_networks(app);
    let mut probe = |part: &StartedPart| {
        let mut accounts = part.running().accounts();
        let mut is_node = part.node;
        if accounts.machine {
            // Several parts of one machine cannot be told apart, so the first stands for all.
            let shared = app.services().filter(|other| other.unit.host == part.unit.host).count() > 1;
            is_node = is_node && !shared;
            match machines.contains(&accounts) {
                true => accounts = Places::default(),
                false => machines.push(accounts.clone()),
            }
        }
        let own_network = shared.iter().all(|(host, _)| *host != part.unit.host);
        let mut probe = PartProbe::new(&part.name, is_node, &accounts, own_network, now);
        probe.load = part.load;
        probe
    };
    // Drivers report their own use.
    let parts = app.services().filter(|part| part.tier != deploy::DRIVERS).map(&mut probe);
    let mut all: Vec<PartProbe> = parts.collect();
    // Processes that carry the traffic of delayed hosts are a cost of the platform.
    let carriers = app.site().network().map_or_else(Vec::new, |network| network.carriers());
    all.extend(carriers.into_iter().map(|(host, pid)| {
        let accounts = Places { pid: Some(pid), ..Places::default() };
        PartProbe::new(&format!("relay-{host}"), false, &accounts, false, now)
    }));
    all.extend(shared.iter().map(|(host, pid)| PartProbe::network(&format!("network-{host}"), *pid, now)));
    all
}

/// Hosts with several parts on their network, each with a process on it: the traffic belongs to none of the
/// parts alone. An example is a balancer's host, which also runs Keepalived.
fn shared_networks(app: &Deployment) -> Vec<(String, u32)> {
    let seen = app.services().filter_map(|part| {
        let Places { pid, machine, .. } = part.running().accounts();
        let pid = pid.filter(|_| !machine)?;
        Some((barograph_probe::network_apart(pid)?, part.unit.host.clone(), pid))
    });
    several(seen)
}

/// Networks with several parts: host and process of the first.
fn several(seen: impl Iterator<Item = (PathBuf, String, u32)>) -> Vec<(String, u32)> {
    let mut shared: BTreeMap<PathBuf, (String, u32, usize)> = BTreeMap::new();
    for (network, host, pid) in seen {
        shared.entry(network).or_insert((host, pid, 0)).2 += 1;
    }
    let shared = shared.into_values().filter(|(_, _, parts)| *parts > 1);
    shared.map(|(host, pid, _)| (host, pid)).collect()
}

fn marks(parts: &[PartProbe]) -> Vec<PartSample> {
    parts.iter().map(PartProbe::mark).collect()
}

/// Sum over all nodes of the application; `None` if nothing is known of any.
fn together<'r>(nodes: impl Iterator<Item = &'r ProbeRow>) -> Option<ProbeRow> {
    let mut sum: Option<ProbeRow> = None;
    for node in nodes.filter(|node| node.cores().is_some()) {
        let empty = || ProbeRow { at_s: node.at_s, subject: APPLICATION.into(), ..ProbeRow::default() };
        let sum = sum.get_or_insert_with(empty);
        let add =
            |to: &mut Option<f64>, more: Option<f64>| *to = more.map(|more| to.unwrap_or(0.0) + more).or(*to);
        let count =
            |to: &mut Option<u64>, more: Option<u64>| *to = more.map(|more| to.unwrap_or(0) + more).or(*to);
        add(&mut sum.cpu_user_cores, node.cpu_user_cores);
        add(&mut sum.cpu_system_cores, node.cpu_system_cores);
        add(&mut sum.ctx_switches_s, node.ctx_switches_s);
        add(&mut sum.run_delay_s, node.run_delay_s);
        count(&mut sum.rss_bytes, node.rss_bytes);
        count(&mut sum.threads, node.threads);
        count(&mut sum.fds, node.fds);
    }
    sum
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
        cpu_irq_cores: Some(r.cpu_irq_cores),
        cpu_iowait_cores: Some(r.cpu_iowait_cores),
        cpu_idle_cores: Some(r.cpu_idle_cores),
        ..ProbeRow::default()
    }
}

#[cfg(test)]
mod tests {
    use barograph_probe::CpuTimes;
    use barograph_testkit::one_of;

    use super::*;

    #[test]
    fn a_network_is_shared_when_several_parts_are_on_it() {
        let on = |network: &str, host: &str, pid| (PathBuf::from(network), host.to_owned(), pid);
        let seen = [on("net:[1]", "lb-1", 10), on("net:[2]", "lb-2", 11), on("net:[1]", "lb-1", 12)];
        assert_eq!(several(seen.into_iter()), [("lb-1".to_owned(), 10)]);
        assert!(several([on("net:[1]", "a", 1), on("net:[2]", "b", 2)].into_iter()).is_empty());
    }

    #[test]
    fn cores_are_told_of_what_is_known() {
        let row = |subject: &str, cores| {
            let subject = subject.to_owned();
            ProbeRow { subject, cpu_user_cores: cores, ..ProbeRow::default() }
        };
        let of = |rows: &[ProbeRow]| Probes::rows_to_line(rows);
        let all = [row("host", Some(1.5)), row("driver", Some(0.25)), row("app", Some(1.0))];
        assert_eq!(of(&all), "cores: application 1.00, driver 0.25, host 1.50");
        assert_eq!(of(&[row("host", Some(1.5)), row("driver", None)]), "cores: host 1.50");
        assert_eq!(of(&[]), "cores unknown");
    }

    #[test]
    fn what_the_host_does_with_its_cores_adds_up_to_all_of_them() {
        let at = |seconds: u64, n: u64| {
            let ms = |x: u64| Nanos::from_millis(x * n);
            let (user, system, irq) = (ms(700), ms(200), ms(100));
            let cpu = CpuTimes { user, system, irq, idle: ms(600), iowait: ms(300), steal: ms(100) };
            HostSample { at: Nanos::from_secs(seconds), cores: 2, cpu, ..HostSample::default() }
        };
        let row = host_row(11.0, &at(11, 2), &at(10, 1));
        assert_eq!((row.cpu_system_cores, row.cpu_irq_cores), (Some(0.2 + 0.1), Some(0.1)));
        assert_eq!((row.cpu_iowait_cores, row.cpu_idle_cores), (Some(0.3), Some(0.6)));
        let used = row.cores().unwrap() + row.cpu_iowait_cores.unwrap() + row.cpu_idle_cores.unwrap();
        assert!((used + row.steal_share.unwrap() * 2.0 - 2.0).abs() < 1e-9, "{row:?}");
    }

    #[test]
    fn memory_is_divided_by_the_most_users_there_have_been() {
        // Memory released by other tests of this process is missing, but not in every try.
        one_of(20, taken_memory_is_found);
    }

    /// Takes memory while users come and go, and checks that at least half of it is reported.
    fn taken_memory_is_found() -> Result<(), String> {
        let mut probes = Probes::new(None, &RunClock::start(), &[]).unwrap();
        let before = probes.mark();
        // Written, so that it is resident; kept, as an allocator keeps the memory of departed users.
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        probes.sample(Nanos::from_secs(1), 999, &[]).unwrap();
        assert_eq!(probes.resources(&before, 999, 1).driver_bytes_per_user, None, "too few to say");
        probes.sample(Nanos::from_secs(2), 8_000, &[]).unwrap();
        probes.sample(Nanos::from_secs(3), 2_000, &[]).unwrap();
        let used = probes.resources(&before, 2_000, 1);
        let grown = used.driver_rss_bytes.unwrap().saturating_sub(probes.driver_rss_before_load);
        assert_eq!(used.driver_bytes_per_user, Some(grown as f64 / 8_000.0));
        assert!(used.users_per_driver_core.is_none_or(|per| per > 0.0));
        if grown < held.len() as u64 / 2 {
            return Err(format!("{grown} of {} bytes were found", held.len()));
        }
        Ok(())
    }
}
