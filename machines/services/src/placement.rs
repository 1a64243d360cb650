//! Place of one instance of a service.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use barograph_platform::Limits;

/// Settings of a service. Both flavours keep committed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// The product's defaults, except for settings that separate its data, ports and folder from others.
    Vanilla,
    /// Sized for the limits of the unit.
    Tuned,
}

impl Flavour {
    /// Returns its name in plans and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Vanilla => "vanilla",
            Flavour::Tuned => "tuned",
        }
    }
}

/// Place of one instance, with the values from the topology.
#[derive(Clone, Copy, Debug)]
pub struct Placement<'a> {
    /// Name of the unit, as `postgres-1`.
    pub name: &'a str,
    /// Host within the site.
    pub host: &'a str,
    /// Address at which it listens; usually that of the host for others, too.
    pub address: IpAddr,
    /// Ports by name, chosen by the caller.
    pub ports: &'a BTreeMap<String, u16>,
    /// Folder of the instance: absolute, and not created yet.
    pub folder: &'a Path,
    /// Log file on this machine.
    pub log: &'a Path,
    /// Flavour of its settings.
    pub flavour: Flavour,
    /// Limits of the unit; also the size for [`Flavour::Tuned`].
    pub limits: &'a Limits,
    /// Cores and bytes of memory of the machine, where there are no limits.
    pub machine: (usize, u64),
    /// Values of words from the topology; an empty value counts as none.
    pub values: &'a BTreeMap<String, String>,
    /// Path of this program, for services that are part of it.
    pub own_program: &'a Path,
}
