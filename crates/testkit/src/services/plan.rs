//! How a service is started: its ports, its command and the sign that it is ready.

use std::path::{Path, PathBuf};

use super::ports;
use super::programs::User;
use super::ready::Ready;

/// All that differs from one service to the next.
pub(super) struct Plan {
    /// For messages.
    pub(super) name: &'static str,
    pub(super) user: User,
    /// Names of the ports it listens on; the first is the one that clients use.
    pub(super) ports: Vec<String>,
    pub(super) launch: LaunchAt,
    pub(super) ready: Ready,
    /// The address for clients, of the first port.
    pub(super) url: fn(u16) -> String,
}

/// Writes the files that depend on the place, and says how to start the service there.
pub(super) type LaunchAt = Box<dyn Fn(&Place<'_>) -> Launch + Send + Sync>;

/// Where one service lives.
pub(super) struct Place<'a> {
    pub(super) folder: &'a Path,
    pub(super) ports: &'a Ports,
}

impl Place<'_> {
    /// A name in the folder, as a word of a command.
    pub(super) fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

/// Ports by name.
pub(super) struct Ports(Vec<(String, u16)>);

impl Ports {
    /// A free one for each name.
    pub(super) fn choose(names: &[String]) -> Self {
        Ports(names.iter().map(|name| (name.clone(), ports::free())).collect())
    }

    /// The one for clients.
    pub(super) fn main(&self) -> u16 {
        self.0.first().expect("every plan names one").1
    }

    /// The one with this name.
    pub(super) fn of(&self, name: &str) -> u16 {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no port is called `{name}`")).1
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u16)> {
        self.0.iter().map(|(name, port)| (name.as_str(), *port))
    }
}

/// A command.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(&'static str, String)>,
}

impl Launch {
    pub(super) fn new(program: &Path, arguments: Vec<String>) -> Self {
        Launch { program: program.to_owned(), arguments, environment: Vec::new() }
    }
}
