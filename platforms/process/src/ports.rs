//! Free ports of this machine, none of which is assigned twice: each is reserved as long as its site is open.
//!
//! A reservation is an abstract Unix socket with the port in its name: it is unique in a network namespace,
//! as the port is, every process sees it, and it ends with its process.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::ops::RangeInclusive;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lowest assigned port: many below it have a conventional meaning.
const FIRST: u16 = 10_000;

/// Fewest ports outside the kernel's range; fewer would soon all be in use.
const FEWEST: usize = 1_000;

/// Distance between the first ports of simultaneous processes, so that they rarely try the same ones.
const APART: usize = 61;

/// Number of ports tried by this process so far: it continues after the last, so that a released port is not
/// reused soon.
static LOOKED_AT: AtomicUsize = AtomicUsize::new(0);

/// A port that is not assigned to others as long as this value lives.
#[derive(Debug)]
pub(crate) struct PortReservation {
    pub(crate) port: u16,
    _socket: UnixDatagram,
}

impl PortReservation {
    /// Reserves a port on which no address of this machine is listening, unless it is reserved already. A
    /// program that does not use reservations may still take it before its unit does.
    pub(crate) fn take(port: u16) -> io::Result<Self> {
        let name = SocketAddr::from_abstract_name(format!("barograph-port-{port}"))?;
        let socket = UnixDatagram::bind_addr(&name).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                io::Error::new(error.kind(), "another unit has it, of this run or another")
            }
            _ => error,
        })?;
        TcpListener::bind(("0.0.0.0", port))?;
        Ok(PortReservation { port, _socket: socket })
    }

    /// Reserves any free port.
    pub(crate) fn any() -> io::Result<Self> {
        let candidates = outside(&connection_ports());
        let begin = std::process::id() as usize * APART;
        let reserve = |_: &u16| {
            let nth = begin.wrapping_add(LOOKED_AT.fetch_add(1, Ordering::Relaxed));
            PortReservation::take(candidates[nth % candidates.len()]).ok()
        };
        let none = || io::Error::new(io::ErrorKind::AddrInUse, "no port of this machine is free");
        candidates.iter().find_map(reserve).ok_or_else(none)
    }
}

/// Assigns a port of a host with its own ports: the wanted one, or another if that is assigned.
pub(crate) fn of_host(given: &mut BTreeSet<u16>, wanted: u16) -> io::Result<u16> {
    let candidates = outside(&connection_ports());
    let port =
        Some(wanted).filter(|port| *port != 0).into_iter().chain(candidates).find(|p| !given.contains(p));
    let port =
        port.ok_or_else(|| io::Error::new(io::ErrorKind::AddrInUse, "all ports of this host are given"))?;
    given.insert(port);
    Ok(port)
}

/// Returns the kernel's ports for outgoing connections: a load with many connections would take them away
/// from units.
fn connection_ports() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut numbers = text.split_ascii_whitespace().filter_map(|number| number.parse().ok());
    // The kernel's default, if the file cannot be read.
    numbers.next().unwrap_or(32_768)..=numbers.next().unwrap_or(60_999)
}

/// Returns all ports outside that range; all ports if too few are left.
fn outside(range: &RangeInclusive<u16>) -> Vec<u16> {
    let ports: Vec<u16> = (FIRST..=u16::MAX).filter(|port| !range.contains(port)).collect();
    if ports.len() < FEWEST { (FIRST..=u16::MAX).collect() } else { ports }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use barograph_testkit::one_of;

    use super::*;

    /// Ports belong to the process: a port that one test releases could be taken by another at once.
    fn one_at_a_time() -> MutexGuard<'static, ()> {
        static ONE: Mutex<()> = Mutex::new(());
        ONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn ports_differ_are_free_and_not_those_of_connections() {
        let _alone = one_at_a_time();
        let reserved: Vec<PortReservation> = (0..20).map(|_| PortReservation::any().unwrap()).collect();
        let different: BTreeSet<u16> = reserved.iter().map(|reserved| reserved.port).collect();
        assert_eq!(different.len(), 20, "{reserved:?}");
        let taken = connection_ports();
        if (FIRST..=u16::MAX).filter(|port| !taken.contains(port)).count() >= FEWEST {
            assert!(different.iter().all(|port| !taken.contains(port)), "{reserved:?}");
        }
    }

    #[test]
    fn a_port_in_use_or_reserved_is_not_given_until_it_is_given_back() {
        let _alone = one_at_a_time();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        assert!(
            PortReservation::take(listener.local_addr().unwrap().port()).is_err(),
            "somebody listens there"
        );
        // A process started by another test has its parent's sockets until it executes its program.
        let port_again = one_of(5, || {
            let reserved = PortReservation::any().unwrap();
            let port = reserved.port;
            let refused = PortReservation::take(port).unwrap_err();
            assert_eq!(refused.to_string(), "another unit has it, of this run or another");
            drop(reserved);
            let again = PortReservation::take(port).map_err(|error| error.to_string())?;
            Ok((port, again.port))
        });
        assert_eq!(port_again.0, port_again.1);
    }

    /// Another process sees only the name.
    #[test]
    fn a_port_that_another_process_has_reserved_is_left_to_it() {
        let _alone = one_at_a_time();
        let theirs = outside(&connection_ports()).into_iter().find_map(|port| {
            let name = SocketAddr::from_abstract_name(format!("barograph-port-{port}")).unwrap();
            let socket = UnixDatagram::bind_addr(&name).ok()?;
            TcpListener::bind(("0.0.0.0", port)).ok().map(|_| (port, socket))
        });
        let (port, _socket) = theirs.unwrap();
        let refused = PortReservation::take(port).unwrap_err();
        assert_eq!(refused.to_string(), "another unit has it, of this run or another");
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
