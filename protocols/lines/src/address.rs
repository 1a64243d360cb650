//! Addresses of servers: `SCHEME://[USER:PASSWORD@]HOST[:PORT][?OPTIONS]`.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// The names and ports of a protocol in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Name in the clear, as in `imap`.
    pub clear: &'static str,
    /// Its default port.
    pub port: u16,
    /// Name over TLS, as in `imaps`.
    pub tls: &'static str,
    /// The default port over TLS.
    pub tls_port: u16,
}

/// Protection of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// None.
    Clear,
    /// TLS after a command in the clear.
    StartTls,
    /// TLS from the first byte.
    Tls,
}

/// Address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The name of the scheme, as in `imaps`.
    pub scheme: &'static str,
    /// Name or address of the host, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Protection.
    pub security: Security,
    /// Whether the certificate of the server is verified.
    pub verify: bool,
    /// File of trusted certificates (PEM) instead of the system's.
    pub authorities: Option<PathBuf>,
    /// User and password.
    pub login: Option<(String, String)>,
}

/// An invalid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Another scheme.
    #[error("unknown scheme `{found}`; {} and {} (TLS) are known", known.clear, known.tls)]
    Scheme {
        /// The scheme in the address.
        found: String,
        /// The schemes of the protocol.
        known: Scheme,
    },
    /// A host without a name.
    #[error("a host without a name")]
    NoHost,
    /// An invalid port.
    #[error("the port `{0}` is no number from 1 to 65535")]
    Port(String),
    /// A user without a password.
    #[error("a user without a password; a login is written USER:PASSWORD@")]
    Login,
    /// An unknown option.
    #[error("unknown option `{0}`; starttls=yes, verify=no and ca=FILE are known")]
    Option(String),
}

impl Address {
    /// Parses `SCHEME://[USER:PASSWORD@]HOST[:PORT][?OPTIONS]`. The options, joined by `&`, are `starttls=yes`
    /// for TLS after a command, `verify=no` for any certificate, and `ca=FILE` for trusted certificates.
    ///
    /// # Errors
    /// The fault in the address.
    pub fn parse(text: &str, scheme: Scheme) -> Result<Self, AddressError> {
        let (name, rest) = text.split_once("://").unwrap_or((scheme.clear, text));
        let is_tls = match name {
            name if name == scheme.clear => false,
            name if name == scheme.tls => true,
            other => return Err(AddressError::Scheme { found: other.to_owned(), known: scheme }),
        };
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(self::login(login)?), rest),
            None => (None, rest),
        };
        let (host, port) = host(rest.trim_end_matches('/'))?;
        let mut address = Address {
            scheme: if is_tls { scheme.tls } else { scheme.clear },
            host,
            port: port.unwrap_or(if is_tls { scheme.tls_port } else { scheme.port }),
            security: if is_tls { Security::Tls } else { Security::Clear },
            verify: true,
            authorities: None,
            login,
        };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            address.set(option)?;
        }
        Ok(address)
    }

    fn set(&mut self, option: &str) -> Result<(), AddressError> {
        match option.split_once('=') {
            Some(("starttls", "yes")) if self.security == Security::Clear => {
                self.security = Security::StartTls;
            }
            Some(("verify", "no")) => self.verify = false,
            Some(("ca", file)) if !file.is_empty() => self.authorities = Some(decoded(file).into()),
            _ => return Err(AddressError::Option(option.to_owned())),
        }
        Ok(())
    }
}

impl fmt::Display for Address {
    /// Formats without the login, so that it may be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "{}://[{}]:{}", self.scheme, self.host, self.port),
            false => write!(f, "{}://{}:{}", self.scheme, self.host, self.port),
        }
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn login(text: &str) -> Result<(String, String), AddressError> {
    let (user, password) = text.split_once(':').ok_or(AddressError::Login)?;
    Ok((decoded(user), decoded(password)))
}

fn host(text: &str) -> Result<(String, Option<u16>), AddressError> {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, rest)) => (v6, rest.strip_prefix(':')),
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    if name.is_empty() {
        return Err(AddressError::NoHost);
    }
    let port = match port.map(|port| (port, port.parse())) {
        None => None,
        Some((_, Ok(port))) if port > 0 => Some(port),
        Some((port, _)) => return Err(AddressError::Port(port.to_owned())),
    };
    Ok((name.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAP: Scheme = Scheme { clear: "imap", port: 143, tls: "imaps", tls_port: 993 };

    #[test]
    fn addresses_have_defaults_and_options() {
        let address = Address::parse("imap://h", IMAP).unwrap();
        assert_eq!((address.port, address.security, address.login), (143, Security::Clear, None));
        assert_eq!(Address::parse("h:7", IMAP).unwrap().port, 7);
        let address = Address::parse("imaps://me%40h:p%3aw@[::1]/?verify=no&ca=/a%20b", IMAP).unwrap();
        assert_eq!((address.port, address.security, address.verify), (993, Security::Tls, false));
        assert_eq!(address.login, Some(("me@h".to_owned(), "p:w".to_owned())));
        assert_eq!(address.authorities, Some("/a b".into()));
        assert_eq!(address.to_string(), "imaps://[::1]:993", "a password is not shown");
        let address = Address::parse("imap://h?starttls=yes", IMAP).unwrap();
        assert_eq!((address.security, address.to_string()), (Security::StartTls, "imap://h:143".to_owned()));
    }

    #[test]
    fn invalid_addresses_have_reasons() {
        let why = |text: &str| Address::parse(text, IMAP).unwrap_err().to_string();
        assert_eq!(why("http://h"), "unknown scheme `http`; imap and imaps (TLS) are known");
        assert_eq!(why("imap://"), "a host without a name");
        assert_eq!(why("h:0"), "the port `0` is no number from 1 to 65535");
        assert_eq!(why("me@h"), "a user without a password; a login is written USER:PASSWORD@");
        assert!(why("h?x=1").starts_with("unknown option `x=1`"));
        assert!(why("imaps://h?starttls=yes").starts_with("unknown option `starttls=yes`"));
    }
}
