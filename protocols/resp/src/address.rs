//! Addresses of stores: `redis://` URLs, with several hosts if keys are spread.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::{Command, Version};

/// Default port.
const PORT: u16 = 6379;

/// Address of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an address, and a port.
    Tcp {
        /// Name or address, without brackets.
        name: String,
        /// Port.
        port: u16,
    },
    /// A socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Tcp { name, port } if name.contains(':') => write!(f, "[{name}]:{port}"),
            Host::Tcp { name, port } => write!(f, "{name}:{port}"),
            Host::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// One store, or several over which keys are spread, with the settings of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The stores, at least one.
    pub hosts: Vec<Host>,
    /// Whether they use TLS.
    pub tls: bool,
    /// User and password; the user is empty if only a password is given.
    pub login: Option<(String, String)>,
    /// Number of the database.
    pub database: u32,
}

/// An invalid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Another scheme.
    #[error("unknown scheme `{0}`; redis, rediss (TLS), valkey, valkeys and unix are known")]
    Scheme(String),
    /// A host without a name.
    #[error("a host without a name")]
    NoHost,
    /// An invalid port.
    #[error("the port `{0}` is no number from 1 to 65535")]
    Port(String),
    /// An invalid database.
    #[error("the database `{0}` is no number")]
    Database(String),
    /// The same store twice.
    #[error("the store {0} stands twice")]
    Twice(String),
    /// A socket without a path from the root.
    #[error("the path of a socket begins with /")]
    Path,
}

impl Address {
    /// Parses `redis://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/DATABASE]`, `rediss://...` for TLS, or
    /// `unix:///PATH`. The default scheme is `redis`; the default port is 6379.
    ///
    /// # Errors
    /// The fault in the address.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("redis", text));
        let tls = match scheme {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            "unix" => return unix(rest),
            other => return Err(AddressError::Scheme(other.to_owned())),
        };
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(self::login(login)), rest),
            None => (None, rest),
        };
        let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
        let database = match database {
            "" => 0,
            text => text.parse().map_err(|_| AddressError::Database(text.to_owned()))?,
        };
        let hosts: Vec<Host> = hosts.split(',').map(host).collect::<Result<_, _>>()?;
        // Keys are spread over the stores, and a store named twice would be counted as two.
        if let Some((_, twice)) = hosts.iter().enumerate().find(|(at, host)| hosts[..*at].contains(host)) {
            return Err(AddressError::Twice(twice.to_string()));
        }
        Ok(Address { hosts, tls, login, database })
    }

    /// Writes the first commands of a connection: the version, the login, the database; returns the number of
    /// replies.
    pub fn greet(&self, version: Version, out: &mut Vec<u8>) -> usize {
        let login = self.login.as_ref().map(|(user, password)| (user.as_bytes(), password.as_bytes()));
        match (version, login) {
            (Version::Three, None) => Command::write(out, &[b"HELLO", b"3"]),
            (Version::Three, Some((user, password))) => {
                let user = if user.is_empty() { b"default" } else { user };
                Command::write(out, &[b"HELLO", b"3", b"AUTH", user, password]);
            }
            (Version::Two, Some((b"", password))) => Command::write(out, &[b"AUTH", password]),
            (Version::Two, Some((user, password))) => Command::write(out, &[b"AUTH", user, password]),
            (Version::Two, None) => {}
        }
        if self.database > 0 {
            Command::write(out, &[b"SELECT", self.database.to_string().as_bytes()]);
        }
        usize::from(version == Version::Three || login.is_some()) + usize::from(self.database > 0)
    }
}

impl fmt::Display for Address {
    /// Without the login, so that it may be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Host::Unix(path)] = &self.hosts[..] {
            return write!(f, "unix://{}", path.display());
        }
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        write!(f, "{}://{}", if self.tls { "rediss" } else { "redis" }, hosts.join(","))?;
        if self.database > 0 { write!(f, "/{}", self.database) } else { Ok(()) }
    }
}

fn unix(path: &str) -> Result<Address, AddressError> {
    if !path.starts_with('/') {
        return Err(AddressError::Path);
    }
    Ok(Address { hosts: vec![Host::Unix(path.into())], tls: false, login: None, database: 0 })
}

fn login(text: &str) -> (String, String) {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    match text.split_once(':') {
        Some((user, password)) => (decoded(user), decoded(password)),
        None => (String::new(), decoded(text)),
    }
}

fn host(text: &str) -> Result<Host, AddressError> {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, rest)) => (v6, rest.strip_prefix(':')),
        // More than one colon is an address of version 6 without brackets.
        None if text.matches(':').count() > 1 => (text, None),
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    if name.is_empty() {
        return Err(AddressError::NoHost);
    }
    let port = match port {
        None => PORT,
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(AddressError::Port(port.to_owned())),
        },
    };
    Ok(Host::Tcp { name: name.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(name: &str, port: u16) -> Host {
        Host::Tcp { name: name.to_owned(), port }
    }

    #[test]
    fn addresses_as_people_write_them() {
        let hosts = |text: &str| Address::parse(text).unwrap().hosts;
        assert_eq!(hosts("127.0.0.1"), [tcp("127.0.0.1", 6379)]);
        assert_eq!(hosts("store:7000"), [tcp("store", 7000)]);
        assert_eq!(
            hosts("redis://a:1,b:2,[::1]:3,::1"),
            [tcp("a", 1), tcp("b", 2), tcp("::1", 3), tcp("::1", 6379)]
        );
        assert_eq!(hosts("unix:///run/redis.sock"), [Host::Unix("/run/redis.sock".into())]);
        let address = Address::parse("rediss://me:p%40ss@h:1/3").unwrap();
        assert_eq!((address.tls, address.database), (true, 3));
        assert_eq!(address.login, Some(("me".to_owned(), "p@ss".to_owned())));
        assert_eq!(address.to_string(), "rediss://h:1/3", "a password is not shown");
        assert_eq!(Address::parse("redis://secret@h").unwrap().login.unwrap().0, "");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let why = |text: &str| Address::parse(text).unwrap_err().to_string();
        assert!(why("http://h").starts_with("unknown scheme `http`"));
        assert_eq!(why("h:99999"), "the port `99999` is no number from 1 to 65535");
        assert_eq!(why("h:0"), "the port `0` is no number from 1 to 65535");
        assert_eq!(why(""), "a host without a name");
        assert_eq!(why("a,,b"), "a host without a name");
        assert_eq!(why("a:7,b,a:7"), "the store a:7 stands twice");
        assert_eq!(why("h,h:6379"), "the store h:6379 stands twice");
        assert_eq!(why("h/x"), "the database `x` is no number");
        assert_eq!(why("unix://x"), "the path of a socket begins with /");
    }

    #[test]
    fn a_connection_begins_with_what_its_address_asks_for() {
        let greeting = |text: &str, version| {
            let mut out = Vec::new();
            let replies = Address::parse(text).unwrap().greet(version, &mut out);
            (String::from_utf8(out).unwrap(), replies)
        };
        assert_eq!(greeting("h", Version::Two), (String::new(), 0));
        assert_eq!(greeting("h", Version::Three), ("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n".to_owned(), 1));
        let (text, replies) = greeting("redis://:pw@h/2", Version::Two);
        assert_eq!(
            (text.as_str(), replies),
            ("*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n", 2)
        );
        let (text, replies) = greeting("redis://:pw@h", Version::Three);
        assert!(text.contains("$7\r\ndefault\r\n$2\r\npw\r\n") && replies == 1, "{text}");
    }
}
