//! The target and its options.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use barograph_model::Nanos;
use barograph_model::secret::SecretFile;

use crate::Header;

/// The target and its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The address; a scenario may leave it to the command line.
    pub url: Option<Url>,
    /// Headers of every request that does not set them itself; already included in each request's headers.
    pub headers: Vec<Header>,
    /// HTTP version.
    pub protocol: Protocol,
    /// Sharing of connections.
    pub connections: Connections,
    /// Trust in the peer for addresses that begin with https.
    pub tls: Tls,
    /// Connect to this socket file instead of the address; the address still names the host.
    pub unix_socket: Option<PathBuf>,
    /// Local addresses to connect from, in turn; empty lets the system choose.
    pub source_addresses: Vec<IpAddr>,
    /// Time limit of a connection attempt.
    pub connect_timeout: Nanos,
    /// Time limit of an operation; by default the plan's limit alone holds.
    pub timeout: Option<Nanos>,
    /// Whether cookies are kept until the session ends, and sent.
    pub cookies: bool,
    /// Most redirects that a request follows. Files leave it at 0: they extract the `location` header.
    pub redirects: u8,
}

/// An address: scheme, host, port and base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// `https` rather than `http`.
    pub tls: bool,
    /// A name or an address; an IPv6 address without its brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Prefix of every path: empty, or beginning with a slash and not ending in one.
    pub base: String,
}

impl Url {
    /// Parses an address; the error names the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (tls, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some((scheme, _)) => return Err(format!("unknown scheme `{scheme}`")),
            None => return Err("there is no scheme".to_owned()),
        };
        let (authority, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => {
                let (host, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
                host.parse::<std::net::Ipv6Addr>().map_err(|e| format!("`{host}`: {e}"))?;
                (host, after.strip_prefix(':').or(if after.is_empty() { None } else { Some(after) }))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if host.is_empty() || !host.chars().all(plain) {
            return Err(format!("`{host}` is not a host"));
        }
        let port = match port {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(port) => port.parse().ok().filter(|p| *p > 0).ok_or(format!("`{port}` is not a port"))?,
        };
        if !base.bytes().all(|b| b.is_ascii_graphic()) || base.contains(['?', '#']) {
            return Err("a base path has no query, no fragment and no spaces".to_owned());
        }
        Ok(Url { tls, host: host.to_owned(), port, base: base.trim_end_matches('/').to_owned() })
    }

    /// The value of the `host` header: without the port if it is the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let usual = if self.tls { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }
}

/// HTTP version of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 where TLS negotiates it, HTTP/1.1 otherwise.
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without TLS too.
    Http2,
}

/// Sharing of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Own connections of each user, at most this many.
    PerUser(u32),
    /// Connections shared by the users of a worker, this many.
    Pool(u32),
    /// A new connection for every request.
    New,
}

/// Trust in the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Take any certificate.
    pub trust_anyone: bool,
    /// Certificates of authorities to trust instead of the system's, as PEM.
    pub authorities: Option<Arc<[u8]>>,
    /// The name requested and verified, if it is not the address's host.
    pub server_name: Option<String>,
    /// A client certificate and its key, as PEM.
    pub identity: Option<(SecretFile, SecretFile)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let url = |text: &str| {
            Url::parse(text).map(|u| (u.tls, u.host.clone(), u.port, u.base.clone(), u.authority()))
        };
        let is = |tls, host: &str, port, base: &str, authority: &str| {
            Ok((tls, host.to_owned(), port, base.to_owned(), authority.to_owned()))
        };
        assert_eq!(url("http://localhost:8080/"), is(false, "localhost", 8080, "", "localhost:8080"));
        assert_eq!(url("https://a.example/v1/"), is(true, "a.example", 443, "/v1", "a.example"));
        assert_eq!(url("http://[::1]:81"), is(false, "::1", 81, "", "[::1]:81"));
        assert_eq!(url("http://[::1]/x"), is(false, "::1", 80, "/x", "[::1]"));
    }

    #[test]
    fn what_is_not_an_address_says_why() {
        for (text, why) in [
            ("localhost:8080", "there is no scheme"),
            ("ftp://a", "unknown scheme `ftp`"),
            ("http://", "`` is not a host"),
            ("http://a b/", "`a b` is not a host"),
            ("http://a:0/", "`0` is not a port"),
            ("http://a:99999", "`99999` is not a port"),
            ("http://[::1", "a bracket is not closed"),
            ("http://[::1]x", "`x` is not a port"),
            ("http://a/b?c=d", "a base path has no query, no fragment and no spaces"),
        ] {
            assert_eq!(Url::parse(text).unwrap_err(), why, "{text}");
        }
    }
}
