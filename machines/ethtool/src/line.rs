//! A line to the kernel's `ethtool` interface.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with, sockopt,
};

use crate::attributes::{NESTED, attribute, attributes, find, text};

/// Longest wait for the kernel.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of the head of a message, and of that of a generic one after it.
const HEAD: usize = 16;
const GENERIC_HEAD: usize = 4;

/// Flags of a message: a request, and one that is acknowledged.
const REQUEST: u16 = 1;
const ACKNOWLEDGED: u16 = 4;

/// Type of the messages that name families, its question, and its attributes.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// Questions of the family `ethtool`. Their first attribute names the device.
const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const COALESCE_GET: u8 = 19;
const COALESCE_SET: u8 = 20;
const HEADER: u16 = 1;
const DEVICE_NAME: u16 = 2;

/// Attributes of features: those that can be changed, are wanted, and are on.
const FEATURES_CHANGEABLE: u16 = 2;
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// Attribute of the microseconds for which a device may delay an interrupt after a packet.
const COALESCE_RX_USECS: u16 = 2;

/// Type of a message that ends a question with an error number or 0.
const ERROR: u16 = 2;

/// A line to the kernel's `ethtool` interface, in the network namespace of the thread that opened it.
pub struct Line {
    socket: OwnedFd,
    family: u16,
    room: Vec<u8>,
}

impl Line {
    /// Opens a line.
    ///
    /// # Errors
    /// If the kernel has no such interface.
    pub fn open() -> io::Result<Self> {
        let protocol = Some(netlink::GENERIC);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
        let mut line = Line { socket, family: CONTROL, room: vec![0; 64 * 1024] };
        let name = attribute(FAMILY_NAME, b"ethtool\0");
        let found = line.ask((GET_FAMILY, REQUEST), &name)?;
        let id = find(&found, FAMILY_ID).and_then(|id| Some(u16::from_ne_bytes(id.try_into().ok()?)));
        line.family = id.ok_or_else(|| io::Error::other("the kernel has no such interface"))?;
        Ok(line)
    }

    /// Asks for features to be on or off. The kernel may keep them as they are: read them back.
    ///
    /// # Errors
    /// If the kernel refuses, or has no such device.
    pub fn set_features(&mut self, device: &str, features: &[(&str, bool)]) -> io::Result<()> {
        let mut bits = Vec::new();
        for (name, on) in features {
            let mut bit = attribute(BIT_NAME, &text(name));
            if *on {
                bit.extend(attribute(BIT_VALUE, &[]));
            }
            bits.extend(attribute(BIT | NESTED, &bit));
        }
        let mut body = header(device);
        body.extend(attribute(FEATURES_WANTED | NESTED, &attribute(BITS | NESTED, &bits)));
        self.ask((FEATURES_SET, REQUEST | ACKNOWLEDGED), &body).map(|_| ())
    }

    /// Names of the features that are on.
    ///
    /// # Errors
    /// If the kernel has no such device.
    pub fn active_features(&mut self, device: &str) -> io::Result<Vec<String>> {
        let answer = self.ask((FEATURES_GET, REQUEST), &header(device))?;
        // A set without a mask names its members alone.
        Ok(names(&answer, FEATURES_ACTIVE, |_| true))
    }

    /// Names of the features that can be changed.
    ///
    /// # Errors
    /// If the kernel has no such device.
    pub fn changeable_features(&mut self, device: &str) -> io::Result<Vec<String>> {
        let answer = self.ask((FEATURES_GET, REQUEST), &header(device))?;
        // A set with a mask names everything in the mask, and marks its members.
        Ok(names(&answer, FEATURES_CHANGEABLE, |bit| find(bit, BIT_VALUE).is_some()))
    }

    /// Microseconds for which a device may delay an interrupt after a packet; `None` if it cannot.
    ///
    /// # Errors
    /// If the kernel has no such device.
    pub fn rx_usecs(&mut self, device: &str) -> io::Result<Option<u32>> {
        let answer = match self.ask((COALESCE_GET, REQUEST), &header(device)) {
            Err(why) if is_lack(&why) => return Ok(None),
            other => other?,
        };
        let value = find(&answer, COALESCE_RX_USECS);
        Ok(value.and_then(|value| Some(u32::from_ne_bytes(value.try_into().ok()?))))
    }

    /// Sets these microseconds.
    ///
    /// # Errors
    /// If the kernel or the driver refuses, or has no such device.
    pub fn set_rx_usecs(&mut self, device: &str, usecs: u32) -> io::Result<()> {
        let mut body = header(device);
        body.extend(attribute(COALESCE_RX_USECS, &usecs.to_ne_bytes()));
        self.ask((COALESCE_SET, REQUEST | ACKNOWLEDGED), &body).map(|_| ())
    }

    /// Asks one question. Returns the attributes of the answer; none if it is only acknowledged.
    fn ask(&mut self, (command, flags): (u8, u16), body: &[u8]) -> io::Result<Vec<u8>> {
        let length = (HEAD + GENERIC_HEAD + body.len()) as u32;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend_from_slice(&self.family.to_ne_bytes());
        message.extend_from_slice(&flags.to_ne_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(&[command, 1, 0, 0]);
        message.extend_from_slice(body);
        send(&self.socket, &message, SendFlags::empty())?;
        let mut answer = Vec::new();
        loop {
            let (_, bytes) = recv(&self.socket, &mut self.room[..], RecvFlags::empty())?;
            let message = self.room.get(..bytes).filter(|message| message.len() >= HEAD + GENERIC_HEAD);
            let message = message.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
            if u16::from_ne_bytes([message[4], message[5]]) == ERROR {
                let number = i32::from_ne_bytes([message[16], message[17], message[18], message[19]]);
                return if number == 0 { Ok(answer) } else { Err(io::Error::from_raw_os_error(-number)) };
            }
            answer = message[HEAD + GENERIC_HEAD..].to_vec();
            if flags & ACKNOWLEDGED == 0 {
                return Ok(answer);
            }
        }
    }
}

/// Whether a driver has no such setting.
fn is_lack(why: &io::Error) -> bool {
    why.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error())
}

/// The attribute that names the device.
fn header(device: &str) -> Vec<u8> {
    attribute(HEADER | NESTED, &attribute(DEVICE_NAME, &text(device)))
}

/// Names of the bits of a set that are members.
fn names(answer: &[u8], set: u16, is_member: impl Fn(&[u8]) -> bool) -> Vec<String> {
    let bits = find(answer, set).and_then(|set| find(set, BITS)).unwrap_or_default();
    let name = |bit: &[u8]| {
        let name = find(bit, BIT_NAME)?;
        Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
    };
    attributes(bits).filter(|(_, bit)| is_member(bit)).filter_map(|(_, bit)| name(bit)).collect()
}
