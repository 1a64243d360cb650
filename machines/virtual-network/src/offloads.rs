//! Offloads of a device: set and read back through the kernel's `ethtool` interface of netlink.
//!
//! `ip` has no words for them, and the program `ethtool` is rarely installed.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use barograph_model::Offloads;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with, sockopt,
};

use crate::SwitchError;
use crate::namespace::inside;

/// A feature of the kernel, with the offload that it belongs to.
type Feature = (&'static str, fn(&Offloads) -> Option<bool>);

/// All features. TCP segmentation has one for each version of IP.
const FEATURES: [Feature; 5] = [
    ("tx-tcp-segmentation", |offloads| offloads.tso),
    ("tx-tcp6-segmentation", |offloads| offloads.tso),
    ("tx-generic-segmentation", |offloads| offloads.gso),
    ("rx-gro", |offloads| offloads.gro),
    ("rx-lro", |offloads| offloads.lro),
];

/// Longest wait for the kernel.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of the head of a message, and of that of a generic one after it.
const HEAD: usize = 16;
const GENERIC_HEAD: usize = 4;

/// Flags of a message: a request, and one that is acknowledged. A nested attribute has a flag in its type.
const REQUEST: u16 = 1;
const ACKNOWLEDGED: u16 = 4;
const NESTED: u16 = 1 << 15;

/// Type of the messages that name families, its question, and its attributes.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// Questions of the family `ethtool`, and attributes of features.
const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const FEATURES_HEADER: u16 = 1;
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const DEVICE_NAME: u16 = 2;
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// Type of a message that ends a question with an error number or 0.
const ERROR: u16 = 2;

/// Sets the offloads of a device in a namespace, and reads them back.
///
/// # Errors
/// If the kernel refuses, or the device does not have what was set.
pub(crate) fn set(namespace: &str, device: &str, offloads: Offloads) -> Result<(), SwitchError> {
    let name = device.to_owned();
    let done = inside(namespace, move || set_here(&name, &offloads))?;
    done.map_err(|why| SwitchError::Offloads { device: device.to_owned(), why })
}

fn set_here(device: &str, offloads: &Offloads) -> io::Result<()> {
    let wanted: Vec<(&str, bool)> =
        FEATURES.iter().filter_map(|(name, of)| Some((*name, of(offloads)?))).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut line = Line::open()?;
    line.set(device, &wanted)?;
    let active = line.active(device)?;
    let has = |name: &str| active.iter().any(|known| known == name);
    match wanted.iter().find(|(name, on)| has(name) != *on) {
        None => Ok(()),
        Some((name, on)) => {
            let (wanted, is) = if *on { ("on", "off") } else { ("off", "on") };
            Err(io::Error::other(format!("the driver keeps `{name}` {is}, and not {wanted}")))
        }
    }
}

/// A line to the kernel's `ethtool` interface.
struct Line {
    socket: OwnedFd,
    family: u16,
    room: Vec<u8>,
}

impl Line {
    fn open() -> io::Result<Self> {
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

    /// Asks for features to be on or off.
    fn set(&mut self, device: &str, features: &[(&str, bool)]) -> io::Result<()> {
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
    fn active(&mut self, device: &str) -> io::Result<Vec<String>> {
        let answer = self.ask((FEATURES_GET, REQUEST), &header(device))?;
        let bits = find(&answer, FEATURES_ACTIVE).and_then(|set| find(set, BITS)).unwrap_or_default();
        let name = |bit: &[u8]| {
            let name = find(bit, BIT_NAME)?;
            Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
        };
        Ok(attributes(bits).filter_map(|(_, bit)| name(bit)).collect())
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

/// The attribute that names the device.
fn header(device: &str) -> Vec<u8> {
    attribute(FEATURES_HEADER | NESTED, &attribute(DEVICE_NAME, &text(device)))
}

/// A text with its end.
fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// An attribute, with the bytes that complete its last word.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut out = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// The attributes in a value, with their kinds.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head = bytes.first_chunk::<4>()?;
        let (length, kind) = (u16::from_ne_bytes([head[0], head[1]]), u16::from_ne_bytes([head[2], head[3]]));
        let value = bytes.get(4..usize::from(length))?;
        bytes = bytes.get(usize::from(length).next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !NESTED, value))
    })
}

/// The value of the first attribute of a kind.
fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(of, _)| *of == kind).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_words_that_read_back() {
        let inner = [attribute(BIT_NAME, b"rx-gro\0"), attribute(BIT_VALUE, &[])].concat();
        assert_eq!(inner.len() % 4, 0);
        let outer = attribute(BITS | NESTED, &inner);
        let found = find(&outer, BITS).unwrap();
        assert_eq!(find(found, BIT_NAME), Some(&b"rx-gro\0"[..]));
        assert_eq!(find(found, BIT_VALUE), Some(&[][..]));
        assert_eq!(find(found, FEATURES_ACTIVE), None);
        for cut in 0..outer.len() {
            attributes(&outer[..cut]).for_each(drop);
        }
    }
}
