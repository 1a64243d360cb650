//! Places of settings: files of the kernel, and drivers of network devices.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use barograph_platform::Resource;

/// Access to settings of network devices by name.
pub(crate) trait Drivers: fmt::Debug + Send + Sync {
    /// Reads a setting; `None` if the device has none of this name that can be changed.
    fn read(&self, device: &str, name: &str) -> io::Result<Option<String>>;

    /// Changes a setting, and reads it back.
    fn write(&self, device: &str, name: &str, value: &str) -> io::Result<()>;
}

/// The drivers of this kernel.
#[derive(Debug)]
pub(crate) struct KernelDrivers;

impl Drivers for KernelDrivers {
    fn read(&self, device: &str, name: &str) -> io::Result<Option<String>> {
        barograph_ethtool::read(device, name)
    }

    fn write(&self, device: &str, name: &str, value: &str) -> io::Result<()> {
        barograph_ethtool::write(device, name, value)
    }
}

/// The place of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file of the kernel.
    File(PathBuf),
    /// A setting of a network device.
    Device {
        /// Name of the device.
        device: String,
        /// Name of the setting.
        name: &'static str,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => write!(f, "{}", path.display()),
            Place::Device { device, name } => write!(f, "{name} of {device}"),
        }
    }
}

impl Place {
    /// The value; `None` if this host has no such setting.
    pub(crate) fn read(&self, drivers: &dyn Drivers) -> io::Result<Option<String>> {
        match self {
            Place::File(path) => match fs::read_to_string(path) {
                Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
                other => other.map(|text| Some(text.trim().to_owned())),
            },
            Place::Device { device, name } => drivers.read(device, name),
        }
    }

    /// Writes a value and reads it back.
    pub(crate) fn write(&self, drivers: &dyn Drivers, value: &str) -> io::Result<()> {
        match self {
            Place::File(path) => {
                fs::write(path, value)?;
                let now = fs::read_to_string(path)?;
                let kept = || io::Error::other(format!("the kernel keeps {}", now.trim()));
                if same(&now, value) { Ok(()) } else { Err(kept()) }
            }
            Place::Device { device, name } => drivers.write(device, name, value),
        }
    }

    /// The entry of the ledger by which a change is undone.
    pub(crate) fn change_from(&self, before: &str) -> Resource {
        let before = before.to_owned();
        match self {
            Place::File(path) => Resource::Setting { path: path.clone(), before },
            Place::Device { device, name } => {
                Resource::DeviceSetting { device: device.clone(), name: (*name).to_owned(), before }
            }
        }
    }
}

/// Whether two values of a setting are equal, apart from leading zeros.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let text = text.trim().trim_start_matches('0').to_owned();
        if text.is_empty() { "0".to_owned() } else { text }
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_with_leading_zeros() {
        assert!(same("0003\n", "3") && same("00\n", "0") && !same("13", "3"));
        assert!(same("on", "on") && !same("on", "off"));
    }
}
