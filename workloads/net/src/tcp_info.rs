//! State of TCP connections, asked of the kernel for all connections of a port at once (`sock_diag`): one
//! system call and an answer for any number of connections.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with, sockopt,
};

/// Bytes of an answer's part.
const ROOM: usize = 32 * 1024;

/// Most parts of an answer: 32 MiB, some 80,000 connections.
const MOST_PARTS: usize = 1_024;

/// Longest wait for the kernel.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of the head of a message of netlink.
const HEAD: usize = 16;

/// Bytes of the fixed part of a connection's entry, its head included.
const ENTRY: usize = HEAD + 72;

/// Type of the attribute with the state of TCP.
const INFO: u16 = 2;

/// Types of messages: a question or an entry, and the end of the answer.
const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
const ERROR: u16 = 2;

/// Sums over connections, each sample being one connection at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnectionSums {
    /// Number of connections.
    pub(crate) samples: u64,
    /// Smoothed round-trip times, in microseconds.
    pub(crate) round_trip_us: u64,
    /// Congestion windows, in segments.
    pub(crate) window: u64,
    /// Delivery rates, in megabits per second.
    pub(crate) delivery_mbit: u64,
}

/// End of the connections of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// Connections to a port.
    To(u16),
    /// Connections accepted at a port.
    At(u16),
}

/// The connections of a port in this network namespace.
#[derive(Debug)]
pub(crate) struct Connections {
    /// The line to the kernel; `None` where it has no such interface.
    line: Option<OwnedFd>,
    port: Port,
    room: Vec<u8>,
}

impl Connections {
    /// Opens a line to the kernel for connections of a port.
    pub(crate) fn new(port: Port) -> Self {
        let flags = SocketFlags::CLOEXEC;
        let protocol = Some(netlink::SOCK_DIAG);
        let line = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol).ok();
        let line = line
            .filter(|line| sockopt::set_socket_timeout(line, sockopt::Timeout::Recv, Some(PATIENCE)).is_ok());
        Connections { line, port, room: vec![0; ROOM] }
    }

    /// Turns to the connections of another port.
    pub(crate) fn watch(&mut self, port: Port) {
        self.port = port;
    }

    /// Sums of this moment; zero where the kernel does not answer.
    pub(crate) fn sums(&mut self) -> ConnectionSums {
        let mut sums = ConnectionSums::default();
        let families = [AddressFamily::INET, AddressFamily::INET6];
        let answered = families.iter().try_for_each(|family| self.ask(*family, &mut sums));
        if answered.is_none() {
            // A late answer would be taken for the next one.
            self.line = None;
            return ConnectionSums::default();
        }
        sums
    }

    fn ask(&mut self, family: AddressFamily, sums: &mut ConnectionSums) -> Option<()> {
        let line = self.line.as_ref()?;
        send(line, &question(family, self.port), SendFlags::empty()).ok()?;
        for _ in 0..MOST_PARTS {
            let (_, bytes) = recv(line, &mut self.room[..], RecvFlags::empty()).ok()?;
            if add(self.room.get(..bytes)?, sums)? {
                return Some(());
            }
        }
        None
    }
}

/// The question for the established connections of a port.
fn question(family: AddressFamily, port: Port) -> [u8; HEAD + 56] {
    let mut out = [0; HEAD + 56];
    out[..4].copy_from_slice(&(HEAD as u32 + 56).to_ne_bytes());
    out[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    // A request for all that match.
    out[6..8].copy_from_slice(&0x301_u16.to_ne_bytes());
    let body = &mut out[HEAD..];
    body[0] = family.as_raw() as u8;
    body[1] = 6;
    body[2] = 1 << (INFO - 1);
    // The state ESTABLISHED.
    body[4..8].copy_from_slice(&2_u32.to_ne_bytes());
    match port {
        Port::At(port) => body[8..10].copy_from_slice(&port.to_be_bytes()),
        Port::To(port) => body[10..12].copy_from_slice(&port.to_be_bytes()),
    }
    out
}

/// Adds the connections of a part of an answer. Returns whether it was the last, or `None` for an error.
fn add(mut part: &[u8], sums: &mut ConnectionSums) -> Option<bool> {
    while part.len() >= HEAD {
        let length = u32::from_ne_bytes(part[..4].try_into().ok()?) as usize;
        let message = part.get(..length).filter(|message| message.len() >= HEAD)?;
        match u16::from_ne_bytes(message[4..6].try_into().ok()?) {
            DONE => return Some(true),
            ERROR => return None,
            _ => add_one(message.get(ENTRY..).unwrap_or_default(), sums),
        }
        part = part.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(false)
}

/// Adds a connection from the attributes of its entry.
fn add_one(mut attributes: &[u8], sums: &mut ConnectionSums) {
    while let Some(head) = attributes.first_chunk::<4>() {
        let length = u16::from_ne_bytes([head[0], head[1]]) as usize;
        let kind = u16::from_ne_bytes([head[2], head[3]]);
        let Some(info) = attributes.get(4..length) else { return };
        // The fields of `struct tcp_info` up to the delivery rate.
        if kind == INFO && info.len() >= 168 {
            let word =
                |at: usize| u64::from(u32::from_ne_bytes(info[at..at + 4].try_into().unwrap_or_default()));
            let rate = u64::from_ne_bytes(info[160..168].try_into().unwrap_or_default());
            sums.samples += 1;
            sums.round_trip_us += word(68);
            sums.window += word(80);
            sums.delivery_mbit += rate / 125_000;
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    #[expect(clippy::print_stdout, reason = "a skipped test says why")]
    fn connections_of_both_ends_are_found_by_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut kept = Vec::new();
        for _ in 0..3 {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(b"hello").unwrap();
            kept.push((stream, listener.accept().unwrap()));
        }
        for port in [Port::To(port), Port::At(port)] {
            let sums = Connections::new(port).sums();
            if sums.samples == 0 {
                println!("skipped: this kernel does not tell the state of connections");
                return;
            }
            assert_eq!(sums.samples, 3, "{port:?}");
            assert!(sums.window >= 3, "{sums:?}");
        }
    }

    #[test]
    fn a_damaged_answer_is_an_error_and_never_a_panic() {
        let mut sums = ConnectionSums::default();
        for length in 0..200_usize {
            let mut part = vec![255_u8; length];
            if length >= 4 {
                part[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            }
            add(&part, &mut sums);
        }
        assert_eq!(sums, ConnectionSums::default());
        assert_eq!(add(&[0; 64], &mut sums), None);
    }
}
