//! Offloads of a device: set and read back.

use std::io;

use barograph_ethtool::Line;
use barograph_model::Offloads;

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
    line.set_features(device, &wanted)?;
    let active = line.active_features(device)?;
    let has = |name: &str| active.iter().any(|known| known == name);
    match wanted.iter().find(|(name, on)| has(name) != *on) {
        None => Ok(()),
        Some((name, on)) => {
            let (wanted, is) = if *on { ("on", "off") } else { ("off", "on") };
            Err(io::Error::other(format!("the driver keeps `{name}` {is}, and not {wanted}")))
        }
    }
}
