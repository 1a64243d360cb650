//! Receivers of figures, in the notation of the command line.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// Protocol of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Prometheus remote-write 1.0.
    Prometheus,
    /// OpenTelemetry metrics over HTTP (OTLP), in protobuf.
    Otlp,
}

impl Protocol {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Prometheus => "prometheus",
            Protocol::Otlp => "otlp",
        }
    }

    /// Default path of URLs.
    const fn usual_path(self) -> &'static str {
        match self {
            Protocol::Prometheus => "/api/v1/write",
            Protocol::Otlp => "/v1/metrics",
        }
    }
}

/// A receiver of figures, written `prometheus=http://127.0.0.1:9090` or `otlp=http://127.0.0.1:4318`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Its protocol.
    pub protocol: Protocol,
    url: Url,
}

/// An invalid receiver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReceiver {
    /// Neither protocol is named.
    #[error("a receiver is written prometheus=URL or otlp=URL, as in prometheus=http://127.0.0.1:9090")]
    NoProtocol,
    /// The rest is not a URL.
    #[error("`{url}` is not a URL of a receiver; it is written as in http://127.0.0.1:9090")]
    NotAUrl {
        /// The text.
        url: String,
    },
    /// A secret would stay in the record.
    #[error(
        "the URL of a receiver is kept in the record, so it must not hold a name or a password; send to an agent on this \
         machine that knows them"
    )]
    Secret,
}

impl Receiver {
    /// The whole URL, path included.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.protocol.name(), self.url)
    }
}

impl FromStr for Receiver {
    type Err = InvalidReceiver;

    fn from_str(text: &str) -> Result<Self, InvalidReceiver> {
        let (name, rest) = text.split_once('=').ok_or(InvalidReceiver::NoProtocol)?;
        let protocol = [Protocol::Prometheus, Protocol::Otlp].into_iter().find(|p| p.name() == name);
        let protocol = protocol.ok_or(InvalidReceiver::NoProtocol)?;
        let mut url = Url::parse(rest).map_err(|_| InvalidReceiver::NotAUrl { url: rest.to_owned() })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidReceiver::Secret);
        }
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(InvalidReceiver::NotAUrl { url: rest.to_owned() });
        }
        if url.path() == "/" {
            url.set_path(protocol.usual_path());
        }
        Ok(Receiver { protocol, url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, InvalidReceiver> {
        text.parse().map(|receiver: Receiver| receiver.to_string())
    }

    #[test]
    fn the_usual_path_is_added_where_there_is_none() {
        let written = [
            ("prometheus=http://127.0.0.1:9090", "prometheus=http://127.0.0.1:9090/api/v1/write"),
            ("otlp=http://[::1]:4318/", "otlp=http://[::1]:4318/v1/metrics"),
            ("otlp=https://h/api/v1/otlp/v1/metrics", "otlp=https://h/api/v1/otlp/v1/metrics"),
        ];
        for (text, expected) in written {
            assert_eq!(read(text).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_receiver_says_why_without_its_secret() {
        for text in ["http://127.0.0.1:9090", "statsd=http://h", ""] {
            assert_eq!(read(text), Err(InvalidReceiver::NoProtocol), "{text}");
        }
        for text in ["otlp=127.0.0.1:4318", "otlp=ftp://h", "prometheus=", "otlp=unix:/x"] {
            assert!(matches!(read(text), Err(InvalidReceiver::NotAUrl { .. })), "{text}");
        }
        let secret = read("prometheus=ftp://me:hunter2@h").unwrap_err();
        assert_eq!(secret, InvalidReceiver::Secret);
        assert!(!secret.to_string().contains("hunter2"));
    }
}
