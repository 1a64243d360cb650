//! HTTP proxies: whole URLs to targets in the clear, tunnels to those behind TLS.

use std::fmt;

use barograph_net::{Endpoint, Stream};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use crate::exchange;
use crate::fault::Fault;
use crate::reader::Reader;
use crate::url::Url;

/// An HTTP proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    host: String,
    port: u16,
    /// The value of `proxy-authorization`.
    credentials: Option<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credentials = if self.credentials.is_some() { " with credentials" } else { "" };
        write!(f, "Proxy({}:{}{credentials})", self.host, self.port)
    }
}

impl Proxy {
    /// Parses `http://[USER:PASSWORD@]HOST[:PORT]`; user and password may be percent-encoded.
    ///
    /// # Errors
    /// If the text has another form; the error gives the reason, without the password.
    pub fn parse(text: &str) -> Result<Self, String> {
        const FORM: &str = "a proxy is written http://[USER:PASSWORD@]HOST:PORT";
        let rest = text.strip_prefix("http://").ok_or(FORM)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, host) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
        let url = Url::parse(&format!("http://{host}")).map_err(|why| format!("{FORM}: {why}"))?;
        if url.path != "/" {
            return Err(format!("{FORM}: it has a path"));
        }
        let credentials = user.map(|user| {
            let bytes: Vec<u8> = percent_decode_str(user).collect();
            format!(
                "Basic {}",
                STANDARD.encode(if bytes.contains(&b':') { bytes } else { [&bytes[..], b":"].concat() })
            )
        });
        Ok(Proxy { host: url.host, port: url.port, credentials })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Host { host: self.host.clone(), port: self.port }
    }

    /// The header line with the credentials; empty without credentials.
    pub(crate) fn authorization(&self) -> String {
        let line = |value: &String| format!("proxy-authorization: {value}\r\n");
        self.credentials.as_ref().map(line).unwrap_or_default()
    }

    /// Opens a tunnel to `host`, which includes a port.
    pub(crate) async fn tunnel(&self, stream: &mut Stream, host: &str) -> Result<(), Fault> {
        let request = format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n{}\r\n", self.authorization());
        let mut buffer = Vec::new();
        // An answer to CONNECT has no relevant body: a tunnel begins, or the connection ends.
        let mut reader = Reader::new(0, true);
        let head = exchange::begin(stream, request.as_bytes(), (&mut reader, &mut buffer), 0).await?;
        match head.status {
            200..=299 => Ok(()),
            status => Err(Fault::Proxy { status }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_read_with_its_credentials() {
        let read = |text: &str| Proxy::parse(text).map(|p| (p.host.clone(), p.port, p.authorization()));
        let is = |host: &str, port, line: &str| Ok((host.to_owned(), port, line.to_owned()));
        assert_eq!(read("http://h:3128"), is("h", 3128, ""));
        assert_eq!(read("http://[::1]/"), is("::1", 80, ""));
        assert_eq!(read("http://me:p%40s@h:1"), is("h", 1, "proxy-authorization: Basic bWU6cEBz\r\n"));
        assert_eq!(read("http://me@h:1"), is("h", 1, "proxy-authorization: Basic bWU6\r\n"));
        assert_eq!(
            format!("{:?}", Proxy::parse("http://me:secret@h:1").unwrap()),
            "Proxy(h:1 with credentials)"
        );
        for wrong in ["h:3128", "https://h:1", "socks5://h", "http://", "http://h/x", "http://me:secret@"] {
            let why = read(wrong).unwrap_err();
            assert!(why.starts_with("a proxy is written http://") && !why.contains("secret"), "{why}");
        }
    }
}
