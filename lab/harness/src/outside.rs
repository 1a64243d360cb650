//! Host use by others during a run: the host's accounts less those of the driver and all parts.

use std::net::{ToSocketAddrs, UdpSocket};

use barograph_model::Share;
use barograph_probe::HostRates;
use barograph_record::ProbeRow;
use barograph_stats::judge::host::{HostFigure, HostUse};

use crate::deploy::{self, Deployment};

/// Whether the run's own CPU time can be separated from that of others; the error is the reason.
pub(crate) type Separability = Result<(), String>;

/// Checks whether the run's own CPU time can be separated. `there` are the URLs of targets that existed
/// already.
pub(crate) fn apart<'u>(app: Option<&Deployment>, mut there: impl Iterator<Item = &'u str>) -> Separability {
    if there.any(is_here) {
        return Err("the target is on this host, and what it uses looks like what others use".to_owned());
    }
    for part in app.into_iter().flat_map(Deployment::services) {
        let accounts = part.running().accounts();
        if part.tier == deploy::DRIVERS {
            // Their guests report use inside the machine; the cost of emulation is not in it.
            if accounts.machine {
                return Err(format!("{} is in a virtual machine, which costs more than it knows", part.name));
            }
        } else if accounts.cgroups.is_empty() && !accounts.machine && !part.node {
            // Only the first process is known, not its children. A node of the application is one process.
            return Err(format!("{} has no control group that counts all of its processes", part.name));
        }
    }
    Ok(())
}

/// Whether one of the addresses of this URL is on this host. An address that cannot be resolved counts as
/// here.
fn is_here(url: &str) -> bool {
    let addresses = url.split_once("://").map_or(url, |(_, rest)| rest);
    let addresses = addresses.split(['/', '?', '#']).next().unwrap_or(addresses);
    let addresses = addresses.rsplit_once('@').map_or(addresses, |(_, rest)| rest);
    addresses.split(',').any(is_of_this_host)
}

/// Whether `HOST:PORT` is on this host.
fn is_of_this_host(address: &str) -> bool {
    let host = match address.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => address.split(':').next().unwrap_or(address),
    };
    let Ok(found) = (host, 0).to_socket_addrs() else { return true };
    // Only an address of this host can be bound.
    found.into_iter().any(|address| UdpSocket::bind(address).is_ok())
}

/// Use of the host between two samples, with the shares of driver and parts subtracted.
pub(crate) fn host_use(
    cores: u32,
    host: &HostRates,
    own_cores: f64,
    parts: &[ProbeRow],
    apart: &Separability,
) -> HostUse {
    let busy = host.cpu_user_cores + host.cpu_system_cores;
    let all = busy + host.cpu_irq_cores + host.cpu_steal_cores + host.cpu_idle_cores + host.cpu_iowait_cores;
    let share = |part: f64| Share::new((part / all.max(f64::MIN_POSITIVE)).min(1.0)).unwrap_or_default();
    let of_parts: f64 = parts.iter().filter_map(ProbeRow::cores).sum();
    HostUse {
        cores: f64::from(cores),
        steal: share(host.cpu_steal_cores),
        idle: share(host.cpu_idle_cores + host.cpu_iowait_cores),
        outside_cores: apart.clone().map(|()| (busy - own_cores - of_parts).max(0.0)),
        outside_memory_wait: waited(host.pressure.memory, parts, |row| row.psi_memory, apart),
        outside_io_wait: waited(host.pressure.io, parts, |row| row.psi_io, apart),
    }
}

/// Share of the time in which something outside the deployment waited: at least that of the host less the sum
/// of all parts.
fn waited(
    host: Option<Share>,
    parts: &[ProbeRow],
    of: impl Fn(&ProbeRow) -> Option<f64>,
    apart: &Separability,
) -> HostFigure<Share> {
    apart.clone()?;
    let host = host.ok_or_else(|| "this kernel does not count waiting (PSI)".to_owned())?;
    let mut own = 0.0;
    // Rows without cores are not parts: a shared network, or a machine that another row represents.
    for row in parts.iter().filter(|row| row.cores().is_some()) {
        let percent = of(row).ok_or_else(|| format!("nobody counts what {} waits for", row.subject))?;
        own += percent / 100.0;
    }
    Ok(Share::new((host.get() - own).max(0.0)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(user: f64) -> HostRates {
        let mut rates = HostRates { cpu_user_cores: user, cpu_steal_cores: 0.1, ..HostRates::default() };
        rates.cpu_idle_cores = 2.0 - user - 0.1;
        rates.pressure.io = Share::new(0.3).ok();
        rates
    }

    fn part(cores: f64, psi_io: Option<f64>) -> ProbeRow {
        ProbeRow {
            subject: "db".to_owned(),
            cpu_user_cores: Some(cores),
            cpu_system_cores: Some(0.0),
            psi_io,
            ..ProbeRow::default()
        }
    }

    #[test]
    fn outside_is_what_driver_and_parts_did_not_use() {
        let parts = [part(0.5, Some(10.0)), part(0.25, Some(5.0))];
        let found = host_use(2, &busy(1.5), 0.5, &parts, &Ok(()));
        assert!((found.outside_cores.clone().unwrap() - 0.25).abs() < 1e-9, "{found:?}");
        assert!((found.steal.get() - 0.05).abs() < 1e-9 && (found.idle.get() - 0.2).abs() < 1e-9);
        assert!((found.outside_io_wait.clone().unwrap().get() - 0.15).abs() < 1e-9);
        assert_eq!(found.outside_memory_wait, Err("this kernel does not count waiting (PSI)".to_owned()));
        // Ticks of a hundredth of a second can make the sum of the parts exceed the whole.
        let found = host_use(2, &busy(1.0), 0.5, &parts, &Ok(()));
        assert_eq!(found.outside_cores, Ok(0.0));
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_guessed() {
        let found = host_use(2, &busy(1.5), 0.5, &[part(0.5, None)], &Ok(()));
        assert_eq!(found.outside_io_wait, Err("nobody counts what db waits for".to_owned()));
        let found = host_use(2, &busy(1.5), 0.5, &[], &Err("a reason".to_owned()));
        assert_eq!(
            (found.outside_cores, found.outside_io_wait),
            (Err("a reason".into()), Err("a reason".into()))
        );
        assert!(found.steal.get() > 0.0, "what the hypervisor took is known in any case");
    }

    #[test]
    fn a_row_that_is_no_part_waits_for_nothing() {
        let network =
            ProbeRow { subject: "network-db".to_owned(), net_rx_bytes_s: Some(1e6), ..ProbeRow::default() };
        let found = host_use(2, &busy(1.5), 0.5, &[part(0.5, Some(10.0)), network], &Ok(()));
        assert!((found.outside_io_wait.unwrap().get() - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_target_is_here_when_its_address_is_one_of_ours() {
        for url in [
            "http://127.0.0.1:8080",
            "http://localhost/path",
            "https://[::1]:8443/",
            "http://user@127.0.0.1:1/",
            "http://no-such-host.invalid/",
            "redis://192.0.2.1:6379,127.0.0.1:6379",
            "redis://user:word@[::1]:6379,192.0.2.1/0",
        ] {
            assert!(is_here(url), "{url}");
        }
        // Addresses reserved for documentation belong to no host.
        assert!(!is_here("http://192.0.2.1:80/x") && !is_here("https://198.51.100.7"));
        assert!(!is_here("redis://192.0.2.1:6379,198.51.100.7:6379"));
    }
}
