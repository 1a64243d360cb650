//! Where one instance of a service lives.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use barograph_platform::Limits;

/// Which settings a service gets. Both keep what was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// The product's own defaults, and what keeps its data, its port and its folder apart from others.
    Vanilla,
    /// Sized for what the unit may use.
    Tuned,
}

impl Flavour {
    /// Its name in plans and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Vanilla => "vanilla",
            Flavour::Tuned => "tuned",
        }
    }
}

/// Where one instance lives, and what the topology has to say to it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The unit's name, as `postgres-1`.
    pub name: &'a str,
    /// The host of the site on which it runs.
    pub host: &'a str,
    /// Where others reach that host.
    pub address: IpAddr,
    /// Its ports by name, chosen by the caller.
    pub ports: &'a BTreeMap<String, u16>,
    /// Its own folder: absolute, and not there yet.
    pub folder: &'a Path,
    /// A file on this machine for what it writes.
    pub log: &'a Path,
    /// Which settings it gets.
    pub flavour: Flavour,
    /// What it may use; also the size that [`Flavour::Tuned`] is made for.
    pub limits: &'a Limits,
    /// Cores and bytes of memory of the machine, where the limits say nothing.
    pub machine: (usize, u64),
    /// Words of the topology; an empty value is none.
    pub values: &'a BTreeMap<String, String>,
    /// This program, for the services that it is itself.
    pub own_program: &'a Path,
}
