//! Free ports of this machine, none of which is given twice.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ports below this one are left to others: many of them have a meaning.
const FIRST: u16 = 10_000;

/// Too few ports outside the kernel's own would soon all be in use.
const FEWEST: usize = 1_000;

/// Processes that run at the same time begin this far apart, so that they rarely look at the same ports.
const APART: u32 = 61;

/// Ports handed out by this process so far.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

fn given() -> MutexGuard<'static, BTreeSet<u16>> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A port on which nobody listens at any address of this machine. Somebody may take it before its unit does.
pub(crate) fn free() -> io::Result<u16> {
    let candidates = outside(&connection_ports());
    let mut given = given();
    let begin = std::process::id().wrapping_mul(APART) as usize % candidates.len();
    let (before, after) = candidates.split_at(begin);
    let found = after
        .iter()
        .chain(before)
        .find(|port| !given.contains(port) && TcpListener::bind(("0.0.0.0", **port)).is_ok());
    match found {
        Some(port) => {
            given.insert(*port);
            Ok(*port)
        }
        None => Err(io::Error::new(io::ErrorKind::AddrInUse, "no port of this machine is free")),
    }
}

/// Takes one port: nobody listens there, and nobody is given it.
pub(crate) fn take(port: u16) -> io::Result<()> {
    let mut given = given();
    if given.contains(&port) {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another unit has it"));
    }
    TcpListener::bind(("0.0.0.0", port))?;
    given.insert(port);
    Ok(())
}

/// A port of a host that shares its ports with nobody: the wanted one, or another when that is given.
pub(crate) fn of_host(given: &mut BTreeSet<u16>, wanted: u16) -> io::Result<u16> {
    let candidates = outside(&connection_ports());
    let port =
        Some(wanted).filter(|port| *port != 0).into_iter().chain(candidates).find(|p| !given.contains(p));
    let port =
        port.ok_or_else(|| io::Error::new(io::ErrorKind::AddrInUse, "all ports of this host are given"))?;
    given.insert(port);
    Ok(port)
}

/// Ports that the kernel gives to outgoing connections: a load that opens many would take them away from units.
fn connection_ports() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut numbers = text.split_ascii_whitespace().filter_map(|number| number.parse().ok());
    // The kernel's own choice, where it does not say.
    numbers.next().unwrap_or(32_768)..=numbers.next().unwrap_or(60_999)
}

/// All ports outside that range; where it leaves too few, all ports.
fn outside(range: &RangeInclusive<u16>) -> Vec<u16> {
    let ports: Vec<u16> = (FIRST..=u16::MAX).filter(|port| !range.contains(port)).collect();
    if ports.len() < FEWEST { (FIRST..=u16::MAX).collect() } else { ports }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_are_free_and_not_those_of_connections() {
        let ports: Vec<u16> = (0..20).map(|_| free().unwrap()).collect();
        let different: BTreeSet<&u16> = ports.iter().collect();
        assert_eq!(different.len(), 20, "{ports:?}");
        let taken = connection_ports();
        if (FIRST..=u16::MAX).filter(|port| !taken.contains(port)).count() >= FEWEST {
            assert!(ports.iter().all(|port| !taken.contains(port)), "{ports:?}");
        }
    }

    #[test]
    fn a_port_in_use_is_not_given() {
        let (_, listener) = (0..100)
            .find_map(|_| {
                let port = free().ok()?;
                given().remove(&port);
                TcpListener::bind(("127.0.0.1", port)).ok().map(|listener| (port, listener))
            })
            .unwrap();
        let taken = listener.local_addr().unwrap().port();
        assert_ne!(free().unwrap(), taken);
    }

    #[test]
    fn a_port_that_was_taken_is_given_to_nobody() {
        let port = free().unwrap();
        given().remove(&port);
        take(port).unwrap();
        assert!(take(port).is_err() && free().unwrap() != port);
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        assert!(take(listener.local_addr().unwrap().port()).is_err(), "somebody listens there");
    }

    #[test]
    fn a_host_of_its_own_gives_the_wanted_port_once() {
        let mut given = BTreeSet::new();
        assert_eq!(of_host(&mut given, 5432).unwrap(), 5432);
        let (second, third) = (of_host(&mut given, 5432).unwrap(), of_host(&mut given, 0).unwrap());
        assert!(second != 5432 && third != 5432 && second != third);
    }

    #[test]
    fn a_range_that_leaves_no_room_is_not_left_out() {
        assert_eq!(outside(&(32_768..=60_999))[0], FIRST);
        assert!(!outside(&(32_768..=60_999)).contains(&40_000));
        assert!(outside(&(1_024..=65_535)).contains(&40_000));
    }
}
