//! Addresses of exports.

use std::fmt;
use std::path::PathBuf;

use barograph_net::Endpoint;
use percent_encoding::percent_decode_str;

use crate::AddressError;

/// The usual port.
const PORT: u16 = 10_809;

/// Most bytes of the name of an export.
const LONGEST_NAME: usize = 4_096;

/// Address of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdAddress {
    /// The server.
    pub endpoint: Endpoint,
    /// Name of the export; empty for the server's default.
    pub export: String,
}

impl NbdAddress {
    /// Whether an address has the scheme of an export.
    #[must_use]
    pub fn is_one(url: &str) -> bool {
        url.starts_with("nbd://") || url.starts_with("nbd+unix://")
    }

    /// Parses `nbd://HOST[:PORT][/NAME]` or `nbd+unix:///[NAME]?socket=/PATH`.
    ///
    /// # Errors
    /// The fault in the address.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let (endpoint, name) = if let Some(rest) = url.strip_prefix("nbd+unix:///") {
            let (name, path) = rest.split_once("?socket=").ok_or(AddressError::Form)?;
            if !path.starts_with('/') {
                return Err(AddressError::Socket);
            }
            (Endpoint::Unix(PathBuf::from(decoded(path)?)), name)
        } else {
            let rest = url.strip_prefix("nbd://").ok_or(AddressError::Form)?;
            let (server, name) = rest.split_once('/').unwrap_or((rest, ""));
            (host(server)?, name)
        };
        let export = decoded(name)?;
        if export.len() > LONGEST_NAME {
            return Err(AddressError::Name);
        }
        Ok(NbdAddress { endpoint, export })
    }
}

fn decoded(text: &str) -> Result<String, AddressError> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| AddressError::Name)
}

/// `HOST`, `HOST:PORT`, `[IPv6]` or `[IPv6]:PORT`.
fn host(server: &str) -> Result<Endpoint, AddressError> {
    let (host, port) = match server.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or(AddressError::Form)?;
            (host, port.strip_prefix(':'))
        }
        None => server.split_once(':').map_or((server, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err(AddressError::Form);
    }
    let port = match port {
        None => PORT,
        Some(text) => text.parse().ok().filter(|port| *port > 0).ok_or(AddressError::Port)?,
    };
    Ok(Endpoint::Host { host: host.to_owned(), port })
}

impl fmt::Display for NbdAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let export = &self.export;
        match &self.endpoint {
            Endpoint::Host { host, port } if host.contains(':') => {
                write!(f, "nbd://[{host}]:{port}/{export}")
            }
            Endpoint::Host { host, port } => write!(f, "nbd://{host}:{port}/{export}"),
            Endpoint::Unix(path) => write!(f, "nbd+unix:///{export}?socket={}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown) in [
            ("nbd://disks", "nbd://disks:10809/"),
            ("nbd://127.0.0.1:81/a%20b", "nbd://127.0.0.1:81/a b"),
            ("nbd://[::1]:82", "nbd://[::1]:82/"),
            ("nbd+unix:///?socket=/run/x.sock", "nbd+unix:///?socket=/run/x.sock"),
        ] {
            assert_eq!(NbdAddress::parse(text).unwrap().to_string(), shown);
            assert!(NbdAddress::is_one(text));
        }
    }

    #[test]
    fn other_addresses_are_errors() {
        for (text, why) in [
            ("file:///x", AddressError::Form),
            ("nbd://", AddressError::Form),
            ("nbd://[::1", AddressError::Form),
            ("nbd+unix:///x", AddressError::Form),
            ("nbd+unix:///?socket=x", AddressError::Socket),
            ("nbd://h:0", AddressError::Port),
            ("nbd://h/%ff", AddressError::Name),
        ] {
            assert_eq!(NbdAddress::parse(text), Err(why), "{text}");
        }
        assert!(!NbdAddress::is_one("/dev/nbd0"));
    }
}
