//! Offloads: work on packets that a link end does in large pieces.

use std::fmt;
use std::str::FromStr;

/// Offloads of the end of a link at a host. `None` leaves one to the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Segmentation of TCP below the network layer.
    pub tso: Option<bool>,
    /// Segmentation of all protocols just before the device.
    pub gso: Option<bool>,
    /// Merging of received packets in the kernel.
    pub gro: Option<bool>,
    /// Merging of received packets in the device.
    pub lro: Option<bool>,
    /// Largest packet in bytes.
    pub mtu: Option<u32>,
}

/// Smallest and largest MTU: the least of IPv6, and the most of Ethernet devices in software.
const MTU: std::ops::RangeInclusive<u32> = 1_280..=65_535;

impl Offloads {
    /// Form in plans.
    pub const FORM: &'static str =
        "words as in \"tso=off,gro=on,mtu=9000\": tso, gso, gro and lro are on or off, mtu is 1280 to 65535";

    /// Whether all are left to the system.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Offloads::default()
    }
}

impl FromStr for Offloads {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut offloads = Offloads::default();
        for word in text.split(',') {
            let (name, value) = word.split_once('=').ok_or(())?;
            let (name, value) = (name.trim(), value.trim());
            if name == "mtu" {
                let mtu = value.parse().ok().filter(|mtu| MTU.contains(mtu)).ok_or(())?;
                if offloads.mtu.replace(mtu).is_some() {
                    return Err(());
                }
                continue;
            }
            let on = match value {
                "on" => true,
                "off" => false,
                _ => return Err(()),
            };
            let place = match name {
                "tso" => &mut offloads.tso,
                "gso" => &mut offloads.gso,
                "gro" => &mut offloads.gro,
                "lro" => &mut offloads.lro,
                _ => return Err(()),
            };
            if place.replace(on).is_some() {
                return Err(());
            }
        }
        Ok(offloads)
    }
}

impl fmt::Display for Offloads {
    /// Formats as in plans.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [("tso", self.tso), ("gso", self.gso), ("gro", self.gro), ("lro", self.lro)];
        let flag =
            |(name, on): (&str, Option<bool>)| Some(format!("{name}={}", if on? { "on" } else { "off" }));
        let mtu = self.mtu.map(|mtu| format!("mtu={mtu}"));
        let words: Vec<String> = flags.into_iter().filter_map(flag).chain(mtu).collect();
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offloads_read_back_in_one_order() {
        let read = |text: &str| text.parse::<Offloads>().map(|offloads| offloads.to_string());
        assert_eq!(read("mtu=9000, gro=on,tso=off"), Ok("tso=off,gro=on,mtu=9000".to_owned()));
        assert_eq!(read("lro=off,gso=on"), Ok("gso=on,lro=off".to_owned()));
        for wrong in ["", "tso", "tso=1", "rx=on", "mtu=100", "mtu=x", "tso=on,tso=off", "mtu=9000,mtu=9000"]
        {
            assert_eq!(read(wrong), Err(()), "{wrong}");
        }
    }
}
