//! Replacement addresses for the hosts of URLs.

use std::net::IpAddr;

/// A replacement address for a host and port; `host` and TLS's server name still come from the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detour {
    /// The original host; `None` for any.
    host: Option<String>,
    /// The original port; `None` for any.
    port: Option<u16>,
    /// The host to connect to; `None` for that of the URL.
    to_host: Option<String>,
    /// The port to connect to; `None` for that of the URL.
    to_port: Option<u16>,
}

impl Detour {
    /// Parses `HOST:PORT:ADDRESS`; the host may be `*`, IPv6 addresses may stand in brackets.
    ///
    /// # Errors
    /// If the text has another form; the error describes the form.
    pub fn resolve(text: &str) -> Result<Self, String> {
        let wrong =
            || "an address for a host is written HOST:PORT:ADDRESS, as in h.example:443:127.0.0.1".to_owned();
        let (host, rest) = field(text).ok_or_else(wrong)?;
        let (port, address) = field(rest).ok_or_else(wrong)?;
        let address = address.strip_prefix('[').and_then(|a| a.strip_suffix(']')).unwrap_or(address);
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let host = Some(host.to_owned()).filter(|host| host != "*");
        if host.as_deref() == Some("") {
            return Err(wrong());
        }
        let port = Some(number(port).ok_or_else(wrong)?);
        Ok(Detour { host, port, to_host: Some(address.to_string()), to_port: None })
    }

    /// Parses `HOST:PORT:TO_HOST:TO_PORT`; each may be empty, for any host and port, or those of the URL.
    ///
    /// # Errors
    /// If the text has another form; the error describes the form.
    pub fn connect_to(text: &str) -> Result<Self, String> {
        let wrong = || {
            "another host is written HOST:PORT:TO_HOST:TO_PORT, as in h.example:443:node1.example:8443"
                .to_owned()
        };
        let (from, rest) = field(text).ok_or_else(wrong)?;
        let (port, rest) = field(rest).ok_or_else(wrong)?;
        let (to_host, to_port) = field(rest).ok_or_else(wrong)?;
        let host = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let port_of = |text: &str| match text {
            "" => Ok(None),
            text => number(text).map(Some).ok_or_else(wrong),
        };
        let (port, to_port) = (port_of(port)?, port_of(to_port)?);
        Ok(Detour { host: host(from), port, to_host: host(to_host), to_port })
    }

    /// Address for a URL's host and port: that of the first matching detour, or their own.
    pub(crate) fn of(detours: &[Detour], host: &str, port: u16) -> (String, u16) {
        let is_for = |detour: &&Detour| {
            detour.host.as_deref().is_none_or(|own| own.eq_ignore_ascii_case(host))
                && detour.port.is_none_or(|own| own == port)
        };
        let found = detours.iter().find(is_for);
        let to_host = found.and_then(|detour| detour.to_host.as_deref()).unwrap_or(host);
        (to_host.to_owned(), found.and_then(|detour| detour.to_port).unwrap_or(port))
    }
}

/// Splits a text at the colon after its first field. An IPv6 address in brackets is a field without them.
fn field(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(inner) => {
            let (address, rest) = inner.split_once(']')?;
            Some((address, rest.strip_prefix(':')?))
        }
        None => text.split_once(':'),
    }
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(detours: &[Detour], host: &str, port: u16) -> String {
        let (host, port) = Detour::of(detours, host, port);
        format!("{host} {port}")
    }

    #[test]
    fn the_first_that_fits_is_taken() {
        let detours = [
            Detour::resolve("H.example:443:192.0.2.1").unwrap(),
            Detour::resolve("[::1]:80:[2001:db8::1]").unwrap(),
            Detour::resolve("*:81:::1").unwrap(),
            Detour::connect_to("h.example::node:8080").unwrap(),
            Detour::connect_to(":82::83").unwrap(),
        ];
        for (host, port, expected) in [
            ("h.example", 443, "192.0.2.1 443"),
            ("h.example", 80, "node 8080"),
            ("::1", 80, "2001:db8::1 80"),
            ("x", 81, "::1 81"),
            ("x", 82, "x 83"),
            ("x", 84, "x 84"),
        ] {
            assert_eq!(to(&detours, host, port), expected, "{host}:{port}");
        }
    }

    #[test]
    fn what_is_none_says_how_it_is_written() {
        for text in ["", "h", "h:80", "h:80:", "h:80:name", "h:0:::1", "h:x:::1", ":80:::1", "[::1:80:::1"] {
            assert!(Detour::resolve(text).unwrap_err().contains("HOST:PORT:ADDRESS"), "{text}");
        }
        for text in ["", "h:80", "h:80:x", "h:0:x:1", "h:80:x:y"] {
            assert!(Detour::connect_to(text).unwrap_err().contains("HOST:PORT:TO_HOST:TO_PORT"), "{text}");
        }
    }
}
